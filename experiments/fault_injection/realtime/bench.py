"""Bench of the real-time faults.

One emulated bicycle on a pseudo-terminal, and controllers that come and go. The bicycle stays the same from case to
case: each case also shows that what the last one left behind can be taken up again. Only a bicycle that was unplugged
is replaced.
"""

import os
import pty
import re
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np

from riderless.experiments.emulation.hand import kicks_in_turn
from riderless.experiments.emulation.workstand import start_twin
from riderless.experiments.fault_injection.realtime import controller_process
from riderless.experiments.fault_injection.realtime.controller_process import NOTHING
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.twins.virtual_node import Report, VirtualProcess
from riderless.hil.controllers.timing import LoopTiming
from riderless.hil.design.methods import design
from riderless.hil.logs.log import Run, read_run
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.warmup import warm_up
from riderless.models import catalogue
from riderless.models.plant.scenario import Scenario

CONTROLLER_PRIORITY = (
    20  # priority of the controllers' loops where priorities are permitted; the bicycle's is one higher
)
PATIENCE = 30.0  # s, for anything at all to happen
_GLANCE = 0.001  # s


class NeverCameError(DeviceError):
    """Something that had to happen did not."""


@dataclass(frozen=True)
class Instant:
    """Instant on both clocks, with the bicycle's own record at it."""

    host: float  # s
    report: Report


class ControllerProcess:
    """Process of a `riderless run`, and what it left behind.

    Attributes
    ----------
    hold : Path
        While this file exists, its disk hangs, if it was started with a disk that may.
    terminal : int
        Our end of its terminal; -1 if it has none.
    """

    def __init__(self, process: BaseProcess, root: Path, terminal: int = -1) -> None:
        self.process, self.hold, self.terminal = process, controller_process.hold_file(root / "said"), terminal
        self._root = root

    @property
    def pid(self) -> int:
        """Process number."""
        assert self.process.pid is not None
        return self.process.pid

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self.process.is_alive():
            os.kill(self.pid, number)

    def ended(self) -> int:
        """Wait for its end and return its exit code (minus the signal that killed it).

        Raises
        ------
        NeverCameError
        """
        self.process.join(PATIENCE)
        if self.process.exitcode is None:
            raise NeverCameError(f"the controller should have ended within {PATIENCE:g} s, but has not")
        return self.process.exitcode

    def stop(self) -> None:
        """End it, whatever it does."""
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.close_terminal()

    def close_terminal(self) -> None:
        """Close the window it runs in; harmless when it has none."""
        if self.terminal >= 0:
            os.close(self.terminal)
            self.terminal = -1

    @property
    def log(self) -> Path:
        """File of its run.

        Raises
        ------
        NeverCameError
            When it has none.
        """
        files = list(self._root.glob("runs/*/run.mcap"))
        if not files:
            raise NeverCameError("the controller made no run")
        return files[0]

    @property
    def run(self) -> Run:
        """Run as read back from its log."""
        return read_run(self.log)

    @property
    def said(self) -> str:
        """Words on its standard output and standard error, on one line."""
        files = [self._root / name for name in ("said", "terminal") if self._has(name)]
        texts = [file.read_text(encoding="utf-8", errors="replace") for file in files]
        return re.sub(r"\s+", " ", " ".join(texts))

    def _has(self, name: str) -> bool:
        return (self._root / name).exists()


class RealtimeBench:
    """Emulated bicycle and the controllers that come and go.

    Parameters
    ----------
    folder : Path
        For gains, runs and what the controllers say.
    seed : int
        Of pushes and sensor noise.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.rig = Rig(catalogue.load_bicycle("Benchmark"))
        rng = np.random.default_rng(seed)
        kicks = kicks_in_turn(self.rig.bicycle, (0.3 + 0.8 * i for i in range(200)), rng)
        self._scenario = Scenario(speed=((0.0, 5.0),), kicks=kicks, seed=seed)
        self._folder = folder
        self._gains = folder / "gains.toml"
        folder.mkdir(parents=True, exist_ok=True)
        timing = LoopTiming(rate=self.rig.rate, drive_lag=self.rig.drive_lag)
        schedule = design(self.rig.bicycle, "lqr", (4.5, 5.0, 5.5), timing)
        self._gains.write_text(schedule.to_toml(), encoding="utf-8")
        warm_up(self.rig, schedule)  # no controller shall spend its case on compiling
        self._twin: VirtualProcess | None = None
        self._visits = 0
        self._fifo = CONTROLLER_PRIORITY if _may_have_priority() else 0

    def __enter__(self) -> "RealtimeBench":
        return self

    def __exit__(self, *_: object) -> None:
        self.unplug()

    @property
    def twin(self) -> VirtualProcess:
        """Process of the bicycle; plugged in if it is not."""
        if self._twin is None:
            self._twin = start_twin(self.rig, self._scenario, fifo=self._fifo)
        return self._twin

    def unplug(self) -> None:
        """Take the bicycle away, and its port with it."""
        if self._twin is not None:
            self._twin.kill()
            self._twin = None

    def signal_twin(self, number: signal.Signals) -> None:
        """Send the bicycle's own process a signal."""
        os.kill(self._pid, number)

    def now(self) -> Instant:
        """Read both clocks and the bicycle's record."""
        return Instant(time.monotonic(), self.twin.report)

    def wait(self, duration: float) -> None:
        """Let time pass [s]."""
        time.sleep(duration)

    def until(
        self, what: str, condition: Callable[[Report], bool], controller: ControllerProcess | None = None
    ) -> None:
        """Wait until the bicycle's record says so.

        Raises
        ------
        NeverCameError
            When it does not, or the controller ends before.
        """
        end = time.monotonic() + PATIENCE
        while not condition(self.twin.report):
            if time.monotonic() > end:
                raise NeverCameError(f"waited {PATIENCE:g} s for {what}")
            if controller is not None and not controller.process.is_alive():
                raise NeverCameError(f"the controller ended before {what}: {controller.said}")
            time.sleep(_GLANCE)

    def control(self, root: Path, spoil: str = NOTHING, terminal: bool = False) -> ControllerProcess:
        """Start a controller on the bicycle.

        Parameters
        ----------
        root : Path
            Folder for what it leaves behind, see `visit`.
        spoil : str
            What is the matter with it, see `controller_process`.
        terminal : bool
            Give it a terminal of its own.
        """
        ours, path = -1, root / "terminal"
        if terminal:
            ours, theirs = pty.openpty()
            path = Path(os.ttyname(theirs))
            os.close(theirs)
        process = controller_process.start_controller(self.command(root), root / "said", path, spoil)
        return ControllerProcess(process, root, ours)

    def visit(self) -> Path:
        """Make a new folder for a controller."""
        self._visits += 1
        root = self._folder / f"controller-{self._visits}"
        root.mkdir(parents=True)
        return root

    def command(self, root: Path) -> list[str]:
        """Words of a command that runs a controller in a folder."""
        options = {
            "--bicycle": self.rig.bicycle.name,
            "--port": self.twin.path,
            "--controller": self._gains,
            "--duration": 600,
            "--fifo": self._fifo,
            "--out": root / "runs",
        }
        return ["run", "--json", "--yes-arm-unattended", *(str(word) for pair in options.items() for word in pair)]

    @property
    def _pid(self) -> int:
        pid = self.twin.pid
        assert pid is not None
        return pid


def _may_have_priority() -> bool:
    """Try on a thread of its own whether this process may raise priorities."""
    refused = []

    def attempt() -> None:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(CONTROLLER_PRIORITY))
        except PermissionError as error:
            refused.append(error)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return not refused
