"""Real-time faults and their promises.

They tell what is done to a run, and at which state. Each fault strikes a `riderless run` at a state that the bicycle's
own record shows, and does by real means (signals, a full disk, a frozen terminal, a pulled plug) what could happen
beside a bicycle.
"""

import errno
import os
import resource
import signal
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from riderless.experiments.fault_injection.realtime import controller_process
from riderless.experiments.fault_injection.realtime.bench import ControllerProcess, Instant, RealtimeBench
from riderless.experiments.fault_injection.realtime.controller_process import DISK, HOG, NOTHING
from riderless.experiments.fault_injection.threats.fault_spec import RAMP_TIME, SAMPLE_PERIOD
from riderless.firmware_interface.twins.virtual_node import Report
from riderless.hil.loop.states import SENTENCES, Cause

LOOK_PERIOD = 0.02  # s between two looks of the operator
RECORDER_PERIOD = 0.05  # s between two visits of the recorder
DISPLAY_PERIOD = 0.2  # s between two pictures
COMMAND_DELAY = (
    2 * SAMPLE_PERIOD
)  # s: noticed at the next sampling instant of the loop, obeyed at the next of the drive
WATCHDOG_TIME = 0.025  # s
DEAF_TIME = WATCHDOG_TIME + COMMAND_DELAY  # s, of a drive that hears nobody
OFF_TIME = LOOK_PERIOD + COMMAND_DELAY
STOP_TIME = OFF_TIME + RAMP_TIME
STALE_TIME = 0.05 + COMMAND_DELAY
CHECK_TIME = 10.0 + COMMAND_DELAY  # s, of CHECK; there is no torque in it
UNRECORDED_TIME = STOP_TIME + 2 * RECORDER_PERIOD
UNATTENDED_TIME = DISPLAY_PERIOD + 1.0 + STOP_TIME
HANGING_TIME = 25.0 + STOP_TIME  # s, until the ring of 8192 rows is half full at 200 Hz


class NotKeptError(Exception):
    """Promise that was seen to be broken while the fault was on."""


class When(StrEnum):
    """State at which a fault strikes."""

    STREAM = "CHECK, proving the stream"
    WITHHOLD = "CHECK, withholding"
    ARMED = "ARMED"
    KICK = "RUNNING, in a kick"
    RAMPDOWN = "RAMPDOWN"


ALL_STATES = tuple(When)
Strike = Callable[[RealtimeBench, ControllerProcess], Instant]


@dataclass(frozen=True)
class RealtimeFault:
    """Fault and the promise made for it: one row of the real-time table.

    Attributes
    ----------
    name : str
    strike : callable
        Does it and what follows; returns the moment from which the time to zero torque counts.
    to_zero : float
        s in which the torque is gone, on a computer that is not busy.
    reason, says : str
        Stop reason in the log, and a regular expression for what the program says at the end; empty for nothing.
    code : int or None
        Exit code; None where nobody is left to see it.
    at : tuple of When
        States it is tried at.
    spoil : str
        What is the matter with the controller from its start.
    terminal : bool
        It has a terminal of its own.
    by_device : bool
        The time to zero torque counts from the last command the drive heard before the strike, on its own clock.
    unheard : bool
        Nobody reaches the bicycle any more, so the program is judged, not the torque.
    small_disk : bool
        The log goes to a small disk of its own.
    """

    name: str
    strike: Strike
    to_zero: float
    reason: str
    says: str
    code: int | None
    at: tuple[When, ...] = (When.KICK,)
    spoil: str = NOTHING
    terminal: bool = False
    by_device: bool = False
    unheard: bool = False
    small_disk: bool = False


def quiet(report: Report) -> bool:
    """Is the drive off, and without torque?"""
    return report.enabled == 0.0 and report.T == 0.0


def _send(*numbers: signal.Signals) -> Strike:
    def strike(bench: RealtimeBench, controller: ControllerProcess) -> Instant:
        for number in numbers[:-1]:
            controller.signal(number)
            bench.wait(0.05)
        moment = bench.now()
        controller.signal(numbers[-1])
        return moment

    return strike


