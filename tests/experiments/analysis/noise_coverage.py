"""Coverage of intervals under white and coloured noise, by the degrees of freedom that Student's t is given.

The large study, 2000 records a noise: ``python -m tests.experiments.analysis.noise_coverage 2000``.
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtri, stdtrit

from riderless.experiments.analysis.estimators import single_mode
from riderless.experiments.analysis.estimators.coloured_noise import (
    arma_grid,
    noise_covariance,
    noise_posterior,
    prior_probabilities,
    propagated_covariance,
)
from riderless.experiments.analysis.estimators.variable_projection import influence_matrix, solution_at
from riderless.experiments.datatypes import Array

LEVEL = 0.95
D, W = -1.5, 6.0  # 1/s, of the oscillation whose eigenvalue is estimated
CYCLES = 2.0  # in the record
SETTLING = 2000  # rows before the record, in which the noise forgets its beginning
DOFS = ("n - m", "disagreement", "infinite")

Noise = Callable[[np.random.Generator, int], Array]


def arma(rng: np.random.Generator, n: int, rho: float, theta: float = 0.0) -> Array:
    """(1 - rho L) e = (1 - theta L) white, (n,)."""
    return lfilter([1.0, -theta], [1.0, -rho], rng.normal(size=n + SETTLING))[SETTLING:]


def from_the_grid(rng: np.random.Generator, n: int) -> Array:
    """A noise as likely as the estimate's own prior has it."""
    models = arma_grid(n)
    return arma(rng, n, *models[rng.choice(len(models), p=prior_probabilities(models))])


def hidden(rng: np.random.Generator, n: int) -> Array:
    """White noise that hides a slow one: a tenth of the record in correlation time, a quarter of white's power."""
    rho = np.exp(-10.0 / n)
    return rng.normal(size=n) + 0.5 * np.sqrt(1.0 - rho**2) * arma(rng, n, rho)


NOISES: dict[str, Noise] = {
    "white": lambda rng, n: rng.normal(size=n),
    "lag-1 of 0.44, as measured": lambda rng, n: arma(rng, n, 0.44),
    "lag-1 of 0.8": lambda rng, n: arma(rng, n, 0.8),
    "drawn from the grid": from_the_grid,
    "slow, hidden under white": hidden,
}


def coverage(noise: Noise, n: int, records: int, seed: int = 0) -> tuple[Array, Array]:
    """Share of 95 % intervals of (re, im) that hold the truth (3, 2), by the choices of `DOFS`; and middle dof (3,).

    The fit is the linearised one, about the truth: the covariance is under test, not the search.
    """
    rng, t = np.random.default_rng(seed), np.linspace(0.0, CYCLES * 2.0 * np.pi / W, n)
    at = solution_at(single_mode.FORM, t, np.exp(D * t) * np.cos(W * t), np.array([D, W]))
    influence, jacobian, models = influence_matrix(at), at.jacobian, arma_grid(n)
    basis = np.linalg.qr(jacobian)[0]
    unit = np.array([np.diag(propagated_covariance(influence, model[None], np.ones(1))) for model in models])
    held, dofs = np.zeros((len(DOFS), 2)), np.empty((records, len(DOFS), 2))
    for k in range(records):
        e = noise(rng, n)
        residual, error = e - basis @ (basis.T @ e), influence @ e
        found = noise_covariance(influence, residual, jacobian)
        posterior = noise_posterior(residual, jacobian)
        variances = posterior.variances[:, None] * unit  # (G, 2), of re and im under each model
        mean = posterior.weights @ variances
        # Satterthwaite: twice the squared mean over the variance, both within and between the models
        spread = (1.0 + 2.0 / posterior.dof) * (posterior.weights @ variances**2) / mean**2 - 1.0
        dofs[k] = np.array([np.full(2, found.dof), 2.0 / spread, np.full(2, np.inf)])
        tail = 0.5 + 0.5 * LEVEL
        factor = np.where(np.isinf(dofs[k]), ndtri(tail), stdtrit(np.minimum(dofs[k], 1e9), tail))
        held += np.abs(error) <= factor * np.sqrt(np.diag(found.covariance))
    return held / records, np.median(dofs, axis=(0, 2))


def table(records: int, lengths: tuple[int, ...] = (60, 100, 200, 400)) -> str:
    """Coverage of re and im in per cent, by noise, rows of the record and degrees of freedom."""
    lines = [f"{'noise':28} {'rows':>5}  " + "  ".join(f"{name:>20}" for name in DOFS)]
    for name, noise in NOISES.items():
        for n in lengths:
            held, dof = coverage(noise, n, records)
            cells = [f"{100 * re:.1f} {100 * im:.1f} ({nu:.0f})" for (re, im), nu in zip(held, dof, strict=True)]
            lines.append(f"{name:28} {n:5}  " + "  ".join(f"{cell:>20}" for cell in cells))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table(int(sys.argv[1]) if len(sys.argv) > 1 else 500) + "\n")
