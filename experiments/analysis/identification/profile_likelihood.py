"""Profile likelihood of each quantity.

It tells how well a quantity is known when all the others may move to make up for it. A quantity is held at values left
and right of the best one, and the others are fitted again, each time from where the neighbour's were: a Gauss-Newton
step or two. The rise of the weighed sum of squares, twice the loss of log likelihood, is chi-square distributed with
one degree of freedom where residuals are white. They are not, and windows differ by more than their noise: so the rise
is scaled by what the identification's own covariance says of that quantity, against what white residuals would (Pauli,
Racugno and Ventura 2011, for composite likelihoods). Unlike a standard deviation the interval may lean to one side, or
be open: then these data do not bound the quantity there.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np
from scipy.special import ndtri, stdtrit

from riderless.experiments.analysis.identification.identify import Identification
from riderless.experiments.analysis.identification.output_error import AveragedWindow, Linearisation, linearise
from riderless.firmware_interface.child_processes import end_with_parent
from riderless.models.array_types import Array
from riderless.models.errors import InputError

STEPS_APART = 1.0  # standard deviations between the first values; further out they lie further apart
STRIDE = 1.5  # by which steps grow
REACH = 40.0  # standard deviations to either side: what is not bounded there is not bounded
MOST_REFITS = 6  # Gauss-Newton steps for the others at one value
PROFILE_SETTLED = 0.02  # of the rise of the threshold: a smaller gain is none


@dataclass(frozen=True, repr=False)
class Profile:
    """Profile of one quantity: values (m,) SI, the signed root (m,) of the scaled rise there, and the others (m,).

    ``low`` and ``high`` bound the interval, None where these data do not.
    """

    name: str
    best: float
    values: Array
    root: Array  # in standard deviations: a parabola would make it a straight line
    others: dict[str, Array]
    low: float | None
    high: float | None
    limit: float  # of the root, for the level wanted

    @property
    def words(self) -> str:
        """Interval in words."""
        if self.low is None and self.high is None:
            return "these data do not bound it"
        if self.high is None:
            return f"above {self.low:.4g}; these data do not bound it above"
        if self.low is None:
            return f"below {self.high:.4g}; these data do not bound it below"
        return f"{self.low:.4g} to {self.high:.4g}"

    def __repr__(self) -> str:
        return f"Profile({self.name}, best {self.best:.4g}, {self.words})"


def profiles(
    windows: Sequence[AveragedWindow],
    fit: Identification,
    level: float = 0.95,
    jobs: int = 1,
    on_progress: Callable[[int, int, str], None] = lambda done, total, name: None,
) -> list[Profile]:
    """Profile every quantity of an identification over the others.

    Parameters
    ----------
    windows : sequence of AveragedWindow
        Those that the quantities were identified from.
    fit : Identification
    level : float
        Probability that an interval holds the truth.
    jobs : int
        Processes; each takes one quantity after the other.
    on_progress : callable
        Told how many are done, of how many, and the last one's name.
    """
    work = _Work(tuple(windows), fit, level)
    total, done = len(fit.names), dict[int, Profile]()
    if jobs <= 1 or total == 1:
        for i in range(total):
            done[i] = work.profile(i)
            on_progress(i + 1, total, fit.names[i])
    else:  # theories are functions, which only a forked process takes along
        with ProcessPoolExecutor(jobs, get_context("fork"), _take, (work,)) as pool:
            waiting = {pool.submit(_profile_there, i): i for i in range(total)}
            for n, future in enumerate(as_completed(waiting), 1):
                done[waiting[future]] = future.result()
                on_progress(n, total, fit.names[waiting[future]])
    return [done[i] for i in range(total)]


_taken: "list[_Work]" = []


def _take(work: "_Work") -> None:
    """Keep the work of a forked process, which ends with the one that forked it."""
    end_with_parent()
    _taken[:] = [work]


def _profile_there(i: int) -> Profile:
    return _taken[0].profile(i)


@dataclass(frozen=True, eq=False)
class _Work:
    """All that a profile is computed from."""

    windows: tuple[AveragedWindow, ...]
    found: Identification
    level: float

    def profile(self, i: int) -> Profile:
        """Profile quantity i over the others."""
        fit = self.found
        white = np.asarray(
            np.linalg.pinv(self._information(self._linearised(fit.values, range(len(fit.names))))), float
        )
        scaling = white[i, i] / max(fit.covariance[i, i], np.finfo(float).tiny)
        dof = len(self.windows) - len(fit.names)
        tail = 0.5 + 0.5 * self.level
        limit = float(stdtrit(dof, tail)) if fit.cluster_robust and dof > 0 else float(ndtri(tail))
        sides = [self._walk(i, sign, white, scaling, limit) for sign in (-1.0, 1.0)]
        (lower, low), (right, high) = sides
        points = [*lower[::-1], (fit.values, 0.0), *right]
        values, root = np.array([x[i] for x, _ in points]), np.array([r for _, r in points])
        others = {name: np.array([x[j] for x, _ in points]) for j, name in enumerate(fit.names) if j != i}
        return Profile(fit.names[i], float(fit.values[i]), values, root, others, low, high, limit)

    def _walk(
        self, i: int, sign: float, white: Array, scaling: float, limit: float
    ) -> tuple[list[tuple[Array, float]], float | None]:
        """Points (values, signed root) from the best value outwards, and where the limit is passed."""
        fit, std = self.found, self.found.std[i]
        slope = white[:, i] / white[i, i]  # how the others go along, to first order
        x, before = fit.values.copy(), (float(fit.values[i]), 0.0)
        points: list[tuple[Array, float]] = []
        distance, step = 0.0, STEPS_APART
        while distance < REACH:
            distance += step
            moved = x + slope * sign * step * std
            try:
                self._require_possible(float(moved[i]), i)
                x, rise = self._fitted(moved, i, scaling)
            except InputError:  # no bicycle can be like that: half a step, until it is next to nothing
                distance, step = distance - step, 0.5 * step
                if step < 0.05:
                    return points, None
                continue
            root = float(np.sqrt(max(scaling * rise, 0.0)))
            points.append((x, sign * root))
            if root >= limit:
                a, ra = before
                return points, a + (float(x[i]) - a) * (limit - ra) / (root - ra)
            before = float(x[i]), root
            step *= STRIDE
        return points, None

    def _require_possible(self, value: float, i: int) -> None:
        least, most = self.found.bounds[i]
        if not least <= value <= most:
            raise InputError(f"wanted {self.found.names[i]} between {least:g} and {most:g}, found {value:g}")

    def _fitted(self, x: Array, i: int, scaling: float) -> tuple[Array, float]:
        """Fit the others anew with quantity i held; all values, and the rise of the weighed sum of squares."""
        rest = tuple(j for j in range(len(x)) if j != i)
        linear = self._linearised(x, rest)
        cost = self._cost(linear, x)
        known = self.found.prior_root.T @ self.found.prior_root
        for _ in range(MOST_REFITS if rest else 0):
            J = [window.jacobian for window in linear]
            H = sum((j.T @ j for j in J), known[np.ix_(rest, rest)])
            g = sum((j.T @ window.residual for j, window in zip(J, linear, strict=True)), np.zeros(len(rest)))
            g = g + (known @ (x - self.found.nominal))[list(rest)]
            tried = x.copy()
            tried[list(rest)] -= np.linalg.lstsq(H, g, rcond=None)[0]
            tried = np.clip(tried, *self.found.bounds.T)
            there = self._linearised(tried, rest)
            now = self._cost(there, tried)
            if now >= cost:
                break
            gain, x, linear, cost = cost - now, tried, there, now
            if scaling * gain < PROFILE_SETTLED:
                break
        return x, cost - self.found.cost

    def _linearised(self, x: Array, which: Sequence[int]) -> list[Linearisation]:
        fit = self.found
        values = dict(zip(fit.names, map(float, x), strict=True))
        names = [fit.names[j] for j in which]
        return [
            linearise(averaged, values, names, std) for averaged, std in zip(self.windows, fit.weights, strict=True)
        ]

    def _information(self, linear: Sequence[Linearisation]) -> Array:
        return sum(
            (window.jacobian.T @ window.jacobian for window in linear), self.found.prior_root.T @ self.found.prior_root
        )

    def _cost(self, linear: Sequence[Linearisation], x: Array) -> float:
        moved = self.found.prior_root @ (x - self.found.nominal)
        return sum(float(window.residual @ window.residual) for window in linear) + float(moved @ moved)
