"""Bicycle that a lab measured.

Parameters with their covariance, consistency of the readings, and what each reading contributes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from riderless.models.array_types import Array
from riderless.models.bicycle_file import trusted_for
from riderless.models.correlations import deviations_of
from riderless.models.errors import InputError
from riderless.models.linear.modes import named_modes
from riderless.models.measured.consistency import (
    Doubt,
    SetCheck,
    check_sets,
    convention_fault,
    doubts_of,
    unlike_tensor,
)
from riderless.models.measured.reading_files import read_readings
from riderless.models.measured.reading_table import words_for
from riderless.models.measured.readings import LabReadings, readings_of
from riderless.models.measured.reduction import (
    OrientationSet,
    Plan,
    Reduction,
    complex_step_jacobian,
    plan_of,
    reduce_readings,
)
from riderless.models.parameter_table import PARAMETERS
from riderless.models.parameters import Bicycle
from riderless.models.tables import html_table

# Weights of lines and swings by their deviations.

ROUNDS = 50  # of the fixed point; it settles to 1e-12 in fewer than ten
WEIGHTS_SETTLED = 1e-13


def _weights_of(readings: LabReadings, plan: Plan) -> Mapping[str, Array]:
    """Inverse variances of the orientations of each set, by its key, at the weighted answer itself."""
    x = {symbol: reading.mean for symbol, reading in readings.readings.items()}
    weights: dict[str, Array] = {}
    for _ in range(ROUNDS):
        reduction = reduce_readings(x, plan, weights)
        lam, before = reduction.parameters["lam"], weights
        weights = {}
        for each in plan.sets:
            beta = lam - np.array([x[name] for name in each.angles])
            variance = _variance(readings, each, beta, reduction)
            weights[each.key] = 1.0 / variance if (variance > 0.0).all() else np.ones(len(beta))
        if before and all(np.allclose(weights[key], before[key], rtol=WEIGHTS_SETTLED, atol=0.0) for key in weights):
            break
    return weights


def _variance(readings: LabReadings, each: OrientationSet, beta: Array, reduction: object) -> Array:
    """Variances (n,) of what a set's equations leave over, from its readings and its angles."""
    own = np.array([readings.readings[name].std for name in each.symbols])
    angle = np.array([readings.readings[name].std for name in each.angles])
    s, c = np.sin(beta), np.cos(beta)
    if each.of == "line":
        X, Z = reduction.centres[each.part]  # type: ignore[attr-defined]
        return own**2 + (c * X - s * Z) ** 2 * angle**2
    Ixx, Ixz, Izz = reduction.tensors[each.part]  # type: ignore[attr-defined]
    moments = np.array([reduction.moments[name] for name in each.symbols])  # type: ignore[attr-defined]
    periods = np.array([readings.readings[name].mean for name in each.symbols])
    turned = 2.0 * s * c * (Izz - Ixx) - 2.0 * (c**2 - s**2) * Ixz
    return (2.0 * moments * own / periods) ** 2 + (turned * angle) ** 2


SPEEDS = (4.0, 5.0, 6.0)  # m/s, where the weave is looked at
PARAMETER_SHIFT = 1e-6  # of a parameter's own size, for the slope of the weave


class WeaveShare(NamedTuple):
    """Share of a reading or a tool in the variance of the weave at one speed, real and imaginary part."""

    name: str
    re: float
    im: float


class WeaveBand(NamedTuple):
    """Weave [1/s] at a speed [m/s] with the standard deviations of its real and imaginary part, and what makes them.

    nan where the bicycle does not weave.
    """

    v: float
    mode: complex
    re_std: float
    im_std: float
    shares: tuple[WeaveShare, ...]  # the largest first


