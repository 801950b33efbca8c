"""Quantities that a plan cannot tell apart, and what would part them: another measurement, or knowing one better."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from riderless.experiments.experiment_design.choice import Measurement, covariance_of
from riderless.experiments.experiment_design.goal import Goal
from riderless.models.array_types import Array

HARDLY_APART = 0.9  # of a correlation, from where on two quantities are hardly told apart
PARTED = 0.8  # times the deviation at most that a step must leave of the one asked for, to be named
MOST_NAMED = 3  # pairs
MORE_OF_IT = 3.0  # times what the plan has of a measurement's time, when that is tried


@dataclass(frozen=True)
class Confounded:
    """Two quantities that are hardly told apart, and what would part them best.

    Attributes
    ----------
    asked, other : str
        What is asked for, and the quantity that looks like it.
    correlation : float
    by : str
        Measurement that parts them best; empty where none helps.
    correlation_then : float
        With it.
    known_better : float
        Share to which the deviation of what is asked for shrinks where ``other`` is known from elsewhere.
    """

    asked: str
    other: str
    correlation: float
    by: str
    correlation_then: float
    known_better: float

    def __str__(self) -> str:
        words = f"{self.asked} is hardly told from {self.other} (correlation {self.correlation:+.2f})"
        if self.by:
            words += f"; more of '{self.by}' would part them best (then {self.correlation_then:+.2f})"
        if self.known_better <= PARTED:
            words += f"; {self.other} known from elsewhere leaves {self.known_better:.0%} of its deviation"
        return words if self.by or self.known_better <= PARTED else f"{words}; nothing tried here parts them"


def confounded_quantities(goal: Goal, told: Array, measurements: Sequence[Measurement]) -> tuple[Confounded, ...]:
    """Find the pairs that are hardly told apart, one of each asked for, the worst first.

    Parameters
    ----------
    goal : Goal
    told : (p, p)
        Information of the plan, what was known before included.
    measurements : sequence of Measurement
        All that there are to choose from.
    """
    units = np.eye(len(goal.free))
    pairs = []
    for i, label in enumerate(goal.labels):
        row = goal.rows[i]
        for j, other in enumerate(goal.free):
            if other == label or not np.delete(row, j).any():
                continue
            correlation = _correlation(told, row, units[j])
            if abs(correlation) > HARDLY_APART:
                pairs.append((correlation, i, j))
    pairs.sort(key=lambda pair: -abs(pair[0]))
    seen: set[frozenset[str]] = set()
    found: list[Confounded] = []
    for correlation, i, j in pairs:
        pair = frozenset((goal.labels[i], goal.free[j]))
        if pair not in seen and len(found) < MOST_NAMED:
            seen.add(pair)
            found.append(_with_remedy(goal, told, measurements, correlation, i, j))
    return tuple(found)


def _with_remedy(
    goal: Goal, told: Array, measurements: Sequence[Measurement], correlation: float, i: int, j: int
) -> Confounded:
    """Say what parts combination i from quantity j.

    Parameters
    ----------
    goal, told, measurements
        As `confounded_quantities` takes them.
    correlation : float
    i, j : int
    """
    row, unit = goal.rows[i], np.eye(len(goal.free))[j]
    size = float(np.trace(told - goal.known))
    after = {}
    for one in measurements:
        weight = MORE_OF_IT * size / max(float(np.trace(one.information)), np.finfo(float).tiny)
        after[one.name] = _correlation(told + weight * one.information, row, unit)
    best = min(after, key=lambda name: abs(after[name]))
    helps = abs(after[best]) < HARDLY_APART
    before = covariance_of(told, row[None])[0, 0]
    fixed = covariance_of(told + 1e12 * np.outer(unit, unit), row[None])[0, 0]
    return Confounded(
        asked=goal.labels[i],
        other=goal.free[j],
        correlation=correlation,
        by=best if helps else "",
        correlation_then=after[best],
        known_better=float(np.sqrt(max(fixed, 0.0) / before)),
    )


def _correlation(information: Array, one: Array, other: Array) -> float:
    """Correlation of two combinations (p,) of quantities."""
    C = covariance_of(information, np.array([one, other]))
    return float(C[0, 1] / np.sqrt(C[0, 0] * C[1, 1]))
