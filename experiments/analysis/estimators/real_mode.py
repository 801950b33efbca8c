"""Motion without oscillation: one or two real exponentials about a constant.

    phi_dot = c1 + c2 exp(a t)  or  c1 + c2 exp(a t) + c3 exp(b t),      eigenvalues a > b

For a bicycle at rest or slower than the double-root speed, where weave has split into two real
eigenvalues (Meijaard et al. 2007, figure 3) and a falling bicycle shows the larger one.
"""

import numpy as np

from experiments.analysis.estimators.coloured_noise import Noise, noise_of
from experiments.analysis.estimators.result import answered, refused, unusable
from experiments.analysis.estimators.variable_projection import Form, ProjectionFit, minimise, sensitivity
from experiments.datatypes import Array, Fit

NAME = "real_mode"

RATE_MIN, RATE_MAX = -20.0, 12.0  # 1/s, as in single_mode
STARTS = (-6.0, -2.0, -0.5, 0.5, 2.0, 5.0)
STARTS_TWO = ((4.0, -4.0), (1.0, -3.0), (-1.0, -6.0), (3.0, 0.5))
APART = 0.2  # 1/s; two rates nearer than that cannot be told from t exp(a t)
WORTH = 10.0  # how much the second exponential must lower the Bayesian information criterion

MIN_SIGNAL = 2.0  # rms of the exponentials over rms of the residual
MIN_ROWS = 12
MIN_CHANGE = 1.0  # |a| T: fewer time constants within the window look like a straight line


def fit(t: Array, y: Array, near: Fit | None = None) -> Fit:
    """The larger real eigenvalue a [1/s] in a response; ``im`` is 0 with variance 0.

    Parameters
    ----------
    t : (n,) time [s], evenly spaced, increasing.
    y : (n,) lean rate, in any unit.
    near : not needed here.

    Returns
    -------
    Fit
        ``re`` = a. A second exponential is used only where the data ask for it; then
        ``coefficients`` holds its rate ``b`` and ``b_std`` beside c1, c2, c3.
    """
    if reason := unusable(t, y, MIN_ROWS):
        return refused(reason, NAME)
    tau = t - t[0]
    one = search(tau, y, [(a,) for a in STARTS])
    two = search(tau, y, STARTS_TWO)
    # Schwarz's criterion with two more unknowns
    gain = len(y) * np.log(max(one.cost, 1e-300) / max(two.cost, 1e-300)) - 2 * np.log(len(y))
    solution = two if gain > WORTH and abs(two.theta[0] - two.theta[1]) > APART else one
    rates = solution.theta
    largest, smallest = int(np.argmax(rates)), int(np.argmin(rates))
    answer = sensitivity(solution)
    noise = noise_of(answer, solution.residual, solution.jacobian)
    variances = np.diag(noise.covariance)
    problem = judge(solution, float(rates[largest]), tau)
    coefficients = {"c1": float(solution.c[0]), "c2": float(solution.c[1 + largest])}
    if solution is two:
        coefficients |= {
            "c3": float(solution.c[1 + smallest]),
            "b": float(rates[smallest]),
            "b_std": float(np.sqrt(variances[smallest])),
        }
    return answered(
        NAME,
        complex(rates[largest], 0.0),
        y,
        solution.curve,
        np.vstack([answer[largest], np.zeros(len(y))]),
        taken=solution.jacobian,
        problem=problem,
        status=f"{len(rates)} real exponential(s), residual {solution.rms:.2g} rms",
        coefficients=coefficients,
        noise=Noise(np.diag([variances[largest], 0.0]), noise.dof),
    )


def search(tau: Array, y: Array, starts: tuple[tuple[float, ...], ...] | list[tuple[float, ...]]) -> ProjectionFit:
    """Best fit with as many exponentials as the starts have rates."""
    first = [np.array(start) for start in starts]
    p = len(first[0])
    bounds = np.full(p, RATE_MIN), np.full(p, RATE_MAX)
    return minimise(Form(decays=p), tau, y, first, bounds)


def judge(solution: ProjectionFit, rate: float, tau: Array) -> str:
    """Why the fit may not be compared; empty when it may."""
    if not RATE_MIN + 1e-3 < solution.theta.min() <= solution.theta.max() < RATE_MAX - 1e-3:
        return f"not identifiable: the search ended at its bound, {np.round(solution.theta, 2)} 1/s"
    if abs(rate) * tau[-1] < MIN_CHANGE:
        return f"not identifiable: {rate:.3g} 1/s over {tau[-1]:.2f} s is less than one time constant"
    if np.std(solution.curve) < MIN_SIGNAL * solution.rms:
        return f"too noisy: the motion's rms is under {MIN_SIGNAL:g} times the residual's"
    return ""
