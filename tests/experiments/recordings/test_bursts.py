"""Samples that an adapter hands over several at a time are told as bursts; theory has the loop as slow and late."""

import math
from dataclasses import replace

import pytest

from riderless.experiments.recordings import run_response
from riderless.experiments.recordings.run_response import response_of_run
from riderless.experiments.recordings.runs import sampled_rows
from riderless.experiments.theory.run_theory import instrument_noise, theory_of
from riderless.firmware_interface.twins.faults import TO_NODE, Fault, FaultKind
from riderless.hil.design.methods import design
from riderless.hil.logs import log
from riderless.hil.logs.log import read_run
from riderless.hil.rig.rig import Rig
from riderless.hil.runners import lockstep
from riderless.hil.runners.simulated_run import simulate
from riderless.models.catalogue import load_bicycle
from riderless.models.plant.plant import Kick
from riderless.models.plant.steer_drive import SteerDrive
from tests.studies.verdict_calibration import simulate as simulate_study
from tests.studies.verdict_calibration.judge import ask_verdict
from tests.studies.verdict_calibration.strata import StudyCampaign

UNDER_CONTROL = 1.1  # s since power-up
LOST = Fault(FaultKind.DROP, start=UNDER_CONTROL, chance=0.15)
NO_GOOD = tuple(
    Fault(FaultKind.READS, math.nan, start=0.1 * i - 0.0025, stop=0.1 * i + 0.0075) for i in range(12, 120)
)  # two readings of the roll gyro in a row


def ridden(monkeypatch, *faults, **rig):
    """Run of 10 s with faults of the line and the node."""
    whole = lockstep.run_in_lockstep
    with monkeypatch.context() as played:
        played.setattr(lockstep, "run_in_lockstep", lambda *some, **more: whole(*some, **more, faults=faults))
        rig = Rig(load_bicycle("Silver"), **rig)
        gains = design(rig.bicycle, "lqr", (3.0, 4.0, 5.0), rig.timing)
        return simulate(
            rig.bicycle, gains, speed=4.0, kicks=[Kick(3.0, impulse=2.0)], duration=10.0, rig=rig, model="linear"
        )


def told(response):
    return [remark for remark in response.remarks if "bursts" in remark]


@pytest.mark.parametrize(
    ("period", "said"), [(0.016, "3.2 at a time every 16 ms"), (0.006, "1.2 at a time every 6 ms")]
)
def test_bursts_are_told_with_their_number_period_and_mend(monkeypatch, tmp_path, period, said):
    """Before: of 16 ms "69 % of the samples under control are missing or no good", and a sensor was looked for."""
    run = ridden(monkeypatch, Fault(FaultKind.BURST, period, start=UNDER_CONTROL))
    response = response_of_run(run)
    (remark,) = told(response)
    assert f"t: samples came in bursts, {said}, so that the torque was late" in remark
    assert "set the latency timer of the USB adapter to 1 ms (docs/latency.md)" in remark
    assert not any("missing" in other for other in response.remarks)
    saved = run.save(tmp_path / "run")
    monkeypatch.setattr(log, "LONG_LOG_BYTES", 0)
    monkeypatch.setattr(run_response, "STRETCH_ROWS", 700)
    assert told(response_of_run(read_run(saved, everything=False, stored=True))) == [remark]


@pytest.mark.parametrize("faults", [(), (Fault(FaultKind.BURST, 0.001),), (LOST,), NO_GOOD])
def test_single_samples_and_missing_ones_are_none(monkeypatch, faults):
    assert told(response_of_run(ridden(monkeypatch, *faults))) == []


def test_a_device_that_restarts_and_a_log_without_numbers_of_samples_are_none(monkeypatch):
    run = ridden(monkeypatch)
    again = run.ticks.copy()
    again["seq"][1000:] -= again["seq"][1000]
    assert told(response_of_run(replace(run, ticks=again))) == []
    names = [name for name in run.ticks.dtype.names if name not in ("seq", "samples_lost")]
    assert told(response_of_run(replace(run, ticks=run.ticks[names].copy()))) == []


SLOW_TO_THE_NODE = Fault(FaultKind.DELAY, 0.006, start=UNDER_CONTROL, way=TO_NODE)


