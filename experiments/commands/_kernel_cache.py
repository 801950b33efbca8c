"""Folder of compiled kernels, one for each state of the sources, which nobody else can write to.

numba asks only whether the file of a function has changed, not the files of what it calls, so after an
update it could run yesterday's actuator inside today's plant. A folder named after the sources of all
kernels rules that out.

Whoever can write into the folder has his own code run by whoever reads it, with the drive's port open: kernels
are pickles. So the folder is private whatever the umask, and one that somebody else owns or may write to is not used.
"""

import atexit
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_ROOMS = ("models", "firmware_interface", "hil")
_PRIVATE = 0o700
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def use_kernel_cache() -> None:
    """Choose the folder; must come before numba is imported. A user's own NUMBA_CACHE_DIR stays."""
    if "NUMBA_CACHE_DIR" in os.environ:
        return
    wanted, *others = _folders()
    distrust = _distrust(wanted)
    folder = wanted if not distrust else next((other for other in others if not _distrust(other)), None)
    if distrust:
        instead = f"using {folder}" if folder else "compiling anew"
        sys.stderr.write(f"compiled kernels in {wanted} are not used, for {distrust}: {instead}; delete it\n")
    if folder is None:
        folder = _folder_of_this_process()
    _close_to_others(folder)
    atexit.register(_close_to_others, folder)  # numba makes its files as the umask says
    os.environ["NUMBA_CACHE_DIR"] = str(folder)


def _folders() -> Iterator[Path]:
    """List where kernels may lie, the best place first."""
    name = f"kernels-{_fingerprint()}"
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "riderless"
    yield home / name
    yield home / f"own-{name}"
    yield Path.home() / ".riderless" / name


def _distrust(folder: Path) -> str:
    """Make the folder, private, and say why it cannot be trusted; empty if it can."""
    own = (folder.parent, folder)
    try:
        for place in (*reversed(own[0].parents), *own):
            if not place.is_symlink() and not place.exists():
                place.mkdir(_PRIVATE)
        above = own[0].parent.stat().st_mode
        if above & stat.S_IWOTH and not above & stat.S_ISVTX:
            return f"anybody may rename what lies in {own[0].parent}"
        for place in own:
            found = place.lstat()
            if not stat.S_ISDIR(found.st_mode):
                return f"{place} is no folder"
            if found.st_uid != os.getuid():
                return f"{place} belongs to somebody else"
        own[0].chmod(own[0].stat().st_mode & ~_OTHERS_WRITE)  # what others may have put there has its own check
        return "others may write there" if folder.stat().st_mode & _OTHERS_WRITE else ""
    except OSError as error:
        return f"it cannot be made ({error.strerror})"


def _folder_of_this_process() -> Path:
    """Make a private folder that goes with the process."""
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="riderless-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _close_to_others(folder: Path) -> None:
    """Take from everybody else the right to write to what lies in the folder."""
    for place, _, files in os.walk(folder):
        for path in (place, *(os.path.join(place, file) for file in files)):
            try:
                mode = os.lstat(path).st_mode
                if mode & _OTHERS_WRITE and not stat.S_ISLNK(mode):
                    os.chmod(path, mode & ~_OTHERS_WRITE)
            except OSError:  # another process has just replaced it, and closes its own
                continue


def _fingerprint() -> str:
    """Short hash of the sources of every room that holds compiled code."""
    import hashlib  # brings OpenSSL, which help should not wait for

    digest = hashlib.sha256()
    for room in _ROOMS:
        for source in sorted((_ROOT / room).rglob("*.py")):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]
