"""The microcontroller's twin in its own process, on a real pseudo-terminal, in real time.

Nothing here asserts how long something takes by the clock on the wall: the machine may be busy. What
must hold holds on the twin's own clock, which advances one period per sample.
"""

import math
import multiprocessing
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.messages import COMMAND_CLEAR, COMMAND_ENABLE, STATUS_ENABLED, STATUS_STOP_BUTTON
from riderless.firmware_interface.node.hello import ask_hello
from riderless.firmware_interface.port import open_port
from riderless.firmware_interface.twins import c_node
from riderless.firmware_interface.twins.faults import TO_COMPUTER, TO_NODE, Fault, pack_faults
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.firmware_interface.twins.faulty_link import new_mail, post
from riderless.firmware_interface.twins.virtual_node import NodeConfig, Report, VirtualNode, spawn
from tests.firmware_interface.listener import Listener
from tests.firmware_interface.twins.plants import Broken, Short, Spinner, refuse

PERIOD = 0.005
WATCHDOG_ms = 250  # long enough for a test that a busy machine keeps waiting


@pytest.fixture(scope="module", params=["python", "c"])
def core(request):
    if request.param == "c":
        try:
            c_node.build_library()
        except DeviceError as problem:
            pytest.skip(str(problem))
    return request.param


@pytest.fixture(scope="module")
def twin(core):
    with spawn(Spinner, NodeConfig(watchdog_ms=WATCHDOG_ms, core=core)) as twin:
        yield twin


@pytest.fixture
def listener(twin):
    with open_port(twin.path) as port:
        yield Listener(port)


def until(condition, timeout: float = 120.0) -> None:
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, f"should have come true within {timeout} s"
        time.sleep(0.01)


def test_hello(twin):
    with open_port(twin.path) as port:
        told = ask_hello(port, timeout=60.0)
    assert told.name == "riderless twin"
    assert (told.rate_hz, told.torque_limit, told.watchdog) == (200, 7.0, 0.25)
    assert told.gyro_lsb == pytest.approx(math.radians(250) / 32768, rel=1e-7)


@pytest.mark.realtime
def test_samples_come_without_a_gap(listener):
    listener.wait_for_samples(100)
    assert listener.receiver["samples_lost"] == 0
    assert listener.receiver["samples_repeated"] == 0
    assert listener.receiver["frames_bad_crc"] + listener.receiver["frames_bad_length"] <= 1  # cut at opening
    sample = listener.sample()
    assert sample["valid"] == 1
    assert sample["a_z_meas"] == pytest.approx(-9.80665, abs=1e-3)
    assert sample["bus_meas"] == 24.0


@pytest.mark.realtime
def test_commands_turn_the_steer(listener, twin):
    listener.wait_for_samples(1)
    delta = float(listener.sample()["delta_meas"])
    for _ in range(3):
        listener.command(0.0, COMMAND_CLEAR)
        listener.wait_for_samples(1)
    for _ in range(40):
        listener.command(0.02, COMMAND_ENABLE)
        listener.wait_for_samples(1)
    sample = listener.sample()
    assert sample["status"] & STATUS_ENABLED
    assert sample["T_meas"] == pytest.approx(0.02)
    assert sample["delta_meas"] > delta
    assert sample["command_seq"] > 35
    assert abs(twin.report.T - 0.02) < 1e-9
    listener.command(0.0, 0)
    until(lambda: twin.report.enabled == 0.0)


@pytest.mark.realtime
def test_killed_controller_leaves_zero_torque_within_the_watchdog(twin):
    controller = subprocess.Popen([sys.executable, "-m", "tests.firmware_interface.twins.controller", twin.path])
    try:
        until(lambda: twin.report.T == 1.0)
        trips = twin.report.watchdog_trips
    finally:
        os.kill(controller.pid, signal.SIGKILL)
        controller.wait()
    until(lambda: twin.report.T == 0.0)
    report = twin.report
    assert report.watchdog_trips == trips + 1
    assert report.enabled == 0.0
    assert 0.0 < report.zero_t - report.heard_t <= 1e-3 * WATCHDOG_ms + 1e-9  # on the device's clock
    assert report.zero_host > report.heard_host
    with open_port(twin.path) as port:  # and the line has outlived it
        Listener(port).wait_for_samples(5)


@pytest.mark.realtime
def test_final_report(core):
    twin = spawn(Spinner, NodeConfig(rate_hz=500, core=core))
    with open_port(twin.path) as port:
        Listener(port).wait_for_samples(20)
    report = twin.result()
    assert report.samples >= 20
    assert report.t == pytest.approx((report.samples - 1) / 500)
    assert report.bytes_dropped == 0
    assert twin.result() == report


def test_plant_that_cannot_be_made():
    with pytest.raises(DeviceError, match="could not start: ValueError: no such bicycle"):
        spawn(refuse, NodeConfig())


def test_plant_without_the_nine_readings():
    node = VirtualNode(Short(), NodeConfig())
    with pytest.raises(DeviceError, match="the plant of a twin must give 9 readings, found 8"):
        node.warm_up()
    node.close()


def test_plant_that_fails_while_serving(capfd):
    twin = spawn(Broken, NodeConfig())
    # its end, not its path's: a busy computer takes longer than `stop` waits, and another program may get the path
    until(lambda: twin.pid not in {child.pid for child in multiprocessing.active_children()})
    with pytest.raises(DeviceError, match="ended with exit code 1"):
        twin.result()
    assert "the plant has failed" in capfd.readouterr().err


def test_killed_twin():
    twin = spawn(Spinner, NodeConfig())
    twin.kill()
    twin.stop()
    with pytest.raises(DeviceError, match="ended with exit code -9"):
        twin.result()


