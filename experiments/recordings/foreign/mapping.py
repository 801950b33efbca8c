"""Mapping files (TOML) of foreign columns.

They tell which column is which quantity, in which unit and sign. docs/foreign-logs.md shows one. Every table of it is
read and checked here; `mapped` applies it.
"""

import tomllib
from collections.abc import Mapping as AnyMapping
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from riderless.experiments.dynamics import MACHINE_QUANTITIES, ROAD_QUANTITIES
from riderless.experiments.feedback_law import FeedbackLaw
from riderless.experiments.recordings.foreign import units
from riderless.experiments.theories import RESISTANCE_KEYS
from riderless.models import catalogue
from riderless.models.bicycle_file import is_number, shortened
from riderless.models.errors import InputError, did_you_mean
from riderless.models.file_format import load_toml, require_format
from riderless.models.parameters import Bicycle
from riderless.models.plant.drive_losses import DriveLosses
from riderless.models.text_file import read_text_file, why_unreadable

QUANTITY_UNITS: dict[str, dict[str, float]] = {
    "phi_dot": units.RATE_UNITS,
    "v": units.SPEED_UNITS,
    "phi": units.ANGLE_UNITS,
    "delta": units.ANGLE_UNITS,
    "psi_dot": units.RATE_UNITS,
    "T_delta": units.TORQUE_UNITS,
    "delta_dot": units.RATE_UNITS,
    "wheel": units.RATE_UNITS,
    "a_y": units.ACCELERATION_UNITS,
    "a_z": units.ACCELERATION_UNITS,
}
REQUIRED_QUANTITIES = ("phi_dot", "v")
COLUMN_KEYS = ("column", "time", "unit", "sign", "zero", "scale", "offset", "constant")
LAW_GAINS = ("phi", "delta", "phi_dot", "delta_dot")  # N m/rad and N m s/rad
LAW_TIMES = ("delay_s", "rate_hz", "drive_lag_s")
LONGEST_LAW_TIME = 0.2  # s: no bicycle is balanced by a torque that comes later
OTHER_KEYS = {
    "time": ("column", "unit", "rate", "wraps"),
    "law": ("steer_into_lean", "v0", *LAW_GAINS, *LAW_TIMES),
    "drive": ("gain", "offset_Nm", "dead_band_Nm", "hysteresis_Nm", "friction_Nm"),
    "std": (*MACHINE_QUANTITIES, *ROAD_QUANTITIES),
    "resistance": RESISTANCE_KEYS,
    "kicks": ("times", "column", "beside", "kind", "clock"),
    "free": ("column", "equals", "after", "intervals"),
    "rows": ("column", "equals"),
    "text": ("delimiter", "decimal", "thousands", "header_line", "skip", "ragged", "encoding", "missing"),
}
KICK_SOURCES = {"times": (), "beside": ("column", "kind", "clock"), "column": ()}  # first one counts; what it heeds
NEEDS = {  # keys of a table, and what it has to have one of where it has some of them
    "kicks": (("kind", "clock"), tuple(KICK_SOURCES)),
    "free": (("equals", "after"), ("column",)),
    "rows": (("equals",), ("column",)),
}
OF_ONE_SENSOR = {"v", "wheel"}  # a wheel may tell both: the bicycle's radius then checks the scale of the speed
DATE_TIME = "date-time"  # unit of times that are texts
PLAIN_KEYS = ("label", "bicycle", "law", "kind", "format")
SHIPPED_MAPPINGS = "mapping-{}.toml"  # in experiments/recordings/data


@dataclass(frozen=True)
class Column:
    """Column of a quantity; in SI: sign * factor * (reading - zero) + offset, or a constant."""

    column: str = ""
    time: str = ""  # column of its own times, in the unit of those of the recording; "" for theirs
    factor: float = 1.0
    sign: float = 1.0
    zero: float = 0.0  # reading that means zero, in the column's own unit
    offset: float = 0.0  # SI
    constant: float | None = None  # SI


