"""Nonlinear bicycle in python-control: its linearisation is the linear bicycle, its ride that of our integrator."""

import control
import numpy as np

from riderless.models.catalogue import load_bicycle
from riderless.models.coordinates import Q_DELTA, Q_PHI, Q_THETA_R
from riderless.models.linear.whipple import system_matrix
from riderless.models.nonlinear.control_system import NONLINEAR_STATES, nonlinear_system
from riderless.models.nonlinear.simulation import initial_state, simulate_nonlinear

SILVER = load_bicycle("Silver")
LATERAL = [NONLINEAR_STATES.index(name) for name in ("phi", "delta", "phi_dot", "delta_dot")]


def start(**given):
    q, u = initial_state(SILVER, **given)
    return q, u, np.array([*q, u[Q_PHI], u[Q_THETA_R], u[Q_DELTA]])


def test_linearised_upright_it_is_the_linear_bicycle():
    *_, x = start(v=4.5)
    A = control.linearize(nonlinear_system(SILVER), x, np.zeros(3)).A
    np.testing.assert_allclose(A[np.ix_(LATERAL, LATERAL)], system_matrix(SILVER, 4.5), atol=2e-3)


def test_it_rides_as_our_own_integrator_does():
    q, u, x = start(roll_rate=0.4, v=5.5)
    ours = simulate_nonlinear(SILVER, q, u, 2.0)
    theirs = control.input_output_response(
        nonlinear_system(SILVER), ours.t[::100], np.zeros((3, len(ours.t[::100]))), x, solve_ivp_kwargs={"rtol": 1e-9}
    )
    np.testing.assert_allclose(theirs.outputs[:8].T, ours.q[::100], atol=2e-5)
