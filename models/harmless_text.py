"""Text from files, made harmless before its output.

Names, notes and sentences from files may hold what a terminal, a page or a spreadsheet would obey. Everything that
reads files keeps texts as they are; everything that shows or writes one passes it through here.
"""

import json
import re
import unicodedata
from collections.abc import Callable

_OBEYED = ("Cc", "Cf", "Cs", "Zl", "Zp")  # control, direction and other unseen marks, half characters, ends of lines
# what is drawn as nothing though Unicode calls it a letter, a mark or a sign: two names would look the same
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0").union(
    map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
)
_UNUSUAL = re.compile(r"[^ -~]+")
_MOST_MARKS = 4  # accents on one letter: more are no language, and cover the lines above and below
_FORMULAS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # with which a cell of a spreadsheet begins to be computed
_LONGEST = 1000  # characters of a sentence


def _as_json(c: str) -> str:
    return r"\u007f" if c == "\x7f" else json.dumps(c)[1:-1]


def harmless(text: str, keep: str = "", escape: Callable[[str], str] = _as_json) -> str:
    r"""Write what would be obeyed, but for the characters to ``keep``, as JSON does: \u001b, \n, \u202e."""

    def written(unusual: re.Match[str]) -> str:
        characters, marks = [], 0
        for c in unusual[0]:
            kind = unicodedata.category(c)
            marks = marks + 1 if kind in ("Mn", "Me") else 0
            obeyed = c not in keep and (kind in _OBEYED or c in _UNSEEN or marks > _MOST_MARKS)
            characters.append(escape(c) if obeyed else c)
        return "".join(characters)

    return _UNUSUAL.sub(written, text)


def harmless_sentence(text: str) -> str:
    """Put a sentence on one line, and leave out the middle where a file made it too long."""
    line = harmless(" ".join(text.split()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 200]} ... {line[-200:]}"


def harmless_cell(text: str) -> str:
    """Text for a cell of a table (CSV): behind an apostrophe where a spreadsheet would take it for a formula."""
    text = harmless(text)
    return f"'{text}" if text.lstrip().startswith(_FORMULAS) else text
