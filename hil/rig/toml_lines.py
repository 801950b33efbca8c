"""Line numbers of the keys of a TOML file, so that a message can point at the line."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"^\s*([A-Za-z0-9_.\"'-]+)\s*=")
MOST_FAULTS = 3  # that one sentence tells
LONGEST_VALUE = 40  # characters
KeyPath = tuple[str | int, ...]


def find_key_lines(text: str) -> dict[KeyPath, int]:
    """Line (from 1) of each table and key; an element of an array of tables is a number in its path.

    Inline tables and values over several lines count by the line on which they begin.
    """
    found: dict[KeyPath, int] = {}
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
            found.setdefault(table, number)
        elif key:
            found.setdefault((*table, *(part.strip("\"' ") for part in key.group(1).split("."))), number)
    return found


def find_key_line(lines: Mapping[KeyPath, int], path: KeyPath) -> int | None:
    """Find the line of a path, or of the nearest table around it that stands in the file."""
    while path:
        # one [port] is read as a list of one, which the file does not number
        for candidate in (path, tuple(part for part in path if not isinstance(part, int))):
            if candidate in lines:
                return lines[candidate]
        path = path[:-1]
    return None


def find_line_named(lines: Mapping[KeyPath, int], sentence: str) -> int | None:
    """Find the line of the key that a sentence names most precisely, if it names one."""
    words = set(re.findall(r"[A-Za-z0-9_]+", sentence))
    named = [(len(path), -number) for path, number in lines.items() if path and path[-1] in words]
    return -max(named)[1] if named else None


def describe_faults(error: "ValidationError", lines: Mapping[KeyPath, int], table: KeyPath = ()) -> str:
    """Faults of a file, or of one ``table`` of it, in one sentence, each with its line; of many the first."""
    faults = []
    for e in error.errors():
        loc = (*table, *e["loc"])
        line, unit = find_key_line(lines, loc), _unit(str(loc[-1]) if loc else "")
        where = f"line {line}, " if line else ""
        found = f"found {_short(e['input'])}{unit}" if e["type"] != "missing" else "it is not there"
        faults.append(f"{where}{'.'.join(str(p) for p in loc)}: {e['msg'].lower()}{unit} ({found})")
    more = len(faults) - MOST_FAULTS
    if more > 0:  # another kind of file, most likely
        faults = [*faults[:MOST_FAULTS], f"and {more} more"]
    return "; ".join(faults) + "; correct these keys"


def _short(value: object) -> str:
    """Write a value as a person would, cut where it is long."""
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def _unit(key: str) -> str:
    """Unit that a key's name ends in."""
    if rate := re.search(r"_(m|rad)_per_s$", key):
        return f" {rate.group(1)}/s"
    units = {"Hz": "Hz", "s": "s", "m": "m", "days": "days", "Nm": "N m", "A": "A"}
    return f" {units[end]}" if "_" in key and (end := key.rsplit("_", 1)[-1]) in units else ""
