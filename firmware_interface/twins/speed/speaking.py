"""Speed drives for simulated time, by name.

Each has the emulated wheel or belt, and functions that receive and send. Both are reached through their addresses, so
that simulated time compiles for the drive that a machine has.
"""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from numba import carray, from_dtype, types
from numba.extending import intrinsic

from riderless.firmware_interface.by_address import address_of, call_at_address, entry_of
from riderless.firmware_interface.devices.link import RX_SIZE
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.twins.speed.belt import BELT_TWIN, BeltFault, hear_belt, new_belt, report_belt
from riderless.firmware_interface.twins.speed.odrive_wheel import hear_odrive_wheel, new_odrive_wheel, tell_odrive_wheel
from riderless.firmware_interface.twins.speed.vesc_wheel import hear_vesc_wheel, new_vesc_wheel, tell_vesc_wheel

_SPEAKERS = {
    "treadmill": (hear_belt, report_belt),
    "vesc_wheel": (hear_vesc_wheel, tell_vesc_wheel),
    "odrive_wheel": (hear_odrive_wheel, tell_odrive_wheel),
}
_TWIN, _BYTES = types.CPointer(from_dtype(BELT_TWIN)), types.CPointer(types.uint8)


def new_speed_drive(kind: str, settings: Mapping[str, float], faults: Sequence[BeltFault] = ()) -> np.void:
    """Make a drive as after power-up, a record of BELT_TWIN.

    Parameters
    ----------
    kind : str
        Of the registry: treadmill, vesc_wheel, odrive_wheel.
    settings : mapping
        Of the device, all of them.
    faults : sequence of BeltFault

    Raises
    ------
    DeviceError
        An unknown fault, or too many.
    """
    if kind == "vesc_wheel":
        drive = new_vesc_wheel(settings, faults)
    elif kind == "odrive_wheel":
        drive = new_odrive_wheel(settings, faults)
    else:
        drive = new_belt(faults)
    drive["hear"], drive["tell"] = _addresses(kind)
    return drive


@cache
def _addresses(kind: str) -> tuple[int, int]:
    """Compile what hears and what speaks, for calls by address."""
    hear, tell = _SPEAKERS[kind]
    names = {"_hear": hear, "_tell": tell, "RX_SIZE": RX_SIZE}
    signature = types.int64(_TWIN, types.float64, types.int64, _BYTES)
    hearing, telling = entry_of(hear, _hear_entry, signature, names), entry_of(tell, _tell_entry, signature, names)
    return address_of(hearing), address_of(telling)


def _hear_entry(b, t, n, rx):
    _hear(carray(b, 1)[0], carray(rx, RX_SIZE), n, t)  # type: ignore[name-defined]  # noqa: F821
    return 0


def _tell_entry(b, t, n, out):
    return _tell(carray(b, 1)[0], t, carray(out, RX_SIZE))  # type: ignore[name-defined]  # noqa: F821


@intrinsic
def _called(typingctx, address, b, t, n, data):
    return types.int64(types.uint64, b, types.float64, types.int64, data), call_at_address


@njit(cache=True, nogil=True)
def hear_speed_drive(b, rx, n, t):
    """Let it hear bytes.

    Parameters
    ----------
    b : record of BELT_TWIN
    rx : uint8 array
    n : int
        Bytes that came.
    t : float
        s
    """
    if n > 0:
        _called(b.hear, b, t, n, rx)  # type: ignore[call-arg]  # the context comes from numba


@njit(cache=True, nogil=True)
def tell_speed_drive(b, t, out):
    """Write into ``out`` what it says at ``t`` [s]; returns the number of bytes."""
    return _called(b.tell, b, t, 0, out)  # type: ignore[call-arg]
