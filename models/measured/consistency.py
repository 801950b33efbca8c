"""Consistency of over-determined readings: a chi-square test.

Each set has one, and the reading that does not fit is named.

A set's lines or swings leave over ``u = U^T r`` (f,), with U the directions that no centre or tensor reaches; its
covariance S follows from that of the readings, common causes and all, and chi-square is u S^-1 u with f degrees of
freedom.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import degrees, pi

import numpy as np
from scipy.special import chdtrc

from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.measured.reading_table import PARTS, kind_of, words_for
from riderless.models.measured.readings import LabReadings, Reading
from riderless.models.measured.reduction import (
    FOUR_PI_2,
    OrientationSet,
    Plan,
    Reduction,
    complex_step_jacobian,
    plan_of,
    reduce_readings,
)

DOUBTFUL = 0.01  # probability of a larger chi-square, below which readings are doubted
CLEARLY = 3.0  # times smaller than any other's, that chi-square without a reading is where it alone is at fault
COLLAPSES = 0.1  # share of its residuals that a set keeps, at most, without the one reading at fault
BEYOND = 1.05  # times a principal moment, that no angle explains
PEOPLE_DIFFER = 3.0  # standard deviations
SCATTERS = 3.0  # times the stated deviation, that repeated readings may scatter
MULTIPLE = 0.03  # share by which a period may be off from n periods that were not divided by n
FLATNESS = {
    "B": (0.9, 1.7),
    "H": (0.95, 2.15),
}  # (Ixx + Izz) / Iyy, 1 of a flat body; 0.98 to 1.58 and 1.03 to 1.99 of ours
SLENDER = 0.05  # least principal moment in the plane per the largest
CENTRES = {
    "B": ((-0.25, 1.0), (-1.5, 0.25), (0.35, -0.3)),
    "H": ((-1.0, 0.3), (-1.3, 0.15), (-0.2, -0.45)),
    "S": ((-0.6, 0.3), (-0.9, 0.15), (-0.15, -0.3)),
}
"""Of a part, where its centre of mass lies, m forward and down of the axle: ranges, and the usual place."""
CONVENTIONS: Mapping[str, Callable[[float], float]] = {
    "the distances a have the reversed sign: a is positive when the point is left of the line, seen from the right": (
        lambda alpha: alpha + pi
    ),
    "the angles run clockwise: they run counterclockwise, seen from the right": lambda alpha: -alpha,
    "the angles run clockwise from the left: they run counterclockwise from the right": lambda alpha: pi - alpha,
    "the angles are from the vertical: they are from the horizontal that points right": lambda alpha: alpha + pi / 2.0,
    "the angles are from the downward vertical: they are from the horizontal that points right": (
        lambda alpha: alpha - pi / 2.0
    ),
    "the angles are from the vertical, clockwise: they are from the horizontal that points right, counterclockwise": (
        lambda alpha: pi / 2.0 - alpha
    ),
}
"""Likely mistakes in the angles of hanging parts, each with the true angle [rad] from the one written."""


@dataclass(frozen=True)
class SetCheck:
    """Consistency of one set: chi-square, its freedom, the probability of a larger one; residuals (n,).

    Residuals are in m of lines, per moment of swings.
    """

    each: OrientationSet
    chi2: float
    probability: float
    residuals: Array

    @property
    def doubtful(self) -> bool:
        """Do the readings of the set contradict one another?"""
        return self.each.freedom > 0 and self.probability < DOUBTFUL

    @property
    def sentence(self) -> str:
        """One line: chi-square, or that there is none."""
        if self.each.freedom == 0:
            return f"{self.each.words}: as many as needed, none to test them by"
        scale = 1e3 if self.each.of == "line" else 100.0
        unit = "mm" if self.each.of == "line" else "%"
        worst = scale * float(np.abs(self.residuals).max())
        return (
            f"{self.each.words}: chi-square {self.chi2:.3g} for {self.each.freedom} "
            f"(a larger one: {self.probability:.2g}), residuals to {worst:.2g} {unit}"
        )


@dataclass(frozen=True)
class Doubt:
    """Doubt about readings: their symbols, and a sentence."""

    symbols: tuple[str, ...]
    sentence: str


def check_sets(readings: LabReadings, plan: Plan) -> tuple[SetCheck, ...]:
    """Check every set of lines and swings."""
    return tuple(_check_set(readings, plan, each) for each in plan.sets)


def _check_set(readings: LabReadings, plan: Plan, each: OrientationSet) -> SetCheck:
    """Check one set of lines or swings."""
    symbols = list(readings.readings)
    x = np.array([readings.readings[symbol].mean for symbol in symbols])
    reduction = reduce_readings(dict(zip(symbols, x, strict=True)), plan)
    residual = np.real(reduction.residuals[each.key])
    moments = np.array([reduction.moments.get(name, 1.0) for name in each.symbols])
    if each.freedom == 0:
        return SetCheck(each, 0.0, 1.0, residual / moments)
    U = np.linalg.svd(reduction.designs[each.key])[0][:, -each.freedom :]

    def left_over(values: Array) -> Array:
        return np.asarray(U.T @ reduce_readings(dict(zip(symbols, values, strict=True)), plan).residuals[each.key])

    J = complex_step_jacobian(left_over, x)
    own = J * np.array([readings.readings[symbol].std for symbol in symbols])
    common = [
        J @ np.array([tool.errors.get(symbol, 0.0) for symbol in symbols])[:, np.newaxis] for tool in readings.tools
    ]
    S = sum((part @ part.T for part in (own, *common)), np.zeros((each.freedom, each.freedom)))
    u = U.T @ residual
    scale = float(np.trace(S))
    if scale <= 0.0:  # readings without deviations cannot be tested
        return SetCheck(each, 0.0, 1.0, residual / moments)
    chi2 = float(u @ np.linalg.lstsq(S / scale, u / scale, rcond=1e-12)[0])
    return SetCheck(each, chi2, float(chdtrc(each.freedom, chi2)), residual / moments)


def doubts_of(
    readings: LabReadings,
    checks: Sequence[SetCheck],
    weaves: Callable[[LabReadings], list[complex]] = lambda readings: [],
    here: Sequence[tuple[float, complex]] = (),
) -> Iterator[Doubt]:
    """Find the readings that contradict others, and say what leaving them out does to the weave.

    Parameters
    ----------
    readings : LabReadings
    checks : sequence of SetCheck
    weaves : callable
        Weave [1/s] of fewer readings at the speeds of ``here``.
    here : sequence of (float, complex)
        Speeds [m/s] and the weave there.
    """
    for reading in readings.readings.values():
        yield from _people(reading)
    for check in checks:
        if check.doubtful:
            yield _misfit(readings, check, weaves, here)
    for reading in readings.readings.values():
        stated = float(np.hypot.reduce(reading.stated)) / len(reading.values)
        if stated and reading.scatter > SCATTERS * stated:
            unit = kind_of(reading.symbol)
            n = len(reading.values)
            yield Doubt(
                (reading.symbol,),
                f"{reading.symbol} ({words_for(reading.symbol)}): {n} readings scatter by "
                f"{reading.scatter * n**0.5:.2g} {unit.unit if unit else ''}, "
                f"{reading.scatter / stated:.2g} times what is stated; the scatter counts",
            )
    exact = tuple(s for s in readings.readings if not readings.deviation(s) and not s.startswith("n"))
    if exact:
        more = f" and {len(exact) - 6} more" if len(exact) > 6 else ""
        yield Doubt(
            exact,
            f"no standard deviation is stated of {', '.join(exact[:6])}{more}, which count as exact, so that those of "
            "the bicycle are too small: write them in [std]",
        )


def unlike_tensor(readings: LabReadings, plan: Plan, reduction: Reduction) -> Iterator[Doubt]:
    """Doubt a tensor that nothing tests, as only as many swings as needed were made, and that no such frame has."""
    p = reduction.parameters
    for each in plan.sets:
        frame = "H" if each.part in "SG" else each.part
        if each.of != "swing" or each.freedom > 0 or f"I{frame}yy" in plan.missing:
            continue
        Ixx, Ixz, Iyy, Izz = (float(p[f"I{frame}{axes}"]) for axes in ("xx", "xz", "yy", "zz"))
        width = (Ixx + Izz) / Iyy
        middle, radius = (Ixx + Izz) / 2.0, float(np.hypot((Ixx - Izz) / 2.0, Ixz))
        slender = (middle - radius) / (middle + radius)
        if FLATNESS[frame][0] <= width <= FLATNESS[frame][1] and slender >= SLENDER:
            continue
        what = "front frame" if frame == "H" else "rear frame"
        swings = ", ".join((*each.symbols, *plan.compound[each.part]))
        yield Doubt(
            (*each.symbols, *plan.compound[each.part]),
            f"the tensor of the {what} is like no other's: Ixx + Izz is {width:.2g} times Iyy (others: "
            f"{FLATNESS[frame][0]:g} to {FLATNESS[frame][1]:g}), its smaller principal moment {slender:.2g} of "
            f"the larger; one of {swings} may be the time of several swings, and no further one tells: swing it in a "
            "fourth orientation",
        )


def _people(reading: Reading) -> Iterator[Doubt]:
    """Compare the readings of several people."""
    people = list(dict.fromkeys(reading.people))
    for i, first in enumerate(people):
        for second in people[i + 1 :]:
            a, b = reading.of_person(first), reading.of_person(second)
            off = abs(a.mean - b.mean)
            std = float(np.hypot(a.std, b.std))
            if std and off > PEOPLE_DIFFER * std:
                kind = kind_of(reading.symbol)
                factor, unit = (
                    (degrees(1.0), "deg") if kind and kind.unit == "rad" else (1.0, kind.unit if kind else "")
                )
                yield Doubt(
                    (reading.symbol,),
                    f"{first} and {second} differ in {reading.symbol} ({words_for(reading.symbol)}) by "
                    f"{factor * off:.3g} {unit}, {off / std:.2g} standard deviations: read it once more together",
                )


def _misfit(
    readings: LabReadings,
    check: SetCheck,
    weaves: Callable[[LabReadings], list[complex]],
    here: Sequence[tuple[float, complex]],
) -> Doubt:
    """Name the reading of a set that does not fit, and what leaving it out does."""
    each = check.each
    without = {symbol: _check_without(readings, each, symbol) for symbol in each.symbols}
    order = sorted(without, key=lambda symbol: without[symbol][0])
    head = f"the {check.sentence}"
    best, second = order[0], order[1]
    rest = max(float(each.freedom - 1), 1.0)
    fits = without[best][0] < 3.0 * rest or without[best][1] < COLLAPSES * _rms(check.residuals)
    impossible = [symbol for symbol in each.symbols if _moment_remark(readings, each, symbol)]
    culprit = ""
    if each.freedom > 1 and len(impossible) == 1:
        culprit = impossible[0]
    elif each.freedom > 1 and fits and without[second][0] > CLEARLY * without[best][0]:
        culprit = best
    if culprit:
        words = (
            f"{head}; {culprit} ({words_for(culprit)}) does not fit the others, whose chi-square is "
            f"{without[culprit][0]:.3g} for {each.freedom - 1} without it{_why(readings, each, culprit)}"
        )
        words += f"; {_effect(readings, culprit, weaves, here)}" if here else ""
        return Doubt((culprit,), f"{words}: see --without {culprit}")
    choice = (
        "which of them, no further one tells: hang it in another orientation"
        if each.freedom == 1
        else "and no single one explains it"
    )
    middle = here[len(here) // 2 : len(here) // 2 + 1]

    def weaves_there(less: LabReadings) -> list[complex]:
        return weaves(less)[len(here) // 2 : len(here) // 2 + 1]

    effects = [_effect(readings, symbol, weaves_there, middle) for symbol in order if here]
    return Doubt(tuple(order), "; ".join([head, f"{', '.join(order)} do not agree, {choice}", *effects]))


def _rms(residuals: Array) -> float:
    return float(np.sqrt(np.mean(residuals**2)))


def _check_without(readings: LabReadings, each: OrientationSet, symbol: str) -> tuple[float, float]:
    """Chi-square and mean square residual of a set without one of its readings."""
    try:
        less = readings.without(symbol)
        plan = plan_of(list(less.readings))
        smaller = next(subset for subset in plan.sets if subset.key == each.key)
        check = _check_set(less, plan, smaller)
    except InputError:
        return np.inf, np.inf
    return check.chi2, _rms(check.residuals)


def _moment_remark(readings: LabReadings, each: OrientationSet, symbol: str) -> str:
    """Say that a swing's moment lies beyond the principal ones of the others; "" where it does not."""
    if each.of == "line":
        return ""
    less = readings.without(symbol)
    try:
        plan = plan_of(list(less.readings))
        x = {name: reading.mean for name, reading in less.readings.items()}
        reduction = reduce_readings(x, plan)
    except InputError:
        return ""
    Ixx, Ixz, Izz = reduction.tensors[each.part]
    middle, radius = (Ixx + Izz) / 2.0, np.hypot((Ixx - Izz) / 2.0, Ixz)
    low, high = middle - radius, middle + radius
    moment = reduction.rod_stiffness * readings.value(symbol) ** 2 / FOUR_PI_2
    if low <= 0.0:
        return ""
    if moment > BEYOND * high:
        return f"its moment {moment:.3g} kg m^2 exceeds the largest principal one of the others, {high:.3g}"
    if moment < low / BEYOND:
        return f"its moment {moment:.3g} kg m^2 is below the smallest principal one of the others, {low:.3g}"
    return ""


