"""What the tick asks of the drive: gains over speed, played torque, releases."""

import math

import numpy as np
import pytest

from riderless.hil.controllers.gains import gains_law, gains_step
from riderless.hil.loop.excitation import Excitation
from riderless.hil.loop.law import LOOP_REFERENCE, LOOP_SIGNALS, WISH
from riderless.hil.loop.states import Verdict
from tests.hil.loop.scripted import DT, Scripted

ESTIMATED = ("phi", "delta", "phi_dot", "delta_dot", "T", "u_prev")


def requested_torque(speeds, gains, e):
    """Wish of the law of gains [N m]."""
    out, law = np.zeros(1, WISH)[0], gains_law(speeds, gains)
    gains_step(law.settings, np.zeros(law.states), e, np.zeros(1, LOOP_REFERENCE)[0], out)
    return float(out["T_req"])


@pytest.mark.parametrize(
    ("v", "wanted"),
    [
        (1.0, -1.0),  # below all: the slowest gains
        (2.0, -1.0),
        (3.0, -3.0),  # half way
        (4.0, -5.0),
        (4.5, -6.5),  # a quarter of the way from 5 to 11
        (6.0, -11.0),
        (9.0, -11.0),  # above all: the fastest
    ],
)
@pytest.mark.parametrize("state", range(6))
def test_gains_are_interpolated_over_speed_and_kept_beyond_the_ends(v, wanted, state):
    e = np.zeros(1, LOOP_SIGNALS)[0]
    e["v"], e[ESTIMATED[state]] = v, 2.0
    gains = np.zeros((3, 6))
    gains[:, state] = 0.5, 2.5, 5.5
    assert requested_torque(np.array([2.0, 4.0, 6.0]), gains, e) == pytest.approx(wanted)


def test_gains_of_one_speed_hold_at_all():
    e = np.zeros(1, LOOP_SIGNALS)[0]
    for v in (0.5, 3.0, 7.0):
        e["v"], e["phi"], e["delta_dot"] = v, 0.1, -1.0
        assert requested_torque(np.array([3.0]), np.array([[10.0, 0, 0, 2.0, 0, 0]]), e) == pytest.approx(1.0)


def test_a_law_of_gains_knows_its_speeds_and_remembers_nothing():
    speeds = np.array([2.0, 4.0, 6.0])
    law = gains_law(speeds, np.full((3, 6), 0.5))
    assert (law.states, law.slowest, law.fastest) == (0, 2.0, 6.0)
    none = gains_law(speeds, np.zeros((3, 6)))
    assert (none.states, none.slowest, none.fastest) == (0, -math.inf, math.inf)


def test_the_excitation_begins_with_control_and_not_before():
    s = Scripted(excitation=Excitation("push", 1.0, 4 * DT))  # sin(pi k / 4) N m
    assert s.ticks(5)["T_req"] == pytest.approx(0.0, abs=1e-12)
    s.running()
    played = [float(s.tick()["T_req"]) for _ in range(6)]
    assert played == pytest.approx([0.0, math.sqrt(0.5), 1.0, math.sqrt(0.5), 0.0, 0.0], abs=1e-3)


def test_a_release_begins_after_as_many_ticks_under_control_as_asked_for():
    s = Scripted(excitation=Excitation(releases=((3 * DT, 2 * DT),)))
    s.ticks(10)
    s.running()
    released = [bool(s.tick()["verdict"] & Verdict.RELEASED) for _ in range(8)]
    assert released == [False] * 3 + [True] * 2 + [False] * 3
