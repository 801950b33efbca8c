"""Comparison of measured with predicted eigenvalues.

In units of their joint standard deviation; with means over windows. A single window's interval is too small: in
published data the scatter between pushes is three to five times the standard error of one fit. Pooled means therefore
have an effect between windows in their intervals (`random_effects.py`), and say how many there were.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np

from riderless.experiments.analysis.comparison.prediction import predict
from riderless.experiments.analysis.comparison.random_effects import PooledMean, pooled_means
from riderless.experiments.analysis.windows.grouping import at_one_speed, speed_range
from riderless.experiments.datatypes import Comparison, Fit, Rejected, Segment, Window
from riderless.experiments.recordings.published import Figure7, figure7
from riderless.experiments.theories import open_loop
from riderless.experiments.theory.modes import kicked_mode
from riderless.models import catalogue

_Quantity: TypeAlias = Callable[[Comparison], tuple[float, float]]  # of a window: value and standard deviation
_OLD_KEYS = {"residual_re": "left_re", "residual_im": "left_im"}  # in JSON documents


@dataclass(frozen=True)
class SampleStatistics:
    """Mean of n numbers, their scatter (sample standard deviation) and the mean's standard error.

    With one number scatter and standard error are not known: nan.
    """

    n: int
    mean: float
    scatter: float
    sem: float

    @classmethod
    def of(cls, values: Sequence[float] | np.ndarray) -> "SampleStatistics":
        """Statistics of some values, (n,)."""
        values = np.asarray(values, dtype=float)
        n = len(values)
        mean = float(np.mean(values)) if n else float("nan")
        scatter = float(np.std(values, ddof=1)) if n > 1 else float("nan")
        return cls(n, mean, scatter, scatter / n**0.5 if n else float("nan"))


@dataclass(frozen=True)
class PooledCondition:
    """Random-effects means over the windows of one condition; eigenvalue parts in 1/s (re) and rad/s (im)."""

    label: str
    n: int
    agreeing: int
    v_mean: float  # m/s
    re: PooledMean  # measured
    im: PooledMean
    residual_re: PooledMean  # measured minus like for like
    residual_im: PooledMean
    like: complex  # mean like-for-like prediction
    frozen: complex  # mean frozen eigenvalue
    width: float = 0.0  # m/s, from the slowest window to the fastest

    def as_json(self) -> dict[str, Any]:
        """Document of the condition, under the names that readers of report.json know."""
        own = {_OLD_KEYS.get(field.name, field.name): getattr(self, field.name) for field in fields(self)}
        return {name: value.as_json() if isinstance(value, PooledMean) else value for name, value in own.items()}


@dataclass(frozen=True)
class Summary:
    """Summary of a set of comparisons; residuals are measured minus predicted."""

    n: int
    agreeing: int  # both parts within three joint standard deviations, like for like
    like_re: SampleStatistics
    like_im: SampleStatistics
    frozen_re: SampleStatistics
    frozen_im: SampleStatistics
    z_re: float  # root mean square of z; 1 where the standard deviations of single fits are right,
    z_im: float  # below 1 where they are too large
    pooled: tuple[PooledCondition, ...]

    def as_json(self) -> dict[str, Any]:
        """Document of the summary, under the names that readers of report.json know."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**own, "pooled": [pool.as_json() for pool in self.pooled], "fraction": self.fraction}

    @property
    def fraction(self) -> float:
        """Share of the windows that agree, 0 to 1; nan without windows."""
        return self.agreeing / self.n if self.n else float("nan")


@dataclass(frozen=True)
class ResidualStatistics:
    """Mean and root mean square of measured minus predicted eigenvalues, both parts."""

    n: int
    re_mean: float
    im_mean: float
    re_rms: float
    im_rms: float


def compare(segment: Segment, fit: Fit) -> Comparison:
    """Set a fit, one that may be compared, beside its prediction.

    z = (measured - like for like) / (standard deviation of that difference), for each part. The deviation
    is that of the window's coloured noise. What a single mode cannot describe stands in both fits and
    cancels, so it does not count here, though it does in the standard deviation of the fit itself.
    """
    p = predict(segment, fit)
    z_re = _z(fit.re - p.like.real, p.difference_std[0])
    z_im = _z(fit.im - p.like.imag, p.difference_std[1])
    return Comparison(segment, fit, p, z_re, z_im, segment.response.label or segment.response.source)


def rejected_fits(windows: Sequence[Window], fits: Sequence[Fit]) -> list[Rejected]:
    """Windows whose fit may not be compared, with the reason that the fit gives."""
    return [
        Rejected(window.source, window.t_start, window.t_end, fit.status)
        for window, fit in zip(windows, fits, strict=True)
        if not fit.ok
    ]


