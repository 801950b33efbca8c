"""Choice of measurements: greedy, then by exchange.

Greedy by what a measurement tells for the time it takes.

What n measurements tell of p quantities is the sum of their Fisher informations. Of the q combinations asked for, the
rest being nuisance, the determinant of the covariance is to be small (D_s-optimality; Atkinson, Donev and Tobias 2007,
*Optimum Experimental Designs*, chapters 10 and 12). Nothing here knows a bicycle: numbers in, numbers out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from riderless.experiments.analysis.identification.large_motion import with_large_motion
from riderless.experiments.analysis.identification.output_error import AveragedWindow, linearise
from riderless.experiments.dynamics import Theory
from riderless.models.array_types import Array

GAIN_WORTH = 1e-9  # of the criterion, under which an exchange is none
MOST_EXCHANGES = 10_000


@dataclass(frozen=True, eq=False)
class Measurement:
    """Measurement that could be made: the Fisher information (p, p) it would give, and what it takes.

    Attributes
    ----------
    name : str
    information : (p, p)
        Of quantities in their scales.
    duration : float
        s, of the measurement itself.
    v : float
        Speed it is made at [m/s].
    bent : (p,) or None
        What large motion adds to the score of the quantities; None where that is not counted.
    """

    name: str
    information: Array
    duration: float
    v: float
    bent: Array | None = None

    def __repr__(self) -> str:
        return f"<Measurement '{self.name}': {self.duration:.3g} s>"


@dataclass(frozen=True)
class TimeCosts:
    """Time that goes by between measurements.

    Attributes
    ----------
    start : float
        s, to begin one: arming, and the controller settling.
    speed_change : float
        m/s^2, at which the speed is changed.
    settling : float
        s at another speed before anything is measured.
    """

    start: float = 5.0
    speed_change: float = 0.3
    settling: float = 3.0

    def before(self, v: float, last: float | None) -> float:
        """Time [s] before a measurement at speed ``v`` [m/s] after one at ``last``; None: it is the first."""
        if last is None or abs(v - last) < 1e-9:
            return self.start
        return self.start + abs(v - last) / self.speed_change + self.settling


class Criterion(Protocol):
    """Number that is to grow: of the information (p, p) gathered."""

    def value(self, information: Array) -> float: ...


def covariance_of(information: Array, rows: Array) -> Array:
    """Covariance (q, q) of combinations ``rows`` (q, p) of quantities of which the information (p, p) is known."""
    return np.asarray(rows @ np.linalg.solve(information, rows.T))


@dataclass(frozen=True, eq=False)
class LogDeterminant:
    """Logarithm of the determinant of the information about combinations ``rows`` (q, p), the rest being nuisance."""

    rows: Array

    def value(self, information: Array) -> float:
        """Minus the logarithm of the determinant of their covariance."""
        return -float(np.linalg.slogdet(covariance_of(information, self.rows))[1])


@dataclass(frozen=True, eq=False)
class LogSeparation:
    """Logarithm of how far two models stand apart: the noncentrality of the chi-square that tells them.

    ``difference`` (q,) is by how much the combinations ``rows`` (q, p) differ between them.
    """

    rows: Array
    difference: Array

    def noncentrality(self, information: Array) -> float:
        """Square of the distance between the models in standard deviations, with everything else free."""
        return float(self.difference @ np.linalg.solve(covariance_of(information, self.rows), self.difference))

    def value(self, information: Array) -> float:
        """Logarithm of the noncentrality."""
        return float(np.log(max(self.noncentrality(information), np.finfo(float).tiny)))


def next_measurement(
    measurements: Sequence[Measurement],
    known: Array,
    criterion: Criterion,
    costs: TimeCosts,
    last: float | None = None,
) -> int:
    """Choose the measurement with the largest gain of the criterion per time it takes; of equal ones the first.

    Parameters
    ----------
    measurements : sequence of Measurement
        One or more.
    known : (p, p)
        Information gathered so far, what was known before included; of full rank.
    criterion : Criterion
    costs : TimeCosts
    last : float or None
        Speed [m/s] of the measurement before.
    """
    now = criterion.value(known)
    rates = [
        (criterion.value(known + measurement.information) - now)
        / (costs.before(measurement.v, last) + measurement.duration)
        for measurement in measurements
    ]
    return int(np.argmax(rates))


def time_taken(plan: Sequence[Measurement], costs: TimeCosts) -> float:
    """Time [s] that measurements take in the order given."""
    befores = [None, *(measurement.v for measurement in plan)]
    return sum(
        measurement.duration + costs.before(measurement.v, last)
        for measurement, last in zip(plan, befores, strict=False)
    )


def best_plan(
    measurements: Sequence[Measurement], known: Array, criterion: Criterion, costs: TimeCosts, time: float
) -> list[Measurement]:
    """Plan the measurements of a given time, sorted by speed: the greedy choice, improved by exchange (Fedorov 1972).

    Each is taken as often as is best. The greedy choice adds the largest gain, once per time and once as it is; from
    both an exchange then puts one measurement in the place of another as long as that makes the criterion larger.

    Parameters
    ----------
    measurements : sequence of Measurement
    known : (p, p)
        Information before, of full rank.
    criterion : Criterion
    costs : TimeCosts
    time : float
        s, of all together.
    """
    search = _Search(sorted(measurements, key=lambda measurement: measurement.v), known, criterion, costs, time)
    none = np.zeros(len(measurements), int)
    candidates = [search.exchanged(search.filled(none, per_time)) for per_time in (True, False)]
    return search.plan(max(candidates, key=search.value))


@dataclass(frozen=True, eq=False)
class _Search:
    """Search among plans, each a count (k,) of the measurements, which are sorted by speed."""

    measurements: Sequence[Measurement]
    known: Array
    criterion: Criterion
    costs: TimeCosts
    time: float

    def plan(self, counts: Array) -> list[Measurement]:
        return [measurement for measurement, n in zip(self.measurements, counts, strict=True) for _ in range(n)]

    def value(self, counts: Array) -> float:
        information = self.known
        for n, measurement in zip(counts, self.measurements, strict=True):
            if n:
                information = information + n * measurement.information
        return self.criterion.value(information)

    def filled(self, counts: Array, per_time: bool) -> Array:
        """Add measurements as long as there is time, by their gain or by that per time."""
        units, spent = np.eye(len(counts), dtype=int), time_taken(self.plan(counts), self.costs)
        while True:
            now, rates = self.value(counts), {}
            for i, unit in enumerate(units):
                more = time_taken(self.plan(counts + unit), self.costs) - spent
                if spent + more <= self.time:
                    rates[i] = (self.value(counts + unit) - now) / (more if per_time else 1.0)
            if not rates:
                return counts
            counts = counts + units[max(rates, key=rates.__getitem__)]
            spent = time_taken(self.plan(counts), self.costs)

    def exchanged(self, counts: Array) -> Array:
        """Exchange one measurement for another, and fill what time that leaves, as long as it helps."""
        units, best = np.eye(len(counts), dtype=int), self.value(counts)
        for _ in range(MOST_EXCHANGES):
            tries = [counts - units[i] + units[j] for i in np.flatnonzero(counts) for j in range(len(counts)) if i != j]
            tries = [each for each in tries if time_taken(self.plan(each), self.costs) <= self.time]
            values = [self.value(each) for each in tries]
            if not values or max(values) <= best + GAIN_WORTH:
                break
            counts = self.filled(tries[int(np.argmax(values))], per_time=True)
            best = self.value(counts)
        return counts


# Fisher information of windows about quantities of a machine, as output error has them (`analysis/output_error.py`).
#
# Where theory knows the noise of the sensors, the innovations of a window have variance 1, and the information is that
# of their Jacobian, the start of the window being free. Quantities are in scales, their usual deviations, so that all
# numbers are of one size.


WEAKLY_KNOWN = 100.0  # usual deviations: what is known of a quantity without a deviation of its own


def known_before(theory: Theory, names: Sequence[str]) -> Array:
    """Information (p, p) before anything is measured, in scales: from deviations measured before, else next to none."""
    known = np.array([theory.uncertain.get(name, np.inf) for name in names]) / theory.scales(names)
    precision = np.minimum(known, WEAKLY_KNOWN) ** -1.0
    return np.outer(precision, precision) * np.linalg.inv(theory.bicycle.correlation_matrix(names))


def window_information(
    averaged: AveragedWindow,
    names: Sequence[str],
    values: Mapping[str, float] = {},
    stds: Mapping[str, float] = {},
) -> Array:
    """Fisher information (p, p) of one window about quantities, in their scales.

    Parameters
    ----------
    averaged : AveragedWindow
    names : sequence of str
    values : mapping of str to float, optional
        Of the quantities, SI; theory's own by default.
    stds : mapping of str to float
        Noise of each channel, where theory knows none.
    """
    jacobian = linearise(averaged, values, names, stds).jacobian * averaged.theory.scales(names)
    return np.asarray(jacobian.T @ jacobian)


def large_motion_score(averaged: AveragedWindow, names: Sequence[str], stds: Mapping[str, float] = {}) -> Array:
    """Score (p,) of quantities, in their scales, by the motion of one window beyond the linear one.

    Parameters
    ----------
    averaged : AveragedWindow
    names, stds
        As of `window_information`.
    """
    start = linearise(averaged, {}, stds=stds).start
    window = linearise(with_large_motion(averaged, {}, start), {}, names, stds)
    return np.asarray((window.jacobian * averaged.theory.scales(names)).T @ window.beyond)
