"""Mean eigenvalue of each condition during a campaign.

It is that of the report, without its predictions.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from riderless.experiments.analysis.comparison.random_effects import pooled_means
from riderless.experiments.analysis.windows.grouping import at_one_speed, condition_names
from riderless.experiments.datatypes import Fit, Window


class FittedWindow(NamedTuple):
    """Window with its fit, and the label of its recording."""

    label: str
    window: Window
    fit: Fit


class ConditionMean(NamedTuple):
    """Random-effects mean over the windows of one condition."""

    label: str  # of its recordings
    name: str  # of the condition: the label, or "lqr at 4.50 m/s"
    windows: int
    v_mean: float  # m/s
    eigenvalue: complex | None  # 1/s; None where the speed changes, and a mean would be one at no speed


def condition_means(fitted: Sequence[FittedWindow]) -> list[ConditionMean]:
    """Mean of each condition so far, in order of appearance."""
    names = condition_names([each.label for each in fitted], [each.window for each in fitted])
    conditions = {name: [each for each, own in zip(fitted, names, strict=True) if own == name] for name in names}
    steady = {name: own for name, own in conditions.items() if at_one_speed(each.window for each in own)}
    re = pooled_means([_values([(f.re, f.re_std) for _, _, f in own]) for own in steady.values()])
    im = pooled_means([_values([(f.im, f.im_std) for _, _, f in own]) for own in steady.values()])
    means = {name: complex(a.mean, b.mean) for name, a, b in zip(steady, re, im, strict=True)}
    return [
        ConditionMean(own[0].label, name, len(own), float(np.mean([w.v_mean for _, w, _ in own])), means.get(name))
        for name, own in conditions.items()
    ]


def _values(pairs: Sequence[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Values (n,) and their variances."""
    values, std = np.array(pairs).T
    return values, std**2