@dataclass(frozen=True)
class Mapping:
    """Content of a mapping file, checked."""

    name: str
    quantities: AnyMapping[str, Column]
    times: tuple[str, ...]  # columns that tell the time together; () where only a rate is known
    time_units: tuple[str, ...]  # of each; "date-time" for texts
    rate: float | None  # Hz
    wraps: float | None  # after which a clock begins again, in the unit of its only column
    bicycle: Bicycle | None
    law: FeedbackLaw | None
    losses: DriveLosses  # of the drive, and the friction of the steer axis
    std: AnyMapping[str, float]  # of what is known of the machine, SI: `MACHINE_QUANTITIES`, `ROAD_QUANTITIES`
    resistance: AnyMapping[str, Any]  # that is stated; empty where nobody does
    kicks: AnyMapping[str, Any]
    free: AnyMapping[str, Any]
    rows: AnyMapping[str, Any]
    text: AnyMapping[str, Any]
    label: str
    kind: str  # a preset to use instead of columns, or ""

    @property
    def columns(self) -> frozenset[str]:
        """Columns that it names, of the recording."""
        kicks = ("clock",) if "beside" in self.kicks else ("column", "clock")
        named = [
            *self.times,
            *(name for quantity in self.quantities.values() for name in (quantity.column, quantity.time)),
        ]
        named += [self.free.get("column", ""), self.rows.get("column", ""), *(self.kicks.get(key, "") for key in kicks)]
        return frozenset(filter(None, named))


def load_mapping(path: str | Path, trust: bool = False) -> Mapping:
    """Read a mapping from a TOML file, or a shipped one by its name; ``trust`` is for its bicycle.

    Raises
    ------
    InputError
        There is none, it is not TOML, or says something that no mapping can.
    """
    shipped = files("riderless.experiments.recordings").joinpath("data", SHIPPED_MAPPINGS.format(path))
    try:
        if not Path(path).exists() and shipped.is_file():
            return mapping_of(load_toml(shipped.read_text(encoding="utf-8")), str(path), Path())
        text = read_text_file(path)
    except UnicodeDecodeError as error:
        raise InputError(f"wanted a mapping file, found {path}: {why_unreadable(error)}; save it as UTF-8") from None
    except OSError as error:
        raise InputError(
            f"wanted a mapping file (TOML), found {path}: {why_unreadable(error)}; check the path"
        ) from None
    try:
        return mapping_of(load_toml(text), Path(path).name, Path(path).parent, trust)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"wanted a mapping file in TOML, found in {path}: {error}; correct that line") from None


def mapping_of(document: dict[str, Any], name: str, folder: Path, trust: bool = False) -> Mapping:
    """Make a mapping of its document.

    Parameters
    ----------
    document
        As `tomllib` reads it.
    name
        Begins every refusal, which are those of `load_mapping`.
    folder
        Where paths in it begin.
    trust
        The bicycle is taken however unusual.
    """
    require_format(document, "mapping", name)
    _require_known(document, name)
    kind = document.get("kind", "")
    quantities = {key: read_column(f"{name} [{key}]", key, document[key]) for key in QUANTITY_UNITS if key in document}
    missing = [key for key in REQUIRED_QUANTITIES if key not in quantities and not kind]
    if missing:
        raise InputError(f"{name}: wanted a table [{missing[0]}], found none; say which column it is")
    _require_own_columns(quantities, name)
    for key, needs in NEEDS.items():
        _require_source(document.get(key, {}), needs, f"{name} [{key}]")
    _require_one_source(document.get("kicks", {}), f"{name} [kicks]")
    time = document.get("time", {})
    columns, time_units = _listed(time.get("column", [])), _listed(time.get("unit", "s"))
    rate = _checked_time(time, name, bool(kind), [key for key, column in quantities.items() if column.time])
    return Mapping(
        name=name,
        quantities=quantities,
        times=columns,
        time_units=time_units * len(columns) if len(time_units) == 1 else time_units,
        rate=rate,
        wraps=_number(time, "wraps", f"{name} [time]"),
        bicycle=_bicycle(document.get("bicycle"), folder, name, trust),
        law=_law(document.get("law", "uncontrolled"), name),
        losses=_losses(document.get("drive", {}), f"{name} [drive]"),
        std=_std(document.get("std", {}), f"{name} [std]"),
        resistance=_resistance(document.get("resistance", {}), f"{name} [resistance]"),
        **{key: _checked(document.get(key, {}), f"{name} [{key}]") for key in ("kicks", "free", "rows", "text")},
        label=str(document.get("label", "")),
        kind=str(kind),
    )


