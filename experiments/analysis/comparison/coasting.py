"""Figure 7 of Kooijman et al. (2008), like for like.

It estimates the bias that slowing down gave to the published eigenvalues. The 26 printed eigenvalues leave the frozen
prediction by -0.199 1/s in the real part. The bicycle coasted, so its speed fell during every fit. The paper prints the
speeds at both ends of each fit, but the deceleration of run 52 only, 0.23 m/s^2, and not what slowed it: air and
rolling, in unknown shares. Here each run is simulated as it slows from its higher to its lower speed by a supposed
deceleration, under a force at a supposed place, and fitted with the same equation.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from riderless.experiments.analysis.comparison.compare import ResidualStatistics, residual_statistics
from riderless.experiments.analysis.estimators import estimate
from riderless.experiments.recordings.published import Figure7, figure7
from riderless.experiments.theories import open_loop
from riderless.experiments.theory.free_response import free_response
from riderless.models import catalogue
from riderless.models.coordinates import ANGLE_STATES, PHI_DOT, RATE_STATES, STATES
from riderless.models.linear.road_forces import RoadTerms, acceleration, drag, effective_mass, rolling, wheel_loads
from riderless.models.linear.whipple import canonical_matrices
from riderless.models.parameters import Bicycle

DECELERATIONS = (0.15, 0.23, 0.28)  # m/s^2: run 52's in the middle
COASTING_STARTS = {  # phi, delta, phi_dot, delta_dot (rad, rad/s) at the start of a fit
    "a push": (0.0, 0.0, 0.5, 0.0),
    "a turned handlebar": (0.0, 0.05, 0.0, 0.0),
}
RECORDING_STEP = 0.005  # s, of the published recordings


def _rolling_and_drag(share: float, horizontal: float, bicycle: Bicycle, force: float) -> RoadTerms:
    """Terms of a retarding ``force`` [N]: a share of rolling, on both wheels by their loads, the rest drag."""
    loads = np.array(wheel_loads(bicycle))
    rear, front = share * force * loads / loads.sum() * (bicycle.rR, bicycle.rF)
    air = drag(bicycle, (1.0 - share) * force, bicycle.xB, bicycle.zB)
    return rolling(bicycle, rear, front, horizontal) + air


RETARDING_FORCES: dict[str, Callable[[Bicycle, float], RoadTerms]] = {  # what may have slowed the bicycle
    "rear rim": lambda bicycle, force: acceleration(bicycle, 0.0),
    "air at the frame's centre": partial(_rolling_and_drag, 0.0, 1.0),
    "1/3 rolling, horizontal axis": partial(_rolling_and_drag, 1.0 / 3.0, 1.0),
    "2/3 rolling, horizontal axis": partial(_rolling_and_drag, 2.0 / 3.0, 1.0),
    "rolling, leaned axle": partial(_rolling_and_drag, 1.0, 0.0),
}


def coasting_residuals(
    deceleration: float,
    by: str = "rear rim",
    start: Sequence[float] = COASTING_STARTS["a push"],
    measured: Figure7 | None = None,
) -> ResidualStatistics:
    """Statistics of the measurements minus the same fit of the Silver bicycle as it slows.

    Parameters
    ----------
    deceleration : float
        m/s^2.
    by : str
        What slows it, a name in `RETARDING_FORCES`.
    start : (4,)
        State at the higher speed, as in `COASTING_STARTS`.
    measured : Figure7, optional
        Other measurements of the kind; the published ones when omitted.
    """
    measured = measured or figure7()
    silver = catalogue.load_bicycle("Silver")
    retarding = RETARDING_FORCES[by](silver, deceleration * effective_mass(silver))
    terms = acceleration(silver, -deceleration) + retarding
    slowing = np.zeros((len(STATES), len(STATES)))
    slowing[RATE_STATES, ANGLE_STATES] = np.linalg.solve(canonical_matrices(silver).M, terms.K) / deceleration
    dynamics = replace(open_loop(silver).dynamics(), by_acceleration=lambda v: slowing)
    like = []
    for ends in zip(measured.v_start, measured.v_end, strict=True):
        n = round((max(ends) - min(ends)) / deceleration / RECORDING_STEP) + 1
        t = RECORDING_STEP * np.arange(n)
        motion = free_response(dynamics, max(ends) - deceleration * t, RECORDING_STEP)[:, PHI_DOT] @ np.asarray(start)
        fit = estimate(t, motion)  # of less than a cycle too, as the paper fitted them
        like.append(fit.eigenvalue)
    return residual_statistics(measured, np.array(like))
