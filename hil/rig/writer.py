"""Writer of new values into a rig file.

Comments and order stay, the old file is kept, nothing is replaced half-way.
"""

import os
import secrets
import shutil
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import tomlkit

from riderless.firmware_interface.errors import DeviceError
from riderless.hil.rig.file import read_rig, read_rig_text
from riderless.models.errors import InputError
from riderless.models.file_format import load_toml


class _RigChange(NamedTuple):
    """One key of a rig file; ``table`` is a path such as ``calibration`` or ``port.0.settings``."""

    table: str
    key: str
    old: Any  # None if it was not there
    new: Any


def rig_changes(path: Path, values: Mapping[tuple[str, str], Any]) -> list[_RigChange]:
    """List what writing ``values`` (by table and key) would change in the rig file; equal values are left out.

    Raises
    ------
    InputError
        When the file cannot be read.
    """
    document = _document(path)
    changes = []
    for (table, key), new in values.items():
        old = _table(document, table).get(key)
        old = old.unwrap() if hasattr(old, "unwrap") else old
        if old != new:
            changes.append(_RigChange(table, key, old, new))
    return changes


def write_rig(path: Path, values: Mapping[tuple[str, str], Any], stamp: str) -> Path | None:
    """Put ``values`` into the rig file; returns where the old file is kept, None if nothing changes.

    The new text is read as a rig before it takes the old one's place, in one step.

    Parameters
    ----------
    values : mapping
        (table, key) to a number, or nested lists of numbers. A table inside another is written with points
        between; the ports are numbered from 0, also where the file has only one.
    stamp : str
        Part of the kept file's name, such as the time.

    Raises
    ------
    InputError
        When the file cannot be read or written, or would no longer be a rig.
    """
    document, made = _document(path), rig_changes(path, values)
    if not made:
        return None
    for change in made:
        _table(document, change.table)[change.key] = change.new
    kept = _free(path, stamp)
    try:
        replace_file(path, tomlkit.dumps(document), kept, lambda draft: read_rig(draft).calibrated())
    except (InputError, DeviceError) as error:
        raise InputError(f"{path} would not be a rig any more and was left alone: {error}") from None
    except OSError as error:
        raise InputError(
            f"{path} could not be written ({error.strerror}) and was left alone: look at its folder"
        ) from None
    return kept


def replace_file(path: Path, text: str, kept: Path, read: Callable[[Path], object]) -> None:
    """Put a text in a file's place in one step, once it reads; the old file keeps a second name.

    Parameters
    ----------
    path : Path
    text : str
        Written as UTF-8.
    kept : Path
        The old file's second name, in the same folder, not yet taken.
    read : callable
        Given the path of the draft; what it raises leaves the old file alone.

    Raises
    ------
    OSError
        The folder does not take it.
    """
    path = Path(os.path.realpath(path))  # behind a link, which stays one
    draft = path.with_name(f".{path.stem}-{secrets.token_hex(4)}{path.suffix}")  # nobody else's
    try:
        draft.write_text(text, encoding="utf-8")
        shutil.copymode(path, draft)
        try:
            read(draft)
        except InputError as error:  # of the file that the person knows
            raise InputError(str(error).replace(draft.name, path.name)) from None
        os.link(path, kept)  # the old file under a second name: at no moment is there none
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _document(path: Path) -> tomlkit.TOMLDocument:
    text = read_rig_text(path)
    try:
        load_toml(text)  # which says in a sentence what cannot be
        return tomlkit.parse(text)
    except (tomllib.TOMLDecodeError, tomlkit.exceptions.TOMLKitError) as error:
        raise InputError(f"rig file {path} is not valid TOML: {error}; correct that line") from None


def _table(document: tomlkit.TOMLDocument, path: str) -> Any:
    """Find the table at a path; it is made where there is none."""
    table: Any = document
    for part in path.split("."):
        if part.isdigit():
            table = table[int(part)] if isinstance(table, list) else table  # [port] is one of one
            continue
        if part not in table:
            table[part] = tomlkit.table()
        table = table[part]
    return table


def _free(path: Path, stamp: str) -> Path:
    """Find a name for the old file that no file has yet."""
    kept, n = path.with_name(f"{path.stem}-{stamp}{path.suffix}"), 1
    while kept.exists():
        n += 1
        kept = path.with_name(f"{path.stem}-{stamp}-{n}{path.suffix}")
    return kept
