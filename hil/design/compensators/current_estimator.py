"""Law of regulator, current estimator and PI on the yaw rate, as Peterson's robot bicycle (2013) had it.

With y the steer angle and the roll rate of this sample, e the sum of the yaw rate's errors and K with its minus sign::

    x^[k] = (I - L H) x-[k] + L y[k]           x-[k+1] = A x^[k] + b u[k]
    u[k] = K x^[k] + r[k]                      r[k] = kp (psi_dot_ref - psi_dot) + ki e[k]

ERRATUM: in the loop that he published (``A_yr_cl``) the readings miss the torque r of the sample before, so the filter
answers r with an innovation of its own; in a machine r moves the plant, and the filter knows it.
"""

import numpy as np

from riderless.hil.controllers.controller import LinearLaw
from riderless.models.array_types import Array

ESTIMATOR_INPUTS = ("delta_meas", "phi_dot_meas", "psi_dot_meas", "psi_dot_ref")
YAW_SUM = "yaw_sum"


def current_estimator_law(A: Array, b: Array, H: Array, K: Array, L: Array, kp: float, ki: float) -> LinearLaw:
    """Law on `ESTIMATOR_INPUTS` with the states x- (n) and e.

    Parameters
    ----------
    A, b : (n, n) and (n,)
        Plant from sample to sample.
    H : (2, n)
        Readings of steer angle and roll rate.
    K : (n,)
        Regulator, u = K x.
    L : (n, 2)
        Estimator's gain on the readings of the same sample.
    kp, ki : float
        Of the yaw rate [N m s/rad]; ki per sample.
    """
    n = len(A)
    keep = np.eye(n) - L @ H
    wish = np.append(K @ keep, ki)
    error = np.array([0.0, 0.0, -1.0, 1.0])
    direct = np.append(K @ L, [0.0, 0.0]) + kp * error
    estimate = np.column_stack([L, np.zeros((n, 2))])
    own = np.block([[A @ keep, np.zeros((n, 1))], [np.zeros((1, n)), np.ones((1, 1))]])
    acted = np.append(b, 0.0)
    A_law = own + np.outer(acted, wish)
    B_law = np.vstack([A @ estimate, error]) + np.outer(acted, direct)
    return LinearLaw(ESTIMATOR_INPUTS, A_law, B_law, wish, direct)