def _why(readings: LabReadings, each: OrientationSet, symbol: str) -> str:
    """Say what is likely wrong with a reading, from the others."""
    less = readings.without(symbol)
    plan = plan_of(list(less.readings))
    x = {name: reading.mean for name, reading in less.readings.items()}
    reduction = reduce_readings(x, plan)
    beta = float(reduction.parameters["lam"]) - readings.value(each.angles[each.symbols.index(symbol)])
    if each.of == "line":
        X, Z = reduction.centres[each.part]
        expected = -(np.sin(beta) * X + np.cos(beta) * Z)
        value = readings.value(symbol)
        if abs(value + expected) < 0.1 * abs(value - expected):
            return f"; with its sign reversed, {-value:.4g} m, it would fit"
        return f"; they say {expected:.4g} m where {value:.4g} m was read"
    Ixx, Ixz, Izz = reduction.tensors[each.part]
    expected = np.cos(beta) ** 2 * Ixx - 2.0 * np.sin(beta) * np.cos(beta) * Ixz + np.sin(beta) ** 2 * Izz
    value, k = readings.value(symbol), reduction.rod_stiffness / FOUR_PI_2
    if expected <= 0.0:
        return ""
    usual = float(np.sqrt(expected / k))
    n = round(value / usual)
    words = f"; they say {usual:.3f} s where {value:.3f} s was read"
    if n >= 2 and abs(value / usual / n - 1.0) < MULTIPLE:
        return f"{words}, as if {n} swings were not divided by {n}"
    remark = _moment_remark(readings, each, symbol)
    return f"{words}; {remark}, so that no angle explains it" if remark else words