def _require_known(document: AnyMapping[str, Any], name: str) -> None:
    """Refuse a table or a key that no mapping has."""
    known = [*QUANTITY_UNITS, *OTHER_KEYS, *PLAIN_KEYS]
    for key, value in document.items():
        if key not in known:
            raise InputError(f"{name}: nothing is called {key!r}; {_near(key, known)}")
        allowed = COLUMN_KEYS if key in QUANTITY_UNITS else OTHER_KEYS.get(key)
        if isinstance(value, dict) and allowed:
            for inner in value:
                if inner not in allowed:
                    raise InputError(f"{name} [{key}]: nothing is called {inner!r}; {_near(inner, allowed)}")
        elif key in QUANTITY_UNITS or (key in OTHER_KEYS and key not in PLAIN_KEYS):
            raise InputError(
                f"{name}: wanted a table [{key}] with {', '.join(allowed or ())}, found {shortened(value)}"
            )


def _require_own_columns(quantities: AnyMapping[str, Column], name: str) -> None:
    """Refuse a column that is said to be two quantities; a flag may be a quantity as well, and so may its times."""
    columns_taken: dict[str, str] = {}
    for quantity, column in quantities.items():
        other = columns_taken.setdefault(column.column, quantity) if column.column else quantity
        if other != quantity and {other, quantity} != OF_ONE_SENSOR:
            raise InputError(
                f"{name}: wanted a column of its own for each quantity, found {shortened(column.column)} under "
                f"[{other}] and [{quantity}]; correct one of them"
            )


def _require_source(table: AnyMapping[str, Any], needs: tuple[tuple[str, ...], tuple[str, ...]], where: str) -> None:
    """Refuse keys that nothing would heed, for what they say something of is not there."""
    keys, sources = needs
    idle = [key for key in keys if key in table]
    if idle and not any(source in table for source in sources):
        raise InputError(f"{where}: wanted {' or '.join(sources)} too, found {' and '.join(idle)} alone; add it")


def _require_one_source(kicks: AnyMapping[str, Any], where: str) -> None:
    """Refuse what says of kicks a second time where they are, for it would be ignored."""
    source = next((key for key in KICK_SOURCES if key in kicks), None)
    idle = [key for key in kicks if source and key != source and key not in KICK_SOURCES[source]]
    if idle:
        raise InputError(f"{where}: {' and '.join(idle)} would be ignored beside {source}; leave one of them out")


def _checked_time(time: AnyMapping[str, Any], name: str, kind: bool, own: Sequence[str]) -> float | None:
    """Stated rate [Hz] of the table [time], if it has one; refused is a table that does not say when the rows were.

    Parameters
    ----------
    time : mapping
    name : str
        Begins every refusal.
    kind : bool
        The recording's kind says its times.
    own : sequence of str
        Quantities with times of their own.
    """
    if not kind and not ("column" in time or "rate" in time):
        raise InputError(f"{name}: wanted [time] with a column (and its unit) or a rate in Hz, found neither; add one")
    for key in ("column", "unit"):
        texts = _listed(time.get(key, "s"))
        if not texts or not all(isinstance(text, str) and text for text in texts):
            raise InputError(
                f"{name} [time]: wanted a text for {key}, found {shortened(time[key])}; write it in quotes"
            )
    n, time_units = len(_listed(time.get("column", "t"))), _listed(time.get("unit", "s"))
    if len(time_units) not in (1, n) or (len(set(time_units)) > 1 and DATE_TIME in time_units):
        raise InputError(
            f"{name} [time]: wanted one unit for all columns, or one for each of {n} (all of them {DATE_TIME}, or "
            f"none), found {', '.join(time_units)}; correct it"
        )
    wraps = _number(time, "wraps", f"{name} [time]")
    if wraps is not None and (wraps <= 0.0 or n > 1 or DATE_TIME in time_units):
        raise InputError(
            f"{name} [time]: wanted wraps above 0, of one column of numbers, found {wraps:g} for {n} "
            f"of {', '.join(time_units)}; correct it"
        )
    if own and "column" not in time:
        raise InputError(f"{name} [{own[0]}]: wanted [time] with a column where a quantity has its own, found none")
    rate = _number(time, "rate", f"{name} [time]")
    if rate is not None and rate <= 0:
        raise InputError(f"{name} [time]: wanted a rate above 0 Hz, found {rate:g}; correct it")
    for unit in time_units:
        if unit != DATE_TIME:
            units.unit_factor(unit, units.TIME_UNITS, f"{name} [time]")
    return rate


