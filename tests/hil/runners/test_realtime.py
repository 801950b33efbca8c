"""The compiled runner on real pseudo-terminals, with real processes and real signals."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from riderless.experiments.emulation.workstand import start_twin
from riderless.firmware_interface.errors import DeviceError
from riderless.hil.logs.log import read_run
from riderless.hil.loop.states import State
from riderless.hil.runners import session
from riderless.hil.runners.operator import Operator
from riderless.hil.runners.replay import replay
from riderless.models.errors import InputError
from tests.hil.machine import gains, rig_of, scenario

pytestmark = pytest.mark.realtime

CONTROLLER = """
import sys
from pathlib import Path
from riderless.hil.runners import session
from tests.hil.machine import gains, rig_of
rig = rig_of()
print("started", flush=True)
outcome = session.run_realtime(
    Path(sys.argv[2]), rig, gains(rig), sys.argv[1], 60.0,
    watch=lambda row: print(int(row["state"]), flush=True),
)
print(outcome.reason, outcome.cause, flush=True)
"""


def run_patiently(folder, rig, schedule, twin, duration, **kwargs):
    """A run on a machine that may be busy: a twin that slipped for long is tried again."""
    for n in range(3):
        with start_twin(rig, twin) as device:
            outcome = session.run_realtime(folder / str(n), rig, schedule, device.path, duration, **kwargs)
            report = device.report
        if outcome.reason != "fault":
            return read_run(folder / str(n)), outcome, report
    return pytest.fail(f"three runs failed, the last because: {outcome.cause}")


@pytest.mark.parametrize("clock", ["device", "host"])
def test_balances_over_the_wire(tmp_path, clock):
    rig = rig_of(clock=clock)
    run, outcome, report = run_patiently(tmp_path, rig, gains(rig), scenario(kicks=(0.5,)), 2.5)
    assert outcome.reason == "success"
    assert run.complete
    ticks = run.ticks
    running = ticks[ticks["state"] == State.RUNNING]
    assert np.abs(running["phi_dot_meas"]).max() > 0.1, "the kick is seen"
    assert np.abs(running["phi_est"][-40:]).max() < 0.05, "and answered"
    assert ticks["frames_bad_crc"][-1] == 0
    again = replay(run)
    assert again.identical, again.difference
    assert again.commands > 300
    assert report.T == 0.0
    assert report.enabled == 0.0
    assert report.commands > 300


def controller_on(device, folder):
    """A controller in a process of its own, once it is RUNNING."""
    process = subprocess.Popen(
        [sys.executable, "-c", CONTROLLER, device.path, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line.strip())
        if line.strip() == str(int(State.RUNNING)):
            return process
    pytest.fail(f"the controller never ran: {said[-5:]}")


def test_kill_minus_nine_leaves_the_drive_at_zero_within_its_watchdog(tmp_path):
    rig = rig_of()
    with start_twin(rig, scenario(kicks=(0.2,))) as device:
        process = controller_on(device, tmp_path / "run")
        time.sleep(0.3)
        assert device.report.enabled == 1.0
        process.kill()
        process.wait()
        time.sleep(0.3)
        report = device.report
    assert report.T == 0.0
    assert report.enabled == 0.0
    # the node notices at a sampling instant: its time-out, counted from the instant before the last command
    assert report.zero_t - report.heard_t <= rig.watchdog + 2 * rig.dt + 1e-9
    run = read_run(tmp_path / "run")
    assert run.stop.reason == "killed"
    assert len(run.ticks) > 200


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_at_zero_torque_with_everything_recorded(tmp_path, number):
    rig = rig_of()
    with start_twin(rig, scenario()) as device:
        process = controller_on(device, tmp_path / "run")
        process.send_signal(number)
        rest, _ = process.communicate(timeout=20)
        report = device.report
    assert process.returncode == 0
    assert f"abort stopped by {signal.Signals(number).name}" in rest
    assert report.T == 0.0
    assert report.enabled == 0.0
    run = read_run(tmp_path / "run")
    assert run.complete
    assert run.stop.reason == "abort"
    assert State(int(run.ticks["state"][-1])) is State.DISARMED


def test_an_exception_in_the_display_sends_zero_torque_first(tmp_path):
    rig = rig_of()

    def fail(row):
        if int(row["state"]) == State.RUNNING:
            raise RuntimeError("the terminal is gone, say")

    with start_twin(rig, scenario()) as device:
        with pytest.raises(RuntimeError, match="terminal is gone"):
            session.run_realtime(tmp_path / "run", rig, gains(rig), device.path, 30.0, watch=fail)
        time.sleep(0.1)
        report = device.report
    assert report.T == 0.0
    assert report.enabled == 0.0
    assert report.watchdog_trips <= 1.0, "only the trip of the check: the loop said farewell itself"
    assert read_run(tmp_path / "run").stop.reason == "abort"


def test_a_device_that_vanishes_is_a_fault_not_a_hang(tmp_path):
    rig = rig_of()
    device = start_twin(rig, scenario())
    gone = []

    def pull(row):
        if int(row["state"]) == State.RUNNING and not gone:
            device.kill()
            gone.append(True)

    outcome = session.run_realtime(tmp_path / "run", rig, gains(rig), device.path, 30.0, watch=pull)
    assert gone
    assert outcome.reason == "fault"
    assert read_run(tmp_path / "run").complete


def test_a_device_of_another_rate_is_refused(tmp_path):
    slow = rig_of(rate=100.0, watchdog=0.05)
    rig = rig_of()
    with start_twin(slow, scenario()) as device, pytest.raises(InputError, match="100 Hz"):
        session.run_realtime(tmp_path / "run", rig, gains(rig), device.path, 1.0)


def test_a_silent_device_is_told_in_a_sentence(tmp_path):
    master, slave = os.openpty()
    try:
        with pytest.raises(DeviceError, match="nothing came"):
            session.run_realtime(tmp_path / "run", rig_of(), gains(rig_of()), os.ttyname(slave), 1.0)
    finally:
        os.close(master)
        os.close(slave)
    assert not (tmp_path / "run").exists()


def test_the_operator_is_switched_off_by_a_second_interrupt():
    operator = Operator(10.0)
    operator.interrupt("stopped by SIGINT")
    assert operator.demand.name == "STOP"
    operator.interrupt("stopped by SIGINT")
    assert operator.demand.name == "OFF"
