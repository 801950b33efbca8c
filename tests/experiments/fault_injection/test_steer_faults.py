"""Fault campaign of a drive that obeys a steer rate or angle: its own faults, and a monitor that can be missed."""

import numpy as np
import pytest

from riderless.experiments.fault_injection.cases import CaseOptions, draw_case
from riderless.experiments.fault_injection.circumstances import turning_torque
from riderless.experiments.fault_injection.judge import judge_case
from riderless.experiments.fault_injection.machines import VARIED_SPEEDS, rig_and_gains
from riderless.experiments.fault_injection.ride_plan import FaultOnset
from riderless.experiments.fault_injection.simulate import play_case
from riderless.experiments.fault_injection.threats.fault_list import THREATS, ThreatPool, threats_of
from riderless.experiments.fault_injection.threats.steer_faults import steer_threats
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.hil.design.closed_loop import SampledLoop
from riderless.hil.design.sampled_plant import sampled_model
from riderless.hil.design.steered.sampled_steer import sampled_steer
from riderless.hil.loop.states import State
from riderless.hil.rig.stable import FASTEST_GROWTH
from riderless.models.errors import InputError

KINDS = ("rate", "angle")


def case_of(kind, name, turn=0):
    names = [threat.name for threat in threats_of(ThreatPool.SUDDEN, kind)]
    return draw_case(7, names.index(name) + turn * len(names), CaseOptions(drive=kind))


@pytest.mark.parametrize("kind", KINDS)
def test_it_meets_every_fault_but_those_of_a_torque(kind):
    threats = threats_of(ThreatPool.SUDDEN, kind)
    assert {t.name for t in steer_threats(kind)} <= {t.name for t in threats}
    left_out = {t.what for t in THREATS} - {t.what for t in threats}
    assert left_out == {Kind.DRIVE_LIES}
    assert threats_of(ThreatPool.SUDDEN) == THREATS, "a torque drive meets what it did"
    assert CaseOptions(drive=kind).flags == f" --drive {kind}"
    with pytest.raises(InputError, match="--drive must be torque, rate or angle, found 'speed'"):
        CaseOptions(drive="speed")


@pytest.mark.parametrize("bicycle", ["Silver", "Crescendo", "Balanceassistv1", "Fisher", "Pista"])
@pytest.mark.parametrize("method", ["rate cascade", "angle lqr", "angle cascade"])
def test_its_machines_may_be_armed_even_with_a_drive_that_is_late(bicycle, method):
    """A loop that swings by itself is no ride on which a fault could be judged."""
    rig, gains = rig_and_gains(bicycle, method)
    for late in (0.0, 0.01):  # s, the most that a ride has for its circumstance
        loop = SampledLoop.of_rig(rig, gains, more_delay=late)
        assert max(loop.eigenvalues(v)[0].real for v in (VARIED_SPEEDS[0], 5.0, VARIED_SPEEDS[1])) < FASTEST_GROWTH


@pytest.mark.parametrize("bicycle", ["Silver", "Benchmark"])
@pytest.mark.parametrize("method", ["lqr", "poles", "rate lqr", "rate cascade", "angle lqr", "angle cascade"])
def test_a_turn_leans_as_it_was_drawn(bicycle, method):
    """At rest the sampled closed loop, z = F z + G (u - K z), has the lean that the command u was made for."""
    rig, gains = rig_and_gains(bicycle, method)
    loop = (rig.bicycle, 5.0, gains.loop)
    model = sampled_model(*loop) if rig.drive is None else sampled_steer(*loop, rig.drive)
    F, G, K = model.F, model.G, model.narrow(gains.gains(5.0))
    z = np.linalg.solve(np.eye(len(F)) - F + np.outer(G, K), G * turning_torque((bicycle, method), 5.0, 0.15))
    assert z[model.states.index("phi")] == pytest.approx(0.15, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [threat.name for threat in steer_threats("rate")])
def test_promises_of_its_own_faults_are_kept(name, kind):
    case = case_of(kind, name)
    played = play_case(case)
    assert judge_case(case, played).complaints == ()
    assert (played.rows["state"] == State.RUNNING).any()
    assert played.rig.drive_kind == kind


@pytest.mark.parametrize("kind", KINDS)
def test_blind_monitor_breaks_a_promise(kind):
    def blind(loop):
        loop.limits["follow_error"] = 99.0

    cases = (case_of(kind, "drive has lost its zero", turn) for turn in range(60))
    case = next(case for case in cases if case.moment is FaultOnset.RUNNING)
    assert judge_case(case, play_case(case)).complaints == ()
    assert judge_case(case, play_case(case, blind)).complaints != ()
