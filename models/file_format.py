"""Format lines of the files people keep: ``format = "riderless rig 1"``.

A file without the line is of the time before it was written and reads as version 1.
"""

import tomllib
from collections.abc import Mapping
from typing import Any

from models.errors import InputError

VERSIONS = {
    "gain schedule": 1,
    "lane schedule": 1,
    "steer schedule": 1,
    "steer lane schedule": 1,
    "state space": 1,
    "steer state space": 1,
    "rig": 1,
    "campaign": 1,
    "mapping": 1,
    "path": 1,
}  # that this riderless writes
_MARKS = {  # keys by which a file without a format line is known; the first that fits, as gains have a `loop` too
    "bicycle": {"parameters"},
    "gain schedule": {"states"},
    "campaign": {"protocol"},
    "rig": {"port", "limits", "loop"},
    "mapping": {"phi_dot", "time", "kind"},
    "path": {"shape"},
}


def format_line(noun: str) -> str:
    """Format of a kind of file as this riderless writes it."""
    return f"riderless {noun} {VERSIONS[noun]}"


def noun_of(document: Mapping[str, Any]) -> str:
    """Kind of a file, by its format line or else by keys that only such a file has; empty where neither tells."""
    line = str(document.get("format", ""))
    by_line = (noun for noun in VERSIONS if line.startswith(f"riderless {noun} "))
    by_keys = (noun for noun, marks in _MARKS.items() if document.keys() & marks)
    return next(by_line, "") or next(by_keys, "")


def describe_kind(document: Mapping[str, Any]) -> str:
    """Words for what a file holds, as a sentence says it: "a rig", "gains"; empty where that does not show."""
    noun = noun_of(document)
    return "gains" if noun.endswith("schedule") else noun and f"a {noun}"


def require_format(document: Mapping[str, Any], noun: str, where: object) -> None:
    """Refuse a file of another kind or of a later version.

    Raises
    ------
    InputError
        One sentence with what was found and what to do.
    """
    found = document.get("format", format_line(noun))
    if found == format_line(noun):
        return
    words = str(found).rsplit(" ", 1)
    if words[0] == f"riderless {noun}" and words[-1].isdigit():
        later = int(words[-1]) > VERSIONS[noun]
        advice = "update riderless" if later else f"rewrite it with `riderless migrate {where}`"
        raise InputError(f"{where} wants format = {format_line(noun)!r}, found {found!r}: {advice}")
    raise InputError(f"{where} wants format = {format_line(noun)!r}, found {found!r}: it is another kind of file")


def load_toml(text: str) -> dict[str, Any]:
    """Read TOML.

    Raises
    ------
    tomllib.TOMLDecodeError
        It is none, or nothing a person would write: nested without end, a number of thousands of digits.
    """
    try:
        document = tomllib.loads(text)
        _require_64_bits(document)
        return document
    except RecursionError:
        raise tomllib.TOMLDecodeError("values nested too deep") from None
    except tomllib.TOMLDecodeError:
        raise
    except (ValueError, OverflowError) as error:  # what a number, a date or a time cannot be
        raise tomllib.TOMLDecodeError(str(error).partition(";")[0].lower()) from None


def _require_64_bits(value: Any) -> None:
    """Refuse whole numbers beyond those that TOML promises: no quantity has so many digits."""
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _require_64_bits(inner)
    if isinstance(value, int) and value.bit_length() > 63:
        raise ValueError("a whole number beyond 64 bits")
