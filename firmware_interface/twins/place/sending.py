"""Senders and twins of place sensors, by name.

What writes is reached through its address, so that simulated time compiles for the sensors a machine has.
"""

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from numba import carray, from_dtype, types
from numba.extending import intrinsic

from riderless.firmware_interface.by_address import address_of, call_at_address, entry_of
from riderless.firmware_interface.devices.link import RX_SIZE
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.twins.place.camera import camera_habits, send_camera
from riderless.firmware_interface.twins.place.distance import distance_habits, send_distance
from riderless.firmware_interface.twins.place.nmea import send_nmea
from riderless.firmware_interface.twins.place.receiver import receiver_habits
from riderless.firmware_interface.twins.place.sensor import PLACE_TWIN, SensorHabits, new_sensor_twin
from riderless.firmware_interface.twins.place.ubx import send_ubx

HABITS: dict[str, Callable[[Mapping[str, float]], SensorHabits]] = {
    "distance": distance_habits,
    "nmea": receiver_habits,
    "ubx": receiver_habits,
    "camera": camera_habits,
}
_SENDERS = {"distance": send_distance, "nmea": send_nmea, "ubx": send_ubx, "camera": send_camera}
_TWIN, _BYTES = types.CPointer(from_dtype(PLACE_TWIN)), types.CPointer(types.uint8)


def new_place_twin(kind: str, settings: Mapping[str, float], **more) -> np.void:
    """Make a sensor of place as after power-up, a record of PLACE_TWIN; ``more`` as of `new_sensor_twin`."""
    twin = new_sensor_twin(kind, settings, HABITS[kind](settings), **more)
    twin["send"] = _address(kind)
    return twin


@cache
def _address(kind: str) -> int:
    """Compile what writes the messages of a kind, for calls by address."""
    send = _SENDERS[kind]
    signature = types.int64(_TWIN, types.float64, _BYTES)
    return address_of(entry_of(send, _send_entry, signature, {"_send": send, "RX_SIZE": RX_SIZE}))


def _send_entry(s, t, out):
    return _send(carray(s, 1)[0], t, carray(out, RX_SIZE))  # type: ignore[name-defined]  # noqa: F821


@intrinsic
def _sent(typingctx, address, s, t, out):
    return types.int64(types.uint64, s, types.float64, out), call_at_address


@njit(cache=True, nogil=True)
def send_place(s, t, out):
    """Write the messages that have come to their end by ``t`` [s]; returns the number of bytes."""
    return _sent(s.send, s, t, out)  # type: ignore[call-arg]  # the context comes from numba
