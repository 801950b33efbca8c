"""Endings of an experiment that runs itself, each with its sentence: reached, never, spent, nothing left, stopped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import chdtrc

from experiments.analysis.verdict.goodness_of_fit import SIGNIFICANCE
from experiments.planning.choice import Measurement
from experiments.planning.goal import Goal
from experiments.planning.knowledge import KnownSoFar
from experiments.planning.telling_apart import confounded_quantities
from models.array_types import Array

WITHOUT_END = 1e6  # times each run of the menu: what more of it would ever tell
_MOST_NAMED = 3  # quantities named
MOST_TIMES = 1e3  # times the time so far, up to which it is said how long it would take


@dataclass(frozen=True)
class Ending:
    """Ending of an experiment that runs itself, and its reason in a sentence."""

    kind: Literal["reached", "never", "spent", "nothing left", "stopped"]
    sentence: str


def told_apart(goal: Goal, known: KnownSoFar, nominal: Mapping[str, float], against: Mapping[str, float]) -> Ending:
    """Ending of an experiment that knows what was asked; of a verdict it says which model is rejected.

    Parameters
    ----------
    goal : Goal
    known : KnownSoFar
    nominal, against : mapping of str to float
        Values of the quantities in theory and in the other model, SI.
    """
    if goal.difference is None:
        return Ending("reached", f"all that was asked for is reached: {known_words(goal, known)}")
    ps = [model_p(goal, known, {**nominal, **other}) for other in ({}, against)]
    other = ", ".join(f"{name} = {value:g}" for name, value in against.items())
    said = [
        f"{name} is {'rejected' if p < SIGNIFICANCE else 'not rejected'} (p = {p:.2g})"
        for name, p in zip(("theory", f"the model with {other}"), ps, strict=True)
    ]
    return Ending("reached", f"the two models are told apart: {' and '.join(said)}")


def model_p(goal: Goal, known: KnownSoFar, values: Mapping[str, float]) -> float:
    """Probability of an estimate so far away, where a model with these values (SI) of what is asked holds."""
    away = goal.rows @ known.values - np.array([values[name] for name in goal.labels])
    covariance = goal.rows @ known.covariance @ goal.rows.T
    return float(chdtrc(len(goal.labels), away @ np.linalg.solve(covariance, away)))


def unreachable(goal: Goal, known: KnownSoFar, measurements: Sequence[Measurement]) -> Ending | None:
    """Ending of an experiment that would never reach what is asked for, however long; None where it would."""
    if not goal.asks:
        return None
    per_run = sum((one.information for one in measurements), np.zeros_like(goal.known))
    at_last = known.information + WITHOUT_END * per_run
    if goal.shortfall(at_last) <= 1.0:
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


def budget_spent(goal: Goal, known: KnownSoFar, minutes: float, allowed: float) -> Ending:
    """Ending of an experiment whose minutes are spent; it says how long what is asked for would take.

    Parameters
    ----------
    goal : Goal
    known : KnownSoFar
    minutes, allowed : float
        Spent, and to be spent.
    """
    said = f"the {allowed:g} minutes are spent: {known_words(goal, known)}"
    if not goal.asks:
        return Ending("spent", said)
    times = _times_as_long(goal, known.information - goal.known) if known.windows else np.inf
    more = f"about {times * minutes:.2g} minutes would do" if np.isfinite(times) else "allow more minutes"
    return Ending("spent", f"{said}; {more}")


def nothing_left(dropped: Mapping[str, str]) -> Ending:
    """Ending of an experiment with nothing left on its menu."""
    reasons = "; ".join(f"{label}: {why}" for label, why in dropped.items())
    return Ending("nothing left", f"nothing is left to choose: {reasons}")


def known_words(goal: Goal, known: KnownSoFar, values: Array | None = None) -> str:
    """Standard deviations reached beside those wanted, with the values (q,) where they are given, SI."""
    told = []
    for i, (label, unit, std, wanted) in enumerate(zip(goal.labels, goal.units, known.stds, goal.wanted, strict=True)):
        value = "" if values is None else f"{values[i]:.4g} "
        aim = f" (wanted {wanted:.2g})" if np.isfinite(wanted) else ""
        told.append(f"{label} {value}+- {std:.2g} {unit}".rstrip() + aim)
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
