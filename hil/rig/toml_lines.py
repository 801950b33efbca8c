"""Line numbers of keys in TOML files.

With them a message can point at the line.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast, get_args

from riderless.models.bicycle_file import shortened
from riderless.models.errors import nearest

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"^\s*([A-Za-z0-9_.\"'-]+)\s*=")
MOST_FAULTS = 3  # that one sentence tells
LONGEST_VALUE = 40  # characters
_UNITS = {  # behind the name of a key, the longest first
    "Nms_per_rad": "N m s/rad",
    "Nm_per_rad": "N m/rad",
    "rad_per_s": "rad/s",
    "m_per_s2": "m/s^2",
    "m_per_s": "m/s",
    "Nms_rad": "N m s/rad",
    "rad_s": "rad/s",
    "m_s2": "m/s^2",
    "m_s": "m/s",
    "per_s": "1/s",
    "kgm2": "kg m^2",
    "days": "days",
    "deg": "deg",
    "rad": "rad",
    "Hz": "Hz",
    "Nm": "N m",
    "A": "A",
    "m": "m",
    "s": "s",
}
_RANGE_FAULTS = ("greater_than", "greater_than_equal", "less_than", "less_than_equal", "finite_number")
KeyPath = tuple[str | int, ...]


def find_key_lines(text: str) -> dict[KeyPath, int]:
    """Line (from 1) of each table and key; an element of an array of tables is a number in its path.

    Inline tables and values over several lines count by the line on which they begin.
    """
    lines: dict[KeyPath, int] = {}
    table: KeyPath = ()
    seen: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            name = header.group(2)
            table = tuple(part.strip("\"' ") for part in name.split("."))
            if header.group(1) == "[[":
                seen[name] = seen.get(name, -1) + 1
                table = (*table, seen[name])
            lines.setdefault(table, number)
        elif key:
            lines.setdefault((*table, *(part.strip("\"' ") for part in key.group(1).split("."))), number)
    return lines


def _find_key_line(lines: Mapping[KeyPath, int], path: KeyPath) -> int | None:
    """Find the line of a path, or of the nearest table around it that stands in the file."""
    while path:
        # one [port] is read as a list of one, which the file does not number
        for candidate in (path, tuple(part for part in path if not isinstance(part, int))):
            if candidate in lines:
                return lines[candidate]
        path = path[:-1]
    return None


def find_line_named(lines: Mapping[KeyPath, int], sentence: str) -> int | None:
    """Find the line of the key that a sentence names most precisely, if it names one: with most parts of its path."""
    words = set(re.findall(r"[A-Za-z0-9_]+", sentence))
    named = [
        (sum(part in words for part in path), len(path), -number)
        for path, number in lines.items()
        if path and path[-1] in words
    ]
    return -max(named)[-1] if named else None


def describe_faults(
    error: "ValidationError", lines: Mapping[KeyPath, int], model: "type[BaseModel]", table: KeyPath = ()
) -> str:
    """Faults of a file in one sentence, each with its line; of many the first.

    Parameters
    ----------
    error : ValidationError
    lines : mapping
        As `find_key_lines` gives it.
    model : type
        Model of the file, which knows the keys there are.
    table : tuple
        Path of the one table that the model describes, where it is not the whole file.
    """
    faults = []
    for e in error.errors():
        loc = (*table, *e["loc"])
        line, unit = _find_key_line(lines, loc), _unit(loc)
        where = f"line {line}, " if line else ""
        measured = e["type"] in _RANGE_FAULTS and isinstance(e["input"], int | float)
        value = f"{shortened(e['input'], LONGEST_VALUE)}{unit if measured else ''}"
        value_found = f"found {value}" if e["type"] != "missing" else "it is not there"
        wrong = f"{e['msg'].lower()}{unit}" if measured else _plainly(e["type"], e["msg"].lower(), unit)
        if e["type"] in ("list_type", "tuple_type") and isinstance(e["input"], Mapping):
            wrong = f"there may be several: write [[{loc[-1]}]] above each"
        if e["type"] == "extra_forbidden":
            wrong = f"there is no such key{_meant(str(loc[-1]), _keys_beside(model, e['loc']))}"
        faults.append(f"{where}{'.'.join(str(p) for p in loc)}: {wrong} ({value_found})")
    more = len(faults) - MOST_FAULTS
    if more > 0:  # another kind of file, most likely
        faults = [*faults[:MOST_FAULTS], f"and {more} more"]
    return "; ".join(faults) + "; correct these keys"


def _keys_beside(model: "type[BaseModel]", path: KeyPath) -> list[str]:
    """Keys that a model knows in the table in which a path ends; numbers in the path are of arrays of tables."""
    for part in path[:-1]:
        if isinstance(part, str) and part in model.model_fields:
            model = _model_within(model.model_fields[part].annotation) or model
    return list(model.model_fields)


def _model_within(annotation: object) -> "type[BaseModel] | None":
    """Model of a table, which may be one of several or left out, as an annotation says it."""
    if hasattr(annotation, "model_fields"):
        return cast("type[BaseModel]", annotation)
    return next((model for each in get_args(annotation) if (model := _model_within(each))), None)


def _meant(word: str, known: Sequence[str]) -> str:
    """Ask whether the known key that ``word`` begins, or looks like, is meant; nothing where none does."""
    close = [key for key in known if key.startswith(word)] or nearest(word, known)
    return f"; did you mean {close[0]}?" if close else ""


def _unit(path: KeyPath) -> str:
    """Unit that the name of a key ends in, behind a space; of an element of a list that of the list."""
    key = next((part for part in reversed(path) if isinstance(part, str)), "")
    return next((f" {unit}" for end, unit in _UNITS.items() if key.endswith(f"_{end}")), "")


def _plainly(kind: str, message: str, unit: str) -> str:
    """Say a fault of form without pydantic's own words for it: a number or a list is wanted, in a unit or in none."""
    if kind in ("float_type", "float_parsing", "int_type", "int_parsing"):
        return f"{message.partition(',')[0]}{f' in{unit}' if unit else ''}"
    a_list = f"list{f' of numbers in{unit}' if unit else ''}"
    return message.replace("valid tuple", a_list).replace("tuple", "list").replace(" after validation", "")