def _effect(
    readings: LabReadings,
    symbol: str,
    weaves: Callable[[LabReadings], list[complex]],
    here: Sequence[tuple[float, complex]],
) -> str:
    """Say what leaving a reading out does to the weave."""
    try:
        moved = weaves(readings.without(symbol))
    except InputError:
        return f"without {symbol} there is no such bicycle"
    parts = [
        f"at {v:g} m/s {(then - now).real:+.3f} 1/s, {(then - now).imag:+.3f} rad/s"
        for (v, now), then in zip(here, moved, strict=True)
        if np.isfinite(now) and np.isfinite(then)
    ]
    return f"without {symbol} the weave moves {' and '.join(parts)}" if parts else f"without {symbol} no weave"


def convention_fault(readings: LabReadings, plan: Plan, reduction: Reduction) -> str:
    """Say where a centre of mass lies outside its part, with the convention that explains it; "" where none does."""
    sets = [each for each in plan.sets if each.of == "line" and each.part in CENTRES]
    outside = [each for each in sets if not _inside(each.part, reduction.centres[each.part])]
    chi2 = sum(_check_set(readings, plan, each).chi2 for each in sets)
    freedom = sum(each.freedom for each in sets)
    if not outside and chi2 <= 100.0 * max(freedom, 1):
        return ""
    likely = _likely_convention(readings, plan, sets, chi2)
    if likely:
        return f"the hanging lines look as if {likely}"
    faults = []
    for each in outside:
        X, Z = (float(value) for value in reduction.centres[each.part])
        faults.append(
            f"the hanging lines put the centre of mass of the {PARTS[each.part]} {X:.3g} m forward and {-Z:.3g} m up "
            f"of the {'rear' if each.part == 'B' else 'front'} axle, outside it: correct {', '.join(each.symbols)} or "
            "their angles"
        )
    return "; ".join(faults)


