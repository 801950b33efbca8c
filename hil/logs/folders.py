"""Names of folders for runs and campaigns: none is ever used twice."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path


def new_folder(parent: Path, name: str) -> Path:
    """Name a folder below ``parent`` that does not exist yet; a number is added where the name is taken."""
    return first_free(parent, folder_stem(name))


def run_folder(root: str | Path, *words: object) -> Path:
    """Name a folder in ``root`` for a run that starts now, by UTC time and ``words``; not yet made."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    name = "-".join([stamp, *(re.sub(r"[^\w.+-]+", "_", str(word)) for word in words)])
    return first_free(Path(root), name)


def folder_stem(name: str) -> str:
    """Turn words into a folder's name: small letters, digits and ``._-``."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-").lower()


def first_free(parent: Path, stem: str) -> Path:
    """First of `numbered` folders that does not exist; not yet made."""
    return next(folder for folder in numbered(parent, stem) if not folder.exists())


def numbered(parent: Path, stem: str) -> Iterator[Path]:
    """Folders ``stem``, ``stem-2``, ``stem-3``, ... below ``parent``, without an end."""
    return (parent / (stem if n == 1 else f"{stem}-{n}") for n in count(1))
