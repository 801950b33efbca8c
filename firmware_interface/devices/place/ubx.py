"""Driver of a u-blox receiver by UBX-NAV-PVT.

Position, velocity and time of one epoch in 100 bytes.

A frame is ``B5 62 | class 01 | id 07 | length 92, 2 bytes | payload | check, 2 bytes``, low bytes first. The check is
Fletcher's of 8 bits over class, id, length and payload. Of the payload is read (offset, kind, unit):

    0  U4 ms     time of week               40 U4 mm        accuracy of the place
    20 U1        kind of fix: 3 in space    48 I4 mm/s      velocity north
    21 X1        bit 0: good; bits 6 and 7: carrier solution, 1 float, 2 fixed
    24 I4 1e-7 deg longitude                52 I4 mm/s      velocity east
    28 I4 1e-7 deg latitude                 64 I4 1e-5 deg  heading of motion

as the Interface Description of the ZED-F9P (UBX-22008968) has them. All other messages are passed over. The receiver is
configured beforehand, and stores that: NAV-PVT at its rate, on this port. 1e-7 deg are 11 mm at most.
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
    find_receiver,
    prepare_receiver,
    take_course,
    take_position,
)
from riderless.firmware_interface.devices.place.fixed_frame import (
    drop_byte,
    drop_frame,
    push_byte,
    signed_number,
    whole_number,
)
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.port import SerialPort

PVT_LENGTH = 100  # bytes with its head and check
_BEGINNING = np.array([0xB5, 0x62, 0x01, 0x07, 92, 0], np.uint8)
_PAYLOAD = 6  # where it begins
_EPOCH = OWN  # place in the link's memory: time of week of the last solution [ms]


@njit(cache=True, nogil=True)
def receive(link, rx, n):
    """Take ``rx[:n]`` off the line; returns the number of new fixes. Runs inside the tick."""
    receiver, fixes = link.receiver, 0
    for i in range(n):
        if push_byte(receiver, rx[i], _BEGINNING, PVT_LENGTH):
            if _is_whole(receiver.payload):
                fixes += _take_solution(link, receiver.payload)
                drop_frame(receiver)
            else:
                receiver.frames_bad_crc += 1
                drop_byte(receiver, _BEGINNING)
    return fixes


@njit(cache=True, nogil=True)
def fletcher(data, start, stop):
    """Check of ``data[start:stop]``, its first byte in the low half: the 8-bit Fletcher sum of UBX."""
    a = b = np.int64(0)
    for i in range(start, stop):
        a = (a + np.int64(data[i])) & 0xFF
        b = (b + a) & 0xFF
    return a | b << 8


@njit(cache=True, nogil=True)
def _is_whole(data):
    return fletcher(data, 2, PVT_LENGTH - 2) == whole_number(data, PVT_LENGTH - 2, 2)


@njit(cache=True, nogil=True)
def _take_solution(link, data):
    """Make the solution in a frame the newest fix; 1 if it is good enough, and new. Runs inside the tick."""
    epoch, kind, flags = whole_number(data, _PAYLOAD, 4), data[_PAYLOAD + 20], data[_PAYLOAD + 21]
    carrier = flags >> 6
    solution = NO_SOLUTION
    if flags & 1 and (kind == 3 or kind == 4):  # of satellites in space, or with dead reckoning
        solution = RTK_FIXED if carrier == 2 else RTK_FLOAT if carrier == 1 else AUTONOMOUS
    repeated = link.memory[SEEN] > 0 and epoch == link.memory[_EPOCH]
    link.memory[SEEN], link.memory[_EPOCH] = 1 + solution, epoch
    if repeated:
        return 0
    lon, lat = 100 * signed_number(data, _PAYLOAD + 24, 4), 100 * signed_number(data, _PAYLOAD + 28, 4)
    if take_position(link, lat, lon, solution, whole_number(data, _PAYLOAD + 40, 4)) == 0:
        return 0
    north, east = signed_number(data, _PAYLOAD + 48, 4), signed_number(data, _PAYLOAD + 52, 4)
    course = math.radians(1e-5 * signed_number(data, _PAYLOAD + 64, 4))
    take_course(link, course, 1e-3 * math.hypot(north, east))
    return 1


def introduce(port: SerialPort, wants: DeviceRequirements) -> Introduction:
    """Listen for a solution that is good enough.

    Raises
    ------
    DeviceError
        For an impossible setting, silence, or a solution that is not good enough.
    """
    receiver, link = find_receiver(port, wants.settings, "ubx", "NAV-PVT (class 01, id 07)", receive)
    return Introduction(name=f"{receiver}, {link['fix']['sigma_mm']} mm")


def _traffic(carries: int, settings: DeviceSettings) -> Traffic:
    return Traffic(PVT_LENGTH, 0, f"a NAV-PVT of {PVT_LENGTH} bytes each time", settings["rate_Hz"])


DEVICE = Device(
    name="ubx",
    carries=ROLE_PLACE,
    receive=receive,
    speak=say_nothing,
    introduce=introduce,
    traffic=_traffic,
    prepare=prepare_receiver,
    test_settings={"lat_deg": -33.9, "lon_deg": 151.2, "lane_deg": 250.0, "rate_Hz": 50.0, "latency_ms": 20.0},
    settings=RECEIVER_SETTINGS,
    examples=(
        ExampleMessage(
            bytes.fromhex(
                "b56201075c0000260818e207041a0f3b1df7e9030000f51ae60b0343ea0e4060910894fae01dd2f1"
                "0400ad4404002700000031000000eeffffff04000000e2ffffff12000000d56592012000000053cc"
                "2c00a20000001219263b00000000000000005703"
            ),
            True,
            {},
            "recorded from a receiver with a float carrier solution (tests of the driver gps of robotika/osgar)",
        ),
        ExampleMessage(b"\xb5\x62\x01\x07\x5c\x00" + bytes(94), False, {}, "a check that is wrong"),
    ),
)
