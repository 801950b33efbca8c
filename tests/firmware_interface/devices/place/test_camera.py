"""Camera by UDP: packets by Python's struct and zlib, real sockets on loopback, and its twin."""

import math
import os
import socket
import struct
import zlib

import numpy as np
import pytest

from riderless.firmware_interface.devices.driver import DeviceRequirements
from riderless.firmware_interface.devices.registry import device
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.messages import FIX_PSI, FIX_X, FIX_Y
from riderless.firmware_interface.twins.faults import pack_faults
from riderless.firmware_interface.twins.faulty_link import new_mail, post
from riderless.firmware_interface.twins.place.packet_line import PacketLine, PacketOutlet
from riderless.firmware_interface.udp_port import open_line, open_udp_port
from tests.firmware_interface.devices.place.sensors import seen, settings_of, told


def packet(seq=1, time=1000, x=1.0, y=0.5, psi=0.01, quality=90, age=0, sigma=0, version=1, has=7):
    """A packet as docs/place-sensors.md has it."""
    body = struct.pack(
        "<4sBBBBIQIiiiI",
        b"RLPP",
        version,
        has,
        quality,
        0,
        seq,
        time,
        age,
        *(round(1e6 * z) for z in (x, y, psi)),
        sigma,
    )
    return body + struct.pack("<I", zlib.crc32(body))


def test_a_packet_is_turned_into_the_lane():
    plain = {"x0_mm": 0.0, "y0_mm": 0.0, "lane_deg": 0.0, "y_to_the_right": 1.0}
    link, fixes = told("camera", packet(), **plain)
    fix = link["fix"]
    assert (fixes, fix["has"], fix["x_mm"], fix["y_mm"], fix["psi_urad"]) == (
        1,
        FIX_X | FIX_Y | FIX_PSI,
        1000,
        500,
        10000,
    )
    assert (fix["age_us"], fix["sigma_mm"]) == (15_000, 2)  # of the rig, where the packet tells none
    fix = told("camera", packet(age=7000, sigma=4400), **plain)[0]["fix"]
    assert (fix["age_us"], fix["sigma_mm"]) == (7_000, 4)
    # z up, the lane runs along the camera's y: its right is the camera's x
    fix = told("camera", packet(psi=math.pi / 2 - 0.1), **{**plain, "lane_deg": 90.0, "y_to_the_right": -1.0})[0]["fix"]
    assert (fix["x_mm"], fix["y_mm"]) == (500, 1000)
    assert fix["psi_urad"] == pytest.approx(1e5, abs=2)


def test_packets_that_are_old_repeated_or_poor_are_no_fixes():
    assert told("camera", packet(1), packet(1))[1] == 1
    assert told("camera", packet(2), packet(1, time=900), packet(3, time=1100))[1] == 2
    assert told("camera", packet(0xFFFFFFFF), packet(0, time=1100))[1] == 2  # its number wraps
    assert told("camera", packet(9, time=5_000_000), packet(1, time=1000))[1] == 2  # it began anew
    assert told("camera", packet(quality=49))[1] == 0
    assert told("camera", packet(has=FIX_X))[1] == 0
    assert told("camera", packet(age=2_000_000))[1] == 0
    assert told("camera", packet(1), packet(5, time=1100))[0]["receiver"]["samples_lost"] == 3


@pytest.mark.parametrize("back", [100, 5000])
def test_a_sender_that_begins_anew_by_a_clock_that_goes_on_is_heard_at_once(back):
    begin = 2**32 - 7  # numbers may wrap in between
    number = [(begin - back + i) % 2**32 for i in range(20)]
    link, fixes = told("camera", packet(begin), *(packet(seq, time=2000 + i) for i, seq in enumerate(number)))
    assert (fixes, link["receiver"]["samples_lost"]) == (21, 0)
    # one that is late is not taken for it, nor is one that is repeated
    assert told("camera", packet(5001), packet(1, time=900), packet(4990, time=1100), packet(5001, time=1100))[1] == 1
    assert told("camera", packet(5001), *(packet(1, time=1100) for _ in range(3)))[1] == 2


