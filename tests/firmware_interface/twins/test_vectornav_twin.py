"""A VectorNav's twin keeps the sensor's rules; the driver sets it up, says what is wrong with it, and hears it."""

import struct
from binascii import crc_hqx
from types import SimpleNamespace

import numpy as np
import pytest

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.devices import vectornav as driver
from riderless.firmware_interface.devices.link import ROLE_IMU, new_link
from riderless.firmware_interface.twins.faults import Fault
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.firmware_interface.twins.twin import STEP_RATE, TwinConfig
from riderless.firmware_interface.twins.vectornav import VectorNavTwin, make
from tests.firmware_interface.wire import as_bytes

READINGS = np.array([0.1, -0.2, 0.3, 0.4, -0.5, -9.7, 0.25, 6.0, 1.2])
TURNED = ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))  # the sensor's x points to the right
OFF, ORDER = b"$VNWRG,06,0*XX\r\n", b"$VNWRG,75,1,4,01,0129*XX\r\n"
PORT = SimpleNamespace(path="/dev/imu", baud=230400)


def config(*faults: Fault, settings: dict | None = None, **truth) -> TwinConfig:
    cal = Calibration(wheel_radius=0.3, gyro_lsb=driver.GYRO_LSB, accel_lsb=driver.ACCEL_LSB, **truth)
    return TwinConfig(
        carries=ROLE_IMU,
        calibration=cal,
        rate_hz=200,
        watchdog=0.05,
        torque_limit=7.0,
        settings=settings or {},
        faults=faults,
    )


def said(twin: VectorNavTwin, start: float, stop: float, rate: int = STEP_RATE) -> bytes:
    """What it says unasked between two times [s], stepped at ``rate`` [Hz]."""
    return b"".join(twin.instant(k / rate, READINGS) for k in range(round(start * rate), round(stop * rate)))


def streaming(*faults: Fault, order: bytes = ORDER, settings: dict | None = None, **truth) -> VectorNavTwin:
    twin = make(config(*faults, settings=settings, **truth))
    assert b"VNERR" not in twin.hear(OFF + order, 0.0)
    return twin


def messages(data: bytes) -> list[tuple]:
    """Time stamp [ns], angles, rates, forces of a stream of nothing but our messages, by another codec."""
    assert len(data) % 50 == 0
    found = [data[i : i + 50] for i in range(0, len(data), 50)]
    assert all(crc_hqx(message[1:], 0) == 0 and message[:4] == b"\xfa\x01\x29\x01" for message in found)
    return [struct.unpack_from("<Q9f", message, 4) for message in found]


def line_of(text: str) -> bytes:
    """A line as the sensor writes it: exclusive or of all between $ and *."""
    check = 0
    for byte in text.encode():
        check ^= byte
    return f"${text}*{check:02X}\r\n".encode()


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (b"$VNRRG,01*72", "VNRRG,01,VN-100T-CR"),
        (b"$VNRRG,1*42", "VNRRG,1,VN-100T-CR"),
        (b"$VNRRG,01*XX", "VNRRG,01,VN-100T-CR"),
        (b"$VNRRG,01*%04X" % crc_hqx(b"VNRRG,01", 0), "VNRRG,01,VN-100T-CR"),
        (b"rest of another$VNRRG,06*75", "VNRRG,06,14"),
        (b"$VNRRG,01*73", "VNERR,03"),
        (b"$VNRRG,01", "VNERR,03"),
        (b"$VNABC,01*XX", "VNERR,04"),
        (b"$VNRRG*XX", "VNERR,05"),
        (b"$VNRRG,01,2*XX", "VNERR,06"),
        (b"$VNRRG,one*XX", "VNERR,07"),
        (b"$VNRRG,99*XX", "VNERR,08"),
        (b"$VNWRG,01,VN-300*XX", "VNERR,09"),
        (b"$VNWRG,06,0,0,0*XX", "VNERR,06"),
        (b"$VNWRG,06,99*XX", "VNERR,07"),
        (b"$VNWRG,07,33*XX", "VNERR,07"),
        (b"$VNWRG,75,1,4,01*XX", "VNERR,05"),
        (b"$VNWRG,75,1,4,01,0129,0001*XX", "VNERR,06"),
        (b"$VNWRG,75,4,4,01,0129*XX", "VNERR,07"),
        (b"$VNWRG,75,1,0,01,0129*XX", "VNERR,07"),
        (b"$VNWRG,75,1,4,01,8129*XX", "VNERR,07"),
        (b"$VNWRG,75,1,4,02,0001*XX", "VNERR,07"),
        (b"$VNWRG,75,0,4,00*XX", "VNWRG,75,0,4,00"),
        (b"no line of its", ""),
    ],
)
def test_answers(line, answer):
    twin = make(config())
    before = dict(twin.registers)
    assert twin.hear(line + b"\r\n", 0.0) == (line_of(answer) if answer else b"")
    if "VNERR" in answer:
        assert twin.registers == before


