"""Twin of a camera or motion capture.

It sends packets by UDP.
"""

import math
from collections.abc import Mapping

import numpy as np

from riderless.firmware_interface.devices.place.camera import PACKET_LENGTH, crc_32
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.twins.place.sensor import PlaceTwin, SensorHabits, forget_reading, is_due, sensor_of
from riderless.firmware_interface.twins.place.ubx import put_whole
from riderless.firmware_interface.twins.twin import TwinConfig

_X0, _Y0, _LANE, _SIDE, _SIGMA = range(5)  # among its settings
_POOR, _GOOD = 20, 95  # quality
_EPOCH = 1_000_000_000  # us, of its clock at power-up


def camera_habits(settings: Mapping[str, float]) -> SensorHabits:
    """Habits of motion capture: a picture in a hundred missing, one in 500 with another marker."""
    return SensorHabits(
        setting=(
            1e-3 * settings["x0_mm"],
            1e-3 * settings["y0_mm"],
            math.radians(settings["lane_deg"]),
            settings["y_to_the_right"],
            1e-3 * settings["sigma_mm"],
        )
    )


@njit(cache=True, nogil=True)
def send_camera(s, t, out):
    """Write the packets that have come to their end by ``t`` [s]; returns the number of bytes."""
    n = 0
    while is_due(s, t):
        _write(s, s.first, out, n)
        n += PACKET_LENGTH
        forget_reading(s)
    return n


@njit(cache=True, nogil=True)
def _write(s, i, out, n):
    side, lane = s.setting[_SIDE], s.setting[_LANE] * s.setting[_SIDE]  # lane in axes whose y points to the right
    x, y, psi = s.value[i, 0], s.value[i, 1], s.value[i, 2]
    c, d = math.cos(lane), math.sin(lane)
    put_whole(out, n, 0x50504C52, 4)  # RLPP
    out[n + 4], out[n + 5], out[n + 6], out[n + 7] = 1, 7, _GOOD if s.solid[i] else _POOR, 0
    put_whole(out, n + 8, s.number[i], 4)
    put_whole(out, n + 12, _EPOCH + np.rint(1e6 * s.taken[i]), 8)
    put_whole(out, n + 20, np.rint(1e6 * s.latency), 4)  # what delays it on its way nobody knows
    put_whole(out, n + 24, np.rint(1e6 * (s.setting[_X0] + x * c - y * d)), 4)
    put_whole(out, n + 28, np.rint(1e6 * (s.setting[_Y0] + side * (x * d + y * c))), 4)
    put_whole(out, n + 32, np.rint(1e6 * side * (psi + lane)), 4)
    put_whole(out, n + 36, np.rint(1e6 * s.setting[_SIGMA]), 4)
    put_whole(out, n + 40, crc_32(out, n, n + 40), 4)


def make(config: TwinConfig) -> PlaceTwin:
    """Make a camera that sees."""
    return PlaceTwin(sensor_of(config, "camera", camera_habits(config.settings)), send_camera)
