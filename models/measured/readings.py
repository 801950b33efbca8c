"""Readings of a lab in SI, with deviations.

From TOML or a mapping.

A reading is a number, a list of repeated ones, ``"1.121 +/- 0.002"``, a pair ``[[1.121, 0.002]]`` or a list of such, or
a table with one of these for each person. A period may be a recording instead, or a stopwatch's swings.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from riderless.models.bicycle_file import is_number, shortened, unknown_keys
from riderless.models.errors import InputError, nearest
from riderless.models.file_format import describe_kind
from riderless.models.measured.periods import period, stopwatch_period
from riderless.models.measured.reading_table import (
    READING_GROUPS,
    READING_UNITS,
    RIDER_READINGS,
    ReadingKind,
    groups_of,
    kind_of,
    words_for,
)

KEYS = ("format", "name", "source", "note", "readings", "std", "tools")
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?"
_WITH_STD = re.compile(rf"\s*({_NUMBER})\s*(?:\+/-|±)\s*({_NUMBER})\s*")
_LARGEST_SHARE = 1.0 / 3.0  # of its reading, that a deviation may have
_TURN = 2.0 * math.pi


@dataclass(frozen=True)
class Reading:
    """Reading of one symbol: repeated values with the stated deviation of each, SI.

    ``people`` names who read each value; empty where nobody is named.
    """

    symbol: str
    values: tuple[float, ...]
    stated: tuple[float, ...]
    people: tuple[str, ...] = ()

    @property
    def mean(self) -> float:
        """Mean of the repeated values."""
        return math.fsum(self.values) / len(self.values)

    @property
    def scatter(self) -> float:
        """Standard deviation of the mean by the scatter of the values; 0 of a single one."""
        n = len(self.values)
        if n == 1:
            return 0.0
        return math.sqrt(math.fsum((value - self.mean) ** 2 for value in self.values) / (n - 1) / n)

    @property
    def std(self) -> float:
        """Standard deviation of the mean without the tool's own: the larger of the stated and of the scatter."""
        return max(math.hypot(*self.stated) / len(self.stated), self.scatter)

    def of_person(self, person: str) -> "Reading":
        """Values of one person."""
        kept = [i for i, who in enumerate(self.people) if who == person]
        return replace(
            self,
            values=tuple(self.values[i] for i in kept),
            stated=tuple(self.stated[i] for i in kept),
            people=tuple(self.people[i] for i in kept),
        )


@dataclass(frozen=True)
class Tool:
    """Tool whose own error is the same in all its readings and does not average.

    ``errors`` has one standard deviation for each of the readings, SI; they are fully correlated.
    """

    name: str
    errors: Mapping[str, float]


@dataclass(frozen=True)
class LabReadings:
    """All readings of a bicycle, by symbol, with the tools they were made with."""

    name: str
    readings: Mapping[str, Reading]
    tools: Sequence[Tool] = ()
    source: str = ""
    note: str = ""
    left_out: tuple[str, ...] = ()
    period_notes: tuple[str, ...] = field(default=(), compare=False)

    def value(self, symbol: str) -> float:
        """Mean of a reading, SI.

        Raises
        ------
        InputError
            There is no such reading.
        """
        if symbol not in self.readings:
            omission = " (it is left out)" if symbol in self.left_out else ""
            raise InputError(f"the readings lack {symbol}, {words_for(symbol)}{omission}: measure it and write it down")
        return self.readings[symbol].mean

    def without(self, *symbols: str) -> "LabReadings":
        """Readings less some of them.

        Raises
        ------
        InputError
            There is none of such a name.
        """
        for symbol in symbols:
            if symbol not in self.readings:
                close = nearest(symbol, self.readings)
                hint = f"did you mean {close[0]}?" if close else f"it has {', '.join(self.readings)}"
                raise InputError(f"there is no reading {shortened(symbol)} to leave out; {hint}")
        return replace(
            self,
            readings={name: each for name, each in self.readings.items() if name not in symbols},
            left_out=(*self.left_out, *symbols),
        )

    def deviation(self, symbol: str) -> float:
        """Standard deviation of a reading's mean, its tools' own errors included, SI."""
        own = (tool.errors.get(symbol, 0.0) for tool in self.tools)
        return math.hypot(self.readings[symbol].std, *own)


