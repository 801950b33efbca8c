"""Migration of old files to this version.

Gains, rig, campaign, mapping, path and readings files; comments and order stay.
"""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit

from riderless.experiments.campaigns.file import check_campaign
from riderless.experiments.recordings.foreign import mapping
from riderless.hil.controllers.registry import read_controller_file
from riderless.hil.logs.folders import first_free
from riderless.hil.rig.file import read_rig
from riderless.hil.rig.path_file import read_path_file
from riderless.hil.rig.writer import replace_file
from riderless.models.errors import InputError
from riderless.models.file_format import VERSIONS, describe_kind, format_line, load_toml, noun_of, require_format
from riderless.models.measured.reading_files import read_readings
from riderless.models.text_file import read_text_file, why_unreadable


@dataclass(frozen=True)
class _Migration:
    """Result for one file: its kind, what was changed, and where the old text is kept."""

    path: Path
    noun: str
    changes: tuple[str, ...]  # one sentence each; none: the file is as this version writes it
    kept: Path | None


READERS: dict[str, Callable[[Path], Any]] = {  # the test of a new text: it must read
    **dict.fromkeys(("gain schedule", "lane schedule", "steer schedule", "steer lane schedule"), read_controller_file),
    **dict.fromkeys(("state space", "steer state space"), read_controller_file),
    "rig": read_rig,
    "campaign": check_campaign,
    "mapping": mapping.load_mapping,
    "path": read_path_file,
    "readings": read_readings,
}
_WANTED = "a gains, rig, campaign, mapping, path or readings file"
STEPS: dict[tuple[str, int], Callable[[tomlkit.TOMLDocument], str]] = {}  # (noun, version) -> to the next, with a word


def migrate(path: Path) -> _Migration:
    """Rewrite a file in the newest format; the old text is kept beside it as ``NAME.old``.

    Raises
    ------
    InputError
        The file cannot be read or written, is of none of these kinds, or does not read after the change.
    """
    document = _document(path)
    noun = noun_of(document)
    if noun not in VERSIONS:
        kind = describe_kind(document)
        what = f"{kind}, which has no format to rewrite," if kind else "none of their tables"
        raise InputError(f"wanted {_WANTED}, found {what} in {path}")
    written, changes = _version(path, document, noun), []
    for version in range(written, VERSIONS[noun]):
        changes.append(STEPS[noun, version](document))
    if document.get("format") != format_line(noun):
        changes.append(f"format = {format_line(noun)!r} is written on top")
        document = _stamped(document, format_line(noun))
    if not changes:
        READERS[noun](path)
        return _Migration(path, noun, (), None)
    return _Migration(path, noun, tuple(changes), _replace(path, noun, tomlkit.dumps(document)))


def _document(path: Path) -> tomlkit.TOMLDocument:
    try:
        text = read_text_file(path)
        load_toml(text)  # which says in a sentence what cannot be
        return tomlkit.parse(text)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"wanted {_WANTED}, {path} cannot be read ({why_unreadable(error)}): name another") from None
    except (tomllib.TOMLDecodeError, tomlkit.exceptions.TOMLKitError) as error:
        raise InputError(f"{path} is not valid TOML: {error}; correct that line") from None


def _version(path: Path, document: tomlkit.TOMLDocument, noun: str) -> int:
    """Version of a file; refuses what no step leads away from, as its reader would."""
    words = str(document.get("format", f"riderless {noun} 1")).rsplit(" ", 1)
    older = words[0] == f"riderless {noun}" and words[-1].isdigit() and (noun, int(words[-1])) in STEPS
    if not older:
        require_format(document, noun, path)
    return int(words[-1])


def _stamped(document: tomlkit.TOMLDocument, line: str) -> tomlkit.TOMLDocument:
    """Put the format line before everything else, below the comments that open the file."""
    if "format" in document:
        document["format"] = line
        return document
    rows = tomlkit.dumps(document).splitlines(keepends=True)
    at = next((i for i, row in enumerate(rows) if row.strip() and not row.lstrip().startswith("#")), len(rows))
    return tomlkit.parse("".join([*rows[:at], f'format = "{line}"\n', *rows[at:]]))


def _replace(path: Path, noun: str, text: str) -> Path:
    """Put a new text in a file's place once it reads; where the old text is kept."""
    kept = first_free(path.parent, f"{path.name}.old")
    try:
        replace_file(path, text, kept, READERS[noun])
    except OSError as error:
        raise InputError(f"{path} could not be rewritten ({error.strerror}) and was left alone") from None
    return kept
