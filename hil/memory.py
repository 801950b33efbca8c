"""Memory limits while a file is read.

A file of three megabytes may say that it holds gigabytes. What a file states of its sizes is asked before anything of
it is unpacked (`require_memory`); what it does not state, or lies about, ends at a bound that the system sets for as
long as a library reads it (`bounded_memory`).
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from riderless.models.errors import InputError

DEFAULT_MEMORY = 500_000_000  # bytes of the whole program, of a command
LIBRARY_MEMORY = 4_000_000_000  # and in a program of somebody else's
PROGRAM_MEMORY = 200_000_000  # of them, what the program and its libraries take
LEAST_MEMORY = 300_000_000
STEP = 1 << 20  # bytes unpacked at a time where nobody knows how many there will be
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_MOST_MEMORY: ContextVar[int] = ContextVar("most_memory", default=LIBRARY_MEMORY)


class TooMuchMemory(InputError):
    """Refusal of a file that takes too much memory."""


def _parse_memory(text: str) -> int:
    """Read an amount of memory such as ``2GB`` or ``800 MB``, in bytes.

    Raises
    ------
    InputError
        It is none, or less than the program itself takes.
    """
    match = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*([kKMGT]?)i?[bB]?\s*", text)
    if match is None:
        raise InputError(f"wanted an amount of memory such as 2GB, found {text!r}; correct --max-memory")
    amount = round(float(match[1]) * _UNITS[match[2].upper()])
    if amount < LEAST_MEMORY:
        raise InputError(
            f"wanted at least {in_words(LEAST_MEMORY)} of memory, for the program itself takes "
            f"{in_words(PROGRAM_MEMORY)}, found {in_words(amount)}; give more with --max-memory"
        )
    return amount


def use_memory(text: str) -> None:
    """Let what is read from now on take so much memory, such as ``2GB``. Raises as `_parse_memory` does."""
    _MOST_MEMORY.set(_parse_memory(text))


@contextmanager
def memory_of_a_command() -> Iterator[None]:
    """Let a command take `DEFAULT_MEMORY` until it says otherwise (`use_memory`), and whoever called it what he had."""
    before = _MOST_MEMORY.set(DEFAULT_MEMORY)
    try:
        yield
    finally:
        _MOST_MEMORY.reset(before)


def memory_for_reading() -> int:
    """Bytes that a file may take: the most there may be, less what the program takes."""
    return _MOST_MEMORY.get() - PROGRAM_MEMORY


def require_memory(needed: int, what: object) -> None:
    """Refuse a file that would take more than `memory_for_reading`.

    Raises
    ------
    TooMuchMemory
        ``what`` names the file in the sentence.
    """
    if needed > memory_for_reading():
        raise _too_much(what, f"found that reading it takes about {in_words(needed)}", needed)


@contextmanager
def bounded_memory(what: object) -> Iterator[None]:
    """Read something with a library that may take what it likes: here it gets no more than `memory_for_reading`.

    Raises
    ------
    TooMuchMemory
        It asked for more; ``what`` names the file in the sentence.
    """
    try:
        with _data_limit(memory_for_reading()):
            yield
    except MemoryError:
        raise _too_much(what, "found more than that while reading it", 3 * memory_for_reading()) from None


def in_words(size: int) -> str:
    """Write a number of bytes for a person."""
    for unit, name in ((10**12, "TB"), (10**9, "GB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}" if size < 1000 * unit else f"more than 999 {name}"
    return f"{size / 1e6:.3g} MB"


def _too_much(what: object, found: str, needed: int) -> TooMuchMemory:
    enough = -(-(needed + PROGRAM_MEMORY) // 10**9)
    remedy = f"give --max-memory {enough}GB" if enough < 1000 else "no --max-memory is enough"
    return TooMuchMemory(
        f"wanted a recording that is read within {in_words(memory_for_reading())} of memory, {found}: {what}; it is "
        f"damaged or made so, or if it is right, {remedy}"
    )


@contextmanager
def _data_limit(more: int) -> Iterator[None]:
    """Let the system refuse this process more than so many bytes beyond what it has; where no system can, nothing."""
    try:
        import resource

        status = Path("/proc/self/status").read_text(encoding="utf-8")
        held = int(re.search(r"VmData:\s+(\d+) kB", status)[1]) * 1024  # type: ignore[index]
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    except (ImportError, OSError, TypeError):  # not Linux
        yield
        return
    limit = held + more
    if soft != resource.RLIM_INFINITY:
        limit = min(limit, soft)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    try:
        yield
    finally:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