def readings_of(document: Mapping[str, Any], folder: str | Path = ".") -> LabReadings:
    """Make readings of a mapping: the tables of a readings file, or the readings alone.

    Parameters
    ----------
    document : mapping
        With a table ``readings`` and perhaps ``name``, ``std`` and ``tools``; else its keys are the readings.
    folder : str or Path
        Where recordings of swings lie that it names.

    Raises
    ------
    InputError
        One sentence for each fault, with the likely mistake.
    """
    if "parameters" in document:
        raise InputError("wanted the readings of a bicycle, found its parameters: `riderless eig` takes that file")
    if "readings" not in document:
        content = describe_kind(document)
        if content:
            raise InputError(f"wanted the readings of a bicycle, in a table [readings], found {content}")
        document = {"readings": document}
    faults = list(unknown_keys(document, KEYS, "key"))
    for key in ("readings", "std", "tools"):
        if not isinstance(document.get(key, {}), Mapping):
            raise InputError(f"{key} = {shortened(document[key])} must be a table, [{key}]")
    for key in ("name", "source", "note"):
        if not isinstance(document.get(key, ""), str):
            raise InputError(f"{key} = {shortened(document[key])} must be text")
    stds = _deviations(document.get("std", {}), faults)
    readings: dict[str, Reading] = {}
    notes: list[str] = []
    blank = [str(key) for key, value in document["readings"].items() if value == ""]
    if blank:
        more = f" and {len(blank) - 3} more" if len(blank) > 3 else ""
        faults.append(f"{', '.join(blank[:3])}{more} are blank: write what was read, or delete the lines")
    for key, value in document["readings"].items():
        if key in RIDER_READINGS or value == "":
            continue
        symbol, factor = _symbol_and_factor(key, faults)
        kind = kind_of(symbol)
        if kind is None:
            continue
        if symbol in readings:
            faults.append(f"{symbol} is given twice: keep one of them")
            continue
        try:
            reading = _reading(symbol, value, factor, stds, Path(folder), notes)
        except InputError as error:
            faults.append(str(error))
            continue
        if reading is not None:
            faults += _faults_of(reading, kind, key)
            readings[symbol] = reading
    faults += _slips_of_all(readings, document["readings"])
    unused = [key for key in stds if not any(key in groups_of(symbol) for symbol in readings)]
    faults += [f"[std] has {key}, but no reading has that name" for key in unused if kind_of(key) and not blank]
    if not readings and not faults:
        faults.append("there are no readings: fill in what was measured")
    tools = _tools(document.get("tools", {}), readings, faults)
    if faults:
        raise InputError("; ".join(faults))
    name = str(document.get("name", "")).strip() or "Ours"
    return LabReadings(
        name, readings, tools, document.get("source", ""), document.get("note", ""), period_notes=tuple(notes)
    )


def _symbol_and_factor(key: str, faults: list[str]) -> tuple[str, float]:
    """Symbol of a key that may carry a unit, and how many of that unit make one of SI."""
    symbol, _, suffix = str(key).partition("_")
    kind = kind_of(symbol)
    if kind is None:
        close = nearest(symbol, ["w", "gamma", "f", "g", "mB", "mH", "mR", "mF", "aB1", "alphaB1", "TcB1", "TtB1"])
        faults.append(f"unknown reading {key!r}" + (f" (did you mean {close[0]!r}?)" if close else ""))
        return symbol, 1.0
    return symbol, _factor(key, symbol, suffix, kind.unit, faults)


def _factor(key: str, symbol: str, suffix: str, unit: str, faults: list[str]) -> float:
    """Factor of the unit that a key carries: how many make one of SI."""
    if not suffix:
        return 1.0
    known = READING_UNITS[unit]
    if suffix not in known:
        wanted = ", ".join(f"{symbol}_{each}" for each in known) or f"{symbol} without a unit"
        faults.append(f"{key} has the unknown unit {suffix!r}: write {wanted}")
        return 1.0
    return known[suffix][0]


def _group_unit(group: str) -> str | None:
    """SI unit of a reading or of a group of readings; None of what is neither."""
    kind = kind_of(group)
    if kind is not None:
        return kind.unit
    if group not in READING_GROUPS:
        return None
    if group.startswith("T"):
        return "s"
    return {"m": "kg", "n": ""}.get(group[0], "rad" if group.startswith("alpha") else "m")


