"""Fits in random torques: what wind, belt or road that nobody measured add to the uncertainty of an eigenvalue."""

from dataclasses import replace

import numpy as np

from riderless.experiments.analysis.comparison.noise_covariance import driven_covariance, larger_covariance
from riderless.experiments.datatypes import Fit, Response, Window
from riderless.experiments.theory.process_noise import torque_rows
from riderless.experiments.theory.theory import dynamics_for


def in_random_torques(response: Response, window: Window, fit: Fit) -> Fit:
    """Fit whose covariance is at least that of the motion which the response's random torques drive in the window.

    A fit that is not linear in the lean rate, as the joint one, stays as it is.
    """
    if response.process_noise is None or fit.influence.shape[1] != window.stop - window.start:
        return fit
    rows, before = torque_rows(dynamics_for(response), response.process_noise, window.v_mean, response.dt)
    driven = driven_covariance(rows, before, (fit.influence, np.zeros_like(fit.influence)))
    return replace(fit, covariance=larger_covariance(fit.covariance, driven))
