"""Driver of a camera or motion capture (UDP).

It sends a packet of 44 bytes for each picture.

The rig's ``path`` is ``udp:ADDRESS:PORT``, on which we listen: ``udp:127.0.0.1:9750`` for a program on this computer,
an address of a network of its own for another. Low bytes first (docs/place-sensors.md has the table)::

    0  4 bytes  "RLPP"                          20  U4  us     age of the picture when it was sent; 0: not told
    4  U1       version, 1                      24  I4  um     x
    5  U1       bits: 1 x, 2 y, 4 psi are told  28  I4  um     y
    6  U1       quality, 0 to 100               32  I4  1e-6 rad  psi
    7  U1       0                               36  U4  um     standard deviation; 0: not told
    8  U4       number of the packet            40  U4         CRC-32 of the 40 bytes before
   12  U8  us   time of the picture, sender's

A packet that is not newer than the last one, by its number, is passed over; so is one whose time goes back. A sender
that began anew is heard at once: its time is 1 s or more behind, or ahead while its number is 100 or more behind.

Axes of the sender come to those of the lane by the rig: the origin, the direction of the lane in them, and whether its
y points to the right of its x (1, z down) or to the left (-1, z up).
"""

import math

import numpy as np

from riderless.firmware_interface.devices.driver import (
    Device,
    DeviceRequirements,
    DeviceSetting,
    DeviceSettings,
    ExampleMessage,
    Introduction,
    Traffic,
)
from riderless.firmware_interface.devices.link import ROLE_PLACE, new_link, say_nothing
from riderless.firmware_interface.devices.place.fixed_frame import (
    drop_byte,
    drop_frame,
    push_byte,
    signed_number,
    whole_number,
)
from riderless.firmware_interface.devices.place.listening import listen_for_fix, require_in_range
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import FIX_PSI, FIX_X, FIX_Y
from riderless.firmware_interface.port import SerialPort

PACKET_LENGTH, PACKET_VERSION = 44, 1
PACKET_MAGIC = b"RLPP"
_BEGINNING = np.frombuffer(PACKET_MAGIC, np.uint8).copy()
_X0_UM, _Y0_UM, _LANE, _SIDE, _AGE_US, _SIGMA_MM, _LEAST, _HEARD, _SEQ, _TIME, _SEEN = range(11)  # in the memory
_HALF = 1 << 31  # of the numbers of packets: more than this ahead is behind
_FAR_BEHIND = (1 << 32) - 100  # of the same: nearer ones may be late, and are soon passed if the sender began anew
_OLDEST = 1_000_000  # us
_LISTEN = 1.0  # s, for a packet before the loop


def _crc_table() -> np.ndarray:
    """CRC-32 (polynomial 0x04C11DB7, reflected) of each byte, (256,)."""
    table: np.ndarray = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> 1) ^ np.where(table & 1, np.uint32(0xEDB88320), np.uint32(0))
    return table.astype(np.uint32)


_CRC_TABLE = _crc_table()


@njit(cache=True, nogil=True)
def crc_32(data, start, stop):
    """CRC-32 of ``data[start:stop]``, as of zip and Ethernet. Runs inside the tick."""
    crc = np.uint32(0xFFFFFFFF)
    for i in range(start, stop):
        crc = (crc >> np.uint32(8)) ^ _CRC_TABLE[(crc ^ np.uint32(data[i])) & np.uint32(0xFF)]
    return np.int64(crc ^ np.uint32(0xFFFFFFFF))


@njit(cache=True, nogil=True)
def receive(link, rx, n):
    """Take ``rx[:n]`` off the line; returns the number of new fixes. Runs inside the tick."""
    receiver, fixes = link.receiver, 0
    for i in range(n):
        if push_byte(receiver, rx[i], _BEGINNING, PACKET_LENGTH):
            data = receiver.payload
            if data[4] != PACKET_VERSION:
                receiver.frames_bad_version += 1
                drop_byte(receiver, _BEGINNING)
            elif crc_32(data, 0, 40) != whole_number(data, 40, 4):
                receiver.frames_bad_crc += 1
                drop_byte(receiver, _BEGINNING)
            else:
                fixes += _take_packet(link, data)
                drop_frame(receiver)
    return fixes


