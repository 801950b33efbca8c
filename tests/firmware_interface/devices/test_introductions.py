"""Setting devices up over a real pseudo-terminal: what they say, and the sentences when something is wrong."""

import os
import pty
import threading
import time
import tty
from contextlib import contextmanager

import numpy as np
import pytest

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.devices.driver import DeviceRequirements
from riderless.firmware_interface.devices.registry import device
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.port import open_port
from riderless.firmware_interface.twins import odrive, own_node, vectornav, vesc
from riderless.firmware_interface.twins.faults import Fault
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.firmware_interface.twins.twin import TwinConfig
from tests.firmware_interface.devices.pairs import SETTINGS

pytestmark = pytest.mark.realtime  # a device lives in a thread, and is waited for as long as a real one

MAKE = {"node": own_node.make, "vectornav": vectornav.make, "vesc": vesc.make, "odrive": odrive.make}


def twin_of(name, faults=(), **settings):
    carries = device(name).carries
    given = {**device(name).settled(SETTINGS[name]), "baud": 921600, **settings}
    config = TwinConfig(
        carries=carries,
        calibration=Calibration(wheel_radius=0.3),
        rate_hz=200,
        watchdog=0.05,
        torque_limit=7.0,
        settings=given,
        faults=faults,
    )
    return MAKE[name](config)


@contextmanager
def served(twin, garble=lambda data: data):
    """A thread that lets the twin live behind a pseudo-terminal; gives the open port."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    os.set_blocking(master, False)
    over = threading.Event()
    if twin:
        twin.hear(b"\0", 0.0)  # what is to be compiled, is
        twin.instant(0.0, np.zeros(9))

    def live():
        start = time.monotonic()
        while not over.is_set():
            t = time.monotonic() - start
            try:
                data = os.read(master, 4096)
            except BlockingIOError:
                data = b""
            said = (twin.hear(data, t) if data else b"") + twin.instant(t, np.zeros(9)) if twin else b""
            if said:
                os.write(master, garble(said))
            time.sleep(0.001)

    thread = threading.Thread(target=live)
    thread.start()
    try:
        with open_port(os.ttyname(slave), 921600) as port:
            yield port
    finally:
        over.set()
        thread.join()
        os.close(master)
        os.close(slave)


def introduced(name, port, rate=200.0, watchdog=0.05):
    driver = device(name)
    return driver.introduce(port, DeviceRequirements(rate, watchdog, driver.settled(SETTINGS[name])))


def test_what_each_says():
    said = {}
    for name in MAKE:
        with served(twin_of(name)) as port:
            said[name] = introduced(name, port)
    assert said["vectornav"].name.startswith("VN-")
    assert (said["vectornav"].rate_hz, said["node"].rate_hz) == (200, 200)
    assert said["vesc"].rate_hz is said["odrive"].rate_hz is None
    assert said["vesc"].torque_limit == pytest.approx(20.0 * 0.4)
    assert said["vesc"].scale == pytest.approx(0.4)
    assert said["odrive"].torque_limit == pytest.approx(7.0)
    assert said["odrive"].watchdog == pytest.approx(0.05)
    assert said["node"].watchdog == pytest.approx(0.05)


@pytest.mark.parametrize("name", MAKE)
def test_silence(name):
    with served(None) as port, pytest.raises(DeviceError, match=r"nothing came; .*is this its port"):
        introduced(name, port)


@pytest.mark.parametrize("name", MAKE)
def test_the_wrong_baud_rate_or_device(name):
    noise = np.random.default_rng(1)

    def garbled(data):
        return noise.integers(1, 256, len(data), np.uint8).tobytes()

    with served(twin_of(name), garbled) as port, pytest.raises(DeviceError, match=r"\d+ bytes of something else came"):
        introduced(name, port)


def test_a_rate_that_no_divisor_gives():
    with (
        served(twin_of("vectornav")) as port,
        pytest.raises(DeviceError, match=r"800 Hz divided by a whole number, found a loop of 300 Hz: set rate_Hz"),
    ):
        introduced("vectornav", port, rate=300.0)


def test_a_sensor_whose_line_is_too_slow_for_the_stream():
    with served(twin_of("vectornav", baud=57600)) as port, pytest.raises(DeviceError, match="insufficient baud rate"):
        introduced("vectornav", port)


def test_a_drive_with_a_fault_is_not_begun_with():
    faults = (Fault(Kind.DRIVE_TRIPS),)
    with (
        served(twin_of("vesc", faults)) as port,
        pytest.raises(DeviceError, match=r"fault 4 \(absolute over-current\)"),
    ):
        introduced("vesc", port)