def test_lines_come_in_any_pieces():
    twin = make(config())
    assert b"".join(twin.hear(bytes([byte]), 0.0) for byte in b"$VNRRG,01*72\r\n$VNRRG,06*75\n") == (
        line_of("VNRRG,01,VN-100T-CR") + line_of("VNRRG,06,14")
    )
    assert twin.hear(b"x" * 300, 0.0) == line_of("VNERR,02")
    assert twin.hear(b"$VNRRG,01*72\r\n", 0.0).startswith(b"$VNRRG,01,")


def test_errors_are_hexadecimal_as_sensors_send_them():
    assert line_of("VNERR,03") == b"$VNERR,03*72\r\n", "as the manual prints it"
    twin = make(config(settings={"baud": 115200}))
    assert twin.hear(b"$VNWRG,75,1,2,01,0129*XX\r\n", 0.0) == line_of("VNERR,0C"), "50 bytes at 400 Hz are 200 kbit/s"
    assert twin.registers[75] == "0,0,00"
    assert twin.hear(b"$VNWRG,75,1,4,01,0129*XX\r\n", 0.0) == line_of("VNWRG,75,1,4,01,0129")
    assert twin.hear(b"$VNWRG,07,200*XX\r\n", 0.0) == line_of("VNERR,0C"), "lines at 200 Hz"
    assert twin.hear(b"$VNWRG,05,57600*XX\r\n", 0.0) == line_of("VNERR,0C"), "too slow for what it streams"
    assert twin.hear(b"$VNWRG,05,230400*XX\r\n", 0.0) == line_of("VNWRG,05,230400")
    assert twin.hear(b"$VNWRG,75,1,2,01,0129*XX\r\n", 0.0).startswith(b"$VNWRG")


def test_from_the_factory_it_streams_lines():
    lines = said(make(config(**{"gyro_offset": (0.01, 0.0, 0.0)})), 0.0, 1.0).split(b"\r\n")[:-1]
    assert len(lines) == 40
    text = driver.decode_line(lines[0])
    head, *values = text.split(",")
    assert head == "VNYMR"
    assert [float(v) for v in values[6:]] == pytest.approx([0.4, -0.5, -9.7, 0.11, -0.2, 0.3], abs=1e-3)
    link = new_link()
    assert driver.receive(link, as_bytes(b"\r\n".join(lines) + b"\r\n"), 40 * len(lines[0]) + 80) == 0
    assert link["receiver"]["bytes_skipped"] == 0


def test_lines_are_ordered_by_registers():
    twin = make(config())
    twin.hear(b"$VNWRG,06,1*XX\r\n$VNWRG,07,10*XX\r\n", 0.0)
    assert said(twin, 0.0, 1.0).count(b"$VNYPR,+000.000,+000.000,+000.000*") == 10
    twin.hear(OFF, 1.0)
    assert said(twin, 1.0, 2.0) == b""


def test_readings_in_its_own_axes():
    twin = streaming(mounting=TURNED, gyro_offset=(0.01, 0.0, 0.0), accel_offset=(0.0, 0.0, 0.1))
    _, *values = messages(said(twin, 0.0, 0.001))[0]
    assert values[:3] == [0.0] * 3
    # x of the sensor is y of the bicycle, y of the sensor is -x of the bicycle
    assert values[3:] == pytest.approx([-0.2 + 0.01, -0.1, 0.3, -0.5, -0.4, -9.7 + 0.1], rel=1e-6)


