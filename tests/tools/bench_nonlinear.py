"""How fast the nonlinear bicycle is: one alone in a compiled loop, and many in the lanes of the processor."""

import time
from collections.abc import Callable

import numpy as np
from numba import njit

from riderless.models import catalogue
from riderless.models.coordinates import Q_DELTA, Q_PHI, Q_THETA_R
from riderless.models.nonlinear.ensemble import LANES, Ensemble
from riderless.models.nonlinear.equations import integrate_steps, nonlinear_derivative
from riderless.models.nonlinear.parameters import pack_bicycle
from riderless.models.nonlinear.simulation import initial_state

DURATION, DT = 5.0, 0.001  # s, figure 4 of Meijaard et al. (2007)
BICYCLES = 8 * LANES
EVALUATIONS = 20_000
REPETITIONS = 60


@njit
def _evaluate(p, x, T, x_dot, n):
    """Rates of the state, over and over, each from a state that depends on the rates before."""
    for _ in range(n):
        nonlinear_derivative(p, x, T, x_dot)
        x[Q_PHI] = 1e-9 * x_dot[8]


def bench() -> dict[str, float]:
    """Best of some repetitions, in processor time: microseconds an evaluation, and milliseconds for figure 4.

    An evaluation is the rate of the whole state: alone, in a compiled loop; of the ensemble, a quarter of a Runge-Kutta
    step of one bicycle, with its share of settling the pitch and watching the domain.
    """
    steps = round(DURATION / DT)
    bicycle = catalogue.load_bicycle("Benchmark")
    p, T = pack_bicycle(bicycle), np.zeros(3)
    q, u = initial_state(bicycle, roll_rate=0.5, v=4.6)
    alone = _best(lambda: integrate_steps(p, q.copy(), u.copy(), T, DT, steps))

    x, x_dot = np.concatenate([q, u[[Q_PHI, Q_THETA_R, Q_DELTA]]]), np.empty(11)
    evaluations = _best(lambda: _evaluate(p, x, T, x_dot, EVALUATIONS))

    crowd = Ensemble.starting([bicycle] * BICYCLES, roll_rate=np.linspace(0.1, 0.5, BICYCLES), v=4.6)
    together = _best(lambda: crowd.advance(DT, steps // 10))
    return {
        "figure_4_ms": 1e3 * alone,
        "evaluation_us": 1e6 * evaluations / EVALUATIONS,
        "ensemble_evaluation_us": 1e6 * together / (4 * (steps // 10) * BICYCLES),
    }


def _best(work: Callable[[], object]) -> float:
    """Least processor time [s] of a call, compiled before."""
    work()
    times = []
    for _ in range(REPETITIONS):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)
