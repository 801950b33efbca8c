"""TOML files and their format lines.

Such a line reads ``format = "riderless rig 1"``. A file without the line is of the time before it was written and reads
as version 1.
"""

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from riderless.models.errors import InputError
from riderless.models.harmless_text import harmless

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
    "readings": 1,
}  # that this riderless writes
_MARKS = {  # keys by which a file without a format line is known; the first that fits, as gains have a `loop` too
    "bicycle": {"parameters"},
    "gain schedule": {"states"},
    "campaign": {"protocol"},
    "rig": {"port", "limits", "loop"},
    "mapping": {"phi_dot", "time", "kind"},
    "path": {"shape"},
    "readings": {"readings"},
}

_DEEPEST = 16  # parts of a key, or lists and tables within one another; ours have 4
_LONGEST_WORD = 1000  # characters of a number or a bare name; a float has 24
_MOST_PARSED = 72_000_000  # bytes; gains of `riderless design` at its most speeds, 10 001, take 66 MB
_ROOM = {"{": 800, "=": 300, "[": 80, ",": 60}  # bytes that tomllib takes for one, at most
_TABLE_ROOM, _PART_ROOM = 1000, 500  # bytes for a part of a table's name, and for one more part of a key
_TOKEN = re.compile(
    r'''
      """(?:[^"\\]++|\\.|"(?!""))*+"{3,5} | \'\'\'(?:[^']++|'(?!\'\'))*+'{3,5}
    | "(?:[^"\\\n]++|\\.)*+" | '[^'\n]*+'
    | \#[^\n]*+ | \n(?:\s++|\#[^\n]*+)*+
    | [\w+-]++(?:\.[\w+-]++(?=[ ]*[,\n]))?+ | [][{}=,.]
    ''',
    re.DOTALL | re.VERBOSE,
)


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
    if noun.endswith("schedule"):
        return "gains"
    return noun if noun == "readings" else noun and f"a {noun}"


def require_format(document: Mapping[str, Any], noun: str, where: object) -> None:
    """Refuse a file of another kind or of a later version.

    Raises
    ------
    InputError
        One sentence with what was found and what to do.
    """
    line = document.get("format", format_line(noun))
    if line == format_line(noun):
        return
    words = str(line).rsplit(" ", 1)
    if words[0] == f"riderless {noun}" and words[-1].isdigit():
        later = int(words[-1]) > VERSIONS[noun]
        advice = "update riderless" if later else f"rewrite it with `riderless migrate {where}`"
        raise InputError(f"{where} wants format = {format_line(noun)!r}, found {line!r}: {advice}")
    raise InputError(f"{where} wants format = {format_line(noun)!r}, found {line!r}: it is another kind of file")


def load_toml(text: str) -> dict[str, Any]:
    """Read TOML.

    Raises
    ------
    tomllib.TOMLDecodeError
        It is none, or nothing a person would write: nested without end, a number of thousands of digits.
    """
    _require_bounds(text)
    try:
        document = tomllib.loads(text)
        _require_64_bits(document)
        return document
    except tomllib.TOMLDecodeError:
        raise
    except (ValueError, OverflowError) as error:  # what a number, a date or a time cannot be
        raise tomllib.TOMLDecodeError(str(error).partition(";")[0].lower()) from None


def dump_toml(document: Mapping[str, Any]) -> str:
    r"""Write TOML that `load_toml` reads back; what a terminal would obey in its texts is escaped, as \U0000202e."""
    import tomli_w

    def escape(c: str) -> str:
        half = "\ud800" <= c <= "\udfff"  # of a character, which no file can hold
        return f"\\U{0xFFFD if half else ord(c):08x}"

    return harmless(tomli_w.dumps(document), keep="\n", escape=escape)


def _require_bounds(text: str) -> None:
    """Refuse what tomllib would take too long or too much memory for; its cost grows with the square of a key's parts.

    Where the text is no TOML, tomllib stops at the first fault; up to there both see the same tokens.
    """
    room = depth = dots = 0
    in_value = False  # behind the = of a line outside all brackets
    for match in _TOKEN.finditer(text):
        token = match[0]
        kind = token[0]
        if kind == ".":
            dots += 1
        elif kind in "[]{}=,\n":
            if kind in "[{":
                depth += 1
            elif kind in "]}":
                depth -= 1
                if not in_value:  # the name of a table
                    room += _TABLE_ROOM * (dots + 1)
            elif kind == "=":
                room += _PART_ROOM * dots
                in_value = in_value or not depth
            elif kind == "\n":
                in_value = in_value and depth > 0
            room += _ROOM.get(kind, 0)
            dots = 0
        elif kind not in "\"'#" and len(token) > _LONGEST_WORD:
            raise _beyond(f"a number or a name of more than {_LONGEST_WORD} characters", match)
        if depth > _DEEPEST:
            raise _beyond("values nested too deep", match)
        if dots >= _DEEPEST:
            raise _beyond(f"a key of more than {_DEEPEST} parts", match)
        if room > _MOST_PARSED:
            raise _beyond("more tables and values than such a file has", match)


def _beyond(fault: str, match: re.Match[str]) -> tomllib.TOMLDecodeError:
    line = match.string.count("\n", 0, match.start()) + 1
    return tomllib.TOMLDecodeError(f"{fault} (at line {line})")


def _require_64_bits(value: Any) -> None:
    """Refuse whole numbers beyond those that TOML promises: no quantity has so many digits."""
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _require_64_bits(inner)
    if isinstance(value, int) and value.bit_length() > 63:
        raise ValueError("a whole number beyond 64 bits")