@pytest.mark.parametrize("divisor", [1, 2, 3, 4, 8, 80])
@pytest.mark.parametrize("rate", [1000, 800, 333, 200])
def test_it_keeps_its_own_clock(divisor, rate):
    order = b"$VNWRG,75,1,%d,01,0129*XX\r\n" % divisor
    stamps = [stamp for stamp, *_ in messages(said(streaming(order=order), 0.0, 3.0, rate))]
    assert stamps == [1_250_000 * divisor * k for k in range(len(stamps))]
    last_step = round(3.0 * rate) - 1
    assert len(stamps) == last_step * 800 // (rate * divisor) + 1


def test_readings_between_two_steps():
    twin = streaming(order=b"$VNWRG,75,1,1,01,0129*XX\r\n")
    ramp = [twin.instant(k / 1000, READINGS + k) for k in range(20)]
    for stamp, *values in messages(b"".join(ramp)):
        assert values[3] == pytest.approx(0.1 + stamp * 1e-6, rel=1e-5)


def test_it_sends_any_field_of_group_1():
    twin = streaming(order=b"$VNWRG,75,1,8,01,7FFF*XX\r\n")
    wire, link = said(twin, 0.0, 0.1), new_link()
    assert driver.receive(link, as_bytes(wire), len(wire)) == 0
    assert link["receiver"]["frames_ok"] == link["receiver"]["frames_bad_version"] == 10
    assert link["receiver"]["bytes_skipped"] == 0


def test_no_number_is_no_number_on_the_wire():
    twin, readings = streaming(), READINGS.copy()
    readings[0], readings[5] = np.nan, 1e300
    values = messages(twin.instant(0.0, readings))[0]
    assert np.isnan(values[4])
    assert values[9] == np.inf


def test_a_reset_forgets_what_was_set_up():
    twin = streaming(Fault(Kind.RESET, 0.25, start=1.0))
    assert len(messages(said(twin, 0.0, 1.0))) == 200
    assert said(twin, 1.0, 1.25) == b""
    assert twin.hear(b"$VNRRG,01*72\r\n", 1.1) == b""
    assert said(twin, 1.25, 2.25).count(b"$VNYMR") == 40, "as from the factory"
    assert twin.hear(b"$VNRRG,75*71\r\n", 2.25) == line_of("VNRRG,75,0,0,00")
    twin.hear(OFF + ORDER, 2.25)
    assert messages(said(twin, 2.25, 2.5))[0][0] == 1_000_000_000, "its clock began when it was up again"


def test_its_clock_jumps_and_wraps():
    stamps = [stamp for stamp, *_ in messages(said(streaming(Fault(Kind.CLOCK_JUMP, 2.0, 0.1, 0.2)), 0.0, 0.3))]
    steps = np.diff(stamps)
    assert steps[19] == 2_005_000_000
    assert steps[39] == -1_995_000_000
    assert (np.delete(steps, (19, 39)) == 5_000_000).all()
    link, new = heard(streaming(Fault(Kind.CLOCK_JUMP, -9.0, start=0.1)), 0.2)
    assert (new, link["receiver"]["samples_repeated"]) == (40, 0), "also to before its own beginning"
    wraps = [
        stamp // 1000 % 2**32 for stamp, *_ in messages(said(streaming(Fault(Kind.CLOCK_WRAP, start=0.1)), 0.0, 0.2))
    ]
    assert wraps[19:21] == [2**32 - 5000, 0]


def test_slowing_loses_more_and_more():
    fault = Fault(Kind.SLOWING, 2.0, start=1.0, chance=0.8)
    stamps = [1e-9 * stamp for stamp, *_ in messages(said(streaming(fault), 0.0, 6.0))]
    counts, _ = np.histogram(stamps, [0, 1, 2, 3, 4, 5, 6])
    assert 200 == counts[0] > counts[1] > counts[2] > counts[3]
    assert said(streaming(fault), 0.0, 6.0) == said(streaming(fault), 0.0, 6.0), "the same seed, the same damage"


def heard(twin: VectorNavTwin, stop: float) -> tuple[np.void, int]:
    """A link that has heard the twin, period by period, and the number of new readings."""
    link, new = new_link(), 0
    link["period_us"] = 5000
    for k in range(round(200 * stop)):
        data = said(twin, k / 200, (k + 1) / 200)
        new += int(driver.receive(link, as_bytes(data + b"\0"), len(data)))
    return link, new
