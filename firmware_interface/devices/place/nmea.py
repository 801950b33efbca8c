"""Driver of a satellite receiver by NMEA 0183.

GGA, RMC or both, of GPS (``$GP``) or of several systems (``$GN``).

A sentence is ``$`` + talker (two letters) + kind (three) + fields with commas + ``*`` + the exclusive or of all bytes
between, as two hexadecimal digits, and a line's end. Of a sentence count::

    GGA  1 time  2, 3 latitude  4, 5 longitude  6 quality: 4 RTK fixed, 5 RTK float, 1 and 2 without, else nothing
    RMC  1 time  2 A where valid  3, 4 latitude  5, 6 longitude  7 speed [kn]  8 course [deg]  12 mode: R, F, A, D

An epoch, by its time, makes one fix: by the first of its sentences that is good enough. An RMC of before NMEA 2.3 has
no mode, and says nothing of RTK. Give positions 7 decimals of a minute (0.2 mm; 5 are 19 mm) in the receiver. Other
sentences, and sentences of other talkers, are passed over.
"""

import math

import numpy as np

from riderless.firmware_interface.devices.driver import (
    Device,
    DeviceRequirements,
    DeviceSettings,
    ExampleMessage,
    Introduction,
    Traffic,
)
from riderless.firmware_interface.devices.link import ROLE_PLACE, say_nothing
from riderless.firmware_interface.devices.place.datum import (
    AUTONOMOUS,
    NO_SOLUTION,
    OWN,
    RECEIVER_SETTINGS,
    RTK_FIXED,
    RTK_FLOAT,
    SEEN,
    SIGMA_MM,
    find_receiver,
    prepare_receiver,
    take_course,
    take_position,
)
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.port import SerialPort

LONGEST_SENTENCE = np.int64(120)  # bytes from $ to the check: 82 by the standard, more with high precision
KNOT = 1852.0 / 3600.0  # m/s
_TWO_SENTENCES = 200  # bytes of a GGA and an RMC with 7 decimals
_EPOCH = OWN  # place in the link's memory: time of the last fix [ms]
_DOLLAR, _STAR, _COMMA, _POINT, _ZERO, _NINE, _CR, _LF = (np.int64(ord(c)) for c in "$*,.09\r\n")
_G, _P, _N, _A, _M, _R, _C, _F, _D, _S, _W = (np.int64(ord(c)) for c in "GPNAMRCFDSW")


@njit(cache=True, nogil=True)
def receive(link, rx, n):
    """Take ``rx[:n]`` off the line; returns the number of new fixes. Runs inside the tick."""
    receiver, fixes = link.receiver, 0
    for i in range(n):
        byte = np.int64(rx[i])
        if byte == _DOLLAR:  # a sentence begins, whatever came before
            receiver.bytes_skipped += receiver.filled
            receiver.payload[0], receiver.filled = byte, 1
        elif receiver.filled == 0:
            receiver.bytes_skipped += byte not in (_CR, _LF)
        elif byte in (_CR, _LF):
            fixes += _take_sentence(link, receiver.payload, receiver.filled)
            receiver.filled = 0
        elif receiver.filled == LONGEST_SENTENCE:
            receiver.frames_bad_length += 1
            receiver.filled = 0
        else:
            receiver.payload[receiver.filled] = byte
            receiver.filled += 1
    return fixes


@njit(cache=True, nogil=True)
def sentence_check(data, start, stop):
    """Exclusive or of ``data[start:stop]``: the check of NMEA 0183."""
    check = np.int64(0)
    for i in range(start, stop):
        check ^= np.int64(data[i])
    return check


@njit(cache=True, nogil=True)
def _hexadecimal(byte):
    """Value of a hexadecimal digit; 99 of anything else."""
    if _ZERO <= byte <= _NINE:
        return byte - _ZERO
    if _A <= byte <= _F:
        return byte - _A + 10
    return np.int64(99)


@njit(cache=True, nogil=True)
def _take_sentence(link, data, n):
    """Make the sentence ``data[:n]`` the newest fix; 1 if it was one. Runs inside the tick."""
    receiver = link.receiver
    if n < 10 or data[n - 3] != _STAR:
        receiver.frames_bad_length += 1
        return 0
    checksum = 16 * _hexadecimal(np.int64(data[n - 2])) + _hexadecimal(np.int64(data[n - 1]))
    if checksum != sentence_check(data, 1, n - 3):
        receiver.frames_bad_crc += 1
        return 0
    receiver.frames_ok += 1
    gga = data[3] == _G and data[4] == _G and data[5] == _A
    rmc = data[3] == _R and data[4] == _M and data[5] == _C
    if data[1] != _G or (data[2] != _P and data[2] != _N) or not (gga or rmc):
        return 0
    return _take_fields(link, data, n - 3, gga)


