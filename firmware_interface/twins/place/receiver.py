"""Common parts of satellite receiver twins.

A receiver's habits, and its place on the ellipsoid.
"""

import math
from collections.abc import Mapping

from riderless.firmware_interface.devices.place.datum import FLATTENING, SEMI_MAJOR
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.twins.place.sensor import SensorHabits

JUMPS, JUMP_SIZE, JUMP_LENGTH = 0.002, 0.05, 2.0  # share of epochs, m, s: reflections, one in a minute at 10 Hz
DATUM_LAT, DATUM_LON, DATUM_LANE, TOLD_SIGMA = range(4)  # among its settings
_E2 = FLATTENING * (2.0 - FLATTENING)


def receiver_habits(settings: Mapping[str, float]) -> SensorHabits:
    """Habits of an RTK receiver: an epoch in a hundred missing, and now and then a reflection of 5 cm for some 2 s."""
    return SensorHabits(
        jumps=JUMPS,
        jump_size=JUMP_SIZE,
        jump_length=JUMP_LENGTH,
        setting=(
            settings["lat_deg"],
            settings["lon_deg"],
            math.radians(settings["lane_deg"]),
            1e-3 * settings["sigma_mm"],
        ),
    )


@njit(cache=True, nogil=True)
def earth_place(s, x, y):
    """Latitude and longitude [deg] of a place x along the lane and y to the right [m].

    By Newton's method on the way over the ellipsoid along the meridian and the parallel, not by the driver's formula
    the other way round.
    """
    c, d = math.cos(s.setting[DATUM_LANE]), math.sin(s.setting[DATUM_LANE])
    north, east = x * c - y * d, x * d + y * c
    begin = math.radians(s.setting[DATUM_LAT])
    lat = begin
    dlon = 0.0
    for _ in range(4):
        vertical = SEMI_MAJOR / math.sqrt(1.0 - _E2 * math.sin(lat) ** 2)
        dlon = east / (vertical * math.cos(lat))
        middle = 0.5 * (begin + lat)
        meridian = SEMI_MAJOR * (1.0 - _E2) / (1.0 - _E2 * math.sin(middle) ** 2) ** 1.5
        bulge = 0.5 * vertical * math.sin(lat) * math.cos(lat) * dlon * dlon  # a parallel bends towards the pole
        lat = begin + (north - bulge) / meridian
    return math.degrees(lat), s.setting[DATUM_LON] + math.degrees(dlon)


@njit(cache=True, nogil=True)
def course_of(s, i):
    """Speed [m/s] and course [rad, 0 to 2 pi, clockwise from north] of the reading at ``i``."""
    course = s.setting[DATUM_LANE] + math.atan2(s.value[i, 4], s.value[i, 3])
    return math.hypot(s.value[i, 3], s.value[i, 4]), course % (2.0 * math.pi)
