"""File reading in a process of its own.

A library that a file crashes, stops or fills with gigabytes does so there.
"""

import importlib
import os
import pickle  # noqa: S403
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from riderless.hil.memory import bounded_memory, memory_for_reading
from riderless.models.errors import InputError

MOST_SECONDS = 120  # of processor for one file; the largest ones of a lab take a few


def read_apart(path: Path, read: Callable[[], Any]) -> Any:
    """Result of ``read``, made in a child of this process that may take only so much memory and time.

    Raises
    ------
    InputError
        As ``read`` raises it, or the file is more than its library can bear.
    """
    if sys.platform != "linux":  # elsewhere a fork is not safe, or there is none
        with bounded_memory(path):
            return read()
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(here)
        _answer(there, path, read)
    os.close(there)
    ended = 0
    try:
        with os.fdopen(here, "rb") as answer:
            refused, result = pickle.load(answer)  # noqa: S301  of a fork of ourselves, which can do what we can
    except (EOFError, pickle.UnpicklingError):
        refused, result = True, ""
    finally:
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not refused:
        return result
    raise InputError(result or _crashed(path, ended))


def _answer(there: int, path: Path, read: Callable[[], Any]) -> NoReturn:
    """Read, write the result and end: nothing of this process may go on in the child."""
    import resource  # here, as Windows has none

    code = 1
    try:
        used = resource.getrusage(resource.RUSAGE_SELF)
        seconds = round(used.ru_utime + used.ru_stime) + MOST_SECONDS
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (seconds if hard < 0 else min(seconds, hard), hard))
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]  # of a file that a library unpacks beside
        resource.setrlimit(resource.RLIMIT_FSIZE, (memory_for_reading() if hard < 0 else hard, hard))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # last words of a library are no sentence
        try:
            with bounded_memory(path):
                answer = (False, read())
        except InputError as error:
            answer = (True, str(error))
        with os.fdopen(there, "wb") as out:
            pickle.dump(answer, out, protocol=5)
        code = 0
    finally:
        os._exit(code)


def _crashed(path: Path, ended: int) -> str:
    why = f"crashes ({signal.Signals(-ended).name})" if ended < 0 else "fails"
    if ended == -signal.SIGXCPU:
        why = f"did not come to an end in {MOST_SECONDS} s"
    return f"wanted a file that its library can read, found one at which the library {why}: {path}; save it again"


# Libraries that only some files need.


def import_extra(module: str, path: Path, extra: str = "formats") -> ModuleType:
    """Import a module; where it is not installed, raise InputError with how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InputError(
            f"{path} needs the library {module}, which is not installed; install it: "
            f"python -m pip install 'riderless[{extra}]'"
        ) from None
