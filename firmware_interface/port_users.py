"""Programs that have a serial port open.

Only as far as this user may see. `TIOCEXCL` keeps others out from the moment on at which we have the port; who had it
open before can still write to it.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROCESSES = Path("/proc")
_MASTERS = ("/dev/ptmx", "/dev/pts/ptmx")
_PSEUDO = "/dev/pts/"


def port_users(path: str) -> list[str]:
    """Name the other programs that have the port at ``path`` open, in the order of their process numbers.

    Whoever holds the other end of a pseudo-terminal is the device behind it, and not counted.
    """
    real = os.path.realpath(path)
    numbers = sorted(int(entry.name) for entry in _PROCESSES.glob("[0-9]*"))
    return [_named(n) for n in numbers if n != os.getpid() and has_open(n, real) and not _is_device(n, real)]


def is_pseudo_terminal(path: str) -> bool:
    """Is a program at the other end of this port, as `riderless emulate` is, and no device?"""
    return os.path.realpath(path).startswith(_PSEUDO)


def _files(number: int) -> Iterator[Path]:
    """Open files of a process that tells; none of one that has ended, or that is somebody else's."""
    with suppress(OSError):
        yield from (_PROCESSES / str(number) / "fd").iterdir()


def _target(file: Path) -> str:
    with suppress(OSError):
        return os.readlink(file)
    return ""


def has_open(number: int, real: str) -> bool:
    """Tell whether a process has the very file open: another container may have a file of the same name."""
    with suppress(OSError):
        return any(_target(file) == real and os.path.samestat(file.stat(), os.stat(real)) for file in _files(number))
    return False


def _is_device(number: int, real: str) -> bool:
    """Does a process hold the other end of this pseudo-terminal?"""
    if not real.startswith(_PSEUDO):
        return False
    index = real.removeprefix(_PSEUDO)
    return any(_target(file) in _MASTERS and _tty_index(number, file.name) == index for file in _files(number))


def _tty_index(number: int, fd: str) -> str:
    """Number of the pseudo-terminal whose other end is a file of a process."""
    with suppress(OSError):
        for line in (_PROCESSES / str(number) / "fdinfo" / fd).read_text(encoding="ascii").splitlines():
            if line.startswith("tty-index:"):
                return line.split()[1]
    return ""


def _named(number: int) -> str:
    name = "a program"
    with suppress(OSError):
        name = (_PROCESSES / str(number) / "comm").read_text(encoding="utf-8", errors="replace").strip()
    return f"{name} (process {number})"
