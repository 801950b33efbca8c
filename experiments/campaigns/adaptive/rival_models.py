"""Models that a verdict decides between: theory as it is stated, and the same with other values of some quantities.

After each run each model has a chi-square: how far the estimate of what they differ in lies from its values, the rest
being free within what was known before. The verdict is decided as soon as one model is so many times as likely as each
other (Wald 1945, Annals of Mathematical Statistics 16, 117). However often one looks, data of a true model make another
one 100 times as likely in one experiment of 100 at most (Ville 1939), so looking after each run costs nothing. Where no
model fits, all are rejected, each look at a level of its own that together make up the usual one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from riderless.experiments.analysis.verdict.goodness_of_fit import SIGNIFICANCE
from riderless.experiments.campaigns.learning.endings import Ending
from riderless.experiments.experiment_design.choice import LogSeparation
from riderless.experiments.experiment_design.goal import Goal
from riderless.experiments.experiment_design.knowledge import LEAST_WINDOWS, KnownSoFar
from riderless.models.array_types import Array

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
        words = [" and ".join(f"{name} = {value:g}" for name, value in one.items()) for one in each]
        values = [[{**nominal, **one}[name] for name in goal.labels] for one in each]
        return cls(goal, (STATED, *(f"the model with {said}" for said in words[1:])), np.array(values, float))

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
        return np.asarray(min(apart, key=lambda one: float(np.linalg.norm(one / sizes))))

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
            each = " and ".join(f"{name} (p = {one:.2g})" for name, one in zip(self.names, p, strict=True))
            return Ending("reached", f"no model that was named holds: {each} are rejected")
        if odds[second] < self.wanted_odds:
            return None
        rejected = " and ".join(name for i, name in enumerate(self.names) if i != first)
        return Ending(
            "reached",
            f"the verdict is decided: {rejected} {'is' if len(self.names) == 2 else 'are'} rejected; the runs are "
            f"{_times(odds[second])} times as likely under {self.names[first]}, with which they agree to p = "
            f"{p[first]:.2g}",
        )

    def exhausted(self, known: KnownSoFar, at_last: Array) -> Ending | None:
        """Ending of a verdict that more runs would not decide; None where they may.

        Parameters
        ----------
        known : KnownSoFar
        at_last : (p, p)
            Information when all has been measured without end.
        """
        separation = LogSeparation(self.goal.rows, self.difference(known))
        told = separation.noncentrality(known.information) / separation.noncentrality(at_last)
        if known.windows < LEAST_WINDOWS or told < ALL_TOLD:
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
