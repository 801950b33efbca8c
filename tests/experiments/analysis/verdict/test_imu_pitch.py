"""Sensors that sit or scale otherwise than calibrated: what calibration leaves is accepted, more is named."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.campaigns.protocols.plan_inputs import gentle_options
from riderless.experiments.recordings.run_response import response_of_run
from riderless.experiments.reports.analyze import analyze
from riderless.hil.design.methods import design
from riderless.hil.rig.rig import Rig
from riderless.hil.runners import simulated_run
from riderless.models.catalogue import load_bicycle
from riderless.models.plant.plant import Kick

SPEEDS = (3.5, 4.5)  # m/s
KICKS = [Kick(t, impulse=3.0) for t in (0.6, 5.0, 10.0)]  # N s


def judged(monkeypatch, pitch=0.0, gyro_scale=1.0):
    """Verdict of DelftSbW2024 under LQR, its sensor pitched nose up [deg] and its gyros off, and nobody told."""
    a = np.radians(pitch)
    mounting = ((np.cos(a), 0.0, np.sin(a)), (0.0, 1.0, 0.0), (-np.sin(a), 0.0, np.cos(a)))
    level = simulated_run.emulated_node

    def pitched(rig):
        node = level(rig)
        off = replace(node.calibration, mounting=mounting, gyro_lsb=node.calibration.gyro_lsb / gyro_scale)
        return replace(node, calibration=off)

    monkeypatch.setattr(simulated_run, "emulated_node", pitched)
    rig = Rig(replace(load_bicycle("DelftSbW2024"), std={}))
    gains = design(rig.bicycle, "lqr", (3.0, 4.0, 5.0), rig.timing, **gentle_options(rig.bicycle, "lqr"))
    runs = [
        simulated_run.simulate(rig.bicycle, gains, speed=v, kicks=KICKS, duration=16.0, rig=rig, model="linear")
        for v in SPEEDS
    ]
    return analyze([response_of_run(run) for run in runs]).verdicts[0]


def test_a_true_bicycle_is_accepted_with_the_pitch_that_calibration_leaves(monkeypatch):
    found = judged(monkeypatch, 0.3)
    assert found.p > 0.1
    assert found.parameters.names == ("imu_pitch",)
    assert np.degrees(found.parameters.mean) == pytest.approx([0.3], abs=0.1)


def test_a_sensor_pitched_by_far_more_is_named_with_its_size(monkeypatch):
    found = judged(monkeypatch, -2.0)
    assert found.p < 1e-3
    best = found.causes[0]
    assert best.name == "imu_pitch"
    assert np.degrees(best.moved) == pytest.approx(-2.0, abs=0.2)
    assert f"with imu pitch at {np.degrees(best.moved):.4g} deg instead of 0, " in found.sentence


@pytest.mark.parametrize("scale", [1.08, pytest.param(0.92, marks=pytest.mark.slow)])
def test_gyros_of_another_scale_are_named_with_it(monkeypatch, scale):
    """Friction was named instead, with hundreds of chi-square left."""
    found = judged(monkeypatch, gyro_scale=scale)
    assert found.p < 1e-3
    best = found.causes[0]
    assert best.name == "gyro_scale"
    assert best.moved == pytest.approx(scale, abs=0.006)
