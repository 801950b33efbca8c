"""Machine values from a log's header, checked.

Anybody may have written the header.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from riderless.hil.memory import require_memory
from riderless.models.errors import InputError

if TYPE_CHECKING:  # reading a log must not wait for the compiler
    from riderless.hil.loop.excitation import Excitation

_Part = TypeVar("_Part")
LARGEST_NUMBER = 1e6  # of a state or a standard deviation, SI
LONGEST_RUN = 86_400.0  # s
_LONGEST_FOUND = 60  # characters of a wrong value in a sentence
# what numbers of a rig can be at all, wider than a rig file allows: old runs must read
_RIG_RANGES = {
    "rate": (1.0, 20_000.0, "Hz"),
    "drive_lag": (0.0, 0.5, "s"),
    "input_delay": (0.0, 0.5, "s"),
    "command_delay": (0.0, 1.0, "s"),
    "watchdog": (0.0, 60.0, "s"),
    "x_imu": (-10.0, 10.0, "m"),
    "z_imu": (-10.0, 10.0, "m"),
    "latency_days": (0.0, 1e6, "days"),
    "rules": (1, 2, ""),
}


def typed_values(cls: type[_Part], values: Any) -> _Part:
    """Make a dataclass of values from JSON, each of the kind its field has: lists become the tuples they were.

    Raises
    ------
    TypeError
        A value of another kind, or a key that the dataclass does not have.
    """
    from pydantic import TypeAdapter, ValidationError

    known = {f.name for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    unknown = sorted(set(values) - known) if isinstance(values, dict) else []
    if unknown:
        raise TypeError(f"an unknown key {unknown[0]!r}")
    try:
        return TypeAdapter(cls).validate_python(_tuples(values))
    except RecursionError:
        raise TypeError(f"{cls.__name__}: lists nested without end") from None
    except ValidationError as error:
        first = error.errors()[0]
        if isinstance(cause := first.get("ctx", {}).get("error"), InputError):  # of the dataclass itself
            raise cause from None
        where = ".".join(map(str, first["loc"]))
        raise TypeError(
            f"{where or cls.__name__}: {first['msg'].lower()} (found {short_value(first['input'])})"
        ) from None


def _tuples(value: Any) -> Any:
    """Turn lists into the tuples they were before they went through JSON."""
    if isinstance(value, dict):
        return {key: _tuples(inner) for key, inner in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def require_rig_numbers(settings: Mapping[str, Any]) -> None:
    """Refuse numbers that no rig ever had."""
    for name, (least, most, unit) in _RIG_RANGES.items():
        value = settings.get(name)
        if value is None and (name == "command_delay" or name not in settings):
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise InputError(
                f"wanted a run header whose rig has a {name} from {least:g} to {most:g} {unit}, found "
                f"{short_value(value)}: the log is damaged; give the folder of another run"
            )
    for name, kind in (("name", str), ("clock", str), ("std", dict)):
        if not isinstance(settings.get(name, kind()), kind):
            raise TypeError(f"{name} = {short_value(settings[name])}")
    for name, value in settings.get("std", {}).items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value < LARGEST_NUMBER:
            raise TypeError(f"std.{name} = {short_value(value)}, which is no standard deviation")


def require_playable(excitation: "Excitation", rate: float) -> None:
    """Refuse an excitation that no run ever played to its end: it would be computed sample by sample."""
    ends = [
        excitation.delay + excitation.duration,
        *(begin + length for begin, length in (*excitation.releases, *excitation.held_back)),
    ]
    seconds = max(ends) if all(map(math.isfinite, ends)) else math.inf
    if seconds > LONGEST_RUN:
        raise InputError(
            f"wanted a run header whose excitation ends within {LONGEST_RUN:g} s, found {seconds:g} s: the log is "
            "damaged; give the folder of another run"
        )
    require_memory(round(4 * 8 * seconds * rate), f"the excitation of {seconds:g} s at {rate:g} Hz in its header")


def short_value(value: Any, quoted: bool = True) -> str:
    """Write a value of a header, cut where it is long."""
    try:
        text = repr(value) if quoted else str(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, lists without end
        return f"{type(value).__name__} of no sensible size"
    return text if len(text) <= _LONGEST_FOUND or not quoted else f"{text[: _LONGEST_FOUND - 3]}..."
