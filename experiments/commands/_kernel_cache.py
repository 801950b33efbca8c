"""Folder of compiled kernels, one for each state of the sources.

numba asks only whether the file of a function has changed, not the files of what it calls, so after an
update it could run yesterday's actuator inside today's plant. A folder named after the sources of all
kernels rules that out.
"""

import os
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_ROOMS = ("models", "firmware_interface", "hil")


def use_kernel_cache() -> None:
    """Choose the folder; must come before numba is imported. A user's own NUMBA_CACHE_DIR stays."""
    if "NUMBA_CACHE_DIR" in os.environ:
        return
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    os.environ["NUMBA_CACHE_DIR"] = str(home / "riderless" / f"kernels-{_fingerprint()}")


def _fingerprint() -> str:
    """Short hash of the sources of every room that holds compiled code."""
    import hashlib  # brings OpenSSL, which help should not wait for

    digest = hashlib.sha256()
    for room in _ROOMS:
        for source in sorted((_ROOT / room).rglob("*.py")):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]
