"""The image of a board with a controller on board, run by an emulator of the processor on a model of its registers."""

import numpy as np
import pytest

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.messages import (
    COMMAND_CLEAR,
    COMMAND_ENABLE,
    COMMAND_KIND_BOUND,
    STAGE_HELD,
    STAGE_STEERED,
)
from riderless.firmware_interface.node import reference_codec
from riderless.hil.rig.controller_in_c import controller_in_c, name_on_board
from riderless.hil.rig.fitting import emulated_rig

pytest.importorskip("unicorn")
from tests.firmware_interface.firmware import test_c_image
from tests.hil.rig.test_controller_in_c import CONTROLLERS, SILVER
from tests.tools.controller_on_boards import C


def board_image(folder, chip):
    """Image of a board with gains on board, as `test_c_image` runs it, and their name."""
    controller = CONTROLLERS["gains"]()
    rig = emulated_rig(SILVER, controller)
    for file, text in controller_in_c(controller, rig).items():
        (folder / file).write_text(text)
    exp = C / "without_newlib"
    libraries = f"LIBRARIES=-I{exp} {exp / 'exp.c'} -lgcc"
    made = test_c_image.built(folder, chip, f"CONTROLLER={folder}", f"DEFINES=-I{exp}", libraries, suffix="-law")
    return made, name_on_board(controller, rig)


@pytest.mark.parametrize("chip", ["stm32f103", "stm32f405"])
def test_a_board_closes_the_loop_within_the_bound(chip, tmp_path):
    """The image on a model of the registers: it leans to the right, and the amplifier is told to steer into that."""
    image, name = board_image(tmp_path, chip)
    assert len(image[1]) < 16 * 1024
    board = test_c_image.Board(image)
    board.start()
    board.hear(reference_codec.encode(reference_codec.HelloRequest(1, 1234, COMMAND_KIND_BOUND)))
    hello, _ = test_c_image.heard(board.tick())
    assert (hello.firmware.rstrip(b"\0").decode(), hello.obeys, hello.session) == (name, 0b1001, 1234)
    kept, seen = 1234, []

    def told(seq, bound, flags, stage):
        board.hear(test_c_image.command(seq, bound, flags | stage << 2 | COMMAND_KIND_BOUND << 4, kept))
        board.tick()
        seen.append(board.torque_mNm)

    for seq in range(20):
        told(seq, 0, COMMAND_CLEAR if seq < 2 else COMMAND_ENABLE, STAGE_HELD)
    assert seen[-1] == 0.0
    rate = round(np.radians(10.0) / Calibration(wheel_radius=0.3).gyro_lsb)
    board.imu[0x43], board.imu[0x44] = rate >> 8, rate & 0xFF  # it falls to the right
    for seq in range(20, 30):
        told(seq, 7000, COMMAND_ENABLE, STAGE_STEERED)
    assert 300.0 < seen[-1] < 7000.0
    told(30, 200, COMMAND_ENABLE, STAGE_STEERED)
    assert seen[-1] == pytest.approx(200.0, abs=3.0)
    told(31, 0, COMMAND_ENABLE, STAGE_STEERED)
    assert seen[-1] == 0.0
    told(32, 7000, COMMAND_ENABLE, STAGE_STEERED)
    assert seen[-1] > 300.0
    silent = [board.tick() and board.torque_mNm for _ in range(6)]
    assert silent[-1] is None, "without the computer the watchdog strikes"
