"""The image for an amplifier such as an ESCON 50/5: PWM of 1 to 4.5 kHz, 10 to 90 %, 50 % is zero.

Limits of the ESCON 50/5 (hardware reference rel9051): 10 Hz to 5 kHz, 10 to 90 %.
"""

import pytest

pytest.importorskip("unicorn")
from riderless.firmware_interface.messages import COMMAND_CLEAR, COMMAND_ENABLE
from tests.firmware_interface.firmware import test_c_image
from tests.firmware_interface.firmware.test_c_image import BDTR, CCR1, CHIPS, DIRECTION, MOE, built, command, heard

ARR, CCMR1 = 0x2C, 0x18
PRELOAD = 1 << 3
FULL = 10_000  # mN m at 90 %


class BipolarBoard(test_c_image.Board):
    """A board, and what such an amplifier reads of its pulses."""

    @property
    def duty(self) -> float:
        return self.word(self.chip.tim1 + CCR1) / (self.word(self.chip.tim1 + ARR) + 1)

    @property
    def torque_mNm(self) -> float | None:
        """What the amplifier is told; None while it is off."""
        if not self.word(self.chip.tim1 + BDTR) & MOE:
            return None
        assert 0.1 - 1e-4 <= self.duty <= 0.9 + 1e-4, "the amplifier takes nothing else"
        return FULL * (self.duty - 0.5) / 0.4


@pytest.fixture(scope="module", params=CHIPS)
def bipolar_image(tmp_path_factory, request):
    return built(tmp_path_factory.mktemp("bipolar"), request.param, "DEFINES=-DDRIVE_BIPOLAR=1")


@pytest.fixture
def board(bipolar_image):
    board = BipolarBoard(bipolar_image)
    board.start()
    return board


def test_pulses_suit_the_amplifier(board):
    assert 1000 <= board.chip.clock / (board.word(board.chip.tim1 + ARR) + 1) <= 4500
    assert board.word(board.chip.tim1 + CCMR1) & PRELOAD, "a pulse is never cut short, for its length is the torque"
    assert board.duty == 0.5
    assert board.torque_mNm is None


def test_torques(board):
    test_c_image.open_session(board)
    for seq, torque in enumerate((0, 0, 2000, -2000, 7000, -7000, 1, -1, 9000, 0)):
        board.hear(command(seq, torque, COMMAND_ENABLE if seq else COMMAND_CLEAR))
        heard(board.tick())
        if seq:  # 7 N m are the node's limit
            assert board.torque_mNm == pytest.approx(max(-7000, min(7000, torque)), abs=1)
            assert not board.word(board.outputs) & DIRECTION
    assert board.duty == 0.5


def test_off_is_no_pulse_and_begins_at_zero_again(board):
    test_c_image.open_session(board)
    for seq in range(3):
        board.hear(command(seq, 7000, COMMAND_ENABLE if seq else COMMAND_CLEAR))
        board.tick()
    assert board.torque_mNm == pytest.approx(7000, abs=1)
    board.press()
    assert board.torque_mNm is None
    board.tick()
    assert board.duty == 0.5
