"""Zero of the steer that jumps during a run, as when an index comes late: told, and no wind is named for it."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.analysis.analyze import analyze_responses
from riderless.experiments.campaigns.protocols.plan_inputs import gentle_options
from riderless.experiments.recordings.run_response import response_of_run
from riderless.firmware_interface.twins.faults import Fault, FaultKind
from riderless.hil.design.methods import design
from riderless.hil.rig.rig import Rig
from riderless.hil.runners import lockstep
from riderless.hil.runners.simulated_run import simulate
from riderless.models.catalogue import load_bicycle
from riderless.models.plant.plant import Kick


def ridden(monkeypatch, speed, *faults):
    """Run of 12 s of Rigid with three kicks and faults of the node."""
    whole = lockstep.run_in_lockstep
    with monkeypatch.context() as played:
        played.setattr(lockstep, "run_in_lockstep", lambda *some, **more: whole(*some, **more, faults=faults))
        rig = Rig(replace(load_bicycle("Rigid"), std={}))
        gains = design(rig.bicycle, "lqr", (4.0, 5.0, 6.0, 7.0), rig.timing, **gentle_options(rig.bicycle, "lqr"))
        kicks = [Kick(t, impulse=3.0) for t in (0.6, 4.2, 7.8)]
        return simulate(rig.bicycle, gains, speed=speed, kicks=kicks, duration=12.0, rig=rig, model="linear")


def told(response):
    return [remark for remark in response.remarks if "the steer jumps" in remark]


def index_at(t, degrees):
    return Fault(FaultKind.SLIP, math.radians(degrees), start=t, channel="delta")


def test_a_late_index_is_told_and_the_verdict_names_no_wind(monkeypatch):
    """Before: withheld, as if wind, belt or road had moved it 24 times as much as its kicks."""
    runs = [ridden(monkeypatch, v, index_at(6.5, 1.0)) for v in (5.0, 6.0)]
    responses = [response_of_run(run) for run in runs]
    for response in responses:
        (remark,) = told(response)
        size = re.match(r"delta_meas: the steer jumps by (\S+) deg at 6.495 s and stays, not free for 1 s: ", remark)
        assert float(size[1]) == pytest.approx(1.0, abs=0.03)
        inside = (response.t > 6.5) & (response.t < 7.49)
        assert not response.free[inside].any()
    (verdict,) = analyze_responses(responses).verdicts
    assert verdict.p > 0.05
    assert "wind," not in verdict.sentence


@pytest.mark.parametrize("degrees", [0.0, 0.1])
def test_kicks_and_what_is_too_small_to_tell_are_none(monkeypatch, degrees):
    assert told(response_of_run(ridden(monkeypatch, 5.0, index_at(6.5, degrees)))) == []


def test_an_encoder_that_is_slower_than_the_loop_jumps_nowhere(monkeypatch):
    run = ridden(monkeypatch, 5.0)
    ticks = run.ticks.copy()
    ticks["delta_meas"] = 4.0 * np.repeat(ticks["delta_meas"][::4], 4)[: len(ticks)]
    assert np.abs(np.diff(ticks["delta_meas"])).max() > math.radians(0.25)
    assert told(response_of_run(replace(run, ticks=ticks))) == []
