"""Samples that an adapter hands over several at a time are told as bursts, with their number, period and mend."""

import math
from dataclasses import replace

import pytest

from experiments.recordings import run_response
from experiments.recordings.run_response import response_of_run
from firmware_interface.twins.faults import Fault, FaultKind
from hil.design.methods import design
from hil.logs import log
from hil.logs.log import read_run
from hil.rig.rig import Rig
from hil.runners import lockstep
from hil.runners.simulated_run import simulate
from models.catalogue import load_bicycle
from models.plant.plant import Kick

UNDER_CONTROL = 1.1  # s since power-up
LOST = Fault(FaultKind.DROP, start=UNDER_CONTROL, chance=0.15)
NO_GOOD = tuple(
    Fault(FaultKind.READS, math.nan, start=0.1 * i - 0.0025, stop=0.1 * i + 0.0075) for i in range(12, 120)
)  # two readings of the roll gyro in a row


def ridden(monkeypatch, *faults):
    """Run of 10 s with faults of the line and the node."""
    whole = lockstep.run_in_lockstep
    with monkeypatch.context() as played:
        played.setattr(lockstep, "run_in_lockstep", lambda *some, **more: whole(*some, **more, faults=faults))
        rig = Rig(load_bicycle("Silver"))
        gains = design(rig.bicycle, "lqr", (3.0, 4.0, 5.0), rig.timing)
        return simulate(rig.bicycle, gains, speed=4.0, kicks=[Kick(3.0, impulse=2.0)], duration=10.0, rig=rig)


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
