"""Samples that are missing now and then: the drive holds its command there, and theory's responses are as late."""

from dataclasses import replace

from riderless.experiments.analysis.frequency_response.goodness_of_fit import goodness
from riderless.experiments.analysis.frequency_response.response import frequency_response
from riderless.experiments.campaigns.protocols import sine_sweep
from riderless.experiments.campaigns.protocols.plan_inputs import NamedController, PlanInputs
from riderless.firmware_interface.twins.faults import Fault, FaultKind
from riderless.hil.logs.log import read_run
from riderless.hil.runners import lockstep
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models.catalogue import load_bicycle

UNDER_CONTROL = 1.1  # s since power-up


def test_a_true_bicycle_is_accepted_though_a_twentieth_of_its_samples_is_missing(tmp_path, monkeypatch):
    """Before: p 2e-5 of the loop and 2e-6 of the plant; without gaps they are 0.85 and 0.95."""
    whole = lockstep.run_in_lockstep
    gaps = (Fault(FaultKind.DROP, start=UNDER_CONTROL, chance=0.05, seed=5),)
    monkeypatch.setattr(lockstep, "run_in_lockstep", lambda *some, **more: whole(*some, **more, faults=gaps))
    controller = NamedController("lqr", "lqr", {"weights": {"T_delta": 0.5}})
    settings = sine_sweep.Settings(kind="sine_sweep", speeds_m_s=(5.0,), duration_s=40.0, f_high_Hz=4.0)
    (c,) = sine_sweep.plan(settings, PlanInputs((load_bicycle("Benchmark"),), (controller,), seed=(1,)))
    rig = replace(c.rig, std={"imu_pitch": 0.0})
    run_lockstep(tmp_path / "run", rig, c.schedule, c.scenario, c.duration, c.label, None, c.emulation, c.task)
    found = frequency_response(read_run(tmp_path / "run"))
    assert goodness(found, "loop").p > 0.05
    assert goodness(found, "plant").p > 0.05
