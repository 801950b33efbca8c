"""The ODrive's twin: the rules of the firmware, heard and answered in bytes."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.twins import odrive
from riderless.firmware_interface.twins.faults import Fault
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.firmware_interface.twins.odrive import TORQUE_CONSTANT, ODriveTwin
from tests.firmware_interface.devices.odrive_bench import GEAR, READINGS, checked, config


class Talk:
    """A twin and its clock; `tell` and `ask` use checksums."""

    def __init__(self, *faults: Fault, calibration=None, changes=None) -> None:
        self.twin = ODriveTwin(config(faults, calibration), changes)
        self.t = 0.0
        self.step(1)

    def step(self, n: int, readings: np.ndarray = READINGS) -> "Talk":
        for _ in range(n):
            self.t += 1e-3
            assert self.twin.instant(self.t, readings) == b""
        return self

    def hear(self, data: bytes) -> bytes:
        return self.twin.hear(data, self.t)

    def tell(self, *lines: str) -> "Talk":
        for line in lines:
            assert self.hear(checked(line)) == b"", line
        return self

    def ask(self, line: str) -> str:
        answer = self.hear(checked(line))
        words, _, told = answer.removesuffix(b"\r\n").partition(b"*")
        assert answer == checked(words.decode(), b"\r\n"), told
        return words.decode()

    def error(self) -> int:
        return int(self.ask("r axis0.error"))

    def state(self) -> int:
        return int(self.ask("r axis0.current_state"))

    def guarded(self, watchdog: float = 0.025) -> "Talk":
        return self.tell(f"w axis0.config.watchdog_timeout {watchdog}", "w axis0.config.enable_watchdog 1")

    def on(self, T: float = 0.0) -> "Talk":
        self.tell(f"c 0 {T}", "sc")
        self.tell("w axis0.requested_state 8").step(1)
        assert self.twin.enabled
        return self


# ---- lines


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (b"r vbus_voltage *93\n", b"24.000000*40\r\n"),
        (b"r vbus_voltage *93 ; this is a comment\n", b"24.000000*40\r\n"),
        (b"r vbus_voltage\n", b"24.000000\r\n"),
        (b"r vbus_voltage ; a comment\r", b"24.000000\r\n"),
        (b"r vbus_voltage!", b"24.000000\r\n"),
        (b"r vbus_voltage *92\n", b""),
        (b"r vbus_voltage *\n", b""),
        (b"r vbus_voltage *x\n", b""),
        (b"r blahblah\n", b"invalid property\r\n"),
        (checked("r blahblah "), b"invalid property*86\r\n"),
        (b"r\n", b"invalid command format\r\n"),
        (b"w\n", b"invalid command format\r\n"),
        (b"w blahblah 1\n", b"invalid property\r\n"),
        (b"w vbus_voltage 1\n", b"not implemented\r\n"),
        (b"w test_property x\n", b"not implemented\r\n"),
        (b"w test_property 12345\nr test_property\n", b"12345\r\n"),
        (b"c 0\n", b"invalid command format\r\n"),
        (b"c 0 x\n", b"invalid command format\r\n"),
        (b"c 2 0.0\n", b"invalid motor 2\r\n"),
        (b"f\n", b"invalid command format\r\n"),
        (b"x\n", b"unknown command\r\n"),
        (b"\n", b"unknown command\r\n"),
        (b"r axis0.motor.error\n", b"lu\r\n"),
        (b"r axis0.error\n", b"0\r\n"),
        (b"r axis0.motor.config.torque_lim\n", b"inf\r\n"),
        (b"h\n", b"Please see documentation for more details\r\n"),
        (b"sc\n", b""),
        (b"ss\n", b""),
        (b"u 0\n", b""),
    ],
)
def test_what_is_answered(said, answer):
    assert Talk().hear(said) == answer  # checksums worked by hand: 2 ^ 4 ^ . ^ six times 0 = 40


def test_lines_that_are_too_long_are_forgotten_to_their_end():
    talk = Talk()
    fits = b"r vbus_voltage ;".ljust(255, b"x")
    assert talk.hear(fits + b"\n") == b"24.000000\r\n"
    assert talk.hear(fits + b"x\nr vbus_voltage\n") == b"24.000000\r\n"
    assert talk.hear(b"x" * 1000 + b"r vbus_voltage\n") == b""
    assert talk.hear(b"r vbus_voltage\n") == b"24.000000\r\n"


@given(st.lists(st.integers(1, 20), max_size=8))
def test_lines_may_be_split_anywhere(cuts):
    talk, data, said = Talk(), checked("r vbus_voltage ") * 3, b""
    for cut in cuts:
        said += talk.hear(data[:cut])
        data = data[cut:]
    assert said + talk.hear(data) == 3 * checked("24.000000", b"\r\n")


@given(st.binary(max_size=1500))
def test_whatever_is_said_it_goes_on(garbage):
    talk = Talk()
    talk.hear(garbage)
    talk.step(2)
    talk.hear(b"\n")
    talk.hear(b"sr\n")
    assert talk.ask("r vbus_voltage") == "24.000000"


def test_an_answer_to_a_property_is_cut_after_nine_characters():
    talk = Talk(changes={"axis0.motor.current_control.Iq_measured": 0.0})
    readings = READINGS.copy()
    readings[8] = -12.0 * TORQUE_CONSTANT * GEAR
    talk.step(1, readings)
    assert talk.ask("r axis0.motor.current_control.Iq_measured") == "-12.00000"
    assert len(talk.ask("f 0")) > 9


# ---- the watchdog


def test_the_watchdog_is_off_after_power_up():
    talk = Talk().on()
    assert talk.step(5000).state() == 8


def test_the_watchdog_strikes_and_is_latched():
    talk = Talk().guarded().on()
    assert talk.step(24).state() == 8
    talk.step(2)
    assert (talk.state(), talk.error(), talk.twin.enabled, talk.twin.T) == (1, 0x800, False, 0.0)
    talk.tell("c 0 1.0", "w axis0.requested_state 8").step(2)  # feeding is not enough
    assert (talk.state(), talk.error()) == (1, 0x800)
    talk.tell("c 0 1.0", "sc").step(1)
    assert (talk.state(), talk.error()) == (1, 0)  # nor is clearing
    talk.tell("w axis0.requested_state 8").step(1)
    assert talk.state() == 8


def test_the_watchdog_strikes_while_idle_and_again_until_it_is_fed():
    talk = Talk().guarded()
    assert talk.step(1).error() == 0x800
    talk.tell("sc")
    assert talk.error() == 0
    assert talk.step(1).error() == 0x800
    talk.tell("u 0", "sc")
    assert talk.step(20).error() == 0


@pytest.mark.parametrize("line", ["c 0 0.0", "p 0 0.0", "q 0 0.0", "v 0 0.0", "t 0 0.0", "u 0"])
def test_what_feeds_the_watchdog(line):
    talk = Talk().guarded().on()
    for _ in range(20):
        talk.tell(line).step(5)
    assert talk.error() == 0


@pytest.mark.parametrize("line", ["f 0", "r axis0.error", "w test_property 1", "sc", "c 1 0.0", "u 1"])
def test_what_does_not(line):
    talk = Talk().guarded().on()
    for _ in range(6):
        talk.hear(checked(line))
        talk.step(5)
    assert talk.twin.properties["axis0.error"] == 0x800


def test_a_bad_checksum_does_not_feed():
    talk = Talk().guarded().on()
    for _ in range(6):
        assert talk.hear(b"c 0 0.0 *1\n") == b""
        talk.step(5)
    assert talk.error() == 0x800


def test_a_dead_watchdog_never_strikes():
    talk = Talk(Fault(Kind.WATCHDOG_DEAD)).guarded().on(0.1)
    assert talk.step(1000).state() == 8
    assert talk.twin.T != 0.0


# ---- states


def test_states_it_cannot_take_are_an_error():
    talk = Talk(changes={"axis0.motor.is_calibrated": 0})
    talk.tell("w axis0.requested_state 8").step(1)
    assert (talk.state(), talk.error()) == (1, 1)
    talk.tell("w axis0.requested_state 1").step(1)  # the next request takes the error back
    assert (talk.state(), talk.error()) == (1, 0)


def test_a_second_request_lets_go_for_a_moment():
    talk = Talk().on(0.5)
    talk.tell("w axis0.requested_state 8").step(1)
    assert not talk.twin.enabled
    assert talk.step(1).twin.enabled


def test_it_restarts_with_its_settings_forgotten():
    talk = Talk(Fault(Kind.RESET, 0.5, start=0.1)).guarded().on(0.2)
    while talk.t < 0.099:
        talk.tell("c 0 0.2").step(1)
    assert talk.twin.T != 0.0
    talk.step(5)
    assert (talk.twin.T, talk.twin.enabled) == (0.0, False)
    assert talk.hear(checked("r vbus_voltage")) == b""
    talk.step(500)
    assert talk.ask("r axis0.config.enable_watchdog") == "0"
    assert talk.state() == 1


# ---- torque and readings


@pytest.mark.parametrize("sign", [1, -1])
@given(T=st.floats(-3, 3))
def test_torque_on_the_steer(sign, T):
    talk = Talk(calibration=Calibration(wheel_radius=0.34, torque_sign=sign)).on(T)
    talk.step(1)
    assert abs(talk.twin.T - sign * min(max(GEAR * T, -7.0), 7.0)) < 1e-5


def test_torque_is_made_in_torque_control_only():
    talk = Talk().on(0.5)
    assert talk.twin.T > 0
    talk.tell("v 0 1.0").step(1)
    assert talk.twin.T == 0.0


def test_from_the_factory_the_speed_limit_bounds_the_torque():
    talk = Talk(changes={"axis0.controller.config.enable_torque_mode_vel_limit": 1}).on(0.8)
    talk.step(1)
    assert abs(talk.twin.T - GEAR * 2.0 / 6.0) < 1e-6
    talk.tell("w axis0.controller.config.enable_torque_mode_vel_limit 0").step(1)
    assert abs(talk.twin.T - GEAR * 0.8) < 1e-6


@pytest.mark.parametrize("sign", [1, -1])
def test_readings_are_those_of_the_calibration(sign):
    cal = Calibration(
        wheel_radius=0.34, steer_sign=sign, steer_offset=0.1, steer_gear_ratio=3.0, wheel_sign=-sign, torque_sign=sign
    )
    talk = Talk(calibration=cal).step(10)
    pos, vel = map(float, talk.ask("f 0").split())
    assert abs(pos - sign * 3.0 * (READINGS[6] + 0.1) / (2 * math.pi)) < 1e-6
    assert abs(vel) < 1e-6
    pos, vel = map(float, talk.ask("f 1").split())
    assert abs(vel + sign * 2.0) < 1e-6
    assert abs(pos - vel * talk.t) < 1e-4
    current = float(talk.ask("r axis0.motor.current_control.Iq_measured"))
    assert abs(current - sign * READINGS[8] / (TORQUE_CONSTANT * GEAR)) < 1e-5


def test_the_rate_of_the_steer():
    talk, readings = Talk(), READINGS.copy()
    for _ in range(5):
        readings[6] += 1e-3 * 2 * math.pi  # a turn a second
        talk.step(1, readings)
    assert abs(float(talk.ask("f 0").split()[1]) - 1.0) < 1e-4


# ---- faults


def test_a_trip_is_latched_until_it_is_cleared():
    talk = Talk(Fault(Kind.DRIVE_TRIPS, start=0.1, stop=0.2)).on(0.5)
    talk.step(150)
    assert (talk.state(), talk.error(), talk.twin.T) == (1, 0x40, 0.0)
    talk.tell("sc").step(1)
    assert talk.error() == 0x40
    talk.step(100)
    assert talk.error() == 0x40
    talk.tell("sc").step(1)
    assert talk.error() == 0


def test_the_stop_button():
    talk = Talk(Fault(Kind.STOP_BUTTON, start=0.1)).on(0.5).step(150)
    assert (talk.state(), talk.error(), talk.twin.T) == (1, 0x4000, 0.0)


def test_the_bus():
    assert Talk(Fault(Kind.BUS, 18.5)).ask("r vbus_voltage") == "18.500000"


def test_a_slow_one_leaves_answers_out_and_drives_on():
    talk = Talk(Fault(Kind.SLOWING, 1.0)).on(0.5).step(500)
    answers = [talk.hear(checked("r vbus_voltage")) for _ in range(200)]
    assert 60 < sum(answer == b"" for answer in answers) < 140
    assert talk.twin.T > 0


@pytest.mark.parametrize(
    ("fault", "T"),
    [
        (Fault(Kind.DRIVE_GAIN, -0.5), -2.0),
        (Fault(Kind.DRIVE_LIES, 0.25), 1.0),
        (Fault(Kind.DRIVE_CLAMP, 3.0), 3.0),
        (Fault(Kind.DRIVE_HOLDS, start=0.001), 0.0),
    ],
)
def test_faults_of_the_torque(fault, T):
    talk = Talk(fault)
    if fault.kind is not Kind.DRIVE_HOLDS:
        talk.on(0.5)
    assert abs(talk.step(1).twin.T - T) < 1e-6


def test_a_drive_that_lies_reports_what_was_asked():
    talk = Talk(Fault(Kind.DRIVE_LIES, 0.0)).on(0.5).step(2)
    assert talk.twin.T == 0.0
    current = float(talk.ask("r axis0.motor.current_control.Iq_measured"))
    assert abs(current * TORQUE_CONSTANT - 0.5) < 1e-5


def test_it_is_made_as_the_machine_makes_it():
    assert isinstance(odrive.make(config()), ODriveTwin)
