"""Sensors of place by their names: what each writes, and a twin of each."""

from collections.abc import Callable, Mapping

import numpy as np
from numba import njit

from firmware_interface.twins.place.camera import camera_habits, send_camera
from firmware_interface.twins.place.distance import distance_habits, send_distance
from firmware_interface.twins.place.nmea import send_nmea
from firmware_interface.twins.place.receiver import receiver_habits
from firmware_interface.twins.place.sensor import SENSOR_KINDS, SensorHabits, new_sensor_twin
from firmware_interface.twins.place.ubx import send_ubx

HABITS: dict[str, Callable[[Mapping[str, float]], SensorHabits]] = {
    "distance": distance_habits,
    "nmea": receiver_habits,
    "ubx": receiver_habits,
    "camera": camera_habits,
}
_NMEA, _UBX, _CAMERA = (SENSOR_KINDS.index(kind) for kind in ("nmea", "ubx", "camera"))


def new_place_twin(kind: str, settings: Mapping[str, float], **more) -> np.void:
    """Make a sensor of place as after power-up, a record of PLACE_TWIN; ``more`` as of `new_sensor_twin`."""
    return new_sensor_twin(kind, settings, HABITS[kind](settings), **more)


@njit(cache=True, nogil=True)
def send_place(s, t, out):
    """Write the messages that have come to their end by ``t`` [s]; returns the number of bytes."""
    if s.kind == _NMEA:
        return send_nmea(s, t, out)
    if s.kind == _UBX:
        return send_ubx(s, t, out)
    if s.kind == _CAMERA:
        return send_camera(s, t, out)
    return send_distance(s, t, out)
