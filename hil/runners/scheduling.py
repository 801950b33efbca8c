"""Scheduling settings of a real-time thread.

Each is taken where permitted and given back at the end. Nothing here fails for want of permission: the caller gets a
sentence per setting that says what is in force, or why it is not and what to write where.
"""

import ctypes
import os
import platform
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from riderless.models.errors import InputError

MAX_PRIORITY = 99
_PR_SET_TIMERSLACK, _PR_GET_TIMERSLACK = 29, 30
_SCHED_ATTR = struct.Struct("IIQiIQQQII")  # size, policy, flags, nice, priority, runtime, ...
_SCHED_CALLS = {"x86_64": (314, 315), "aarch64": (274, 275)}  # numbers of sched_setattr, sched_getattr
_TURN_ns = 100_000  # the shortest the kernel takes
_MCL_CURRENT, _MCL_FUTURE = 1, 2
_LATENCY_FILE = Path("/dev/cpu_dma_latency")  # holds the CPUs out of deep sleep while it is open
_ISOLATED_FILE = Path("/sys/devices/system/cpu/isolated")
_LIMITS = "/etc/security/limits.conf and log in again"


@contextmanager
def privileges(fifo: int = 0, cpu: int | None = None) -> Iterator[list[str]]:
    """Timer slack, wakeful CPUs, affinity, and real-time priority with locked memory for the calling thread.

    Parameters
    ----------
    fifo : int
        Priority under SCHED_FIFO, 1 to 99; 0 for normal scheduling.
    cpu : int, optional
        The only CPU to run on.

    Yields
    ------
    list of str
        A sentence per setting: what is in force, or why it is not and what to do about it.

    Raises
    ------
    InputError
        For a priority or CPU that does not exist.
    """
    require_existing(fifo, cpu)
    with ExitStack() as undo:
        # before the priority: fetching a whole process takes tenths of a second, and nobody would run beside it
        locked = [_locked_memory(undo)] if fifo else []
        # the slack too: taking and leaving SCHED_FIFO resets it
        settings = [_timer_slack(undo), _wakeful(undo)]
        if cpu is not None:
            settings.append(_affinity(cpu, undo))
        settings.append(_priority(fifo, undo))
        if os.sched_getscheduler(0) == os.SCHED_OTHER:
            settings.append(_short_turns(undo))
        yield settings + locked


def describe_privileges(fifo: int = 0, cpu: int | None = None) -> list[str]:
    """Say what `privileges` would set, or why not, by taking them and giving them back."""
    with privileges(fifo, cpu) as settings:
        return settings


def require_existing(fifo: int, cpu: int | None) -> None:
    """Refuse a priority or CPU that no permission could give.

    Raises
    ------
    InputError
    """
    if not 0 <= fifo <= MAX_PRIORITY:
        raise InputError(f"the real-time priority must be 1 to {MAX_PRIORITY}, or 0 for none, found {fifo}")
    last = (os.cpu_count() or 1) - 1
    if cpu is not None and not 0 <= cpu <= last:
        raise InputError(f"there is no CPU {cpu} in this computer: name one from 0 to {last}")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _timer_slack(undo: ExitStack) -> str:
    libc = _libc()
    before = libc.prctl(_PR_GET_TIMERSLACK, 0, 0, 0, 0)
    if libc.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0) != 0:
        return f"timer slack stays at {before} ns: prctl was refused ({os.strerror(ctypes.get_errno())})"
    undo.callback(libc.prctl, _PR_SET_TIMERSLACK, before, 0, 0, 0)
    return "timer slack is 1 ns"


def _wakeful(undo: ExitStack) -> str:
    try:
        fd = os.open(_LATENCY_FILE, os.O_WRONLY)
    except OSError as error:
        return (
            f"the CPUs may sleep deeply: {_LATENCY_FILE} was refused ({error.strerror}); "
            f"let your group write it with a udev rule, or boot with 'processor.max_cstate=1'"
        )
    undo.callback(os.close, fd)
    os.write(fd, bytes(4))  # a tolerated latency of 0 us, 32 bits
    return "the CPUs are kept from deep sleep"


def _affinity(cpu: int, undo: ExitStack) -> str:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {cpu})
    except OSError as error:
        allowed = ", ".join(str(c) for c in sorted(before))
        return f"not bound to CPU {cpu}: it was refused ({error.strerror}); this process may use {allowed}"
    undo.callback(os.sched_setaffinity, 0, before)
    if cpu in _isolated():
        return f"bound to CPU {cpu}, which is isolated from other programs"
    return (
        f"bound to CPU {cpu}, which other programs share: add 'isolcpus={cpu}' to GRUB_CMDLINE_LINUX "
        "in /etc/default/grub, run update-grub and restart to keep them off"
    )


def _isolated() -> set[int]:
    """CPUs that the scheduler leaves alone; the kernel's list reads like 1,4-7."""
    try:
        text = _ISOLATED_FILE.read_text(encoding="utf-8").strip()
    except OSError:
        return set()
    ends = [part.split("-") for part in text.split(",") if part]
    return {cpu for end in ends for cpu in range(int(end[0]), int(end[-1]) + 1)}


def _priority(fifo: int, undo: ExitStack) -> str:
    if not fifo:
        return "normal priority: no real-time priority was asked for"
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(fifo))
    except OSError as error:
        return (
            f"normal priority: SCHED_FIFO {fifo} was refused ({error.strerror}); "
            f"add the line 'USER - rtprio {MAX_PRIORITY}' to {_LIMITS}"
        )
    undo.callback(os.sched_setscheduler, 0, *before)
    return f"real-time priority SCHED_FIFO {fifo}"


def _short_turns(undo: ExitStack) -> str:
    """Under normal scheduling, who asks for short turns is let in sooner after waking; needs no permission."""
    if _turn() is not None and _set_turn(_TURN_ns):
        undo.callback(_set_turn, 0)  # back to the kernel's choice
        if _turn() == _TURN_ns:
            return f"turns of the CPU are as short as {_TURN_ns // 1000} us"
    return "turns of the CPU are as long as the kernel makes them: shorter ones can be had from Linux 6.12 on"


def _turn() -> int | None:
    """Length of this thread's turns [ns] under normal scheduling; None where it cannot be known."""
    attributes = ctypes.create_string_buffer(_SCHED_ATTR.size)
    calls = _SCHED_CALLS.get(platform.machine())
    if calls is None or _libc().syscall(calls[1], 0, attributes, _SCHED_ATTR.size, 0) != 0:
        return None
    return int(_SCHED_ATTR.unpack(attributes.raw)[5])


def _set_turn(turn_ns: int) -> bool:
    calls = _SCHED_CALLS[platform.machine()]
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    attributes = _SCHED_ATTR.pack(_SCHED_ATTR.size, os.SCHED_OTHER, 0, nice, 0, turn_ns, 0, 0, 0, 0)
    return bool(_libc().syscall(calls[0], 0, attributes, 0) == 0)


def _locked_memory(undo: ExitStack) -> str:
    libc = _libc()
    if libc.mlockall(_MCL_CURRENT | _MCL_FUTURE) != 0:
        why = os.strerror(ctypes.get_errno())
        import resource

        most = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
        limit = "without limit" if most == resource.RLIM_INFINITY else f"up to {most // 1024} kB"
        return (
            f"memory is not locked: mlockall was refused ({why}), this user may lock {limit}; "
            f"add the line 'USER - memlock unlimited' to {_LIMITS}"
        )
    undo.callback(libc.munlockall)
    return "memory is locked"