def _z(difference: float, std: float) -> float:
    """Difference in standard deviations; 0 where it is not uncertain and there is none."""
    if std > 0 or np.isnan(std):
        return difference / std
    return 0.0 if difference == 0 else float(np.copysign(np.inf, difference))


def windows_by_bicycle(comparisons: Sequence[Comparison]) -> dict[str, list[Comparison]]:
    """Group windows by their bicycle's name."""
    groups: dict[str, list[Comparison]] = {}
    for c in comparisons:
        groups.setdefault(c.segment.theory.bicycle.name, []).append(c)
    return groups


def summary(comparisons: Sequence[Comparison]) -> Summary:
    """Summarise comparisons: count, pool per condition (in order of appearance) and average the residuals."""
    like = np.array([c.residual for c in comparisons], dtype=complex)
    frozen = np.array([c.fit.eigenvalue - c.prediction.frozen for c in comparisons], dtype=complex)
    conditions = dict.fromkeys(c.condition for c in comparisons)
    return Summary(
        n=len(comparisons),
        agreeing=sum(c.agrees for c in comparisons),
        like_re=SampleStatistics.of(like.real),
        like_im=SampleStatistics.of(like.imag),
        frozen_re=SampleStatistics.of(frozen.real),
        frozen_im=SampleStatistics.of(frozen.imag),
        z_re=_rms([c.z_re for c in comparisons]),
        z_im=_rms([c.z_im for c in comparisons]),
        pooled=_pooled([[c for c in comparisons if c.condition == name] for name in conditions]),
    )


def _rms(values: Sequence[float] | np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values)))) if len(values) else float("nan")


def _pooled(conditions: Sequence[Sequence[Comparison]]) -> tuple[PooledCondition, ...]:
    """Pool each condition, with a random effect between windows that all share.

    A window at changing speed stands alone: a mean of eigenvalues at other speeds is one at none. Of the effect between
    windows those tell by their residuals.
    """
    steady = [at_one_speed(c.window for c in some) for some in conditions]
    rows: list[Sequence[Comparison]] = []
    for some, at_speed in zip(conditions, steady, strict=True):
        rows += [some] if at_speed else [[c] for c in some]

    def pools(quantity: _Quantity, residual: _Quantity) -> list[PooledMean]:
        repeats = [
            _known(some, quantity if at_speed else residual) for some, at_speed in zip(conditions, steady, strict=True)
        ]
        return pooled_means([_known(row, quantity) for row in rows], repeats)

    re = pools(lambda c: (c.fit.re, c.fit.re_std), _residual_re)
    im = pools(lambda c: (c.fit.im, c.fit.im_std), _residual_im)
    residual_re, residual_im = pools(_residual_re, _residual_re), pools(_residual_im, _residual_im)
    return tuple(
        PooledCondition(
            label=row[0].condition,
            n=len(row),
            agreeing=sum(c.agrees for c in row),
            v_mean=float(np.mean([c.window.v_mean for c in row])),
            re=re[i],
            im=im[i],
            residual_re=residual_re[i],
            residual_im=residual_im[i],
            like=complex(np.mean([c.prediction.like for c in row])),
            frozen=complex(np.mean([c.prediction.frozen for c in row])),
            width=speed_range(row),
        )
        for i, row in enumerate(rows)
    )


def _residual_re(c: Comparison) -> tuple[float, float]:
    return c.fit.re - c.prediction.like.real, c.prediction.difference_std[0]


def _residual_im(c: Comparison) -> tuple[float, float]:
    return c.fit.im - c.prediction.like.imag, c.prediction.difference_std[1]


def _known(group: Sequence[Comparison], quantity: _Quantity) -> tuple[np.ndarray, np.ndarray]:
    """Values (n,) of a quantity, and their variances, in the windows where both are known."""
    pairs = np.array([quantity(c) for c in group])
    y, std = pairs[np.isfinite(pairs).all(axis=1)].T
    return y, std**2


def figure7_residuals(measured: Figure7 | None = None) -> ResidualStatistics:
    """Kooijman's 26 measurements minus the frozen weave eigenvalue of Silver at mid-range speed.

    Parameters
    ----------
    measured : Figure7, optional
        Other measurements of the kind; the published ones when omitted.
    """
    if measured is None:
        measured = figure7()
    dynamics = open_loop(catalogue.load_bicycle("Silver")).dynamics()
    frozen = np.array([kicked_mode(dynamics, float(v)) for v in measured.v_mean])
    return residual_statistics(measured, frozen)


def residual_statistics(measured: Figure7, predicted: np.ndarray) -> ResidualStatistics:
    """Mean and root mean square of measured minus predicted, (n,) complex."""
    re, im = measured.re - predicted.real, measured.im - predicted.imag
    return ResidualStatistics(len(predicted), float(np.mean(re)), float(np.mean(im)), _rms(re), _rms(im))
