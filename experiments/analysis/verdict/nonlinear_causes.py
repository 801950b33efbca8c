"""Nonlinear causes of a misfit, simulated.

Each part of `steer_elements.py` is tried at the size that fits best. Every window is ridden again with the part on its
steer axis, the same estimator is applied to that motion, and what the part moves the eigenvalue by is added to the
prediction. The size is searched alone, first in factors of two, then on the parabola through the best three.
"""

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial

import numpy as np

from riderless.experiments.analysis.estimators import eigenvalue_alike, estimate_alike
from riderless.experiments.analysis.verdict.candidate import CandidateCause
from riderless.experiments.analysis.verdict.leftover import Leftover, some_windows, with_moved_prediction
from riderless.experiments.analysis.verdict.simulated_motion import RiddenMotion
from riderless.experiments.analysis.verdict.steer_elements import STEER_ELEMENTS, STOPS, SteerElement
from riderless.experiments.analysis.windows.grouping import in_turn
from riderless.experiments.analysis.windows.steer_stops import find_steer_stops
from riderless.experiments.datatypes import Comparison, Fit

FIRST_SIZE = 0.25  # of the usual size
DOUBLINGS = 7
REFINEMENTS = 3
WINDOWS_RIDDEN = 3  # windows of a condition with which a size is searched; what it leaves is that of all windows
LEAST_TRIED, WORSE = 3, 4.0  # sizes tried before a search stops, where the misfit is so many times the least


class RiddenWindows:
    """Windows of a group, ready to be ridden with a part on the steer; those that theory cannot ride are left out."""

    def __init__(self, group: Sequence[Comparison]) -> None:
        self._ridden: list[tuple[Comparison, RiddenMotion, Fit]] = []
        self._stopped = bool(find_steer_stops(list({c.key: c.segment.response for c in group}.values())))
        for c in in_turn(group):
            motion = RiddenMotion.of(c.segment) if c.fit.influence.size else None
            if motion is not None and c.comparable:
                without = estimate_alike(c.segment.t, motion.start.lean_rate, c.fit, quick=True)
                self._ridden.append((c, motion, without))

    def some(self, group: Sequence[Comparison]) -> "RiddenWindows":
        """Some of these windows, on the same machines."""
        by_window, chosen = {id(ridden[0]): ridden for ridden in self._ridden}, copy(self)
        chosen._ridden = [by_window[id(c)] for c in group if id(c) in by_window]
        return chosen

    def suit(self, element: SteerElement) -> bool:
        """Tell whether any window's machine can have such a part; stops only where the steer was seen to meet some."""
        if element.kind == STOPS and not self._stopped:
            return False
        return bool(self._ridden) and any(motion.suits(element) for _, motion, _ in self._ridden)

    def predicted(self, element: SteerElement, size: float) -> list[Comparison]:
        """Compare the same fits with the motion that a part of this size makes."""
        return [
            with_moved_prediction(c, _eigenvalue(c, motion, element, size, without) - without.eigenvalue)
            if motion.suits(element)
            else c
            for c, motion, without in self._ridden
        ]

    def misfit(self, element: SteerElement, size: float) -> float:
        """Sum of the squares of z of all windows."""
        return sum(c.z_re**2 + c.z_im**2 for c in self.predicted(element, size))

    def best_size(self, element: SteerElement, tell: Callable[[], None] = lambda: None) -> float:
        """Size [SI] of a part with which these windows are explained best; 0 where none is better than the part.

        Parameters
        ----------
        element : SteerElement
        tell : callable
            Told after every size tried.
        """
        tried = {0.0: self.misfit(element, 0.0)}

        def attempted(size: float) -> None:
            squares = self.misfit(element, size)
            tried[size] = squares if np.isfinite(squares) else np.inf
            tell()

        size = FIRST_SIZE * element.usual
        for _ in range(DOUBLINGS):
            if size > element.range.most:
                break
            attempted(size)
            if len(tried) > LEAST_TRIED and tried[size] > WORSE * min(tried.values()):
                break
            size *= 2.0
        for _ in range(REFINEMENTS):
            sizes = sorted(tried)
            i = min(max(int(np.argmin([tried[s] for s in sizes])), 1), len(sizes) - 2)
            attempted(_parabola(sizes[i - 1 : i + 2], [tried[s] for s in sizes[i - 1 : i + 2]]))
        return min(tried, key=lambda s: tried[s])


def nonlinear_causes(
    group: Sequence[Comparison], leftover: Leftover, tell: Callable[[str], None] = lambda name: None
) -> list[CandidateCause]:
    """Try every part that these machines can have, each at its best size; those that explain something.

    Parameters
    ----------
    group : sequence of Comparison
    leftover : Leftover
        Of the same windows.
    tell : callable
        Told the name of the part, after every size tried.
    """
    windows = RiddenWindows(group)
    few = windows.some(some_windows(group, WINDOWS_RIDDEN))
    causes = []
    for element in STEER_ELEMENTS:
        if not windows.suit(element):
            continue
        size = float(few.best_size(element, partial(tell, element.name)))
        if size == 0.0:
            continue
        chi2_left = leftover.chi2(windows.predicted(element, size))
        causes.append(
            CandidateCause(
                name=element.name,
                nominal=0.0,
                moved=size,
                deviations=size / element.usual,
                measured=False,
                chi2_explained=float("nan"),
                chi2_left=chi2_left,
                best=size,
                unit=element.unit,
            )
        )
    return causes


def _eigenvalue(c: Comparison, motion: RiddenMotion, element: SteerElement, size: float, near: Fit) -> complex:
    """Eigenvalue [1/s] that the window's estimator finds in the motion with a part on the steer; nan where it fails."""
    if size == 0.0:
        return near.eigenvalue
    y = motion.lean_rate(((element, size),))
    if not np.isfinite(y).all() or np.abs(y).max() > 1e3:
        return complex(np.nan, np.nan)
    return eigenvalue_alike(c.segment.t, y, near)


def _parabola(x: Sequence[float], y: Sequence[float]) -> float:
    """Place between three points of the lowest value of the parabola through them; the middle of the wider gap else."""
    wider = 0.5 * (x[0] + x[1]) if x[1] - x[0] > x[2] - x[1] else 0.5 * (x[1] + x[2])
    if not np.isfinite(y).all():
        return wider
    a, b, _ = np.polyfit(np.array(x) - x[1], y, 2)
    place = x[1] - 0.5 * b / a if a > 0.0 else wider
    near = 0.02 * (x[2] - x[0])
    return place if x[0] + near < place < x[2] - near and abs(place - x[1]) > near else wider