@pytest.mark.parametrize(
    ("period", "faults", "late"),
    [(0.016, (), 0.003875), (0.008, (), 0.004125), (0.01, (), 0.0), (0.01, (SLOW_TO_THE_NODE,), 0.005)],
)
def test_theory_has_the_loop_at_the_pace_of_the_bursts_and_as_late_as_the_node_says(
    monkeypatch, tmp_path, period, faults, late
):
    """Before: a loop of 5 ms, and nothing of the age of what it answers."""
    run = ridden(monkeypatch, Fault(FaultKind.BURST, period), *faults)
    response = response_of_run(run)
    assert response.dt == pytest.approx(period, rel=1e-3)
    assert response.theory.dynamics().dt == pytest.approx(response.dt)
    assert response.theory.known_delay == pytest.approx(run.header.rig.obeyed_after + late, abs=5e-5)
    saved = run.save(tmp_path / "run")
    assert response_of_run(read_run(saved, everything=False)).theory.known_delay == response.theory.known_delay
    monkeypatch.setattr(log, "LONG_LOG_BYTES", 0)
    monkeypatch.setattr(run_response, "STRETCH_ROWS", 700)
    long = response_of_run(read_run(saved, everything=False, stored=True))
    assert (long.dt, long.theory.known_delay) == (response.dt, response.theory.known_delay)


@pytest.mark.parametrize("lacks", ["raw bytes", "numbers of commands"])
def test_where_no_answers_are_told_the_longer_hold_alone_is_known(monkeypatch, lacks):
    run = ridden(monkeypatch, Fault(FaultKind.BURST, 0.016))
    names = [name for name in run.ticks.dtype.names if name != "command_seq"]
    run = replace(run, tapes={}) if lacks == "raw bytes" else replace(run, ticks=run.ticks[names].copy())
    response = response_of_run(run)
    assert response.dt == pytest.approx(0.016, rel=1e-3)
    assert response.theory.known_delay == pytest.approx(run.header.rig.obeyed_after + 0.000125, abs=1e-5)


@pytest.mark.parametrize("faults", [(), (LOST,), (Fault(FaultKind.BURST, 0.001),)])
def test_a_loop_whose_samples_come_one_by_one_keeps_its_pace(monkeypatch, faults):
    run = ridden(monkeypatch, *faults)
    response, ticks = response_of_run(run), sampled_rows(run.ticks)
    assert response.theory.dynamics().dt == run.header.rig.dt
    assert response.theory.known_delay == theory_of(run.header, run.header.bicycle, ticks).known_delay


def test_uneven_steps_of_the_motion_are_no_noise_of_the_instruments(monkeypatch):
    """Before: up to 35 times as large of the steer."""
    alone, bursts = (
        instrument_noise(sampled_rows(ridden(monkeypatch, *faults).ticks))
        for faults in ((), (Fault(FaultKind.BURST, 0.008),))
    )
    assert bursts[:3] == pytest.approx(alone[:3], rel=0.25)  # roll, yaw, steer; the accelerometer feels the answers too


@pytest.mark.parametrize(("bicycle", "method"), [("Rigid", "lean"), ("Fisher", "lean"), ("Pista", "lqr")])
def test_a_true_bicycle_is_accepted_though_its_samples_come_in_bursts(bicycle, method):
    """Before: p 6e-5, 3e-6 and 0.0012."""
    campaign = StudyCampaign(95200, 0, bicycle, "bursts 16 ms", method, 1.0, "single_mode")
    assert ask_verdict(campaign).p > 0.05


def test_a_drive_that_makes_too_little_is_rejected_though_samples_come_in_bursts(monkeypatch):
    monkeypatch.setattr(simulate_study, "SteerDrive", lambda: SteerDrive(gain=0.9))
    campaign = StudyCampaign(95200, 0, "Rigid", "bursts 16 ms", "lean", 1.0, "single_mode")
    assert ask_verdict(campaign).p < 1e-3


@pytest.mark.parametrize("fault", [Fault(FaultKind.BURST, 0.016, start=UNDER_CONTROL), LOST])
def test_of_a_loop_that_the_node_closed_nothing_is_late(monkeypatch, fault):
    """What the line loses or delays on its way to the log delays no torque."""
    run = ridden(monkeypatch, fault, closed_by="node")
    response, rig = response_of_run(run), run.header.rig
    assert response.theory.known_delay == rig.obeyed_after == rig.dt
    assert theory_of(run.header, rig.bicycle, sampled_rows(run.ticks)).known_delay == rig.dt
    (remark,) = [remark for remark in response.remarks if "missing" in remark]
    assert "The node closed the loop" in remark
    assert not told(response)
