"""ODrive under commands of a rate and of an angle: lines worked by hand, driver and twin, set-up."""

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest

from riderless.firmware_interface.devices import odrive_setup
from riderless.firmware_interface.devices.driver import DeviceRequirements
from riderless.firmware_interface.devices.odrive import DEVICE, receive
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.messages import COMMAND_CLEAR, COMMAND_ENABLE, COMMAND_KIND_ANGLE, COMMAND_KIND_RATE
from riderless.firmware_interface.twins.odrive import ODriveTwin
from tests.firmware_interface.devices.odrive_bench import (
    GEAR,
    READINGS,
    Bench,
    checked,
    command,
    config,
    said,
    tuned_in,
)

UNIT = 2.0 * math.pi / GEAR  # rad of the steer per turn of the motor
STEER = READINGS[6]


def told(kind: int, value: float, flags: int = COMMAND_ENABLE) -> bytes:
    link, c = tuned_in(), command(value, flags)
    link["unit"], c["kind"] = UNIT, kind
    return said(link, c).split(b"\n")[0] + b"\n"


@pytest.mark.parametrize(
    ("kind", "turns", "flags", "words"),
    [
        (COMMAND_KIND_RATE, 2.0, COMMAND_ENABLE, "v 0 2.0000 "),
        (COMMAND_KIND_RATE, -0.12345, COMMAND_ENABLE, "v 0 -0.1235 "),
        (COMMAND_KIND_RATE, 2.0, 0, "v 0 0.0000 "),
        (COMMAND_KIND_ANGLE, 0.25, COMMAND_ENABLE, "p 0 0.250000 "),
        (COMMAND_KIND_ANGLE, -1.0000007, COMMAND_ENABLE, "p 0 -1.000001 "),
        (COMMAND_KIND_ANGLE, 0.25, 0, "u 0 "),
        (COMMAND_KIND_ANGLE, math.nan, COMMAND_ENABLE, "u 0 "),
        (COMMAND_KIND_RATE, math.inf, COMMAND_ENABLE, "v 0 0.0000 "),
    ],
)
def test_lines(kind, turns, flags, words):
    assert told(kind, turns * UNIT, flags) == checked(words)


def test_checksums_worked_by_hand():
    # v = 118, space = 32, 0 = 48, 1 = 49, . = 46: exclusive or of all bytes before the star
    assert told(COMMAND_KIND_RATE, UNIT) == b"v 0 1.0000 *121\n"
    assert told(COMMAND_KIND_ANGLE, UNIT) == b"p 0 1.000000 *127\n"
    assert told(COMMAND_KIND_ANGLE, UNIT, 0) == b"u 0 *69\n"


class KindBench(Bench):
    """The bench of the driver's rule, for a drive of another kind."""

    def __init__(self, kind: int, **truth) -> None:
        self.kind = kind
        super().__init__(ODriveTwin(config_of(kind, **truth)))
        mode = {COMMAND_KIND_RATE: 2, COMMAND_KIND_ANGLE: 3}[kind]
        self.twin.hear(checked(f"w axis0.controller.config.control_mode {mode}"), self.t)
        self.link["unit"] = UNIT

    def tell(self, value: float, flags: int = COMMAND_ENABLE, ticks: int = 12):
        for _ in range(ticks):
            self.seq += 1
            c = command(value, flags, self.seq & 0xFFFF)
            c["kind"] = self.kind
            answers = self.twin.hear(said(self.link, c), self.t)
            for _ in range(5):
                self.t += 0.001
                self.twin.instant(self.t, READINGS)
            data = np.frombuffer(bytearray(answers), np.uint8)
            receive(self.link, data, len(data))
        return self.twin.T, self.twin.enabled


def config_of(kind: int, **truth):
    return dataclasses.replace(config(**truth), kind=kind)


def test_the_twin_turns_as_fast_as_it_is_told_up_to_its_own_limit():
    bench = KindBench(COMMAND_KIND_RATE)
    bench.tell(0.0, COMMAND_CLEAR)
    assert bench.tell(1.2) == (pytest.approx(1.2, abs=1e-4 * UNIT), True)
    assert bench.tell(-50.0)[0] == pytest.approx(-2.0 * UNIT), "vel_limit, 2 turns/s of the motor"
    assert bench.tell(1.2, 0) == (0.0, False)


def test_the_twin_goes_where_it_is_told_and_stands_while_it_is_switched_on():
    bench = KindBench(COMMAND_KIND_ANGLE)
    bench.tell(0.0, COMMAND_CLEAR)
    bench.twin.hear(checked("w axis0.requested_state 8"), bench.t)  # switched on without a set-point of ours
    bench.t += 0.001
    bench.twin.instant(bench.t, READINGS)
    bench.t += 0.001
    bench.twin.instant(bench.t, READINGS)
    assert (bench.twin.T, bench.twin.enabled) == (pytest.approx(STEER), True)
    bench.tell(0.0, 0)
    assert bench.twin.enabled is False
    steer = 0.125  # rad: the bench's encoder turns with the steer, the motor eight times as fast
    made, on = bench.tell(steer / GEAR)
    assert (made, on) == (pytest.approx(steer, abs=1e-5), True)


@pytest.mark.parametrize("kind", [COMMAND_KIND_RATE, COMMAND_KIND_ANGLE])
def test_an_off_drive_is_fed_and_a_silent_one_struck(kind):
    bench = KindBench(kind)
    bench.tell(0.0, COMMAND_CLEAR)
    bench.tell(0.1, 0, ticks=40)
    assert bench.link["raw"]["status"] == 0, "fed for 200 ms, though off"
    assert bench.tell(0.01)[1]
    for _ in range(40):
        bench.t += 0.001
        bench.twin.instant(bench.t, READINGS)
    assert (bench.twin.T, bench.twin.enabled) == (0.0, False)


class Line:
    """A port with a twin behind it, for the set-up."""

    path, baud = "/dev/ttyACM1", 921600


def introduced(kind: int, changes: dict | None = None):
    twin = ODriveTwin(config_of(kind), changes)
    clock = SimpleNamespace(t=0.0)

    def answers(port, request, timeout, again):
        clock.t += 0.01
        said = twin.hear(request(0), clock.t)
        twin.instant(clock.t, READINGS)
        yield said
        clock.t += 0.01
        twin.instant(clock.t, READINGS)
        yield twin.hear(request(1), clock.t)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(odrive_setup, "ask_and_listen", answers)
        wants = DeviceRequirements(200.0, 0.025, DEVICE.settled(config().settings), kind=kind)
        return odrive_setup.introduce(Line(), wants), twin


@pytest.mark.parametrize(("kind", "mode"), [(0, 1), (COMMAND_KIND_RATE, 2), (COMMAND_KIND_ANGLE, 3)])
def test_set_up_sets_the_mode_and_tells_the_units(kind, mode):
    said, twin = introduced(kind)
    assert twin.properties["axis0.controller.config.control_mode"] == mode
    assert (said.scale, said.unit, said.obeys) == (GEAR, pytest.approx(UNIT), 1 << kind)
    assert said.rate_limit == (None if kind == 0 else pytest.approx(2.0 * UNIT))


def test_a_drive_that_may_not_turn_is_refused():
    words = r"axis0.controller.config.vel_limit of the ODrive on /dev/ttyACM1 should be positive, found 0 turns/s"
    with pytest.raises(DeviceError, match=words):
        introduced(COMMAND_KIND_RATE, {"axis0.controller.config.vel_limit": 0.0})
