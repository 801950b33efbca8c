"""Processes that begin as new interpreters and never see Ctrl-C: it is for the program that started them.

A terminal sends SIGINT to all of its processes. A new interpreter imports for a second before a line of ours could
ignore it, and would die in the midst of it with a traceback; so the signal is held back from its first instruction on.

Workers also end when that program is killed: each holds the pipe that all wait at, so none of them would ever see its
end.
"""

import os
import signal
import threading
from multiprocessing import parent_process, resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess

_INTERRUPT = {signal.SIGINT}


class QuietProcess(SpawnProcess):
    """Process that inherits a mask under which SIGINT does not reach it."""

    def start(self) -> None:
        """Start it; an interrupt that comes meanwhile reaches this thread afterwards."""
        resource_tracker.ensure_running()  # begun by the start below, it would lift the mask
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPT)
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class QuietSpawnContext(SpawnContext):
    """Context of multiprocessing whose processes are quiet ones; pools take it as ``mp_context``."""

    Process = QuietProcess


QUIET_SPAWN = QuietSpawnContext()


def end_with_parent() -> None:
    """End this process at once when the one that started it is gone, however that ended; an initializer of pools."""

    def watch() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()
