"""Controller under test, in its own process.

It is the command `riderless run` itself. It can be spoilt where nothing from outside would do. Its imports are done
once, in multiprocessing's fork server, so that a case does not wait for them.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from riderless.firmware_interface.child_processes import FORK_SERVER, end_with_parent
from riderless.hil.logs import append_only
from riderless.hil.loop.states import Demand
from riderless.hil.runners import session
from riderless.hil.runners.operator import Operator

NOTHING, HESITANT, HOG, DISK = "", "never asks for more than ARMED", "hogs the interpreter", "has a disk that may hang"
_COMMAND_LINE = "riderless.experiments.cli"  # started by name, as a shell would: no study imports the command line
IMPORTS = (
    __name__,
    _COMMAND_LINE,
    "riderless.experiments.commands.run",
    "riderless.experiments.campaigns.protocols.treadmill",
    "riderless.hil.design.methods",
    "rich.live",
)


def start_controller(argv: list[str], output: Path, terminal: Path, spoil: str) -> BaseProcess:
    """Start `riderless` with these arguments; its answer goes to the file ``said``.

    Parameters
    ----------
    argv : list of str
        What stands behind `riderless` on the command line.
    output : Path
        File for its standard output.
    terminal : Path
        A terminal, which becomes its own, or a file for what it says on standard error.
    spoil : str
        `NOTHING`, or what is the matter with it.
    """
    FORK_SERVER.set_forkserver_preload(list(IMPORTS))
    process = FORK_SERVER.Process(target=_controller, args=(argv, output, terminal, spoil), name="riderless run")
    process.start()
    return process


def hold_file(output: Path) -> Path:
    """While this file exists, the disk of a controller that was started with `DISK` does not answer."""
    return output.with_suffix(".hold")


def _controller(argv: list[str], output: Path, terminal: Path, spoil: str) -> None:
    os.setsid()  # the first terminal that is opened from here on is its own
    for number, path in ((1, output), (2, terminal)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), number)
    _SPOILS[spoil](output)
    sys.argv = ["riderless", *argv]
    import_module(_COMMAND_LINE).main()


class _Hesitant(Operator):
    """Wants the drive on, and no torque."""

    def __init__(self, duration: float) -> None:
        super().__init__(duration)
        self.demand = Demand.ARM


class _HangingDisk:
    """Stand-in for `os` in a log whose disk answers only while ``hold`` does not exist."""

    def __init__(self, hold: Path) -> None:
        self._hold = hold

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def write(self, fd: int, data: bytes) -> int:
        """As os.write, later."""
        while self._hold.exists():
            threading.Event().wait(0.01)
        return os.write(fd, data)


def _count_for_ever() -> None:
    n = 0
    while True:
        n += 1


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Processes that never rest, while this lasts."""
    hogs = [FORK_SERVER.Process(target=_count_until_alone, name="hog", daemon=True) for _ in range(processes)]
    for hog in hogs:
        hog.start()
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.join()


def _count_until_alone() -> None:
    end_with_parent()
    _count_for_ever()


def _hog() -> None:
    threading.Thread(target=_count_for_ever, daemon=True).start()


_SPOILS: dict[str, Callable[[Path], None]] = {
    NOTHING: lambda output: None,
    HESITANT: lambda output: setattr(session, "Operator", _Hesitant),
    HOG: lambda output: _hog(),
    DISK: lambda output: setattr(append_only, "os", _HangingDisk(hold_file(output))),
}