_interrupt = _send(signal.SIGINT)


def _kill(bench: RealtimeBench, controller: ControllerProcess) -> Instant:
    """Kill the controller; only the drive's own watchdog can end the torque."""
    began = bench.now().host
    controller.signal(signal.SIGKILL)
    return _left_alone(bench, began)


def _freeze(bench: RealtimeBench, controller: ControllerProcess) -> Instant:
    """Stop the controller for a while; when it goes on it must not take up where it was."""
    began = bench.now().host
    controller.signal(signal.SIGSTOP)
    try:
        return _left_alone(bench, began)
    finally:
        controller.signal(signal.SIGCONT)


def _left_alone(bench: RealtimeBench, began: float) -> Instant:
    """Leave the bicycle alone for half a second, and return its record after it."""
    bench.wait(0.5)
    report = bench.now().report
    if not quiet(report):
        raise NotKeptError("half a second after the last command the drive is on or has torque")
    return Instant(began, report)


def _unplug(bench: RealtimeBench, controller: ControllerProcess) -> Instant:
    """Pull the plug; with another one in, the next run begins at once."""
    moment = bench.now()
    bench.unplug()
    controller.ended()
    other = bench.control(bench.visit())
    try:
        bench.until("the next run", lambda report: report.enabled == 1.0, other)
        other.signal(signal.SIGINT)
        if other.ended() != 0:
            raise NotKeptError(f"the run after plugging in again failed: {other.said}")
    finally:
        other.stop()
    return moment


def _hang_device(bench: RealtimeBench, controller: ControllerProcess) -> Instant:
    """Stop the device with its port open, until the controller has given up."""
    moment = bench.now()
    bench.signal_twin(signal.SIGSTOP)
    try:
        controller.ended()
    finally:
        bench.signal_twin(signal.SIGCONT)
    return moment


def _forbid_growth(bench: RealtimeBench, controller: ControllerProcess) -> Instant:
    """Forbid every file of the controller to grow."""
    moment = bench.now()
    size = controller.log.stat().st_size
    resource.prlimit(controller.pid, resource.RLIMIT_FSIZE, (size, size))
    return moment


def _fill_disk(bench: RealtimeBench, controller: ControllerProcess) -> Instant:
    """Write zeros beside the log until the disk takes no more."""
    filler = os.open(controller.log.with_name("filler"), os.O_WRONLY | os.O_CREAT)
    try:
        while True:
            os.write(filler, bytes(4096))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
    finally:
        os.close(filler)
    return bench.now()


def _hang_disk(bench: RealtimeBench, controller: ControllerProcess) -> Instant:
    """Let the disk hang until the torque is gone."""
    moment = bench.now()
    controller.hold.touch()
    try:
        bench.until("zero torque", quiet, controller)
    finally:
        controller.hold.unlink()
    return moment


def _freeze_terminal(bench: RealtimeBench, controller: ControllerProcess) -> Instant:
    """Press Ctrl-S, and Ctrl-Q when the torque is gone."""
    moment = bench.now()
    os.write(controller.terminal, b"\x13")
    try:
        bench.until("zero torque", quiet, controller)
    finally:
        os.write(controller.terminal, b"\x11")
    return moment


def _close_terminal(bench: RealtimeBench, controller: ControllerProcess) -> Instant:
    moment = bench.now()
    controller.close_terminal()
    return moment


def _come_second(bench: RealtimeBench, controller: ControllerProcess) -> Instant:
    """Start another controller on the same port, which is refused; the first one must not notice."""
    tripped = bench.twin.report.watchdog_trips
    other = bench.control(bench.visit())
    try:
        if other.ended() != 2 or "held by another program" not in other.said:
            raise NotKeptError(f"the second controller was not refused: {other.said}")
    finally:
        other.stop()
    _require_undisturbed(bench, tripped)
    return _interrupt(bench, controller)


