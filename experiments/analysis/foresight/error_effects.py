"""Effects of errors: by how much an error of a machine moves measured minus like for like in a window, and its noise.

A small error moves them in proportion. A larger one is what the start of the window cannot explain, so lean rate and
steer no longer weigh what they did: of a drive 5 % too weak either side may move the decay to the same side. So the
window is moved by the error and estimated again, as it would be in the experiment.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from riderless.experiments.analysis.comparison.noise_covariance import difference_influence
from riderless.experiments.analysis.comparison.prediction import like_for_like
from riderless.experiments.analysis.estimators import estimate_alike
from riderless.experiments.analysis.identification.initial_state import InitialState, estimate_initial_state
from riderless.experiments.analysis.power.changed_window import KickedWindow, moved_by
from riderless.experiments.datatypes import Comparison, Response
from riderless.models.array_types import Array

SIDES = (1.0, -1.0)


class ErrorEffect(NamedTuple):
    """Effect of an error of one size in one window, to either side; a side that no machine can have is the other one.

    Attributes
    ----------
    slope : (2,)
        Change of measured minus like for like per SI unit, where the window is estimated as without the error [1/s].
    moved : (2, 2)
        Change by the error to either side, estimated with it [1/s].
    covariances : (2, 2, 2)
        Of measured minus like for like with the error, by noise [1/s^2].
    """

    slope: Array
    moved: Array
    covariances: Array


@dataclass(frozen=True)
class WindowErrors:
    """Window of a rehearsal, with what was found of its errors so far."""

    comparison: Comparison
    kicked: KickedWindow
    start: InitialState
    found: dict[tuple[str, float], ErrorEffect] = field(default_factory=dict)

    @classmethod
    def of(cls, response: Response, comparison: Comparison) -> "WindowErrors":
        """Prepare a window with a fit that has an influence."""
        kicked = KickedWindow.of(response, comparison.window)
        start = estimate_initial_state(response, comparison.window, kicked.theory.dynamics())
        return cls(comparison, kicked, start)

    def slopes(self, names: Sequence[str], sizes: Sequence[float]) -> Array:
        """Slopes (2, p) of small errors, as `ErrorEffect` has them, from sizes [SI] that are taken for small."""
        asked = zip(names, sizes, strict=True)
        return np.stack([self._slope(size, self._changes(name, size)) for name, size in asked], axis=1)

    def effects(self, names: Sequence[str], sizes: Sequence[float]) -> list[ErrorEffect]:
        """Effect of each error, of its size [SI]; what was asked for before is known."""
        for key in zip(names, sizes, strict=True):
            if key not in self.found:
                self.found[key] = self._effect(*key)
        return [self.found[key] for key in zip(names, sizes, strict=True)]

    def _effect(self, name: str, size: float) -> ErrorEffect:
        changes = self._changes(name, size)
        if not changes:
            own = self.comparison.prediction.difference_covariance
            return ErrorEffect(np.zeros(2), np.zeros((2, 2)), np.array([own, own]))
        with_error = {side: self._with_error(change) for side, change in changes.items()}
        either = [with_error.get(side, next(iter(with_error.values()))) for side in SIDES]
        return ErrorEffect(self._slope(size, changes), *(np.array(part) for part in zip(*either, strict=True)))

    def _changes(self, name: str, size: float) -> dict[float, Array]:
        """Changes (n, 2) of lean rate and steer, to each side that a machine can have; none where nothing changes."""
        changes = {side: self.kicked.change(name, side * size) for side in SIDES}
        possible = {side: one for side, one in changes.items() if one is not None and np.isfinite(one).all()}
        return possible if any(np.any(change) for change in possible.values()) else {}

    def _slope(self, size: float, changes: Mapping[float, Array]) -> Array:
        slopes = [self._seen(self.start, change) / (side * size) for side, change in changes.items()]
        return np.asarray(np.mean(slopes, axis=0)) if slopes else np.zeros(2)

    def _with_error(self, change: Array) -> tuple[Array, Array]:
        """Estimate the window with a change (n, 2) of lean rate and steer: what it moves, and the covariance."""
        window, fit = self.comparison.window, self.comparison.fit
        moved = moved_by(self.kicked.response, window.rows, change)
        dynamics = self.kicked.theory.dynamics()
        again = estimate_alike(moved.t[window.rows], moved.phi_dot[window.rows], fit)
        start = estimate_initial_state(moved, window, dynamics)
        covariance = like_for_like(moved, window, again, dynamics, start).covariance
        if not (again.ok and np.isfinite(covariance).all()):
            covariance = self.comparison.prediction.difference_covariance
        return self._seen(start, change), covariance

    def _seen(self, start: InitialState, change: Array) -> Array:
        """Change (2,) of measured minus like for like that the estimate sees, weighted as for a start."""
        channels = difference_influence(self.comparison.fit.influence, start)
        return np.asarray(sum(one @ moved for one, moved in zip(channels, change.T, strict=True)))
