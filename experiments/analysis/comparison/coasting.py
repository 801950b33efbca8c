"""Figure 7 of Kooijman et al. (2008) like for like: the part of its bias that comes from slowing down.

The 26 printed eigenvalues leave the frozen prediction by -0.199 1/s in the real part. The bicycle coasted, so its
speed fell during every fit. The paper prints the speeds at both ends of each fit, but the deceleration of run 52
only, 0.23 m/s^2. Here each run is simulated as it slows from its higher to its lower speed by a supposed
deceleration, and fitted with the same equation.
"""

from collections.abc import Sequence

import numpy as np

from riderless.experiments.analysis.comparison.compare import ResidualStatistics, residual_statistics
from riderless.experiments.analysis.estimators import estimate
from riderless.experiments.recordings.published import Figure7, figure7
from riderless.experiments.theories import open_loop
from riderless.experiments.theory.free_response import free_response
from riderless.models import catalogue
from riderless.models.coordinates import PHI_DOT

DECELERATIONS = (0.15, 0.23, 0.35)  # m/s^2: run 52's in the middle
COASTING_STARTS = {  # phi, delta, phi_dot, delta_dot (rad, rad/s) at the start of a fit
    "a push": (0.0, 0.0, 0.5, 0.0),
    "a turned handlebar": (0.0, 0.05, 0.0, 0.0),
}
RECORDING_STEP = 0.005  # s, of the published recordings


def coasting_residuals(
    deceleration: float, start: Sequence[float] = COASTING_STARTS["a push"], measured: Figure7 | None = None
) -> ResidualStatistics:
    """Statistics of the measurements minus the same fit of the Silver bicycle that slows by ``deceleration`` [m/s^2].

    Parameters
    ----------
    deceleration : float
        m/s^2.
    start : (4,)
        State at the higher speed, as in `COASTING_STARTS`.
    measured : Figure7, optional
        Other measurements of the kind; the published ones when omitted.
    """
    measured = measured or figure7()
    dynamics = open_loop(catalogue.load_bicycle("Silver")).dynamics()
    like = []
    for ends in zip(measured.v_start, measured.v_end, strict=True):
        n = round((max(ends) - min(ends)) / deceleration / RECORDING_STEP) + 1
        t = RECORDING_STEP * np.arange(n)
        motion = free_response(dynamics, max(ends) - deceleration * t, RECORDING_STEP)[:, PHI_DOT] @ np.asarray(start)
        fit = estimate(t, motion)  # of less than a cycle too, as the paper fitted them
        like.append(fit.eigenvalue)
    return residual_statistics(measured, np.array(like))
