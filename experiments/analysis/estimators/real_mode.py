"""Real exponentials: motion without oscillation.

One or two of them about a constant::

    phi_dot = c1 + c2 exp(a t)  or  c1 + c2 exp(a t) + c3 exp(b t),      eigenvalues a > b

For a bicycle at rest or slower than the double-root speed, where weave has split into two real
eigenvalues (Meijaard et al. 2007, figure 3) and a falling bicycle shows the larger one.
"""

import numpy as np

from riderless.experiments.analysis.estimators.coloured_noise import NoiseCovariance, noise_covariance
from riderless.experiments.analysis.estimators.result import make_fit, too_noisy, unusable_signal
from riderless.experiments.analysis.estimators.single_mode import D_MAX, D_MIN
from riderless.experiments.analysis.estimators.variable_projection import (
    ExponentialForm,
    ProjectionFit,
    influence_matrix,
    minimise,
)
from riderless.experiments.datatypes import Fit
from riderless.models.array_types import Array

NAME = "real_mode"

ONE_RATE_GUESSES = (-6.0, -2.0, -0.5, 0.5, 2.0, 5.0)
TWO_RATE_GUESSES = ((4.0, -4.0), (1.0, -3.0), (-1.0, -6.0), (3.0, 0.5))
MIN_RATE_DISTANCE = 0.2  # 1/s; two rates nearer than that cannot be told from t exp(a t)
MIN_BIC_GAIN = 10.0  # how much the second exponential must lower the Bayesian information criterion

MIN_REAL_ROWS = 12
MIN_TIME_CONSTANTS = 1.0  # |a| T: fewer time constants within the window look like a straight line


def fit(t: Array, y: Array, near: Fit | None = None) -> Fit:
    """Fit the larger real eigenvalue a [1/s] in a response; ``im`` is 0 with variance 0.

    Parameters
    ----------
    t : (n,) time [s], evenly spaced, increasing.
    y : (n,) lean rate, in any unit.
    near : not needed here; estimators share one signature.

    Returns
    -------
    Fit
        ``re`` = a. A second exponential is used only where the data ask for it; then
        ``coefficients`` holds its rate ``b`` and ``b_std`` beside c1, c2, c3.
    """
    if reason := unusable_signal(t, y, MIN_REAL_ROWS):
        return Fit.refused(NAME, reason)
    tau = t - t[0]
    single = _search_rates(tau, y, [(a,) for a in ONE_RATE_GUESSES])
    two = _search_rates(tau, y, TWO_RATE_GUESSES)
    # Schwarz's criterion with two more unknowns
    gain = len(y) * np.log(max(single.cost, 1e-300) / max(two.cost, 1e-300)) - 2 * np.log(len(y))
    solution = two if gain > MIN_BIC_GAIN and abs(two.theta[0] - two.theta[1]) > MIN_RATE_DISTANCE else single
    rates = solution.theta
    largest, smallest = int(np.argmax(rates)), int(np.argmin(rates))
    influence = influence_matrix(solution)
    noise = noise_covariance(influence, solution.residual, solution.jacobian)
    variances = np.diag(noise.covariance)
    problem = _real_mode_problem(solution, float(rates[largest]), float(np.sqrt(variances[largest])), tau)
    coefficients = {"c1": float(solution.c[0]), "c2": float(solution.c[1 + largest])}
    if solution is two:
        coefficients |= {
            "c3": float(solution.c[1 + smallest]),
            "b": float(rates[smallest]),
            "b_std": float(np.sqrt(variances[smallest])),
        }
    return make_fit(
        NAME,
        complex(rates[largest], 0.0),
        y,
        solution.curve,
        np.vstack([influence[largest], np.zeros(len(y))]),
        jacobian=solution.jacobian,
        problem=problem,
        status=f"{len(rates)} real exponential(s), residual {solution.rms:.2g} rms",
        coefficients=coefficients,
        noise=NoiseCovariance(np.diag([variances[largest], 0.0]), noise.dof),
    )


def _search_rates(
    tau: Array, y: Array, starts: tuple[tuple[float, ...], ...] | list[tuple[float, ...]]
) -> ProjectionFit:
    """Best fit with as many exponentials as the starts have rates."""
    first = [np.array(start) for start in starts]
    p = len(first[0])
    bounds = np.full(p, D_MIN), np.full(p, D_MAX)
    return minimise(ExponentialForm(decays=p), tau, y, first, bounds)


def _real_mode_problem(solution: ProjectionFit, rate: float, std: float, tau: Array) -> str:
    """Reason why the fit may not be compared; empty when it may.

    Parameters
    ----------
    solution : ProjectionFit
    rate, std : float
        Eigenvalue that was asked for and its standard deviation [1/s].
    tau : (n,) array
        Time since the window's beginning [s].
    """
    if not D_MIN + 1e-3 < solution.theta.min() <= solution.theta.max() < D_MAX - 1e-3:
        return f"not identifiable: the search ended at its bound, {np.round(solution.theta, 2)} 1/s"
    if abs(rate) * tau[-1] < MIN_TIME_CONSTANTS:
        return f"not identifiable: {rate:.3g} 1/s over {tau[-1]:.2f} s is less than one time constant"
    if std > abs(rate):
        return f"not identifiable: {rate:.3g} 1/s has a standard deviation of {std:.2g} 1/s"
    return too_noisy(float(np.std(solution.curve)), solution.rms, motion="motion")
