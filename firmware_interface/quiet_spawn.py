"""Processes that begin as new interpreters and never see Ctrl-C: it is for the program that started them.

A terminal sends SIGINT to all of its processes. A new interpreter imports for a second before a line of ours could
ignore it, and would die in the midst of it with a traceback; so the signal is held back from its first instruction on.
"""

import signal
from multiprocessing import resource_tracker
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
