"""Speed loop against the emulated belt, without a bicycle: PI, limits, anti-windup, and what counts as a failure."""

import numpy as np
import pytest

from riderless.firmware_interface.devices.link import LINK_STATE, ROLE_SPEED, new_link
from riderless.firmware_interface.devices.speed.treadmill import receive, speak
from riderless.firmware_interface.twins.speed.belt import (
    BELT_SCALE,
    BELT_TIME_OUT,
    BeltFault,
    hear_belt,
    move_belt,
    new_belt,
    report_belt,
)
from riderless.hil.loop.pace.settings import SpeedDrive, speed_corners
from riderless.hil.loop.pace.speed_hold import asked_at, hold_speed, new_pacing
from riderless.hil.loop.states import State, Symptom
from riderless.models.errors import InputError

DT = 0.005


class Bench:
    """Loop and belt, joined by their bytes."""

    def __init__(self, corners, faults=(), **settings):
        self.p = SpeedDrive(**settings).as_record(10.0)
        self.s, self.belt, self.corners = new_pacing(), new_belt(faults), speed_corners(corners)
        self.links = np.zeros(1, LINK_STATE)
        self.links[0] = new_link()
        self.links[0]["role"] = ROLE_SPEED
        self.out, self.t, self.under_control, self.rows = np.zeros(256, np.uint8), 0.0, 0.0, []

    def run(self, seconds, state=State.RUNNING, slip=0.0):
        """Let time pass; the first time [s] at which the drive is said to have failed, or None."""
        failed = None
        for _ in range(round(seconds / DT)):
            hear_belt(self.belt, self.out, speak(self.links[0], self.links[0], 0, self.out), self.t)
            move_belt(self.belt, self.t, DT)
            receive(self.links[0], self.out, report_belt(self.belt, self.t, self.out))
            self.under_control += DT if state == State.RUNNING else 0.0
            v = self.belt["speed"] - slip
            on = hold_speed(self.p, self.s, self.corners, self.links, v, int(state), self.under_control, DT)
            self.t += DT
            self.rows.append((self.t, self.s["asked"], v, self.s["command"], self.s["integral"]))
            failed = self.t if on and failed is None else failed
            assert on in (0, Symptom.SPEED_DRIVE)
        return failed

    @property
    def table(self):
        return np.array(self.rows).T


def started(corners=((0.0, 4.0),), faults=(), **settings):
    """Belt that has come to its first speed in CHECK."""
    bench = Bench(corners, faults, **settings)
    assert bench.run(0.5, State.DISARMED) is None
    assert bench.belt["speed"] == 0.0
    assert bench.run(8.0, State.CHECK) is None
    return bench


def test_a_belt_that_shows_too_much_is_brought_to_what_was_asked():
    bench = started()
    assert bench.run(10.0) is None
    _, asked, v, command, _ = bench.table
    assert np.diff(asked).max() <= 1.0 * DT + 1e-12, "in a ramp"
    assert v[-1] == pytest.approx(4.0, abs=0.005)
    assert command[-1] == pytest.approx(4.0 / BELT_SCALE, abs=0.01), "by its own scale"
    assert v.max() < 4.15, "no overshoot to speak of"


def test_a_ramp_is_followed_and_the_belt_stops_when_control_ends():
    bench = started(((0.0, 4.0), (2.0, 4.0), (7.0, 6.0)))
    bench.run(9.0)
    t, asked, v, *_ = bench.table
    under = t - (t[-1] - 9.0)
    by_hand = np.interp(under, [2.0, 7.0], [4.0, 6.0])
    on = under > 0.0
    assert asked[on] == pytest.approx(by_hand[on], abs=0.01)
    late = np.interp(under - 0.35, [2.0, 7.0], [4.0, 6.0])  # the belt's lag, and half the time between two commands
    assert v[on] == pytest.approx(late[on], abs=0.06)
    bench.run(9.0, State.RAMPDOWN)
    assert bench.belt["speed"] == 0.0
    first = bench.table[2][-round(9.0 / DT) :][round(0.1 / DT)]
    assert first < 6.0, "it is told at once"


def test_the_integral_waits_at_a_limit():
    """A wheel that slips by more than the trim can give: without anti-windup the integral would run to its end."""
    bench = started(trim=0.3, follow_error=1.5, follow_time=5.0)
    bench.run(20.0, slip=1.0)
    *_, command, integral = bench.table
    assert command.max() <= 4.3 + 1e-9
    assert integral.max() < 0.3 - 0.05
    bench.run(1.0)  # the wheel holds again: the command leaves its limit at once
    assert bench.table[3][-1] < 4.29


@pytest.mark.parametrize(
    ("kind", "within"),
    [
        ("silent", 0.65),
        ("frozen", 0.65),
        ("deaf", 1.5),  # it comes to rest by its own time-out, and says so
        ("stands", 0.8),
        ("slow", 3.0),  # a fifth is missing: more than the trim can give
        ("runs_away", 0.9),
        ("reports_fault", 0.15),
        ("stop_button", 0.15),
    ],
)
def test_a_belt_that_fails_is_noticed(kind, within):
    bench = started(faults=(BeltFault(kind, 10.0),))
    begun = bench.belt["ran_from"] + 10.0
    failed = bench.run(6.0)
    assert failed is not None, kind
    assert 0.0 < failed - begun <= within, failed - begun
    assert started().run(6.0) is None, "and a healthy one is not"


def test_a_program_that_dies_leaves_no_running_belt():
    bench = started()
    for k in range(round(8.0 / DT)):
        move_belt(bench.belt, bench.t + k * DT, DT)
    assert bench.belt["speed"] == 0.0
    assert BELT_TIME_OUT == 0.5
    bench.t += 8.0
    bench.run(1.0)
    assert bench.belt["speed"] == 0.0, "not even when it hears that it shall run"
    bench.run(0.3, State.DISARMED)
    bench.run(2.0, State.CHECK)
    assert bench.belt["speed"] > 1.0, "but after it was told not to"


def test_corners_are_lines():
    corners = speed_corners(((1.0, 2.0), (3.0, 6.0)))
    t = np.linspace(0.0, 5.0, 51)
    assert [asked_at(corners, each) for each in t] == pytest.approx(np.interp(t, corners[:, 0], corners[:, 1]))
    assert asked_at(np.zeros((0, 2)), 1.0) == 0.0
    with pytest.raises(InputError, match="whose times increase"):
        speed_corners(((1.0, 2.0), (1.0, 3.0)))
    with pytest.raises(InputError, match=r"wants a ramp from 0\.05 to 3 m/s\^2, found 9"):
        SpeedDrive(ramp=9.0)