def _listed(given: Any) -> tuple[Any, ...]:
    """One thing, or several in a list."""
    return tuple(given) if isinstance(given, list) else (given,)


def read_column(where: str, quantity: str, given: AnyMapping[str, Any]) -> Column:
    """One quantity's table. Raises InputError that begins with ``where``."""
    known = QUANTITY_UNITS[quantity]
    for key in ("column", "time"):
        if not isinstance(given.get(key, ""), str):
            raise InputError(f"{where}: wanted a text for {key}, found {shortened(given[key])}; write it in quotes")
    unit = given.get("unit")
    if not isinstance(unit, str) and "scale" not in given:
        raise InputError(f"{where}: wanted a unit ({', '.join(known)}, V or counts), found {shortened(unit)}; add it")
    if "scale" not in given:
        factor = units.unit_factor(str(unit), known, where)
    elif unit is None or units.UNIT_ALIASES.get(str(unit), unit) in units.UNSCALED_UNITS:
        factor = units.parse_quantity(str(given["scale"]), known, f"{where} scale")
    else:
        raise InputError(f"{where}: wanted a unit or a scale (of a reading in V or counts), found both; leave one out")
    constant = _number(given, "constant", where)
    if (constant is None) == ("column" not in given):
        raise InputError(f"{where}: wanted a column or a constant, found {'both' if 'column' in given else 'neither'}")
    if constant is not None and "time" in given:
        raise InputError(f"{where}: wanted a column where there are times, found a constant; leave one of them out")
    sign = _number(given, "sign", where)
    if sign not in (None, 1.0, -1.0):
        raise InputError(
            f"{where}: wanted a sign of 1 or -1, found {shortened(given['sign'])}; give a scale for other factors"
        )
    return Column(
        column=str(given.get("column", "")),
        time=str(given.get("time", "")),
        factor=factor,
        sign=1.0 if sign is None else sign,
        zero=_number(given, "zero", where) or 0.0,
        offset=(_number(given, "offset", where) or 0.0) * factor,
        constant=None if constant is None else constant * factor,
    )


def _checked(table: AnyMapping[str, Any], where: str) -> AnyMapping[str, Any]:
    """Check that the values of a table are of the kind they have to be."""
    for key in ("column", "beside", "kind", "clock", "delimiter", "decimal", "thousands", "encoding"):
        if not isinstance(table.get(key, ""), str):
            raise InputError(f"{where}: wanted a text for {key}, found {shortened(table[key])}; write it in quotes")
    beside = table.get("beside", "csv")
    if not beside.lstrip(".") or any(mark in beside for mark in "/\\\0"):
        raise InputError(
            f"{where}: wanted the end of a file's name for beside, such as markers.csv, found {shortened(beside)}"
        )
    marks = [table.get("delimiter", ","), table.get("thousands", " ")]
    same = table.get("thousands") == table.get("decimal", ".")
    if any(len(mark) != 1 for mark in marks) or table.get("decimal", ".") not in (".", ",") or same:
        separators = {key: table[key] for key in ("delimiter", "decimal", "thousands") if key in table}
        raise InputError(
            f"{where}: wanted one character for delimiter and thousands, and a point or a comma, another one, for "
            f"decimal, found {separators}; correct it"
        )
    missing = table.get("missing", [])
    if not (isinstance(missing, list) and all(isinstance(text, str) or is_number(text) for text in missing)):
        raise InputError(
            f'{where}: wanted words or numbers for missing, such as ["err", -999], found {shortened(missing)}; '
            "correct it"
        )
    for key in ("after", "skip", "header_line"):
        _number(table, key, where)
    for key in ("skip", "header_line"):
        if not isinstance(table.get(key, 1), int) or table.get(key, 1) < (key == "header_line"):
            raise InputError(f"{where}: wanted a number of lines for {key}, found {shortened(table[key])}; correct it")
    if not _is_equal_key(table.get("equals", 0)):
        raise InputError(
            f"{where}: wanted a number or a text for equals, found {shortened(table['equals'])}; correct it"
        )
    times = table.get("times", [])
    if not (isinstance(times, list) and all(is_number(t) for t in times)):
        raise InputError(f"{where}: wanted times such as [4.1, 9.7] in s, found {shortened(times)}; correct it")
    intervals = table.get("intervals", [])
    for pair in intervals if isinstance(intervals, list) else [intervals]:
        numbers = isinstance(pair, list) and len(pair) == 2 and all(isinstance(t, int | float) for t in pair)
        if not (numbers and pair[0] < pair[1]):
            raise InputError(
                f"{where}: wanted intervals such as [[1.0, 9.5]] in s, found {shortened(pair)}; correct it"
            )
    return table


