"""Rival models of a sequential verdict.

Theory as it is stated, and the same with other values of some quantities. After each run each model has a chi-square:
how far the estimate of what they differ in lies from its values, the rest being free within what was known before. The
verdict is decided as soon as one model is so many times as likely as each other (Wald 1945, Annals of Mathematical
Statistics 16, 117). However often one looks, data of a true model make another one 100 times as likely in one
experiment of 100 at most (Ville 1939), so looking after each run costs nothing. Where no model fits, all are rejected,
each look at a level of its own that together make up the usual one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import chdtrc

from riderless.experiments.analysis.verdict.goodness_of_fit import SIGNIFICANCE
from riderless.experiments.analysis.verdict.wording import p_text
from riderless.experiments.experiment_design.choice import LogSeparation, Measurement
from riderless.experiments.experiment_design.goal import Goal
from riderless.experiments.experiment_design.knowledge import LEAST_WINDOWS, WITHOUT_END, KnownSoFar
from riderless.experiments.experiment_design.plan import confounded_quantities
from riderless.models.array_types import Array

# Endings of an experiment that runs itself, each with its sentence: reached, never, spent, nothing left, stopped.


_MOST_NAMED = 3  # quantities named


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


def unreachable(goal: Goal, at_last: KnownSoFar, measurements: Sequence[Measurement]) -> Ending | None:
    """Ending of an experiment that would never reach what is asked for, however long; None where it would.

    Parameters
    ----------
    goal : Goal
    at_last : KnownSoFar
        When all has been measured without end.
    measurements : sequence of Measurement
    """
    information = at_last.information
    if not goal.asks or goal.shortfall(information) <= 1.0:
        return None
    alike = [str(pair) for pair in confounded_quantities(goal, information, measurements)]
    because = "; ".join(alike) or _hidden_words(goal, information)
    if goal.shortfall(at_last.by_noise) <= 1.0:
        because = "so far may theory be off at this lean; lower most_lean_deg"
    if goal.difference is not None:
        return Ending("never", f"theory and the other model are never told apart, however long: {because}")
    stays = [
        f"{goal.labels[i]} +- {goal.wanted[i]:g} is never reached, however long (it stays at {std:.2g})"
        for i, std in enumerate(goal.stds(information))
        if std > goal.wanted[i]
    ]
    return Ending("never", f"{' and '.join(stays)}: {because}")


def _hidden_words(goal: Goal, information: Array) -> str:
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
    spent = f"the {allowed:g} minutes are spent: {so_far}"
    if not goal.asks:
        return Ending("spent", spent)
    times = max(known.times_until_reached(goal), 1.0) if known.windows else np.inf
    more = f"about {times * minutes:.2g} minutes would do" if np.isfinite(times) else "allow more minutes"
    return Ending("spent", f"{spent}; {more}")


def nothing_left(dropped: Mapping[str, str]) -> Ending:
    """Ending of an experiment with nothing left on its menu."""
    reasons = "; ".join(f"{label}: {why}" for label, why in dropped.items())
    return Ending("nothing left", f"nothing is left to choose: {reasons}")


def known_words(goal: Goal, known: KnownSoFar, values: Array) -> str:
    """Values (q,) with the standard deviations reached, beside those wanted, SI."""
    words = []
    rows = zip(goal.labels, goal.units, values, known.stds, goal.wanted, strict=True)
    for label, unit, value, std, wanted in rows:
        aim = f" (wanted {wanted:.2g})" if np.isfinite(wanted) else ""
        words.append(f"{label} {value:.4g} +- {std:.2g} {unit}".rstrip() + aim)
    return ", ".join(words)


STATED = "theory"
ALL_TOLD = 0.95  # of what could ever tell the models apart, from where on more runs decide nothing
MOST_SAID = 1e6  # times as likely: above it is only said that it is more


@dataclass(frozen=True, eq=False)
class Rivals:
    """Models of a verdict, theory first: their names, and values (m, q) of what they differ in, SI."""

    goal: Goal
    names: tuple[str, ...]
    values: Array

    @classmethod
    def of(cls, goal: Goal, nominal: Mapping[str, float], others: Sequence[Mapping[str, float]]) -> "Rivals":
        """Name the models of a verdict.

        Parameters
        ----------
        goal : Goal
            Of the verdict.
        nominal : mapping of str to float
            Theory's values, SI.
        others : sequence of mappings
            What differs in each other model, SI.
        """
        each = [{}, *others]
        words = [" and ".join(f"{name} = {value:g}" for name, value in model.items()) for model in each]
        values = [[{**nominal, **model}[name] for name in goal.labels] for model in each]
        return cls(goal, (STATED, *(f"the model with {text}" for text in words[1:])), np.array(values, float))

    @property
    def wanted_odds(self) -> float:
        """Times as likely as each other that a model must be."""
        return (len(self.names) - 1) / SIGNIFICANCE

    def chi2(self, known: KnownSoFar) -> Array:
        """Chi-square (m,) of each model."""
        away = self.goal.rows @ known.values - self.values
        covariance = self.goal.rows @ known.covariance @ self.goal.rows.T
        return np.asarray(np.einsum("mi,im->m", away, np.linalg.solve(covariance, away.T)))

    def p_values(self, known: KnownSoFar) -> Array:
        """Probability (m,) of an estimate so far away, where each model holds."""
        return np.asarray(chdtrc(len(self.goal.labels), self.chi2(known)))

    def odds(self, known: KnownSoFar) -> Array:
        """Times as likely as under each model (m,) that the data are under the one that fits best; 1 for that one."""
        chi2 = self.chi2(known)
        return np.exp(np.minimum(0.5 * (chi2 - chi2.min()), 700.0))

    def leaders(self, known: KnownSoFar) -> tuple[int, int]:
        """Numbers of the model that fits best and of its best rival."""
        first, second = np.argsort(self.chi2(known), kind="stable")[:2]
        return int(first), int(second)

    def difference(self, known: KnownSoFar) -> Array:
        """Difference (q,) in what is asked for between the best model and its best rival, to be told apart next.

        Before anything is known the rival is the one that theory is least apart from.
        """
        if known.windows:
            first, second = self.leaders(known)
            return np.asarray(self.values[second] - self.values[first])
        apart = self.values[1:] - self.values[0]
        sizes = np.linalg.norm(self.goal.rows, axis=1)
        return np.asarray(min(apart, key=lambda difference: float(np.linalg.norm(difference / sizes))))

    def decided(self, known: KnownSoFar, looks: int) -> Ending | None:
        """Ending of a verdict that is decided after so many looks, one a run; None where it is not.

        Parameters
        ----------
        known : KnownSoFar
        looks : int
        """
        if known.windows < LEAST_WINDOWS:
            return None
        p, odds = self.p_values(known), self.odds(known)
        first, second = self.leaders(known)
        level = SIGNIFICANCE / (looks * (looks + 1.0))  # of all looks together: the usual one
        if p.max() < level:
            each = " and ".join(f"{name} (p = {p_text(value)})" for name, value in zip(self.names, p, strict=True))
            return Ending("reached", f"no model that was named holds: {each} are rejected")
        if odds[second] < self.wanted_odds:
            return None
        rejected = " and ".join(name for i, name in enumerate(self.names) if i != first)
        return Ending(
            "reached",
            f"the verdict is decided: {rejected} {'is' if len(self.names) == 2 else 'are'} rejected; the runs are "
            f"{_times(odds[second])} times as likely under {self.names[first]}, with which they agree to p = "
            f"{p_text(p[first])}",
        )

    def exhausted(self, known: KnownSoFar, at_last: KnownSoFar) -> Ending | None:
        """Ending of a verdict that more runs would not decide; None where they may.

        Parameters
        ----------
        known : KnownSoFar
        at_last : KnownSoFar
            When all has been measured without end.
        """
        separation = LogSeparation(self.goal.rows, self.difference(known))
        share = separation.noncentrality(known.information) / separation.noncentrality(at_last.information)
        if known.windows < LEAST_WINDOWS or share < ALL_TOLD:
            return None
        return Ending("never", f"the verdict is never decided: {self.words(known)}, and more runs tell no more")

    def words(self, known: KnownSoFar) -> str:
        """Say how the models stand: "theory is 12 times as likely as the model with steer_damping = 0.05"."""
        if not known.windows:
            return "nothing is known yet"
        first, second = self.leaders(known)
        odds = _times(self.odds(known)[second])
        return f"{self.names[first]} is {odds} times as likely as {self.names[second]} ({self.wanted_odds:g} decide)"

    def as_json(self, known: KnownSoFar) -> list[dict[str, object]]:
        """Describe the models as `campaign.json` has them: values SI, p, and how many times less likely than the best.

        Parameters
        ----------
        known : KnownSoFar
        """
        rows = zip(self.names, self.values, self.p_values(known), self.odds(known), strict=True)
        return [
            {"name": name, "values": dict(zip(self.goal.labels, map(float, values), strict=True)), "p": float(p)}
            | {"times_less_likely": float(min(odds, MOST_SAID))}
            for name, values, p, odds in rows
        ]


def _times(odds: float) -> str:
    """Say a number of times."""
    return f"more than {MOST_SAID:g}" if odds > MOST_SAID else f"{odds:.3g}"
