"""Folders of runs: names that are not taken yet."""

import re
from pathlib import Path


def new_folder(parent: Path, name: str) -> Path:
    """Name a folder below ``parent`` that does not exist yet; a number is added where the name is taken."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-").lower()
    folder, n = parent / stem, 1
    while folder.exists():
        n += 1
        folder = parent / f"{stem}-{n}"
    return folder
