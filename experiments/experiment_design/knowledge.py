"""Knowledge of quantities, updated window by window.

By output error, with one linearisation of each window. A window is linearised about what is known when it comes, and
again when what is known has moved on by more than `RELINEARISED` of a quantity's usual deviation. The values are then
those of one Gauss-Newton step of `riderless.experiments.analysis.identification.identify` over all windows, and the
covariance is the same sandwich.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from riderless.experiments.analysis.identification.identify import model_error, robust_covariance
from riderless.experiments.analysis.identification.large_motion import with_large_motion
from riderless.experiments.analysis.identification.output_error import AveragedWindow, Linearisation, linearise
from riderless.experiments.experiment_design.choice import Measurement
from riderless.experiments.experiment_design.goal import Goal
from riderless.models.array_types import Array
from riderless.models.errors import InputError

RELINEARISED = 0.2  # usual deviations
STEPS_AFTER_RUN = 4  # of Gauss and Newton after each run
STEP_LIMIT = 3.0  # usual deviations, of one step: farther on the line is not the motion
LOOKS_AT_LARGE_MOTION = 2  # each from the start found with the one before
MOST_TIMES = 1e3  # times the time so far, up to which it is said how long a goal would take
WITHOUT_END = 1e6  # times each measurement: what more of it would ever tell
LEAST_WINDOWS = 3  # before an interval is believed


@dataclass(frozen=True, eq=False)
class KnownSoFar:
    """Values (p,) of a goal's quantities, in scales, from a number of windows, and the information (p, p) about them.

    ``by_noise`` is the information, had theory no error of its own. ``model_error`` (p,) is the part of the deviations
    that more windows like these do not make smaller.
    """

    goal: Goal
    values: Array
    by_noise: Array
    windows: int
    model_error: Array

    @property
    def covariance(self) -> Array:
        """Covariance (p, p) by noise and by what the model has wrong."""
        return np.asarray(np.linalg.inv(self.by_noise) + np.outer(self.model_error, self.model_error))

    @property
    def information(self) -> Array:
        """Inverse of the covariance."""
        return np.asarray(np.linalg.inv(self.covariance))

    def after(self, information: Array) -> "KnownSoFar":
        """Knowledge after windows that tell so much (p, p) more by their noise alone."""
        return replace(self, by_noise=self.by_noise + information)

    def at_last(self, measurements: Sequence[Measurement]) -> "KnownSoFar":
        """Knowledge when all measurements that there are have been made without end."""
        return self.after(WITHOUT_END * sum((run.information for run in measurements), np.zeros_like(self.by_noise)))

    def times_until_reached(self, goal: Goal) -> float:
        """Times the information gathered until a goal is reached; infinite beyond `MOST_TIMES`."""
        gathered = self.by_noise - goal.known
        low, high = 1.0 / MOST_TIMES, MOST_TIMES
        if goal.shortfall(self.after((high - 1.0) * gathered).information) > 1.0:
            return float("inf")
        while high > 1.01 * low:
            middle = float(np.sqrt(low * high))
            short = goal.shortfall(self.after((middle - 1.0) * gathered).information) > 1.0
            low, high = (middle, high) if short else (low, middle)
        return high

    @property
    def quantities(self) -> dict[str, float]:
        """Values by name, SI."""
        return dict(zip(self.goal.free, (self.values * self.goal.scales).tolist(), strict=True))

    @property
    def stds(self) -> Array:
        """Standard deviations (q,) of what is asked for, SI."""
        return np.asarray(np.sqrt(np.diag(self.goal.rows @ self.covariance @ self.goal.rows.T)))

    @property
    def shortfall(self) -> float:
        """Times by which the worst deviation is too large (see `Goal`); infinite from too few windows."""
        return self.goal.shortfall(self.information) if self.windows >= LEAST_WINDOWS else np.inf

    def __repr__(self) -> str:
        return f"<KnownSoFar: {self.windows} windows, {', '.join(self.goal.labels)}>"


class Knowledge:
    """Windows so far and what they say of a goal's quantities; ``nominal`` are theory's values of these, SI.

    ``misfit`` is what theory leaves unexplained in the latest windows: of the channel with most of it the root mean
    square, in the noise of the sensors.
    """

    def __init__(self, goal: Goal, nominal: Mapping[str, float]) -> None:
        self.goal = goal
        self._nominal = np.array([nominal[name] for name in goal.free]) / goal.scales
        self.misfit = 0.0
        self._windows: list[AveragedWindow] = []
        self._found: list[tuple[Array, Linearisation]] = []
        self.estimate = KnownSoFar(goal, self._nominal.copy(), goal.known, 0, np.zeros(len(goal.free)))

    def add(self, windows: Sequence[AveragedWindow]) -> KnownSoFar:
        """Take new windows into account."""
        if not windows:
            return self.estimate
        self._windows += windows
        x = self.estimate.values
        self._found += [(x, self._linearised(averaged, x)) for averaged in windows]
        for _ in range(STEPS_AFTER_RUN):
            x = self._solved(x)
            stale = [i for i, (about, _) in enumerate(self._found) if np.abs(x - about).max() > RELINEARISED]
            if not stale:
                break
            for i in stale:
                self._found[i] = (x, self._linearised(self._windows[i], x))
        if self._found:
            by_noise, error = self._uncertainty(x)
            self.estimate = KnownSoFar(self.goal, x, by_noise, len(self._found), error)
            noise = [list(self._linearised(window, x).stds.values()) for window in windows if window.filter]
            self.misfit = float(np.sqrt(np.mean(np.square(noise), axis=0).max())) if noise else 0.0
        return self.estimate

    def _linearised(self, averaged: AveragedWindow, x: Array) -> Linearisation:
        """Linearise a window about values (p,) in scales, its channels weighed by what is left of them there."""
        goal = self.goal
        values = dict(zip(goal.free, (x * goal.scales).tolist(), strict=True))
        window = linearise(averaged, values, goal.free)
        for _ in range(LOOKS_AT_LARGE_MOTION):
            averaged = with_large_motion(averaged, values, window.start)
            window = linearise(averaged, values, goal.free, window.stds)
        return window

    def _solved(self, before: Array) -> Array:
        """Values (p,) in scales with the least weighed squares of all windows and of what was known before."""
        A, b = self.goal.known.copy(), self.goal.known @ self._nominal
        for about, window in self._found:
            J = window.jacobian * self.goal.scales
            A += J.T @ J
            b += J.T @ (J @ about - window.residual)
        step = np.linalg.solve(A, b) - before
        for _ in range(10):  # a bicycle that cannot be is none: half the way there
            x = before + step * min(1.0, STEP_LIMIT / max(float(np.abs(step).max()), 1e-12))
            if self._possible(x):
                return np.asarray(x)
            step = 0.5 * step
        return before

    def _possible(self, x: Array) -> bool:
        """Can theory have these values? A friction below zero, found by noise, it can."""
        theory = self._windows[0].theory
        values = dict(zip(self.goal.free, (x * self.goal.scales).tolist(), strict=True))
        try:
            theory.dynamics(values)
        except (InputError, np.linalg.LinAlgError):
            return False
        return True

    def _uncertainty(self, x: Array) -> tuple[Array, Array]:
        """Information (p, p) in scales at ``x``, by noise, and the model's error (p,).

        It is that of the sandwich, never larger on average than the noise of the rows says.

        Few windows may look better than they are by chance, and an experiment that stops then would stop too early.
        """
        prior = np.linalg.cholesky(self.goal.known).T / self.goal.scales
        there = [
            replace(window, residual=window.residual + window.jacobian @ ((x - about) * self.goal.scales))
            for about, window in self._found
        ]
        robust = robust_covariance(there, prior)[0] / np.outer(self.goal.scales, self.goal.scales)
        moves = [window.jacobian * self.goal.scales for window in there]
        information = sum((J.T @ J for J in moves), self.goal.known.copy())
        error = model_error(there, prior) / self.goal.scales
        by_noise = robust * max(1.0, len(x) / float(np.trace(information @ robust)))
        return np.asarray(np.linalg.inv(by_noise)), error