def test_twin_on_a_bad_line_is_still_understood(core):
    faults = (
        Fault(Kind.DROP, chance=0.05),
        Fault(Kind.FLIP, 1, chance=0.1),
        Fault(Kind.SPLIT, 0.002, chance=0.2),
        Fault(Kind.NOISE, 40, chance=0.1),
        Fault(Kind.BURST, 0.016),
        Fault(Kind.STOP_BUTTON, start=0.5),
    )
    with spawn(Spinner, NodeConfig(core=core), faults=faults) as twin, open_port(twin.path) as port:
        listener = Listener(port)
        listener.wait_for_samples(150)
        receiver = listener.receiver
        assert receiver["frames_bad_crc"] + receiver["frames_bad_length"] > 5
        assert receiver["samples_lost"] > 5
        assert listener.numbers == sorted(listener.numbers)
        assert listener.sample()["status"] == STATUS_STOP_BUTTON


def test_twin_that_does_not_hear(core):
    with (
        spawn(Spinner, NodeConfig(core=core), faults=(Fault(Kind.DROP, way=TO_NODE),)) as twin,
        open_port(twin.path) as port,
    ):
        listener = Listener(port)
        listener.session = 1
        for _ in range(5):
            listener.command(1.0, COMMAND_CLEAR)
            listener.wait_for_samples(5)
        assert twin.report.commands == 0


def test_twin_nobody_listens_to_drops_and_counts(core):
    with spawn(Spinner, NodeConfig(rate_hz=2000, watchdog_ms=25, core=core)) as twin:
        until(lambda: twin.report.bytes_dropped > 0)
        samples = twin.report.samples
        until(lambda: twin.report.samples > samples + 10)  # and goes on


def serve_instants(node: VirtualNode, count: int) -> Report:
    """Run a node in this process for so many sampling instants, as fast as they come."""
    left = iter(range(count))
    node.serve(lambda: next(left, None) is None)
    return Report(*node._report)


def test_silence(core):
    node = VirtualNode(Spinner(), NodeConfig(core=core), (Fault(Kind.DROP, start=0.02),))
    with open_port(node.path) as port:
        assert serve_instants(node, 12).samples == 12
        listener = Listener(port)
        listener.wait_for_samples(4)
        assert listener.raw["seq"] == 3  # t = 0.015 s
        with pytest.raises(BlockingIOError):
            os.read(port.fd, 1)
    node.close()


def test_incoming_bytes_are_taken_no_faster_than_the_line_carries_them(core):
    node = VirtualNode(Spinner(), NodeConfig(baud=115200, rate_hz=200, core=core))
    with open_port(node.path, 115200) as port:
        os.write(port.fd, b"\x01\0" * 100)  # 200 bytes; the line carries 57 in a period
        rejected = [serve_instants(node, 1).frames_rejected for _ in range(4)]
    assert rejected == [28, 57, 85, 100]
    node.close()


def test_frames_leave_no_faster_than_the_line_carries_them(monkeypatch):
    # on a clock of our own: a frame of 41 bytes takes 410 bits / 82000 bit/s = 5 ms
    from riderless.firmware_interface.twins import paced_line

    now = [100.0]
    monkeypatch.setattr(paced_line.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(paced_line.time, "sleep", lambda duration: now.__setitem__(0, now[0] + max(duration, 1e-9)))
    read, write = os.pipe()
    os.set_blocking(read, False)
    mail, frame = new_mail(10 / 82000), np.full(41, 7, np.uint8)
    sender = paced_line.PacedLine(write, mail)
    for _ in range(3):
        post(mail, pack_faults(()), TO_COMPUTER, frame, 41, 0.0, now[0])
    arrived = []
    for due in (100.004, 100.006, 100.009, 100.011, 100.014, 100.016):
        paced_line.carry_until([sender], due)
        try:
            arrived.append(len(os.read(read, 1000)))
        except BlockingIOError:
            arrived.append(0)
    assert arrived == [0, 41, 0, 41, 0, 41]
    os.close(read)
    os.close(write)


@pytest.mark.parametrize(
    ("late", "woken", "slips"),
    [
        (0.007, [0.0, 0.005, 0.010, 0.022, 0.022, 0.025, 0.030], 0),  # made up for: its clock keeps time
        (0.020, [0.0, 0.005, 0.010, 0.035, 0.035, 0.035, 0.038], 1),  # too late: its clock stood still for 8 ms of it
    ],
)
def test_a_late_wake_up_is_made_up_for_and_one_that_is_too_late_moves_the_schedule(monkeypatch, late, woken, slips):
    from riderless.firmware_interface.twins import paced_line

    now = [0.0]
    node = VirtualNode(Spinner(), NodeConfig())
    instants = []

    def wait(_lines, due: float) -> float:
        now[0] = max(now[0], due) + (late if len(instants) == 3 else 0.0)
        instants.append(now[0])
        return now[0]

    monkeypatch.setattr(paced_line.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(paced_line, "carry_until", wait)
    report = serve_instants(node, 7)
    assert instants == pytest.approx(woken)
    assert report.slips == slips
    assert report.t == pytest.approx(6 * PERIOD)  # one period a sample, whatever the host does
    node.close()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: NodeConfig(baud=9600), "samples at 200 Hz need at least 88000 bit/s, found 9600 bit/s"),
        (lambda: NodeConfig(watchdog_ms=5), "at least two sampling periods"),
    ],
)
def test_impossible_twins_are_refused(make, words):
    with pytest.raises(DeviceError, match=words):
        make()
