"""C library calls of compiled code.

Clock, sleep, poll, read, write, errno. `numba.types.ExternalFunction` binds symbols of the running process and, unlike
ctypes or cffi, leaves functions cacheable on disk.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from riderless.firmware_interface.kernels import njit

_int, _long, _ptr, _size = types.int32, types.int64, types.uintp, types.uintp
_External: Any = types.ExternalFunction  # its calls are typed by numba, not by mypy
_clock_gettime = _External("clock_gettime", _int(_int, _ptr))
_clock_nanosleep = _External("clock_nanosleep", _int(_int, _int, _ptr, _ptr))
_ppoll = _External("ppoll", _int(_ptr, _size, _ptr, _ptr))
_ioctl = _External("ioctl", _int(_int, _size, _ptr))
_read = _External("read", _long(_int, _ptr, _size))
_write = _External("write", _long(_int, _ptr, _size))
_errno_location = _External("__errno_location", _ptr())

_MONOTONIC = 1
_TIMER_ABSTIME = 1
_POLLIN = 1
HUNG_UP = 8 | 16 | 32  # POLLERR, POLLHUP, POLLNVAL
_FIONREAD = 0x541B
EINTR, EAGAIN = 4, 11

TIMESPEC = np.dtype([("seconds", "i8"), ("nanoseconds", "i8")])
POLLFD = np.dtype([("fd", "i4"), ("events", "i2"), ("revents", "i2")])


def poll_set(fds: Sequence[int]) -> np.ndarray:
    """File descriptors to wait for, (P,) of POLLFD; a negative one is left out of the waiting."""
    ports = np.zeros(len(fds), POLLFD)
    ports["fd"] = fds
    ports["events"] = _POLLIN
    return ports


@intrinsic
def _load_int32(typingctx, address):
    """Load the 32-bit integer at an address."""

    def _codegen(context, builder, signature, args):
        from llvmlite import ir

        return builder.load(builder.inttoptr(args[0], ir.IntType(32).as_pointer()))

    return types.int32(types.uintp), _codegen


@njit(cache=True, nogil=True)
def errno():
    """Error number of the last failed call. Runs inside the tick."""
    return _load_int32(_errno_location())  # type: ignore[call-arg]  # the context comes from numba


@njit(cache=True, nogil=True)
def now(scratch):
    """Monotonic host clock [ns]; ``scratch`` is (1,) of TIMESPEC. Runs inside the tick."""
    _clock_gettime(_MONOTONIC, scratch.ctypes.data)
    return scratch[0].seconds * 1_000_000_000 + scratch[0].nanoseconds


@njit(cache=True, nogil=True)
def sleep_until(t_ns, scratch):
    """Sleep to an absolute time of the monotonic clock [ns], whatever signals come. Runs inside the tick."""
    scratch[0].seconds = t_ns // 1_000_000_000
    scratch[0].nanoseconds = t_ns % 1_000_000_000
    while _clock_nanosleep(_MONOTONIC, _TIMER_ABSTIME, scratch.ctypes.data, 0) == EINTR:
        pass


@njit(cache=True, nogil=True)
def wait_readable(ports, t_ns, scratch):
    """True when bytes (or a hang-up) wait on one of ``ports`` before the time ``t_ns``. Runs inside the tick."""
    remaining = max(0, t_ns - now(scratch))
    scratch[0].seconds = remaining // 1_000_000_000
    scratch[0].nanoseconds = remaining % 1_000_000_000
    return _ppoll(ports.ctypes.data, ports.size, scratch.ctypes.data, 0) > 0


@njit(cache=True, nogil=True)
def bytes_waiting(fd, count):
    """Count the bytes that wait on ``fd``, or -errno; ``count`` is (1,) i4. Never waits itself. Runs inside the tick.

    A read or poll of a terminal that is still empty waits for the kernel's worker thread to bring the bytes
    that are under way, and that thread waits for a CPU like any other.
    """
    if _ioctl(fd, _FIONREAD, count.ctypes.data) != 0:
        return -errno()
    return count[0]


@njit(cache=True, nogil=True)
def read_bytes(fd, buffer, start):
    """Read what is there into ``buffer[start:]``; the count, or -errno. Runs inside the tick."""
    n = _read(fd, buffer.ctypes.data + start, buffer.size - start)
    return n if n >= 0 else -errno()


@njit(cache=True, nogil=True)
def write_bytes(fd, buffer, n):
    """Write ``n`` bytes; the count taken, or -errno. Runs inside the tick."""
    accepted = _write(fd, buffer.ctypes.data, n)
    return accepted if accepted >= 0 else -errno()
