"""Where in a TOML file a key stands, so that a message can point at the line."""

import re
from collections.abc import Mapping

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"^\s*([A-Za-z0-9_.\"'-]+)\s*=")
Path = tuple[str | int, ...]


def lines_of(text: str) -> dict[Path, int]:
    """Line (from 1) of each table and key; an element of an array of tables is a number in its path.

    Inline tables and values over several lines count by the line on which they begin.
    """
    found: dict[Path, int] = {}
    table: Path = ()
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


def line_of(lines: Mapping[Path, int], path: Path) -> int | None:
    """The line of a path, or of the nearest table around it that stands in the file."""
    while path:
        # one [port] is read as a list of one, which the file does not number
        for candidate in (path, tuple(part for part in path if not isinstance(part, int))):
            if candidate in lines:
                return lines[candidate]
        path = path[:-1]
    return None


def line_naming(lines: Mapping[Path, int], sentence: str) -> int | None:
    """The line of the key that a sentence names most precisely, if it names one."""
    words = set(re.findall(r"[A-Za-z0-9_]+", sentence))
    named = [(len(path), -number) for path, number in lines.items() if path and path[-1] in words]
    return -max(named)[1] if named else None
