"""Twin of an NMEA 0183 satellite receiver.

It sends an RMC and a GGA of several systems for each epoch.
"""

import math

import numpy as np

from riderless.firmware_interface.ascii_text import append_text, ascii_bytes
from riderless.firmware_interface.devices.place.nmea import KNOT, sentence_check
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.twins.place.receiver import course_of, earth_place, receiver_habits
from riderless.firmware_interface.twins.place.sensor import PlaceTwin, forget_reading, is_due, sensor_of, write_decimal
from riderless.firmware_interface.twins.twin import TwinConfig

_COMMA = 44
_RMC, _GGA = ascii_bytes("$GNRMC,"), ascii_bytes("$GNGGA,")
_DATE, _HEIGHT = ascii_bytes(",010126,,,"), ascii_bytes(",24,0.6,100.0,M,40.0,M,1.0,0000")
_DIGITS = ascii_bytes("0123456789ABCDEF")
_DAY = 86400.0  # s


@njit(cache=True, nogil=True)
def send_nmea(s, t, out):
    """Write the sentences that have come to their end by ``t`` [s]; returns the number of bytes."""
    n = 0
    while is_due(s, t):
        for kind in range(2):
            n = _write(s, s.first, kind, out, n)
        forget_reading(s)
    return n


@njit(cache=True, nogil=True)
def _write(s, i, kind, out, n):
    """Write an RMC (kind 0) or a GGA at ``n``; returns its end."""
    begin, solid = n, s.solid[i]
    lat, lon = earth_place(s, s.value[i, 0], s.value[i, 1])
    speed, course = course_of(s, i)
    seconds = np.rint(1e3 * s.taken[i]) / 1e3 % _DAY
    n = append_text(out, n, _GGA if kind else _RMC)
    for part in range(3 if kind else 5):  # one call for every number: what is compiled once is compiled quickly
        if part == 0:
            clock = 1e4 * (seconds // 3600.0) + 1e2 * (seconds % 3600.0 // 60.0) + seconds % 60.0
            number, digits, decimals = clock, 6, 3
        elif part == 1:
            number, digits, decimals = _minutes(abs(lat)), 4, 7
        elif part == 2:
            number, digits, decimals = _minutes(abs(lon)), 5, 7
        elif part == 3:
            number, digits, decimals = speed / KNOT, 1, 3
        else:
            number, digits, decimals = math.degrees(course), 1, 2
        n = write_decimal(out, n, number, 10.0**decimals, digits, decimals)
        if part == 0 and kind == 0:
            out[n], out[n + 1] = _COMMA, 65  # A
            n += 2
        elif part == 1:
            out[n], out[n + 1] = _COMMA, 78 if lat >= 0.0 else 83  # N, S
            n += 2
        elif part == 2:
            out[n], out[n + 1] = _COMMA, 69 if lon >= 0.0 else 87  # E, W
            n += 2
        if part != 4:
            out[n] = _COMMA
            n += 1
    if kind:
        out[n] = 52 if solid else 53  # 4, 5
        n = append_text(out, n + 1, _HEIGHT)
    else:
        n = append_text(out, n, _DATE)
        out[n], out[n + 1], out[n + 2] = 82 if solid else 70, _COMMA, 86  # R or F, and V
        n += 3
    check = sentence_check(out, begin + 1, n)
    out[n], out[n + 1], out[n + 2] = 42, _DIGITS[check >> 4], _DIGITS[check & 15]
    out[n + 3], out[n + 4] = 13, 10
    return n + 5


@njit(cache=True, nogil=True)
def _minutes(angle):
    """Degrees as a number ddmm.mmmmmmm."""
    fine = np.rint(angle * 60.0 * 1e7)  # 1e-7 min, so that no minute is rounded to 60
    degrees = fine // 6e8
    return 1e2 * degrees + (fine - 6e8 * degrees) * 1e-7


def make(config: TwinConfig) -> PlaceTwin:
    """Make a receiver as after it has its corrections."""
    return PlaceTwin(sensor_of(config, "nmea", receiver_habits(config.settings)), send_nmea)