@dataclass(frozen=True, repr=False)
class MeasuredBicycle:
    """Bicycle of a lab's readings.

    Attributes
    ----------
    bicycle : Bicycle
        By unweighted least squares, with standard deviations and correlations.
    weighted : Bicycle or None
        By least squares weighted with the stated deviations; None where these make no bicycle.
    readings : LabReadings
    checks : tuple of SetCheck
        Consistency of each set of lines or swings.
    doubts : tuple of Doubt
        Readings that contradict others.
    jacobian : (26, n) array
        Derivatives of `PARAMETERS` by the readings, SI.
    """

    bicycle: Bicycle
    weighted: Bicycle | None
    readings: LabReadings
    checks: tuple[SetCheck, ...]
    doubts: tuple[Doubt, ...]
    jacobian: Array
    speeds: tuple[float, ...] = SPEEDS

    @cached_property
    def weave(self) -> tuple[WeaveBand, ...]:
        """Weave at each speed, with its deviation."""
        return tuple(self.weave_at(v) for v in self.speeds)

    def weave_at(self, v: float) -> WeaveBand:
        """Weave at one speed [m/s]."""
        mode = weave(self.bicycle, v)
        if not np.isfinite(mode):
            return WeaveBand(v, mode, np.nan, np.nan, ())
        slope = weave_slope(self.bicycle, v) @ self.jacobian
        symbols = list(self.readings.readings)
        parts = [(name, slope[i] * self.readings.readings[name].std) for i, name in enumerate(symbols)]
        for tool in self.readings.tools:
            moved = sum(slope[symbols.index(name)] * error for name, error in tool.errors.items())
            parts.append((f"tool {tool.name}", complex(moved)))
        changes = np.array([part for _, part in parts])
        re, im = float(np.sum(changes.real**2)), float(np.sum(changes.imag**2))
        shares = [
            WeaveShare(name, part.real**2 / re if re else 0.0, part.imag**2 / im if im else 0.0)
            for name, part in parts
            if part
        ]
        return WeaveBand(v, mode, re**0.5, im**0.5, tuple(sorted(shares, key=lambda share: -max(share.re, share.im))))

    def table(self) -> str:
        """Parameters, doubts and the weave as text."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for band in self.weave:
            yield band_sentence(band)
        for doubt in self.doubts:
            yield f"doubt: {doubt.sentence}"
        for name, (unit, meaning) in PARAMETERS.items():
            std = self.bicycle.std.get(name, 0.0)
            missing = ", not measured" if name in self.bicycle.missing else ""
            yield f"{name:5} {getattr(self.bicycle, name):12.6g} +- {std:8.2g} {unit:7} {meaning}{missing}"
        for check in self.checks:
            yield check.sentence

    def __repr__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        rows = [
            (name, getattr(self.bicycle, name), self.bicycle.std.get(name), unit, meaning)
            for name, (unit, meaning) in PARAMETERS.items()
        ]
        heads = ("parameter", "value", "standard deviation", "unit", "meaning")
        bands = [(band.v, band.mode, band.re_std, band.im_std) for band in self.weave]
        return (
            html_table(f"{self.bicycle.name}: doubts", ("doubt",), [(doubt.sentence,) for doubt in self.doubts])
            + html_table(f"{self.bicycle.name}: weave", ("v m/s", "1/s", "std re 1/s", "std im rad/s"), bands)
            + html_table(f"{self.bicycle.name}, measured", heads, rows)
        )


def band_sentence(band: WeaveBand) -> str:
    """Say the weave at a speed with its deviation."""
    if not np.isfinite(band.mode):
        return f"weave at {band.v:g} m/s: the bicycle does not weave there"
    return (
        f"weave at {band.v:g} m/s: {band.mode.real:.3f} ± {band.re_std:.3f} 1/s, "
        f"{band.mode.imag:.3f} ± {band.im_std:.3f} rad/s"
    )


def measure(
    readings: LabReadings | Mapping[str, Any] | str | Path,
    without: Sequence[str] = (),
    speeds: Sequence[float] = SPEEDS,
    trust: bool = False,
) -> MeasuredBicycle:
    """Make a bicycle of a lab's readings.

    Parameters
    ----------
    readings : LabReadings, mapping, str or Path
        `riderless.models.measured.readings.readings_of` says what a mapping holds; or the path of a readings file.
    without : sequence of str
        Readings to leave out, by symbol (``TtB1``).
    speeds : sequence of float
        Where the weave is looked at [m/s].
    trust : bool
        Take a bicycle that is unlike any other.

    Raises
    ------
    InputError
        Readings are absent, too few, or make what no bicycle can be, with the likely mistake.
    """
    if isinstance(readings, str | Path):
        readings = read_readings(readings)
    elif not isinstance(readings, LabReadings):
        readings = readings_of(readings)
    if without:
        readings = readings.without(*without)
    plan = plan_of(list(readings.readings))
    x = {symbol: reading.mean for symbol, reading in readings.readings.items()}
    reduction = reduce_readings(x, plan)
    fault = convention_fault(readings, plan, reduction)
    if fault and not trust:
        raise InputError(fault)
    checks = check_sets(readings, plan)
    try:
        bicycle, jacobian = measured_bicycle(readings, plan, reduction, trust=trust)
    except InputError as error:
        causes = [doubt.sentence for doubt in doubts_of(readings, checks)]
        raise InputError("; ".join([str(error), *causes])) from None
    weights = _weights_of(readings, plan)
    try:
        weighted, _ = measured_bicycle(readings, plan, reduce_readings(x, plan, weights), weights, trust)
    except InputError:
        weighted = None

    def weaves(less: LabReadings) -> list[complex]:
        smaller = plan_of(list(less.readings))
        means = {symbol: reading.mean for symbol, reading in less.readings.items()}
        reduced = reduce_readings(means, smaller).parameters
        values: dict[str, Any] = {name: float(reduced[name]) for name in PARAMETERS}
        other = replace(bicycle, **values)
        return [weave(other, v) for v in speeds]

    here = [weave(bicycle, v) for v in speeds]
    own_doubts = doubts_of(readings, checks, weaves, list(zip(speeds, here, strict=True)))
    doubts = (*own_doubts, *unlike_tensor(readings, plan, reduction))
    return MeasuredBicycle(bicycle, weighted, readings, checks, doubts, jacobian, tuple(speeds))


def measured_bicycle(
    readings: LabReadings,
    plan: Plan,
    reduction: Reduction,
    weights: Mapping[str, Array] | None = None,
    trust: bool = False,
) -> tuple[Bicycle, Array]:
    """Bicycle with deviations and correlations, and the Jacobian (26, n) of its parameters by the readings.

    Parameters
    ----------
    readings : LabReadings
    plan : Plan
    reduction : Reduction
    weights : mapping, optional
        Of each set's orientations.
    trust : bool
        Take a bicycle that is unlike any other.

    Raises
    ------
    InputError
        There is no such bicycle.
    """
    symbols = list(readings.readings)
    means = np.array([readings.readings[symbol].mean for symbol in symbols])

    def parameters(values: Any) -> Any:
        reduced = reduce_readings(dict(zip(symbols, values, strict=True)), plan, weights).parameters
        return np.array([reduced[name] for name in PARAMETERS])

    jacobian = complex_step_jacobian(parameters, means)
    covariance = jacobian @ reading_covariance(readings) @ jacobian.T
    known = deviations_of(covariance, list(PARAMETERS), plan.missing)
    omission = f"without {', '.join(readings.left_out)}" if readings.left_out else ""
    note = "; ".join(part for part in (readings.note, omission) if part)
    fields: dict[str, Any] = {
        "name": readings.name,
        **{name: float(reduction.parameters[name]) for name in PARAMETERS},
        "source": readings.source or "readings by `riderless measure`",
        "note": note,
        "std": known["std"],
        "missing": plan.missing,
    }
    bicycle = Bicycle(**fields)
    reason = trusted_for(fields, trust)
    return replace(bicycle, correlations=known["correlations"], trust=reason), jacobian


def reading_covariance(readings: LabReadings) -> Array:
    """Covariance (n, n) of the readings' means: each its own, and the tools' own errors common to theirs."""
    symbols = list(readings.readings)
    covariance = np.diag([readings.readings[symbol].std ** 2 for symbol in symbols])
    for tool in readings.tools:
        error = np.array([tool.errors.get(symbol, 0.0) for symbol in symbols])
        covariance += np.outer(error, error)
    return covariance


def weave(bicycle: Bicycle, v: float) -> complex:
    """Weave [1/s] at a speed [m/s], im > 0; nan where it does not oscillate."""
    eigenvalue = complex(named_modes(bicycle, [v]).weave[0][0])
    return complex(eigenvalue.real, abs(eigenvalue.imag)) if eigenvalue.imag else complex(np.nan, np.nan)


def weave_slope(bicycle: Bicycle, v: float) -> Array:
    """Derivatives (26,) of the weave by `PARAMETERS`, 1/s per SI unit."""
    slope = np.zeros(len(PARAMETERS), complex)
    for i, name in enumerate(PARAMETERS):
        value = getattr(bicycle, name)
        step = PARAMETER_SHIFT * max(abs(value), bicycle.std.get(name, 0.0), 1e-3)
        up, down = (weave(replace(bicycle, **{name: value + sign * step}), v) for sign in (1.0, -1.0))
        slope[i] = (up - down) / (2.0 * step)
    return slope


def describe(symbol: str) -> str:
    """Put the name of a reading or tool into words."""
    return symbol if symbol.startswith("tool ") else f"{symbol}, {words_for(symbol)}"
