"""Format lines of the files people keep: ``format = "riderless rig 1"``.

A file without the line is of the time before it was written and reads as version 1.
"""

from collections.abc import Mapping
from typing import Any

from models.errors import InputError

VERSIONS = {"gain schedule": 1, "rig": 1, "campaign": 1, "mapping": 1}  # that this riderless writes


def format_line(noun: str) -> str:
    """Format of a kind of file as this riderless writes it."""
    return f"riderless {noun} {VERSIONS[noun]}"


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
