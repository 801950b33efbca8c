"""Noise of a sensor of place in theory's loop, beside the heading that it makes in an emulated bicycle left alone."""

import numpy as np
import pytest

from riderless.experiments.theory.kalman import settled_covariance
from riderless.experiments.theory.run_theory import fix_deviation, loop_theory
from riderless.hil.design.methods import design
from riderless.hil.logs.log import read_run
from riderless.hil.loop.states import State
from riderless.hil.rig.fitting import with_emulated_place
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models import catalogue
from riderless.models.plant.plant import Scenario


def test_the_heading_that_noise_makes_is_foretold(tmp_path):
    bicycle, v = catalogue.load_bicycle("Silver"), 5.0
    rig = with_emulated_place(Rig(bicycle))
    gains = design(bicycle, "lane", [4.5, 4.75, 5.0, 5.25, 5.5], weights={"T_delta": 0.5})
    run_lockstep(tmp_path / "run", rig, gains, Scenario(speed=((0.0, v),), seed=5), 60.0, "still")
    ticks = read_run(tmp_path / "run").ticks
    rows = ticks[(ticks["state"] == State.RUNNING)]
    made = rows["psi_est"][len(rows) // 5 :].std()
    instruments = np.array([0.003, 0.003, 2.0 * np.pi / 20000.0 / np.sqrt(12.0), 0.03])  # of the emulated machine
    dynamics = loop_theory(rig, gains, "lane", instruments).dynamics()
    heading = dynamics.states.index("psi_place")

    def foretold(noise):
        return np.sqrt(settled_covariance(dynamics.matrix(v), noise @ noise.T)[heading, heading])

    with_place, without = foretold(dynamics.noise(v)), foretold(dynamics.noise(v)[:, :-1])
    assert made == pytest.approx(with_place, rel=0.1)
    assert made > 1.15 * without


def test_a_rig_without_a_sensor_of_place_has_no_such_noise():
    rig = Rig(catalogue.load_bicycle("Silver"))
    assert fix_deviation(rig) == 0.0
    # 2 mm and the steps of whole millimetres, 100 fixes a second for 200 samples
    assert fix_deviation(with_emulated_place(rig)) == pytest.approx(1e-3 * np.sqrt((4.0 + 1.0 / 12.0) * 2.0))
