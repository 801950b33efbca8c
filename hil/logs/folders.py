"""Folder names of runs and campaigns.

None is ever used twice.
"""

import os
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
    """First of the `numbered` names that nothing has yet; not yet made."""
    return next(place for place in numbered(parent, stem) if not place.exists())


def numbered(parent: Path, stem: str) -> Iterator[Path]:
    """Names ``stem``, ``stem-2``, ``stem-3``, ... below ``parent``, without an end."""
    return (parent / (stem if n == 1 else f"{stem}-{n}") for n in count(1))


def own_name(path: str | Path) -> str:
    """Name of a file or folder, also where it is called ``.`` or by a link; links in a circle have their own."""
    return Path(os.path.realpath(path)).name  # Path.resolve fails on a circle
