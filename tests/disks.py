"""Disk of its own, of a chosen size: a real one, which a test can fill."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def a_disk(folder: Path, size: int) -> Iterator[Path]:
    """Make a folder that is a disk of so many bytes; the test is skipped where nobody may mount one."""
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("no right to mount a disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)
