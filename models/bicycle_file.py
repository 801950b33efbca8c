"""Bicycle files (TOML), read and judged.

An implausible bicycle is refused, unless the caller or its file trusts it.
"""

import math
import warnings
from collections.abc import Iterable, Iterator
from numbers import Real
from pathlib import Path
from typing import Any

from riderless.models.errors import InputError, UnusualBicycle, nearest
from riderless.models.file_format import describe_kind
from riderless.models.parameter_table import DISPENSABLE, PARAMETERS
from riderless.models.plausibility.deviations import odd_deviations
from riderless.models.plausibility.likely_mistakes import corrected, likely_mistakes
from riderless.models.plausibility.parameter_units import si_parameters
from riderless.models.plausibility.traits import Values, odd_traits
from riderless.models.text_file import read_text_file, why_unreadable

FILE_KEYS = ("name", "source", "note", "missing", "trust", "parameters", "std", "correlations")
LARGEST_SLIP = 1e15  # no usual mistake makes more of a bicycle's parameter
LONGEST_SHOWN = 80  # characters of a wrong value
MOST_REMARKS = 3  # traits named in one line
REMEDY = (
    'correct it; if it is meant, write trust = "why" at the top of its file, or give --trust to a command that '
    "takes this file itself"
)
TRUSTED_BY_COMMAND = "--trust, when it was read"


def read_text(text_or_path: str | Path) -> tuple[str, str]:
    """Name of the input for messages, and its text."""
    if isinstance(text_or_path, str) and ("\n" in text_or_path or not text_or_path.endswith(".toml")):
        return "the bicycle given", text_or_path
    path = Path(text_or_path)
    try:
        return str(path), read_text_file(path)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; give the path of a bicycle in TOML") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} cannot be read as text: {why_unreadable(error)}; give the path of a bicycle in TOML"
        ) from None


def fields_of(table: dict[str, Any]) -> dict[str, Any]:
    """Arguments of `Bicycle` from a TOML table, its shape checked; values are left to `Bicycle`."""
    stray = [key for key in table if key.partition("_")[0] in PARAMETERS]
    if stray and "parameters" not in table:
        raise InputError(
            f"wanted the parameters in a table [parameters], found {stray[0]} = {shortened(table[stray[0]])} without "
            "it: write [parameters] on a line before the first of them"
        )
    kind = describe_kind(table)
    if kind and "parameters" not in table:
        raise InputError(f"wanted the file of a bicycle, with a table [parameters], found {kind}: name another file")
    faults = list(unknown_keys(table, FILE_KEYS, "key"))
    parameters = table.get("parameters", {})
    missing = table.get("missing", [])
    if not isinstance(parameters, dict):
        faults.append("parameters must be a table, [parameters]")
        parameters = {}
    if not isinstance(missing, list):
        faults.append("missing must be a list of parameters")
        missing = []
    parameters = si_parameters(parameters, faults)
    faults += unknown_keys(parameters, PARAMETERS, "parameter")
    absent = [name for name in PARAMETERS if name not in parameters and not (name in DISPENSABLE and name in missing)]
    if absent:
        named = ", ".join(f"{name} ({', '.join(PARAMETERS[name])})" for name in absent[:MOST_REMARKS])
        more = (
            f" and {len(absent) - MOST_REMARKS} more: is it the file of a bicycle?"
            if len(absent) > MOST_REMARKS
            else ""
        )
        faults.append(f"[parameters] lacks {named}{more}")
    if "name" not in table:
        faults.append('it has no name (name = "...")')
    if _blank(table.get("name")):
        faults.append('name = "" is none: write name = "..."')
    if _blank(table.get("trust")):
        faults.append('trust = "" gives no reason: write trust = "why", or leave it out')
    std = {"std": si_parameters(table["std"], faults)} if isinstance(table.get("std"), dict) else {}
    faults += _uncertain_faults(table.get("correlations"), std.get("std", {}))
    if faults:
        raise InputError("; ".join(faults))
    substitutes = {name: _substitute(name, parameters) for name in DISPENSABLE if name not in parameters}
    return {**{key: value for key, value in table.items() if key != "parameters"}, **std, **parameters, **substitutes}


def _uncertain_faults(correlations: Any, std: dict[str, Any]) -> Iterator[str]:
    """Faults of correlations whose parameters have no standard deviation."""
    if not isinstance(correlations, dict):
        return
    rows = [row for row in correlations.values() if isinstance(row, dict)]
    named = [name for name in PARAMETERS if name in correlations or any(name in row for row in rows)]
    certain = [name for name in named if not std.get(name)]
    if certain:
        yield f"[correlations] has {certain[0]}, which has no standard deviation in [std]: give one, or leave it out"