def _press(bench: RealtimeBench, controller: ControllerProcess) -> Instant:
    """Start processes that never rest, for two seconds, beside a thread that never lets go of the interpreter."""
    tripped = bench.twin.report.watchdog_trips
    with controller_process.busy(2):
        bench.wait(2.0)
    _require_undisturbed(bench, tripped)
    return _interrupt(bench, controller)


def _require_undisturbed(bench: RealtimeBench, tripped: float) -> None:
    report = bench.twin.report
    if not report.enabled or report.watchdog_trips != tripped:
        raise NotKeptError("the controller was disturbed: the drive is off, or its watchdog has tripped")


def _sentence(*causes: Cause) -> str:
    return "|".join(SENTENCES[cause] for cause in causes)


_UNHEARD = _sentence(Cause.STALE_SAMPLE, Cause.DRIVE_WATCHDOG, Cause.DEVICE_FAULT, Cause.CLOCK_STEP, Cause.DRIVE_OFF)
_THAWED = f"{_UNHEARD}|{_sentence(Cause.TICKS_LATE, Cause.UNATTENDED, Cause.RATE_LOW, Cause.LINK_NOISY)}|check"
_LOST = "the port .*/dev/.* was lost"
_NO_LOG = "the log could not be written"

REALTIME_FAULTS = (
    RealtimeFault("kill -9", _kill, DEAF_TIME, "killed", "", -signal.SIGKILL, ALL_STATES, by_device=True),
    RealtimeFault("computer stands still for 0.5 s", _freeze, DEAF_TIME, "fault", _THAWED, 1, by_device=True),
    RealtimeFault("SIGINT", _send(signal.SIGINT), STOP_TIME, "abort", "stopped by SIGINT", 0, ALL_STATES[:-1]),
    RealtimeFault(
        "SIGINT twice", _send(*2 * [signal.SIGINT]), OFF_TIME + RECORDER_PERIOD, "abort", "stopped by SIGINT", 0
    ),
    RealtimeFault(
        "SIGINT in a ramp", _send(signal.SIGINT), OFF_TIME, "abort", "stopped by SIGINT", 0, (When.RAMPDOWN,)
    ),
    RealtimeFault("SIGTERM", _send(signal.SIGTERM), STOP_TIME, "abort", "stopped by SIGTERM", 0),
    RealtimeFault("SIGHUP", _send(signal.SIGHUP), STOP_TIME, "abort", "stopped by SIGHUP", 0),
    RealtimeFault("terminal closed", _close_terminal, STOP_TIME, "abort", "", None, terminal=True),
    RealtimeFault(
        "terminal frozen with Ctrl-S",
        _freeze_terminal,
        UNATTENDED_TIME,
        "fault",
        _sentence(Cause.UNATTENDED),
        1,
        terminal=True,
    ),
    RealtimeFault("adapter unplugged", _unplug, STALE_TIME, "fault", _LOST, 1, unheard=True),
    RealtimeFault(
        "adapter unplugged before arming", _unplug, CHECK_TIME, "fault", _LOST, 1, (When.STREAM,), unheard=True
    ),
    RealtimeFault("device hangs", _hang_device, STALE_TIME, "fault", _sentence(Cause.STALE_SAMPLE), 1, unheard=True),
    RealtimeFault("log may not grow", _forbid_growth, UNRECORDED_TIME, "killed", _NO_LOG, 1, (When.STREAM, When.KICK)),
    RealtimeFault("disk full", _fill_disk, UNRECORDED_TIME, "killed", _NO_LOG, 1, small_disk=True),
    RealtimeFault("disk hangs", _hang_disk, HANGING_TIME, "fault", _sentence(Cause.RECORDER), 1, spoil=DISK),
    RealtimeFault("second controller on the port", _come_second, STOP_TIME, "abort", "stopped by SIGINT", 0),
    RealtimeFault("busy processors and interpreter", _press, STOP_TIME, "abort", "stopped by SIGINT", 0, spoil=HOG),
)
