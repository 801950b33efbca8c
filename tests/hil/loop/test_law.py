"""The seam between the tick and a law it does not know: what a law is told, what it may remember, what it may not."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from numba import njit, typeof

from riderless.hil.loop.law import ESTIMATED_SIGNALS, LANE_SIGNALS, MEASURED_SIGNALS, REFERENCES, Law, law_entry
from riderless.hil.loop.states import Cause, Demand, State
from riderless.hil.loop.tick import tick
from riderless.hil.runners.assembly import new_loop
from tests.hil.loop.scripted import DT, Scripted
from tests.hil.machine import rig_of

TOLD = (*ESTIMATED_SIGNALS, *MEASURED_SIGNALS, "T_cut", "dt", "fresh", "steered", *LANE_SIGNALS)


@njit(cache=True, nogil=True)
def counting(settings, state, signals, reference, out):
    """Remember how often it was asked, what it was told of the cut and the references, and wish what it is set to."""
    state[0] += 1.0
    state[1] = signals.T_cut
    state[2] = reference.psi_dot_ref
    state[3] = signals.phi
    state[4] = signals.psi_dot_meas
    state[5] = signals.fresh
    state[6] = signals.dt
    out.T_req = settings[0] * state[0]


@njit(cache=True, nogil=True)
def exploding(settings, state, signals, reference, out):
    """A state that overflows under control, behind a wish that stays harmless."""
    state[0] = 2.0 * state[0] + 1e300 * signals.steered
    out.T_req = 0.0


def under(step, states, settings=(0.0,), **changes):
    """A scripted loop under that law."""
    s = Scripted()
    law = Law(law_entry(step), np.array(settings, float), states, -np.inf, np.inf)
    rig = rig_of()
    made = new_loop(rig, SimpleNamespace(law=lambda: law), s.loop.calibration)
    s.loop = s.loop._replace(law=made.law, settings=made.settings, law_state=made.law_state, **changes)
    return s


def test_another_law_needs_no_other_tick():
    one, other = Scripted(), under(counting, 7)
    assert typeof(one.loop) == typeof(other.loop)
    one.tick()
    made = len(tick.signatures)
    other.tick()
    assert len(tick.signatures) == made


def test_a_law_is_compiled_once_for_all_runs_of_a_process():
    assert law_entry(counting) == law_entry(counting) != law_entry(exploding)


def test_a_law_is_asked_once_a_tick_and_its_wish_is_logged_and_obeyed():
    s = under(counting, 7, settings=(0.01,)).running()
    before = float(s.loop.law_state[0])
    rows = [float(s.tick()["T_req"]) for _ in range(3)]
    assert rows == pytest.approx([0.01 * (before + k) for k in (1, 2, 3)])
    assert s.row["T_cmd"] == s.row["T_req"] != 0.0


def test_a_law_starts_anew_whenever_the_machine_is_armed():
    s = under(counting, 7)
    s.loop.orders["demand"] = Demand.OFF
    s.ticks(20)
    assert s.loop.law_state[0] == 1.0, "disarmed it remembers nothing"
    s.loop.orders["demand"] = Demand.RUN
    s.ticks(20)
    assert s.row["state"] == State.CHECK
    assert s.loop.law_state[0] > 10.0, "a filter may settle while a person holds the bicycle"


def test_a_law_is_told_what_the_supervisor_made_of_its_wish():
    s = under(counting, 7, settings=(5.0,)).running()
    s.tick()
    wished, obeyed = float(s.row["T_req"]), float(s.row["T_cmd"])
    assert wished > obeyed > 0.0, "the wish is beyond the limits"
    s.tick()
    assert s.loop.law_state[1] == obeyed - wished
    s.loop.settings[0] = 0.0
    s.ticks(3)
    s.tick()
    assert s.loop.law_state[1] == 0.0, "a wish that passes is not cut"


def test_a_law_is_told_estimates_readings_and_time():
    s = under(counting, 7).running()
    s.raw(0)["gyro_counts"] = 3, 4, 5
    s.tick()
    assert s.loop.law_state[3] == s.row["phi_est"]
    assert s.loop.law_state[4] == s.row["psi_dot_meas"]
    assert s.row["psi_dot_meas"] == pytest.approx(5e-3, abs=1.1e-3), "of a gyro that is never quite still"
    assert s.loop.law_state[5:].tolist() == [1.0, DT]
    s.tick(came=(0, 1))
    assert s.loop.law_state[5] == 0.0
    assert set(TOLD) == set(s.loop.signals.dtype.names)


def test_a_reference_begins_with_control_and_stays_at_its_last_value():
    played = np.zeros((3, len(REFERENCES)))
    played[:, 0] = 0.1, 0.2, 0.3
    s = under(counting, 7, references=played)
    s.ticks(5)
    assert s.loop.law_state[2] == 0.0
    s.running()
    told = []
    for _ in range(5):
        s.tick()
        told.append(float(s.loop.law_state[2]))
    assert told == [0.1, 0.2, 0.3, 0.3, 0.3]


def test_a_state_that_is_not_finite_switches_the_drive_off_though_the_wish_is_harmless():
    s = under(exploding, 1).running()
    rows = []
    while math.isfinite(s.loop.law_state[0]):
        rows.append(int(s.tick()["state"]))
        assert len(rows) < 100
    assert State(int(s.row["state"])) is State.FAULT
    assert Cause(int(s.row["cause"])) is Cause.NOT_A_NUMBER
    assert (s.row["T_cmd"], s.told()["torque_mNm"], s.told()["flags"]) == (0.0, 0, 0)
    assert rows[-2] == State.RUNNING, "up to there it was under control"
    s.tick()
    assert s.loop.law_state[0] == 0.0, "and after the fault it starts anew"
    assert s.row["state"] == State.FAULT, "which does not clear the fault"