@njit(cache=True, nogil=True)
def _take_packet(link, data):
    """Make a packet the newest fix; 1 if it is newer than the last, and good enough. Runs inside the tick."""
    memory, fix, receiver = link.memory, link.fix, link.receiver
    seq, time = whole_number(data, 8, 4), whole_number(data, 12, 8)
    ahead = (seq - memory[_SEQ]) & 0xFFFFFFFF
    if memory[_HEARD] and (ahead == 0 or ahead >= _HALF or time <= memory[_TIME]):
        by_its_number = time > memory[_TIME] and _HALF <= ahead <= _FAR_BEHIND
        if not by_its_number and memory[_TIME] - time < _OLDEST:
            return 0
        ahead = 1  # the sender began anew
    if memory[_HEARD]:
        receiver.samples_lost += min(ahead - 1, 1000)
    memory[_HEARD], memory[_SEQ], memory[_TIME], memory[_SEEN] = 1, seq, time, 1 + np.int64(data[6])
    has, age = data[5] & (FIX_X | FIX_Y | FIX_PSI), whole_number(data, 20, 4)
    if data[6] < memory[_LEAST] or not (has & FIX_X and has & FIX_Y) or age > _OLDEST:
        return 0
    x = 1e-3 * (signed_number(data, 24, 4) - memory[_X0_UM])
    y = 1e-3 * (signed_number(data, 28, 4) - memory[_Y0_UM]) * memory[_SIDE]
    lane = 1e-6 * memory[_LANE]
    c, s = math.cos(lane), math.sin(lane)
    fix.seq += 1
    fix.has = has
    fix.x_mm, fix.y_mm = np.int64(np.rint(x * c + y * s)), np.int64(np.rint(y * c - x * s))
    if has & FIX_PSI:
        psi = 1e-6 * signed_number(data, 32, 4) * memory[_SIDE] - lane
        fix.psi_urad = np.int64(np.rint(1e6 * (psi - 2.0 * math.pi * np.rint(psi / (2.0 * math.pi)))))
    fix.age_us = age if age > 0 else memory[_AGE_US]
    sigma = (whole_number(data, 36, 4) + 500) // 1000
    fix.sigma_mm = min(max(sigma, 1), 65535) if whole_number(data, 36, 4) > 0 else memory[_SIGMA_MM]
    return 1


def _prepare_camera(link: np.void, settings: DeviceSettings) -> None:
    """Write the settings into the memory of a fresh link."""
    side, memory = round(settings["y_to_the_right"]), link["memory"]
    memory[_X0_UM], memory[_Y0_UM] = round(1e3 * settings["x0_mm"]), round(1e3 * settings["y0_mm"])
    memory[_LANE] = round(side * 1e6 * math.radians(settings["lane_deg"]))
    memory[_SIDE], memory[_AGE_US] = side, round(1e3 * settings["latency_ms"])
    memory[_SIGMA_MM], memory[_LEAST] = round(settings["sigma_mm"]), round(settings["least_quality"])


def introduce(port: SerialPort, wants: DeviceRequirements) -> Introduction:
    """Listen for a packet that is good enough.

    Raises
    ------
    DeviceError
        For an impossible setting, silence, or packets that are not good enough.
    """
    require_in_range("a camera", wants.settings, _RANGES, DEVICE.settings)
    if wants.settings["y_to_the_right"] not in (1.0, -1.0):
        raise DeviceError(
            f"the setting y_to_the_right of a camera must be 1 (z down) or -1 (z up), found "
            f"{wants.settings['y_to_the_right']:g}: correct it under its [[port]]"
        )
    link = new_link()
    _prepare_camera(link, wants.settings)
    good, heard = listen_for_fix(port, link, receive, _LISTEN)
    if good:
        return Introduction(name=f"camera, quality {link['memory'][_SEEN] - 1}")
    if link["memory"][_SEEN]:
        answer = f"quality {link['memory'][_SEEN] - 1}"
    elif link["receiver"]["frames_bad_version"]:
        answer = "another version"
    else:
        answer = f"{len(heard)} bytes of other packets" if heard else "silence"
    raise DeviceError(
        f"the camera should send packets of version {PACKET_VERSION} with x and y and a quality of "
        f"{wants.settings['least_quality']:g} or more to {port.path}, found {answer}: start its program, and correct "
        "address and port there or in the rig"
    )


_RANGES = {
    "x0_mm": (-1e6, 1e6),
    "y0_mm": (-1e6, 1e6),
    "lane_deg": (-360, 360),
    "rate_Hz": (1, 1000),
    "latency_ms": (0, 250),
    "sigma_mm": (1, 1000),
    "least_quality": (0, 100),
}


def _traffic(carries: int, settings: DeviceSettings) -> Traffic:
    return Traffic(PACKET_LENGTH, 0, f"a packet of {PACKET_LENGTH} bytes each time", settings["rate_Hz"])


DEVICE = Device(
    name="camera",
    carries=ROLE_PLACE,
    receive=receive,
    speak=say_nothing,
    introduce=introduce,
    traffic=_traffic,
    prepare=_prepare_camera,
    over_udp=True,
    test_settings={"x0_mm": 120.0, "y0_mm": -80.0, "lane_deg": 15.0, "y_to_the_right": -1.0},
    settings={
        "x0_mm": DeviceSetting(None, "mm", "where the lane's middle begins, in the camera's axes: x"),
        "y0_mm": DeviceSetting(None, "mm", "and y"),
        "lane_deg": DeviceSetting(None, "deg", "direction of the lane in the camera's axes, from its x towards its y"),
        "y_to_the_right": DeviceSetting(1.0, "", "1: its y points to the right of its x (z down); -1: to the left"),
        "rate_Hz": DeviceSetting(100.0, "Hz", "at which it sends packets"),
        "latency_ms": DeviceSetting(15.0, "ms", "from the picture to its packet, where the packet tells no age"),
        "sigma_mm": DeviceSetting(2.0, "mm", "standard deviation of a coordinate, where the packet tells none"),
        "least_quality": DeviceSetting(50.0, "", "worst quality that counts, 0 to 100"),
    },
    examples=(
        ExampleMessage(
            bytes.fromhex("524c50500107640001000000c0e1e40000000000983a000040420f0020a1070010270000080700003dd5128e"),
            True,
            {},
            "made with Python's struct and zlib",
        ),
        ExampleMessage(b"RLPP\x01" + bytes(39), False, {}, "a CRC that is wrong"),
    ),
)