def _deviations(table: Mapping[str, Any], faults: list[str]) -> dict[str, float]:
    """Stated standard deviations by reading or group of readings, SI."""
    stds: dict[str, float] = {}
    for key, value in table.items():
        group, _, suffix = str(key).partition("_")
        unit = _group_unit(group)
        if unit is None:
            faults.append(f"[std] has the unknown reading {key!r}: write one, or a kind such as a, alpha, m, Tt")
        elif not (is_number(value) and value >= 0.0):
            faults.append(f"the standard deviation {key} = {shortened(value)} must be a number, zero or more")
        else:
            stds[group] = float(value) / _factor(key, group, suffix, unit, faults)
    return stds


def _reading(
    symbol: str, value: Any, factor: float, stds: Mapping[str, float], folder: Path, notes: list[str]
) -> Reading | None:
    """Reading of a value as somebody wrote it."""
    people: tuple[str, ...] = ()
    usual = next((stds[group] for group in groups_of(symbol) if group in stds), 0.0)
    if symbol.startswith("T") and (period := _period(symbol, value, folder, notes)) is not None:
        pairs, factor = period, 1.0
    elif isinstance(value, Mapping):
        shares = {str(person): list(_pairs(symbol, each)) for person, each in value.items()}
        pairs = [pair for each in shares.values() for pair in each]
        people = tuple(person for person, each in shares.items() for _ in each)
    else:
        pairs = list(_pairs(symbol, value))
    if not pairs:
        raise InputError(f"{symbol} = {shortened(value)} has no value: write what was read, or leave the line out")
    values = tuple(number / factor for number, _ in pairs)
    stated = tuple(usual if std is None else std / factor for _, std in pairs)
    return Reading(symbol, values, stated, people)


def _pairs(symbol: str, value: Any) -> Iterator[tuple[float, float | None]]:
    """Values, each with its stated deviation or None."""
    if is_number(value):
        yield float(value), None
    elif isinstance(value, str):
        for part in value.split(","):
            match = _WITH_STD.fullmatch(part)
            if match:
                yield float(match[1]), abs(float(match[2]))
            elif re.fullmatch(rf"\s*{_NUMBER}\s*", part):
                yield float(part), None
            else:
                raise InputError(f"{symbol} = {shortened(value)} must be a number, or text as '1.121 +/- 0.002'")
    elif isinstance(value, list | tuple):
        for each in value:
            if isinstance(each, list | tuple):
                if len(each) != 2 or not all(is_number(number) for number in each) or each[1] < 0.0:
                    raise InputError(f"{symbol} has {shortened(each)}: wanted a pair [value, standard deviation]")
                yield float(each[0]), float(each[1])
            elif isinstance(each, Mapping):
                raise InputError(f"{symbol} has {shortened(each)}: wanted a number")
            else:
                yield from _pairs(symbol, each)
    else:
        raise InputError(f"{symbol} = {shortened(value)} must be a number, or a list of numbers")


def _period(symbol: str, value: Any, folder: Path, notes: list[str]) -> list[tuple[float, float | None]] | None:
    """Periods of a swing from recordings or a stopwatch, with their deviations; None where a number is written."""
    trials = value if isinstance(value, list | tuple) and value else [value]
    stopwatch = isinstance(value, Mapping) and bool({"swings", "crossings_s"} & set(value))
    logs = all(isinstance(each, str) and each.lower().endswith((".csv", ".txt", ".tsv")) for each in trials)
    if not (stopwatch or logs):
        return None
    kind = "torsion" if symbol.startswith("Tt") else "compound"
    if stopwatch:
        swing = stopwatch_period(value, kind, symbol)
        notes.append(f"{symbol}: {swing.sentence()}")
        return [(swing.T, swing.std)]
    pairs: list[tuple[float, float | None]] = []
    for each in trials:
        swing = period(folder / each, kind)
        notes.append(f"{symbol}: {each}: {swing.sentence()}")
        pairs.append((swing.T, swing.std))
    return pairs


