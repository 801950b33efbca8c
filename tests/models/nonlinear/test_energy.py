"""Sixty seconds of free motion: what must stay, stays."""

import numpy as np
import pytest

from riderless.models import catalogue
from riderless.models.coordinates import Q_PSI
from riderless.models.nonlinear.equations import integrate_steps
from riderless.models.nonlinear.parameters import pack_bicycle
from riderless.models.nonlinear.simulation import initial_state
from tests.models.nonlinear import four_bodies

SECONDS, DT = 60, 0.001


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("Benchmark", {"roll_rate": 0.5, "v": 4.6}),
        ("Benchmark", {"roll": 0.2, "steer": -0.1, "roll_rate": -0.3, "steer_rate": 1.0, "v": 5.5}),
        ("Silver", {"roll_rate": 0.3, "v": 5.0}),
        ("TwoMassSkateTheory", {"roll_rate": 0.1, "v": 4.0}),
    ],
)
def test_energy_and_ground_over_a_minute(name, start):
    bicycle = catalogue.load_bicycle(name)
    p = pack_bicycle(bicycle)
    q, u = initial_state(bicycle, **start)
    before = four_bodies.energy(bicycle, q, u)
    for _ in range(SECONDS):
        assert integrate_steps(p, q, u, np.zeros(3), DT, 1000) == 1000
        assert abs(four_bodies.energy(bicycle, q, u) - before) <= 1e-10 * before
        _, contact, _ = four_bodies.bodies(bicycle, q, u)
        assert abs(contact[2]) <= 1e-12


def test_halving_the_step_divides_the_error_by_sixteen():
    bicycle = catalogue.load_bicycle("Benchmark")
    p = pack_bicycle(bicycle)

    def after_a_second(steps):
        q, u = initial_state(bicycle, roll=0.2, steer=-0.3, roll_rate=0.5, steer_rate=2.0, v=5.0)
        assert integrate_steps(p, q, u, np.zeros(3), 1.0 / steps, steps) == steps
        return q

    exact = after_a_second(6400)
    errors = [np.abs(after_a_second(steps) - exact)[Q_PSI] for steps in (100, 200, 400)]
    assert 12.0 < errors[0] / errors[1] < 20.0
    assert 12.0 < errors[1] / errors[2] < 20.0
