"""Endings of an experiment that runs itself, each with its sentence: reached, never, spent, nothing left, stopped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from riderless.experiments.experiment_design.choice import Measurement
from riderless.experiments.experiment_design.goal import Goal
from riderless.experiments.experiment_design.knowledge import KnownSoFar
from riderless.experiments.planning.telling_apart import confounded_quantities
from riderless.models.array_types import Array

WITHOUT_END = 1e6  # times each run of the menu: what more of it would ever tell
_MOST_NAMED = 3  # quantities named
MOST_TIMES = 1e3  # times the time so far, up to which it is said how long it would take


@dataclass(frozen=True)
class Ending:
    """Ending of an experiment that runs itself, and its reason in a sentence."""

    kind: Literal["reached", "never", "spent", "nothing left", "stopped"]
    sentence: str


def all_is_known(goal: Goal, known: KnownSoFar, so_far: str) -> Ending | None:
    """Ending of an experiment that knows, in words, as well as was asked; None where it does not, or asks nothing."""
    if not goal.asks or known.shortfall > 1.0:
        return None
    return Ending("reached", f"all that was asked for is reached: {so_far}")


def information_at_last(known: KnownSoFar, measurements: Sequence[Measurement]) -> Array:
    """Information (p, p) when all measurements of a menu have been made without end."""
    told = sum((one.information for one in measurements), np.zeros_like(known.covariance))
    return np.asarray(known.information + WITHOUT_END * told)


def unreachable(goal: Goal, at_last: Array, measurements: Sequence[Measurement]) -> Ending | None:
    """Ending of an experiment that would never reach what is asked for, however long; None where it would.

    Parameters
    ----------
    goal : Goal
    at_last : (p, p)
        As `information_at_last` gives it.
    measurements : sequence of Measurement
    """
    if not goal.asks or goal.shortfall(at_last) <= 1.0:
        return None
    alike = [str(one) for one in confounded_quantities(goal, at_last, measurements)]
    because = "; ".join(alike) or hidden_words(goal, at_last)
    if goal.difference is not None:
        return Ending("never", f"theory and the other model are never told apart, however long: {because}")
    stays = [
        f"{goal.labels[i]} +- {goal.wanted[i]:g} is never reached, however long (it stays at {std:.2g})"
        for i, std in enumerate(goal.stds(at_last))
        if std > goal.wanted[i]
    ]
    return Ending("never", f"{' and '.join(stays)}: {because}")


def hidden_words(goal: Goal, information: Array) -> str:
    """Say which quantities hide what is asked for, the one to know better first.

    Parameters
    ----------
    goal : Goal
    information : (p, p)
        When all has been measured without end.
    """
    before = goal.stds(information)
    shares: dict[str, float] = {}
    for j, name in enumerate(goal.free):
        if name not in goal.labels:
            unit = np.eye(len(goal.free))[j]
            shares[name] = float(np.min(goal.stds(information + WITHOUT_END**2 * np.outer(unit, unit)) / before))
    first = sorted(shares, key=lambda name: shares[name])[:_MOST_NAMED]
    if not first:
        return "more runs tell no more"
    return (
        f"it is not told from {', '.join(first)}, which are known no better than their deviations say; {first[0]} "
        f"known from elsewhere would leave {shares[first[0]]:.0%} of its deviation"
    )


def budget_spent(goal: Goal, known: KnownSoFar, minutes: float, allowed: float, so_far: str) -> Ending:
    """Ending of an experiment whose minutes are spent; it says how long what is asked for would take.

    Parameters
    ----------
    goal : Goal
    known : KnownSoFar
    minutes, allowed : float
        Spent, and to be spent.
    so_far : str
        What is known, in words.
    """
    said = f"the {allowed:g} minutes are spent: {so_far}"
    if not goal.asks:
        return Ending("spent", said)
    times = _times_as_long(goal, known.information - goal.known) if known.windows else np.inf
    more = f"about {times * minutes:.2g} minutes would do" if np.isfinite(times) else "allow more minutes"
    return Ending("spent", f"{said}; {more}")


def nothing_left(dropped: Mapping[str, str]) -> Ending:
    """Ending of an experiment with nothing left on its menu."""
    reasons = "; ".join(f"{label}: {why}" for label, why in dropped.items())
    return Ending("nothing left", f"nothing is left to choose: {reasons}")


def known_words(goal: Goal, known: KnownSoFar, values: Array) -> str:
    """Values (q,) with the standard deviations reached, beside those wanted, SI."""
    told = []
    of = zip(goal.labels, goal.units, values, known.stds, goal.wanted, strict=True)
    for label, unit, value, std, wanted in of:
        aim = f" (wanted {wanted:.2g})" if np.isfinite(wanted) else ""
        told.append(f"{label} {value:.4g} +- {std:.2g} {unit}".rstrip() + aim)
    return ", ".join(told)


def _times_as_long(goal: Goal, told: Array) -> float:
    """Times the information gathered (p, p) until all is reached; infinite beyond `MOST_TIMES`."""
    low, high = 1.0, MOST_TIMES
    if goal.shortfall(goal.known + high * told) > 1.0:
        return float("inf")
    while high > 1.02 * low:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if goal.shortfall(goal.known + middle * told) > 1.0 else (low, middle)
    return high
