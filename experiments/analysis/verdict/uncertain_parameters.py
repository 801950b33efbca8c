"""Best bicycle within its parameters' deviations.

"Best" is the bicycle that explains a campaign best. The model is asked whether any bicycle that it allows for explains
the data: the minimum over the parameters p of

    (y - like(p))' S^-1 (y - like(p)) + (p - p0)' P^-1 (p - p0)

with y the measured eigenvalues, like(p) what the same estimator finds in the same windows of the moved bicycle, S the
covariance of their difference and P that of the parameters. It is chi-square distributed as (y - like)'
(S + J P J')^-1 (y - like) is where like(p) is linear; S is small beside what the deviations do, so the curvature of
like(p) shows, and a few Gauss-Newton steps are made. Only combinations of parameters that move the prediction by a
tenth of its noise or more are searched; the others stay. Quantities of the machine stay within their ranges.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from riderless.experiments.analysis.comparison.prediction import predict
from riderless.experiments.analysis.estimators import eigenvalue_alike
from riderless.experiments.analysis.identification.initial_state import estimate_initial_state, explained_lean_rate
from riderless.experiments.analysis.identification.output_error import AveragedWindow, either_side, linearise
from riderless.experiments.analysis.windows.grouping import by_condition, in_turn
from riderless.experiments.datatypes import Comparison
from riderless.experiments.theory.modes import MIN_TURN, dominant_mode
from riderless.models.array_types import Array
from riderless.models.errors import InputError

PARAMETER_STEP = 0.1  # of a standard deviation, for difference quotients
LEAST_SINGULAR_VALUE = 0.1  # standard deviations of the noise that a direction moves the prediction by, or it is left
LARGEST_STEP = 2.0  # standard deviations of the parameters, all together, in one Gauss-Newton step
MOTION_STEPS = 4  # of output error, for another place to search from
RANGE_USED = 1.0 - 1e-9  # of the way to the edge of a range, so that rounding does not lead across
SMALLEST_SHARE = 1e-2  # half of a step that no bicycle can follow is tried instead, down to this share


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
    """Predictions of a campaign by its uncertain parameters, which are z (q,) away from their nominal values.

    The z are independent, in standard deviations; ``_spread`` leads from them to the parameters, which are correlated.

    Attributes
    ----------
    names : tuple of str
        Uncertain parameters and quantities, q of them.
    """

    def __init__(self, group: Sequence[Comparison]) -> None:
        """Prepare a search over the windows of one bicycle."""
        self._group = list(group)
        theory = group[0].segment.theory
        uncertain = theory.uncertain
        self.names = tuple(uncertain)
        self._std = np.array(list(uncertain.values()))
        self._spread = theory.spread
        self._nominal = np.array([theory.nominal(name) for name in self.names])
        ranges = np.array([theory.range(name)[:2] for name in self.names])
        edges = RANGE_USED * (ranges - self._nominal[:, np.newaxis]) / self._std[:, np.newaxis]  # none is correlated
        self._least, self._most = np.minimum(edges[:, 0], 0.0), np.maximum(edges[:, 1], 0.0)

    def moved(self, z: Array) -> dict[str, float]:
        """Parameters by name, SI, at z (q,)."""
        return dict(zip(self.names, map(float, self._nominal + self._spread @ z), strict=True))

    def motion_start(self) -> Array:
        """Estimate z (q,) from the motion itself, lean rate, steer and yaw rate, by a few steps of output error.

        The eigenvalue of a window is no smooth function of the parameters where these are far off, and a search on
        eigenvalues alone may end beside the best place; the motion is smoother.
        """
        z = np.zeros(len(self.names))
        of_each = {c.condition: c.segment for c in self._group}  # one window of each condition
        windows = [AveragedWindow.of(segment) for segment in of_each.values()]
        stds = [linearise(window, {}).stds for window in windows]
        for _ in range(MOTION_STEPS):
            H, score = np.eye(len(z)), -z
            for i, window in enumerate(windows):
                here = linearise(window, self.moved(z), self.names, stds[i])
                J, stds[i] = here.jacobian @ self._spread, here.stds
                H, score = H + J.T @ J, score - J.T @ here.residual
            z, before = self._possible(z, self.best(z, H, score)), z
            if np.linalg.norm(z - before) < PARAMETER_STEP:
                break
        return z

    def best(self, z: Array, H: Array, score: Array) -> Array:
        """Place (q,) within the ranges of all quantities that is best by a Gauss-Newton step from z (q,).

        Parameters
        ----------
        z : (q,) array
        H : (q, q) array
            Half the second derivative of the misfit.
        score : (q,) array
            Half its slope downwards, at z.
        """
        root = np.linalg.cholesky(H).T
        step = lsq_linear(root, np.linalg.solve(root.T, score), (self._least - z, self._most - z), method="bvls").x
        return np.asarray(np.clip(z + step, self._least, self._most))

    def _possible(self, z: Array, towards: Array) -> Array:
        """Place on the way from z that a bicycle can be at, a half of the way as often as needed."""
        theory, share = self._group[0].segment.theory, 1.0
        while share > SMALLEST_SHARE:
            try:
                theory.move(self.moved(z + share * (towards - z))).dynamics()
            except InputError:
                share *= 0.5
                continue
            return z + share * (towards - z)
        return z

    def directions(self, z: Array, whitening: Array) -> Array:
        """Find the directions (q, r) in which the predictions are felt at z (q,).

        Parameters
        ----------
        z : (q,)
        whitening : (2 k, 2 N)
            From the predictions of N windows, re, im, re, im, ..., to whitened means of k conditions.
        """
        first = {name: own[0] for name, own in by_condition(self._group).items()}  # windows of a condition are alike
        one = self.jacobian(z, np.eye(len(z)), list(first.values())).reshape(len(first), 2, -1)
        of_condition = dict(zip(first, one, strict=True))
        J = np.concatenate([of_condition[c.condition] for c in self._group])
        _, sizes, rows = np.linalg.svd(whitening @ J, full_matrices=False)
        return np.asarray(rows[sizes > LEAST_SINGULAR_VALUE].T)

    def predictions(self, z: Array) -> tuple[Array, Array]:
        """Predictions like for like (N, 2) of a bicycle moved by z (q,); covariances (N, 2, 2) of measured minus like.

        Both are as the comparison makes them: how noise passes through loop and start hangs on the bicycle as well.

        Raises
        ------
        InputError
            For a bicycle that cannot be.
        """
        found = [predict(c.segment, c.fit) for c in in_turn(moved_group(self._group, self.moved(z)))]
        like = np.array([(p.like.real, p.like.imag) for p in found])
        return like, np.array([p.difference_covariance for p in found])

    def jacobian(self, z: Array, directions: Array, group: Sequence[Comparison] | None = None) -> Array:
        """Derivative (2 N, r) of the predictions at z (q,) along directions (q, r), through the linear model.

        Of all windows, or of those given.
        """
        group = self._group if group is None else group
        here = _linear(group, self.moved(z))
        columns = []

        def along(unit: Array, step: float) -> Array:
            return _linear(group, self.moved(z + step * unit))

        for unit in directions.T:
            moved = either_side(partial(along, unit), PARAMETER_STEP)
            columns.append(np.zeros_like(here) if moved is None else (moved[0] - here) / moved[1])
        return np.column_stack(columns) if columns else np.zeros((len(here), 0))

    def step(self, z: Array, towards: Array) -> tuple[Array, Array, Array]:
        """Go from z towards another place (q,), or a part of the way; where it ended, and the `predictions` there.

        A step is halved while no bicycle can be there, or none of whose motion the estimator makes anything.
        """
        way = towards - z
        way = way * min(1.0, LARGEST_STEP / max(float(np.linalg.norm(way)), 1e-12))
        share = 1.0
        while share > SMALLEST_SHARE:
            try:
                like, covariances = self.predictions(z + share * way)
            except InputError:
                like = covariances = np.full((1, 2), np.nan)
            if np.isfinite(like).all() and np.isfinite(covariances).all():
                return z + share * way, like, covariances
            share *= 0.5
        return z, *self.predictions(z)

    def posterior(self, z: Array, directions: Array, covariance: Array) -> ParameterPosterior:
        """Parameters at z (q,), where the campaign leaves some directions (q, r) a covariance (r, r)."""
        left = directions @ (covariance - np.eye(directions.shape[1])) @ directions.T
        return ParameterPosterior(
            self.names,
            self._nominal,
            self._nominal + self._spread @ z,
            self._spread @ (np.eye(len(self.names)) + left) @ self._spread.T,
        )


def as_moved(group: Sequence[Comparison]) -> Sequence[Comparison]:
    """Windows of one bicycle as a theory sees them whose parameters are those that their motion tells of."""
    if not group[0].segment.theory.uncertain:
        return group
    search = ParameterSearch(group)
    return moved_group(group, search.moved(search.motion_start()))


def moved_group(group: Sequence[Comparison], moved: Mapping[str, float]) -> Sequence[Comparison]:
    """Windows as a theory with some quantities moved sees them: one for all windows of a recording, which share it."""
    responses = {id(c.segment.response): c.segment.response for c in group}
    seen = {key: replace(r, theory=r.own_theory.move(moved)) for key, r in responses.items()}
    return [replace(c, segment=replace(c.segment, response=seen[id(c.segment.response)])) for c in group]


def linear_predictions(group: Sequence[Comparison], moved: Mapping[str, float]) -> NDArray[np.complex128]:
    """Estimates (N,) [1/s] from the linear motion of a machine with some quantities moved, at the windows' own starts.

    Parameters
    ----------
    group : sequence of Comparison
    moved : mapping of str to float
        SI.
    """
    return np.array([_linear_like(c) for c in in_turn(moved_group(group, moved))], complex)


def _linear(group: Sequence[Comparison], moved: Mapping[str, float]) -> Array:
    """Real and imaginary parts (2 N,) of `linear_predictions`."""
    return np.ascontiguousarray(linear_predictions(group, moved)).view(float)


def _linear_like(c: Comparison) -> complex:
    """Estimate [1/s] of a window's estimator from the linear motion that its machine's dynamics explain in it."""
    dynamics = c.segment.dynamics
    if c.fit.influence.size == 0:  # the model is part of the fit: it finds its own eigenvalue
        start = estimate_initial_state(c.segment, dynamics)
        mode = dominant_mode(dynamics, c.window.v_mean, start.x, c.window.duration, c.fit.im > 0, MIN_TURN)
        return mode.eigenvalue if mode else complex(np.nan, np.nan)
    lean_rate = explained_lean_rate(c.segment, dynamics)
    return eigenvalue_alike(c.segment.t, lean_rate, c.fit)
