"""Front tyre with a twisting torque and a pneumatic trail: against a library's integration of the linear bicycle."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from riderless.models import catalogue
from riderless.models.coordinates import DELTA, DELTA_DOT
from riderless.models.errors import InputError
from riderless.models.linear.path import heading_rate, lateral_forces
from riderless.models.linear.whipple import input_matrix, system_matrix
from riderless.models.plant.plant import Plant, Scenario
from riderless.models.plant.tyres import FrontTyre

SILVER = catalogue.load_bicycle("Silver")
V = 6.0
X0 = (0.03, 0.02, 0.2, -0.1)


def ridden(tyre, model="linear", duration=1.0):
    scenario = Scenario(speed=((0.0, V),), x0=X0, held=False)
    plant = Plant(SILVER, scenario, model=model, tyre=tyre)
    states = []
    for _ in range(round(duration / 0.01)):
        plant.advance(0.0, False, 0.01)
        states.append(plant.state)
    return np.array(states)


@pytest.mark.parametrize(
    "tyre", [FrontTyre(twisting=2.0), FrontTyre(trail=0.01), FrontTyre(relaxation=0.3, trail=0.01)]
)
def test_a_tyre_agrees_with_another_integration(tyre):
    A, b = system_matrix(SILVER, V), input_matrix(SILVER)[:, 1]
    lever = np.cos(SILVER.lam) * (1.0 + SILVER.c / SILVER.w)

    def rate(_, y):
        x, T = y[:4], y[4]
        x_dot = A @ x + b * T
        spin = (heading_rate(SILVER, V, x) + np.cos(SILVER.lam) * x[DELTA_DOT]) / V
        side = lateral_forces(SILVER, V, x, x_dot)[1]
        wanted = -lever * (tyre.twisting * spin + tyre.trail * side)
        return np.append(x_dot, (wanted - T) * V / tyre.relaxation)

    t = 0.01 * np.arange(1, 101)
    expected = solve_ivp(rate, (0.0, 1.0), (*X0, 0.0), t_eval=t, rtol=1e-9, atol=1e-12).y[:4].T
    found, without = ridden(tyre), ridden(FrontTyre())
    effect = np.abs(expected - without).max(axis=0)
    assert (effect > 0.003).all()
    assert (np.abs(found - expected).max(axis=0) < 0.01 * effect).all()


def test_both_models_agree_on_small_motions():
    tyre = FrontTyre(twisting=1.0, trail=0.005)
    linear, nonlinear = (ridden(tyre, model, 0.5) for model in ("linear", "nonlinear"))
    assert np.abs(linear - nonlinear).max() < 0.02 * np.abs(linear).max()


def test_a_tyre_in_a_persons_hands_makes_no_torque():
    plant = Plant(SILVER, Scenario(speed=((0.0, V),), x0=X0), tyre=FrontTyre(twisting=2.0))
    plant.advance(0.0, False, 0.1)
    assert plant.s["tyre_torque"][0] == 0.0
    assert plant.state[DELTA] == 0.0


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"twisting": -1.0}, "twisting of the front tyre must be zero or more"),
        ({"trail": np.nan}, "trail of the front tyre must be zero or more, and at most 0.1 m, found nan m"),
        ({"relaxation": 0.0}, "relaxation of the front tyre must be 0.001 m or more"),
    ],
)
def test_a_tyre_without_meaning_is_refused(fields, said):
    with pytest.raises(InputError, match=said):
        FrontTyre(**fields)
