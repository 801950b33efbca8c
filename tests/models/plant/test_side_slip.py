"""Tyres that slip sideways: against a library's integration of the bicycle with four degrees of freedom."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.linear.side_slip import slip_balance
from riderless.models.linear.whipple import canonical_matrices, totals
from riderless.models.plant.plant import Plant, Scenario
from riderless.models.plant.side_slip import SideSlip

SILVER = catalogue.load_bicycle("Silver")
X0 = (0.03, 0.02, 0.2, -0.1)


def four_degrees(b):
    """Mass, damping per speed and stiffness (4, 4) of y_P', psi, phi and delta, without what the ground does.

    The sideways acceleration y_P'' stands in the first place; Meijaard et al. (2007), equations (A 10) to (A 15) before
    their constraints.
    """
    t, cos_lam, sin_lam = totals(b), np.cos(b.lam), np.sin(b.lam)
    M = np.array(
        [
            [t.mT, t.mT * t.xT, -t.mT * t.zT, t.mA * t.uA],
            [t.mT * t.xT, t.ITzz, t.ITxz, t.IAlz],
            [-t.mT * t.zT, t.ITxz, t.ITxx, t.IAlx],
            [t.mA * t.uA, t.IAlz, t.IAlx, t.IAll],
        ]
    )
    C = np.zeros((4, 4))
    C[1, 2], C[1, 3] = -t.ST, -t.SF * sin_lam
    C[2, 1], C[2, 3] = t.ST, t.SF * cos_lam
    C[3, 1], C[3, 2] = t.SF * sin_lam, -t.SF * cos_lam
    K = np.zeros((4, 4))
    K[2:, 2:] = b.g * canonical_matrices(b).K0
    return M, C, K


def test_four_degrees_without_slip_are_the_benchmark_equations():
    """The constraints make the published M, C1 and K2 of them."""
    b, v = SILVER, 5.0
    M, C, K = four_degrees(b)
    mu, along = totals(b).mu, np.cos(b.lam) / b.w
    # rates (y', psi', phi', delta') and accelerations by those of lean and steer; y'' = v psi'
    J = np.array([[0, 0], [0, mu], [1, 0], [0, 1]], float)
    by_rate = np.array([[0, v * mu], [0, v * along], [0, 0], [0, 0]])
    by_angle = np.array([[0, v * v * along], [0, 0], [0, 0], [0, 0]])
    psi_by_angle = np.array([[0, 0], [0, v * along], [0, 0], [0, 0]])
    wanted = canonical_matrices(b)
    assert np.allclose(J.T @ M @ J, wanted.M)
    assert np.allclose(J.T @ (M @ by_rate + v * C @ J), v * wanted.C1)
    assert np.allclose(J.T @ (M @ by_angle + v * C @ psi_by_angle + K @ J), b.g * wanted.K0 + v * v * wanted.K2)


def test_forces_and_torques_are_conjugate():
    """What a slip acceleration puts on lean and steer is what these put on the ground."""
    found = slip_balance(SILVER)
    assert np.allclose(found.N, found.N.T)
    M = np.block([[canonical_matrices(SILVER).M, found.P], [found.P.T, found.N]])
    assert np.linalg.eigvalsh(M).min() > 0.0


@pytest.mark.parametrize(("compliance", "relaxation", "v"), [(0.1, 0.1, 6.0), (0.03, 0.2, 4.0)])
def test_slip_agrees_with_another_integration(compliance, relaxation, v):
    b = SILVER
    M, C, K = four_degrees(b)
    cos_lam = np.cos(b.lam)
    stiffness = slip_balance(b).loads / compliance
    on = np.array([[1.0, 0.0, 0.0, 0.0], [1.0, b.w, 0.0, -b.c * cos_lam]])  # work of the side forces, rear and front

    def rate(_, z):
        y_dot, psi, phi, delta, psi_dot, phi_dot, delta_dot = z[:7]
        force = z[7:]
        rates = np.array([y_dot, psi_dot, phi_dot, delta_dot])
        bodies = np.linalg.solve(M, on.T @ force - v * C @ rates - K @ [0.0, 0.0, phi, delta])
        slip = on @ rates - v * psi - np.array([0.0, v * cos_lam * delta])
        force_dot = v / relaxation * (-stiffness * slip / v - force)
        return [bodies[0], psi_dot, phi_dot, delta_dot, *bodies[1:], *force_dot]

    def gripping(z0):
        """Start with the wheels where they point, and the forces that this needs: as the plant begins."""
        return [0.0, 0.0, z0[0], z0[1], totals(b).mu * z0[3] + v * z0[1] * cos_lam / b.w, z0[2], z0[3], 0.0, 0.0]

    t = 0.01 * np.arange(1, 101)
    expected = solve_ivp(rate, (0.0, 1.0), gripping(X0), "LSODA", t, rtol=1e-9, atol=1e-12).y[[2, 3, 5, 6]].T
    found, without = (ridden(v, SideSlip(compliance=c, relaxation=relaxation)) for c in (compliance, 0.0))
    effect = np.abs(expected - without).max(axis=0)
    assert (effect > 0.003).all()
    begun = 40  # its torques are a step late: the ringing of tyres that have to grip at once is off by more
    assert (np.abs(found - expected)[begun:].max(axis=0) < 0.02 * effect).all()


def ridden(v, slip):
    scenario = Scenario(speed=((0.0, v),), x0=X0, held=False)
    plant = Plant(SILVER, scenario, slip=slip)
    states = []
    for _ in range(100):
        plant.advance(0.0, False, 0.01)
        states.append(plant.state)
    return np.array(states)


def test_stiff_tyres_hardly_slip():
    stiff, without = (ridden(5.0, SideSlip(compliance=c)) for c in (1e-4, 0.0))
    assert np.abs(stiff - without).max() < 2e-3


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"compliance": -0.1}, "compliance of tyres that slip must be zero or more, and at most 1 rad, found -0.1 rad"),
        ({"relaxation": np.nan}, "relaxation of tyres that slip must be 0.001 m or more"),
    ],
)
def test_slip_without_meaning_is_refused(fields, said):
    with pytest.raises(InputError, match=said):
        SideSlip(**fields)


def test_slip_of_the_nonlinear_model_is_refused():
    with pytest.raises(InputError, match="tyres slip in the linear model only"):
        Plant(SILVER, Scenario(speed=((0.0, 5.0),)), model="nonlinear", slip=SideSlip(compliance=0.1))