def _inside(part: str, centre: tuple[float, float]) -> bool:
    (back, front), (top, bottom), _ = CENTRES[part]
    return back <= centre[0] <= front and top <= centre[1] <= bottom


def _likely_convention(readings: LabReadings, plan: Plan, sets: Sequence[OrientationSet], chi2: float) -> str:
    """Convention under which all lines agree and meet inside their parts, where these usually do; "" without one."""
    best, least = "", np.inf
    freedom = sum(each.freedom for each in sets)
    angles = [name for each in plan.sets if each.of == "line" for name in each.angles]
    for words, true in CONVENTIONS.items():
        moved = {
            name: replace(readings.readings[name], values=tuple(map(true, readings.readings[name].values)))
            for name in angles
        }
        other = replace(readings, readings={**readings.readings, **moved})
        reduction = reduce_readings({symbol: reading.mean for symbol, reading in other.readings.items()}, plan)
        if not all(_inside(each.part, reduction.centres[each.part]) for each in sets):
            continue
        now = sum(_check_set(other, plan, each).chi2 for each in sets)
        if now > max(0.1 * chi2, 10.0 * max(freedom, 1)):
            continue
        away = sum(float(np.hypot(*np.subtract(reduction.centres[each.part], CENTRES[each.part][2]))) for each in sets)
        if now > 10.0 * max(freedom, 1):
            away += 10.0  # a convention under which the lines agree comes first
        if away < least:
            best, least = words, away
    return best