@njit(cache=True, nogil=True)
def _take_fields(link, data, n, gga):
    """Fix of the GGA (else RMC) ``data[:n]``; 1 if it is good enough, and its epoch new. Runs inside the tick.

    One way through all its fields, each read as a number of 1e-8 and by its first letter: what is compiled once for
    every field is compiled quickly.
    """
    lat_field = 2 if gga else 3
    clock = lat = lon = speed = course = np.int64(-1)
    south = west = False
    quality = valid = mode = _A
    at, stop, field = np.int64(6), np.int64(6), 0
    while stop < n:
        at, stop, field = stop + 1, stop + 1, field + 1
        while stop < n and data[stop] != _COMMA:
            stop += 1
        letter = np.int64(data[at]) if stop > at else np.int64(0)
        number = _number(data, at, stop)
        if field == 1:
            clock = number
        elif field == lat_field:
            lat = number
        elif field == lat_field + 1:
            south = letter == _S
        elif field == lat_field + 2:
            lon = number
        elif field == lat_field + 3:
            west = letter == _W
        elif gga and field == 6:
            quality = letter
        elif not gga and field == 2:
            valid = letter
        elif not gga and field == 7:
            speed = number
        elif not gga and field == 8:
            course = number
        elif not gga and field == 12:
            mode = letter
    solution = _solution(gga, quality, valid, mode) if min(clock, lat, lon) >= 0 else NO_SOLUTION
    memory = link.memory
    again = clock == memory[_EPOCH] - 1
    memory[SEEN] = max(memory[SEEN] if again else 0, 1 + solution)
    if again or take_position(link, _angle(lat, south), _angle(lon, west), solution, memory[SIGMA_MM]) == 0:
        return 0
    memory[_EPOCH] = clock + 1  # 0 before the first
    if speed >= 0 and course >= 0:
        take_course(link, math.radians(1e-8 * course), KNOT * 1e-8 * speed)
    return 1


@njit(cache=True, nogil=True)
def _solution(gga, quality, valid, mode):
    """Quality of the position of a sentence, by its letters: NO_SOLUTION to RTK_FIXED."""
    if gga:
        if quality == _ZERO + 4:
            return RTK_FIXED
        if quality == _ZERO + 5:
            return RTK_FLOAT
        return AUTONOMOUS if quality == _ZERO + 1 or quality == _ZERO + 2 else NO_SOLUTION
    if valid != _A:
        return NO_SOLUTION
    if mode == _R:
        return RTK_FIXED
    if mode == _F:
        return RTK_FLOAT
    return AUTONOMOUS if mode in (_A, _D) else NO_SOLUTION


@njit(cache=True, nogil=True)
def _number(data, at, stop):
    """Unsigned decimal number ``data[at:stop]`` in units of 1e-8, what is finer cut off; -1 where it is none."""
    number, digits, behind = np.int64(0), 0, -1
    for i in range(at, stop):
        byte = np.int64(data[i])
        if byte == _POINT and behind < 0:
            behind = 0
        elif _ZERO <= byte <= _NINE and digits < 16:
            digits += 1
            if behind < 8:
                number = 10 * number + byte - _ZERO
                behind += behind >= 0
        else:
            return np.int64(-1)
    for _ in range(8 - max(behind, 0)):
        number *= 10
    return number if digits > 0 and number >= 0 else np.int64(-1)


@njit(cache=True, nogil=True)
def _angle(number, negative):
    """Latitude or longitude [1e-9 deg] of ddmm.mmmmmmmm in units of 1e-8."""
    whole, minutes = number // 10_000_000_000, number % 10_000_000_000
    angle = 1_000_000_000 * whole + (10 * minutes + 30) // 60
    return -angle if negative else angle


def introduce(port: SerialPort, wants: DeviceRequirements) -> Introduction:
    """Listen for a position that is good enough.

    Raises
    ------
    DeviceError
        For an impossible setting, silence, or a position that is not good enough.
    """
    receiver, _ = find_receiver(port, wants.settings, "nmea", "$GPGGA, $GNGGA, $GPRMC or $GNRMC", receive)
    return Introduction(name=receiver)


def _traffic(carries: int, settings: DeviceSettings) -> Traffic:
    return Traffic(_TWO_SENTENCES, 0, f"a GGA and an RMC of {_TWO_SENTENCES} bytes each time", settings["rate_Hz"])


DEVICE = Device(
    name="nmea",
    carries=ROLE_PLACE,
    receive=receive,
    speak=say_nothing,
    introduce=introduce,
    traffic=_traffic,
    prepare=prepare_receiver,
    test_settings={"lat_deg": 52.0116, "lon_deg": 4.3571, "lane_deg": 30.0, "rate_Hz": 50.0, "latency_ms": 20.0},
    settings=RECEIVER_SETTINGS,
    examples=(
        ExampleMessage(
            b"$GPRMC,083559.00,A,4717.11437,N,00833.91522,E,0.004,77.52,091202,,,A*57\r\n",
            True,
            {},
            "Interface Description of the u-blox ZED-F9P, UBX-18010854, 4.2.14, in the form that its check is of",
        ),
        ExampleMessage(
            b"$GPGGA,195959.00,1813.38282955,N,12606.12767097,E,2,07,1.4,17.2,M,36.5,M,4.0,0129*78\r\n",
            True,
            {},
            "recorded on R/V Sally Ride, NOAA PISTON 2019, gps01925920",
        ),
        ExampleMessage(b"$GPGGA,,,,,,0,00,99.99,,,,,,*49\r\n", False, {}, "a check that is wrong; *48 is right"),
    ),
)
