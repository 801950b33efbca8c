"""Twin of a UBX-NAV-PVT satellite receiver."""

import math

import numpy as np

from riderless.firmware_interface.devices.place.ubx import PVT_LENGTH, fletcher
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.twins.place.receiver import (
    DATUM_LANE,
    TOLD_SIGMA,
    course_of,
    earth_place,
    receiver_habits,
)
from riderless.firmware_interface.twins.place.sensor import PlaceTwin, forget_reading, is_due, sensor_of
from riderless.firmware_interface.twins.twin import TwinConfig

_POOR_ACCURACY = 15.0  # times the usual


@njit(cache=True, nogil=True)
def send_ubx(s, t, out):
    """Write the messages that have come to their end by ``t`` [s]; returns the number of bytes."""
    n = 0
    while is_due(s, t):
        n = _write(s, s.first, out, n)
        forget_reading(s)
    return n


@njit(cache=True, nogil=True)
def put_whole(out, n, number, size):
    """Write a whole number in two's complement, low byte first.

    Parameters
    ----------
    out : uint8 array
    n : int
        Where.
    number : float or int
    size : int
        Bytes.
    """
    number = np.int64(number)
    for k in range(size):
        out[n + k] = (number >> np.int64(8 * k)) & 0xFF


@njit(cache=True, nogil=True)
def _write(s, i, out, n):
    out[n : n + PVT_LENGTH] = 0
    put_whole(out, n, 0x070162B5, 4)  # B5 62, class 01, id 07
    put_whole(out, n + 4, 92, 2)
    at, solid = n + 6, s.solid[i]
    put_whole(out, at, np.rint(1e3 * s.taken[i]), 4)
    put_whole(out, at + 4, 2026, 2)
    out[at + 6], out[at + 7], out[at + 11] = 1, 1, 7
    out[at + 20], out[at + 21], out[at + 23] = 3, 0x83 if solid else 0x43, 24
    lat, lon = earth_place(s, s.value[i, 0], s.value[i, 1])
    put_whole(out, at + 24, np.rint(1e7 * lon), 4)
    put_whole(out, at + 28, np.rint(1e7 * lat), 4)
    put_whole(out, at + 40, np.rint(1e3 * s.setting[TOLD_SIGMA] * (1.0 if solid else _POOR_ACCURACY)), 4)
    c, d = math.cos(s.setting[DATUM_LANE]), math.sin(s.setting[DATUM_LANE])
    v_x, v_y = s.value[i, 3], s.value[i, 4]
    put_whole(out, at + 48, np.rint(1e3 * (v_x * c - v_y * d)), 4)
    put_whole(out, at + 52, np.rint(1e3 * (v_x * d + v_y * c)), 4)
    speed, course = course_of(s, i)
    put_whole(out, at + 60, np.rint(1e3 * speed), 4)
    put_whole(out, at + 64, np.rint(1e5 * math.degrees(course)), 4)
    put_whole(out, at + 92, fletcher(out, n + 2, n + PVT_LENGTH - 2), 2)
    return n + PVT_LENGTH


def make(config: TwinConfig) -> PlaceTwin:
    """Make a receiver as after it has its corrections."""
    return PlaceTwin(sensor_of(config, "ubx", receiver_habits(config.settings)), send_ubx)
