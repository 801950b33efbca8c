"""Child processes, each a new interpreter.

This is the only place that starts them.

None of them runs what lies in the current folder. ``python -m`` and ``-c`` put that folder first on the search path,
and so do multiprocessing's workers and its tracker of resources, which begin by ``-c``: a file ``json.py`` beside a
recording would run in place of the library's. So each begins with Python's safe path (``-P``, or its variable).

Processes of multiprocessing never see Ctrl-C: it is for the program that started them. A terminal sends SIGINT to all
of its processes. A new interpreter imports for a second before a line of ours could ignore it, and would die in the
midst of it with a traceback; so the signal is held back from its first instruction on.

Workers also end when that program is killed: each holds the pipe that all wait at, so none of them would ever see its
end.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import parent_process, resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

_INTERRUPT = {signal.SIGINT}
_SAFE_PATH = "PYTHONSAFEPATH"
_environment = threading.RLock()  # it is one for all threads


def start_python(
    *arguments: str, variables: Mapping[str, str] | None = None, apart: bool = False, **options: Any
) -> "subprocess.Popen[bytes]":
    """Start an interpreter that finds what is installed, and nothing in the current folder.

    Parameters
    ----------
    variables : mapping or None
        Of its environment, beside those of this process.
    apart : bool
        Ctrl-C at the terminal does not reach it.
    *arguments : str
        What stands behind ``python`` on a command line.
    **options
        As `subprocess.Popen` takes them.
    """
    environment = {**os.environ, **(variables or {})}
    if apart and sys.platform == "win32":
        options["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP
    elif apart:
        options["start_new_session"] = True
    return subprocess.Popen([sys.executable, "-P", *arguments], env=environment, **options)


@contextmanager
def _safe_path() -> Iterator[None]:
    """Let interpreters that multiprocessing starts meanwhile leave the current folder out of their search path."""
    with _environment:
        before = os.environ.get(_SAFE_PATH)
        os.environ[_SAFE_PATH] = "1"
        try:
            yield
        finally:
            del os.environ[_SAFE_PATH]
            if before is not None:
                os.environ[_SAFE_PATH] = before


class _QuietProcess(SpawnProcess):
    """Process that inherits a mask under which SIGINT does not reach it."""

    def start(self) -> None:
        """Start it; an interrupt that comes meanwhile reaches this thread afterwards."""
        if sys.platform == "win32":  # which has no masks: `end_with_parent` ignores the signal
            with _safe_path():
                super().start()
            return
        with _safe_path():
            resource_tracker.ensure_running()  # begun by the start below, it would lift the mask
            before = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPT)
            try:
                super().start()
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _QuietSpawnContext(SpawnContext):
    """Context of multiprocessing whose processes are quiet ones."""

    Process = _QuietProcess


QUIET_SPAWN = _QuietSpawnContext()

if sys.platform != "win32":  # which has no fork
    from multiprocessing.context import ForkServerContext, ForkServerProcess

    class _ForkedProcess(ForkServerProcess):
        def start(self) -> None:
            with _safe_path():
                super().start()

    class _ForkServerContext(ForkServerContext):
        Process = _ForkedProcess

    FORK_SERVER = _ForkServerContext()  # whose processes begin with what it has imported


def end_with_parent() -> None:
    """End this process at once when the one that started it is gone, however that ended; an initializer of pools."""

    def watch() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    if sys.platform == "win32":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=watch, name="parent", daemon=True).start()


def new_worker_pool(processes: int, begin: Callable[[], None] = end_with_parent) -> ProcessPoolExecutor:
    """Make a pool of quiet processes; each calls ``begin`` first."""
    with _safe_path():
        if sys.platform != "win32":
            resource_tracker.ensure_running()  # the locks of a pool would begin it
        return ProcessPoolExecutor(processes, mp_context=QUIET_SPAWN, initializer=begin)