def _number(table: AnyMapping[str, Any], key: str, where: str) -> float | None:
    value = table.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{where}: wanted a number for {key}, found {shortened(value)}; write it without quotes")
    if not is_number(value):
        raise InputError(f"{where}: wanted a finite number for {key}, found {shortened(value)}; correct it")
    return float(value)


def _is_equal_key(value: Any) -> bool:
    """Tell whether a reading can be equal to this: a text, a number, or one of several numbers."""
    return isinstance(value, str | int | float) or (
        isinstance(value, list) and all(isinstance(each, int | float) for each in value)
    )


def _law(given: Any, name: str) -> FeedbackLaw | None:
    if given == "uncontrolled":
        return None
    into_lean = {"steer_into_lean", "v0"}
    if not isinstance(given, dict) or not (into_lean <= set(given) or (set(given) & set(LAW_GAINS))):
        raise InputError(
            f'{name}: wanted law = "uncontrolled" or [law] with steer_into_lean (k, N s^2) and v0 (m/s) of '
            f"T_delta = k (v0 - v) phi_dot, or with gains {', '.join(LAW_GAINS)} (N m/rad, N m s/rad), found "
            f"{shortened(given)}; give one of them"
        )
    number = {key: _number(given, key, f"{name} [law]") or 0.0 for key in OTHER_KEYS["law"]}
    rate = number["rate_hz"]
    late = {"delay_s": number["delay_s"], "a period of rate_hz": 1.0 / rate if rate else 0.0}
    late["drive_lag_s"] = number["drive_lag_s"]
    for what, seconds in late.items():
        if not 0.0 <= seconds <= LONGEST_LAW_TIME:
            raise InputError(
                f"{name} [law]: wanted {what} from 0 to {LONGEST_LAW_TIME:g} s, found {seconds:g} s; give it in s"
            )
    phi, delta, phi_dot, delta_dot = (number[key] for key in LAW_GAINS)
    times = {key: number[key] for key in LAW_TIMES}
    return FeedbackLaw(number["steer_into_lean"], number["v0"], (phi, delta, phi_dot, delta_dot), **times)


def _losses(table: AnyMapping[str, Any], where: str) -> DriveLosses:
    """Read what the drive loses of its commands, as a rig states it."""
    losses = {key.removesuffix("_Nm"): _number(table, key, where) for key in table}
    try:
        return DriveLosses(**{key: value for key, value in losses.items() if value is not None})
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _resistance(table: AnyMapping[str, Any], where: str) -> AnyMapping[str, Any]:
    """Check that the values of a resistance are texts, numbers and a place."""
    for key in ("rolling", "rolling_axis"):
        _number(table, key, where)
    at = table.get("at", [0.0, 0.0])
    if not (isinstance(at, list) and len(at) == 2 and all(is_number(number) for number in at)):
        raise InputError(f"{where}: wanted a place such as at = [0.8, -0.84] in m, found {shortened(at)}; correct it")
    return table


def _std(table: AnyMapping[str, Any], where: str) -> dict[str, float]:
    """Read standard deviations of the machine."""
    std = {key: _number(table, key, where) or 0.0 for key in table}
    for key, value in std.items():
        if value < 0.0:
            raise InputError(f"{where}: wanted a standard deviation of {key} of 0 or more, found {value:g}; correct it")
    return std


def _bicycle(given: Any, folder: Path, name: str, trust: bool) -> Bicycle | None:
    if given is None:
        return None
    try:
        if str(given).endswith(catalogue.BICYCLE_SUFFIX):
            return catalogue.load_bicycle(folder / str(given), trust)
        return catalogue.load_bicycle(str(given))
    except InputError as error:
        raise InputError(f"{name}: bicycle: {error}") from None


def _near(word: str, known: Any) -> str:
    return did_you_mean(word, known, f"it may have {', '.join(known)}")