def test_versions_and_damage_are_counted():
    link, fixes = told("camera", packet(version=2), packet(2, time=2000))
    assert (fixes, link["receiver"]["frames_bad_version"]) == (1, 1)
    whole = packet()
    for i in range(len(whole)):
        broken = whole[:i] + bytes([whole[i] ^ 8]) + whole[i + 1 :]
        assert told("camera", broken)[1] == 0
        link, fixes = told("camera", broken, packet(2, time=2000))
        assert fixes == 1
    assert told("camera", whole[:20], whole)[1] == 1


def test_the_twin_says_what_the_driver_reads():
    rows = seen("camera", noise=0.0, where=lambda t: (4.0 * t, 0.2 * math.sin(t), 0.1 * math.cos(t), 0.0))
    taken = rows[:, 0] - rows[:, 4]
    assert np.abs(rows[:, 1] - 4.0 * taken).max() < 1.5e-3
    assert np.abs(rows[:, 2] - 0.2 * np.sin(taken)).max() < 1.5e-3
    assert np.abs(rows[:, 3] - 0.1 * np.cos(taken)).max() < 1e-4


@pytest.fixture
def free():
    """A path on which nobody listens."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        number = taken.getsockname()[1]
    return f"udp:127.0.0.1:{number}"


def send(path, *packets):
    host, number = path.removeprefix("udp:").split(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for data in packets:
            sender.sendto(data, (host, int(number)))


def test_packets_come_in_by_a_socket_and_what_is_none_does_not(free):
    with open_line(free, 0, "camera", True) as port:
        send(free, b"", b"x" * 2000, packet(1), b"", packet(2))
        assert [os.read(port.fd, 4096) for _ in range(2)] == [packet(1), packet(2)]
        with pytest.raises(BlockingIOError):
            os.read(port.fd, 4096)
        with pytest.raises(DeviceError, match="held by another program"):
            open_udp_port(free)


def test_it_introduces_itself(free):
    wants = DeviceRequirements(200.0, 0.025, settings_of("camera"))
    with open_udp_port(free) as port:
        send(free, packet(1))
        assert device("camera").introduce(port, wants).name == "camera, quality 90"
        send(free, packet(2, quality=3))
        with pytest.raises(DeviceError, match=f"to {free}, found quality 3: start its program"):
            device("camera").introduce(port, wants)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("udp:127.0.0.1", "a UDP port is udp:ADDRESS:PORT"),
        ("udp:localhost:9750", "an address of this computer in numbers"),
        ("udp:127.0.0.1:70000", "a port from 1 to 65535"),
        ("udp:192.0.2.1:9750", "192.0.2.1 is no address of this computer"),
        ("/dev/ttyUSB0", "a camera sends UDP packets: give a path such as"),
    ],
)
def test_paths_that_cannot_be_are_refused(path, says):
    with pytest.raises(DeviceError, match=says):
        open_line(path, 0, "camera", True)


def test_a_serial_device_wants_a_serial_port(free):
    with pytest.raises(DeviceError, match="a distance has a serial port, found the path udp:"):
        open_line(free, 115200, "distance", False)


def test_the_twins_packets_pass_one_by_one():
    outlet = PacketOutlet()
    mail = new_mail()
    line = PacketLine(outlet.fd, mail, 44)
    data = np.frombuffer(packet(1) + packet(2), np.uint8)
    with open_udp_port(outlet.path) as port:
        post(mail, pack_faults(()), 1, data, len(data), 0.0, 0.0)
        assert line.carry(1.0)
        assert [os.read(port.fd, 4096) for _ in range(2)] == [packet(1), packet(2)]
    assert line.carry(2.0) is False
    outlet.close()