def _faults_of(reading: Reading, kind: ReadingKind, key: str) -> Iterator[str]:
    """Say what no bicycle can have, with the likely mistake."""
    symbol, unit = reading.symbol, kind.unit
    for value in reading.values:
        if kind.least <= value <= kind.most:
            continue
        if unit == "kg" and value < 0.0:
            yield f"{symbol} = {value:g} kg is negative: a mass is above zero"
            break
        _, _, suffix = str(key).partition("_")
        written = value * (READING_UNITS[unit][suffix][0] if suffix in READING_UNITS[unit] else 1.0)
        slips = [
            (other, words)
            for other, (factor, words) in READING_UNITS[unit].items()
            if other != suffix and kind.least <= written / factor <= kind.most
        ]
        remark = f"{symbol} = {value:g} {unit}".rstrip()
        allowed = f"(a bicycle has {kind.least:.3g} to {kind.most:.3g} {unit}".rstrip() + ")"
        if symbol == "gamma" and 0.0 < value < kind.least and suffix != "rad":
            yield (
                f"gamma = {math.degrees(value):g} deg looks like the tilt of the steer axis: the head angle is 90 deg "
                f"minus it, so gamma_deg = {90.0 - math.degrees(value):g}"
            )
        elif slips and value > 0.0:
            yield f"{remark} looks like {slips[0][1]}: write {symbol}_{slips[0][0]} = {written:g} {allowed}"
        elif unit == "s" and value > kind.most:
            yield f"{remark} looks like the time of n swings: divide it by n {allowed}"
        else:
            yield f"{remark} is no {words_for(symbol)}: correct it {allowed}"
        break
    for std in reading.stated:
        if kind.least > 0.0 and std > _LARGEST_SHARE * abs(reading.mean):
            yield (
                f"the standard deviation of {symbol}, {std:g} {unit}, is more than a third of {reading.mean:g} {unit}: "
                "write it in the unit of its own key"
            )
            break
        if kind.least < 0.0 and std > _LARGEST_SHARE * (kind.most - kind.least) / 2.0:
            yield f"the standard deviation of {symbol}, {std:g} {unit}, is too large: write it in its unit"
            break


def _slips_of_all(readings: Mapping[str, Reading], table: Mapping[str, Any]) -> Iterator[str]:
    """Slips that show in many readings together: all angles in radians where degrees are meant, or the reverse."""
    keys = {str(key).partition("_")[0]: str(key) for key in table}
    angles = [s for s in readings if s.startswith("alpha")]
    in_degrees = [s for s in angles if keys.get(s, "").endswith("_deg")]
    if len(in_degrees) >= 3 and all(abs(math.degrees(readings[s].mean)) <= _TURN for s in in_degrees):
        yield f"the angles {in_degrees[0]} ... are all below 6.3 deg and look like radians: write alpha..._rad"


def _tools(table: Mapping[str, Any], readings: Mapping[str, Reading], faults: list[str]) -> tuple[Tool, ...]:
    """Tools with the own error in each of their readings."""
    tools = []
    for name, entry in table.items():
        if not isinstance(entry, Mapping) or not isinstance(entry.get("readings"), list):
            faults.append(f'[tools.{name}] wants readings = ["m", ...] and its own error, as std_g = 10')
            continue
        errors: dict[str, float] = {}
        sizes = {key: value for key, value in entry.items() if key != "readings"}
        if len(sizes) != 1 or not all(key.startswith("std") for key in sizes):
            faults.append(f"[tools.{name}] wants one own error, as std_g = 10 or std_percent = 0.1")
            continue
        key, size = next(iter(sizes.items()))
        if not (is_number(size) and size >= 0.0):
            faults.append(f"[tools.{name}] has {key} = {shortened(size)}: wanted a number, zero or more")
            continue
        for group in entry["readings"]:
            used = [symbol for symbol in readings if group in groups_of(symbol)]
            if not used and readings:
                faults.append(f"[tools.{name}] names {shortened(group)}, which no reading has")
            for symbol in used:
                kind = kind_of(symbol)
                assert kind is not None
                suffix = key.partition("_")[2]
                if suffix == "percent":
                    errors[symbol] = size / 100.0 * abs(readings[symbol].mean)
                else:
                    errors[symbol] = size / _factor(key, "std", suffix, kind.unit, faults)
        tools.append(Tool(str(name), errors))
    return tuple(tools)
