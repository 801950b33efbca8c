"""Uncertain parameters in the verdict: the bicycle within its standard deviations that explains a campaign best.

The model is asked whether any bicycle that it allows for explains the data: the minimum over the parameters p of

    (y - like(p))' S^-1 (y - like(p)) + (p - p0)' P^-1 (p - p0)

with y the measured eigenvalues, like(p) what the same estimator finds in the same windows of the moved bicycle, S the
covariance of their difference and P that of the parameters. It is chi-square distributed as (y - like)'
(S + J P J')^-1 (y - like) is where like(p) is linear; S is small beside what the deviations do, so the curvature of
like(p) shows, and a few Gauss-Newton steps are made. Only combinations of parameters that move the prediction by a
tenth of its noise or more are searched; the others stay.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from experiments.analysis.estimators import estimate_alike
from experiments.analysis.initial_state import estimate_initial_state
from experiments.analysis.prediction import predict
from experiments.datatypes import Comparison, Response
from experiments.dynamics import Theory
from experiments.theory.modes import MIN_TURN, dominant_mode
from experiments.theory.theory import theory_for
from models.array_types import Array
from models.errors import InputError

PARAMETER_STEP = 0.1  # of a standard deviation, for difference quotients
LEAST_SINGULAR_VALUE = 0.1  # standard deviations of the noise that a direction moves the prediction by, or it is left
LARGEST_STEP = 2.0  # standard deviations of the parameters, all together, in one Gauss-Newton step
SHORTEST_STEP = 1e-2  # half of a step that no bicycle can follow is tried instead, down to this share

Group = Sequence[tuple[Response, Comparison]]


@dataclass(frozen=True)
class ParameterPosterior:
    """Parameters of the bicycle after a campaign: mean and covariance, SI, in the light of data and deviations."""

    names: tuple[str, ...]
    nominal: Array  # (q,)
    mean: Array  # (q,)
    covariance: Array  # (q, q)

    @property
    def std(self) -> Array:
        """Standard deviations (q,)."""
        return np.sqrt(np.diag(self.covariance))

    def as_json(self) -> dict[str, Any]:
        """Document of the parameters: names, SI values before and after, and the covariance."""
        return {
            "names": list(self.names),
            "nominal": self.nominal.tolist(),
            "mean": self.mean.tolist(),
            "std": self.std.tolist(),
            "covariance": self.covariance.tolist(),
        }


class ParameterSearch:
    """Directions in which uncertain parameters move a campaign's predictions, and the predictions along them.

    Attributes
    ----------
    names : tuple of str
        Uncertain parameters and quantities, q of them.
    directions : (q, r)
        Orthonormal, in standard deviations of the parameters.
    """

    def __init__(self, group: Group, precision_root: Array) -> None:
        """Find the directions.

        Parameters
        ----------
        group : sequence of (Response, Comparison)
        precision_root : (2 k, 2 N)
            From the predictions of N windows, re, im, re, im, ..., to whitened means of k conditions.
        """
        self._group = list(group)
        theory = theory_for(group[0][0])
        uncertain = theory.uncertain
        self.names = tuple(uncertain)
        self._std = np.array(list(uncertain.values()))
        self._nominal = np.array([theory.nominal(name) for name in self.names])
        self.directions = np.eye(len(self.names))
        J = self.jacobian(np.zeros(len(self.names)))
        _, sizes, rows = np.linalg.svd(precision_root @ J, full_matrices=False)
        self.directions = rows[sizes > LEAST_SINGULAR_VALUE].T

    def _moved(self, z: Array) -> dict[str, float]:
        values = self._nominal + self._std * (self.directions @ z)
        return dict(zip(self.names, map(float, values), strict=True))

    def predictions(self, z: Array) -> tuple[Array, Array]:
        """Predictions like for like (N, 2) of a bicycle moved by z (r,), and the covariances (N, 2, 2) of measured minus them.

        Both are as the comparison makes them: how noise passes through loop and start hangs on the bicycle as well.

        Raises
        ------
        InputError
            For a bicycle that cannot be.
        """
        moved = self._moved(z)
        found = [predict(replace(r, theory=theory_for(r).move(moved)), c.window, c.fit) for r, c in self._group]
        like = np.array([(p.like.real, p.like.imag) for p in found])
        return like, np.array([p.difference_covariance for p in found])

    def jacobian(self, z: Array) -> Array:
        """Derivative (2 N, r) of the predictions by z, through the linear model."""
        here = self._linear(self._moved(z))
        columns = []
        for unit in np.eye(self.directions.shape[1]):
            for step in (PARAMETER_STEP, -PARAMETER_STEP):
                try:
                    columns.append((self._linear(self._moved(z + step * unit)) - here) / step)
                except InputError:  # a bicycle that cannot be: the other side
                    continue
                break
            else:
                columns.append(np.zeros_like(here))
        return np.column_stack(columns) if columns else np.zeros((len(here), 0))

    def _linear(self, moved: dict[str, float]) -> Array:
        """Estimates (2 N,) from the linear motion of a moved bicycle, at the windows' own starts."""
        theories: dict[int, Theory] = {}
        found = []
        for response, c in self._group:
            theory = theories.setdefault(id(response), theory_for(response).move(moved))
            s = _linear_like(response, c, theory)
            found += [s.real, s.imag]
        return np.array(found)

    def step(self, z: Array, towards: Array) -> tuple[Array, Array, Array]:
        """Go from z towards another place (r,), or a part of the way; where it ended, and the `predictions` there.

        A step is halved while no bicycle can be there, or none of whose motion the estimator makes anything.
        """
        way = towards - z
        way = way * min(1.0, LARGEST_STEP / max(float(np.linalg.norm(way)), 1e-12))
        share = 1.0
        while share > SHORTEST_STEP:
            try:
                like, covariances = self.predictions(z + share * way)
            except InputError:
                like = covariances = np.full((1, 2), np.nan)
            if np.isfinite(like).all() and np.isfinite(covariances).all():
                return z + share * way, like, covariances
            share *= 0.5
        return z, *self.predictions(z)

    def posterior(self, z: Array, covariance: Array) -> ParameterPosterior:
        """Parameters at z (r,), where the campaign leaves the directions a covariance (r, r)."""
        D = self.directions
        whole = np.eye(len(self.names)) + D @ (covariance - np.eye(D.shape[1])) @ D.T
        return ParameterPosterior(
            self.names,
            self._nominal,
            self._nominal + self._std * (D @ z),
            whole * np.outer(self._std, self._std),
        )


def _linear_like(response: Response, c: Comparison, theory: Theory) -> complex:
    """Estimate [1/s] of a window's estimator from the linear motion that a theory explains in it."""
    dynamics = theory.dynamics()
    start = estimate_initial_state(response, c.window, dynamics)
    if c.fit.influence.size == 0:  # the model is part of the fit: it finds its own eigenvalue
        mode = dominant_mode(dynamics, c.window.v_mean, start.x, c.window.duration, c.fit.im > 0, MIN_TURN)
        return mode.eigenvalue if mode else complex(np.nan, np.nan)
    return estimate_alike(response.t[c.window.rows], start.lean_rate, c.fit, quick=True).eigenvalue
