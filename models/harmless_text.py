"""Text on its way out: names, notes and sentences from files hold what a terminal, a page or a spreadsheet would obey.

Everything that reads files keeps texts as they are; everything that shows or writes one passes it through here.
"""

import json
import unicodedata

_OBEYED = ("Cc", "Cf", "Cs", "Zl", "Zp")  # control, direction and other unseen marks, half characters, ends of lines
_FORMULAS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # with which a cell of a spreadsheet begins to be computed
_LONGEST = 1000  # characters of a sentence


def harmless(text: str, keep: str = "") -> str:
    r"""Write what would be obeyed, but for the characters to ``keep``, as JSON does: \u001b, \n, \u202e."""
    if text.isprintable():
        return text
    return "".join(
        json.dumps(c)[1:-1] if c not in keep and (unicodedata.category(c) in _OBEYED) else c for c in text
    ).replace("\x7f", r"\u007f")


def harmless_sentence(text: str) -> str:
    """Put a sentence on one line, and leave out the middle where a file made it too long."""
    line = harmless(" ".join(text.split()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 200]} ... {line[-200:]}"


def harmless_cell(text: str) -> str:
    """Text for a cell of a table (CSV): behind an apostrophe where a spreadsheet would take it for a formula."""
    text = harmless(text)
    return f"'{text}" if text.lstrip().startswith(_FORMULAS) else text
