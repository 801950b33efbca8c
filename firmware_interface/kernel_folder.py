"""Private folder of compiled kernels.

There is one for each state of the sources, and nobody else can write to it. numba asks only whether the file of a
function has changed, not the files of what it calls, so after an update it could run yesterday's actuator inside
today's plant. A folder named after the sources of all kernels rules that out. Those of earlier states go, but for a
few.

Whoever can write into the folder has his own code run by whoever reads it, with the drive's port open: kernels
are pickles. So the folder is private whatever the umask, and one that somebody else owns or may write to is not used.
"""

import atexit
import logging
import os
import re
import stat
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_logger = logging.getLogger("riderless.firmware_interface")
_ROOT = Path(__file__).resolve().parents[1]
_ROOMS = ("models", "firmware_interface", "hil", "experiments")
_DECORATOR = b"firmware_interface.kernels import"  # what a file of kernels imports
_NAMES = re.compile("(own-)?kernels-[0-9a-f]{16}")
_PRIVATE = 0o700
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_KEPT = 4  # folders of the states used last: who goes to and fro between two of them compiles neither anew
_DELETE = "delete it"
_IN_USE = 86400.0  # s: a folder used since then may still be read


def kernel_folder() -> str:
    """Folder for this state of the sources, in a user's own NUMBA_CACHE_DIR where there is one.

    Processes begun here find it in that variable.
    """
    name = _name()
    given = os.environ.get("NUMBA_CACHE_DIR", "")
    if not given.endswith(name):
        folder = (given and _within(Path(given) / name)) or _chosen()
        os.environ["NUMBA_CACHE_DIR"] = str(folder)
        if not any(folder.iterdir()):
            _logger.info("compiled kernels are made anew when first used, in %s", folder)
    return os.environ["NUMBA_CACHE_DIR"]


def everything_compiled() -> Path:
    """File that stands in the folder once everything was compiled."""
    return Path(kernel_folder()) / "everything"


def _within(folder: Path) -> Path | None:
    """Make a folder where a user wants it; None where it cannot be made, which is said."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _forget_earlier_states(folder)
        return folder
    except OSError as error:
        sys.stderr.write(
            f"NUMBA_CACHE_DIR={folder.parent} is not used, for {folder} cannot be made ({error.strerror})\n"
        )
        return None


def _chosen() -> Path:
    """Choose a folder that can be trusted, and say where the usual one cannot."""
    wanted, *others = _folders()
    distrust = _distrust(wanted)
    folder = wanted if not distrust else next((other for other in others if not _distrust(other)), None)
    if distrust:
        reason, remedy = distrust
        instead = f"using {folder}" if folder else "compiling anew"
        sys.stderr.write(f"compiled kernels in {wanted} are not used, for {reason}: {instead}; {remedy}\n")
    if folder is not None:
        _forget_earlier_states(folder)
    else:
        folder = _folder_of_this_process()
    _close_to_others(folder)
    atexit.register(_close_to_others, folder)  # numba makes its files as the umask says
    return folder


def _folders() -> Iterator[Path]:
    """List where kernels may lie, the best place first."""
    name = _name()
    home = os.path.expanduser("~")
    cached = Path(os.environ.get("XDG_CACHE_HOME") or f"{home}/.cache") / "riderless"
    yield cached / name
    yield cached / f"own-{name}"
    yield Path(home) / ".riderless" / name


def _distrust(folder: Path) -> tuple[str, str] | None:
    """Make the folder, private, and say why it cannot be trusted, and what to do; None if it can."""
    if not folder.is_absolute():
        return "this user has no home", "set HOME or XDG_CACHE_HOME"
    own = (folder.parent, folder)
    try:
        for place in (*reversed(own[0].parents), *own):
            if not place.is_symlink() and not place.exists():
                place.mkdir(_PRIVATE)
        if sys.platform == "win32":  # a home is its owner's there, and modes say nothing
            return None
        above = own[0].parent.stat().st_mode
        if above & stat.S_IWOTH and not above & stat.S_ISVTX:
            return f"anybody may rename what lies in {own[0].parent}", "take that right away, or set XDG_CACHE_HOME"
        for place in own:
            status = place.lstat()
            if not stat.S_ISDIR(status.st_mode):
                return f"{place} is no folder", _DELETE
            if status.st_uid != os.getuid():
                return f"{place} belongs to somebody else", _DELETE
        own[0].chmod(own[0].stat().st_mode & ~_OTHERS_WRITE)  # what others may have put there has its own check
        return ("others may write there", _DELETE) if folder.stat().st_mode & _OTHERS_WRITE else None
    except OSError as error:
        return f"it cannot be made ({error.strerror})", "make room, or set XDG_CACHE_HOME to another folder"


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


def _forget_earlier_states(folder: Path) -> None:
    """Delete what other states of the sources left beside a folder, but for the last few: each takes some 40 MB."""
    import shutil

    def last_used(place: Path) -> float:
        try:
            return place.stat().st_mtime
        except OSError:  # another process has just deleted it
            return 0.0

    os.utime(folder)
    beside = [other for other in folder.parent.glob("*kernels-*") if _NAMES.fullmatch(other.name) and other != folder]
    for other in sorted(beside, key=last_used, reverse=True)[_KEPT:]:
        if last_used(other) < last_used(folder) - _IN_USE:
            shutil.rmtree(other, ignore_errors=True)


def _name() -> str:
    return f"kernels-{sources_fingerprint()}"


@cache
def sources_fingerprint() -> str:
    """Short hash of the sources of every room that holds compiled code, of their names, and of what compiles them."""
    import hashlib  # brings OpenSSL, which help should not wait for
    from importlib.metadata import version

    compilers = [sys.implementation.cache_tag, *(version(name) for name in ("numba", "llvmlite", "numpy"))]
    digest = hashlib.sha256(" ".join(compilers).encode())
    for room in _ROOMS:
        for source in sorted((_ROOT / room).rglob("*.py")):
            content = source.read_bytes()
            if (
                room != "experiments" or _DECORATOR in content
            ):  # elsewhere a kernel may also take a constant from others
                digest.update(str(source.relative_to(_ROOT)).encode() + content)
    return digest.hexdigest()[:16]