def _blank(value: Any) -> bool:
    """Tell whether a value is text without a letter."""
    return isinstance(value, str) and not value.strip()


def likely_causes(fields: dict[str, Any]) -> str:
    """Likely mistakes in the fields of a bicycle that cannot be; "" when nothing usual explains them."""
    if not all(is_number(fields[name]) and abs(fields[name]) < LARGEST_SLIP for name in PARAMETERS):
        return ""
    values = _given(fields)
    return "; ".join(each.sentence(values) for each in likely_mistakes(values))


def trusted_for(fields: dict[str, Any], trust: bool) -> str:
    """Reason for which the fields of a bicycle are trusted; "" for a plausible bicycle that gives none.

    An implausible one, also by its standard deviations, that is trusted is warned of (`UnusualBicycle`), in one line.

    Raises
    ------
    InputError
        No bicycle is like that, and nobody says that this one is: with the likely mistakes.
    """
    values = _given(fields)
    reason = str(fields.get("trust", "")).strip()
    deviations = list(odd_deviations(values, fields.get("std", {})))
    if not (deviations or any(odd_traits(values))):
        return reason
    if not (trust or reason):
        why = "; ".join([*_implausible(values), *deviations])
        raise InputError(f"bicycle {fields['name']!r} is implausible: {why}; {REMEDY}")
    reason = reason or TRUSTED_BY_COMMAND
    why = "; ".join([*filter(None, [_remarks(values)]), *deviations])
    warnings.warn(f"bicycle {fields['name']!r} is unusual: {why}; trusted: {reason}", UnusualBicycle, stacklevel=4)
    return reason


def _implausible(values: Values) -> list[str]:
    """Likely mistakes, and what is implausible even without them."""
    mistakes = likely_mistakes(values)
    without_mistakes = corrected(values, mistakes)
    remarks = [_remarks(without_mistakes)] if any(odd_traits(without_mistakes)) else []
    return [each.sentence(values) for each in mistakes] + remarks


def _given(fields: dict[str, Any]) -> dict[str, float]:
    """Parameters that somebody gave; nan for the substitute of a missing one."""
    missing = fields.get("missing", ())
    return {name: math.nan if name in missing else float(fields[name]) for name in PARAMETERS}


def _remarks(values: Values) -> str:
    """First few implausible traits, and how many more there are."""
    odd = [trait.phrase(values) for trait in odd_traits(values)]
    more = f"; and {len(odd) - MOST_REMARKS} more" if len(odd) > MOST_REMARKS else ""
    return "; ".join(odd[:MOST_REMARKS]) + more


def _substitute(name: str, parameters: dict[str, Any]) -> float:
    """Moment of a flat frame in place of an unpublished one."""
    Ixx, Izz = parameters[name[:2] + "xx"], parameters[name[:2] + "zz"]
    if is_number(Ixx) and is_number(Izz):
        return flat_moment(Ixx, Izz)
    return 0.0  # `Bicycle` refuses the one that is no number, by its name


def unknown_keys(keys: Iterable[str], known: Iterable[str], what: str) -> Iterator[str]:
    """Faults of keys that are not known, with the nearest that is."""
    for key in keys:
        if key not in known:
            close = nearest(str(key), known)
            yield f"unknown {what} {key!r}" + (f" (did you mean {close[0]!r}?)" if close else "")


def is_real(value: Any) -> bool:
    """Tell whether a value is a number, nan and infinity too; true and false are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Tell whether a value is a finite number; true and false are none."""
    if not is_real(value):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer of hundreds of digits
        return False


def require_reals(what: str, **values: Any) -> None:
    """Refuse what is no number, true and false too; ``what`` is whose values they are. Raises InputError."""
    for name, value in values.items():
        if not is_real(value):
            raise InputError(f"{name} of {what} must be a number, found {shortened(value)}")


def shortened(value: Any, longest: int = LONGEST_SHOWN) -> str:
    """Write a value as Python would, cut to ``longest`` characters; for error messages."""
    text = repr(value)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def flat_moment(Ixx: float, Izz: float) -> float:
    """Moment [kg m^2] about y of a body flat in its plane of symmetry, as a bicycle frame nearly is."""
    return Ixx + Izz
