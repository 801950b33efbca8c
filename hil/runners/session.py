"""Real-time run from beginning to end.

Port, hello, loop, log, operator, and zero torque on every way out.
"""

import logging
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.devices.driver import DeviceRequirements, Introduction
from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_IMU, ROLE_STEER
from riderless.firmware_interface.devices.registry import device
from riderless.firmware_interface.messages import COMMAND_KIND_TORQUE
from riderless.firmware_interface.node.guard_limits import GuardLimits
from riderless.firmware_interface.port import SerialPort
from riderless.firmware_interface.udp_port import open_line
from riderless.hil.controllers.controller import Controller
from riderless.hil.live.feed import LiveFeed
from riderless.hil.live.shown_run import joined_watchers, shown_run
from riderless.hil.logs.append_only import LogLostError
from riderless.hil.logs.header import new_header
from riderless.hil.logs.log import read_run
from riderless.hil.logs.writer import RunWriter
from riderless.hil.loop.tick import LoopState
from riderless.hil.rig.armable import require_time_outs
from riderless.hil.rig.controller_in_c import require_on_board
from riderless.hil.rig.guard import guard_of_rig
from riderless.hil.rig.on_board import command_kind
from riderless.hil.rig.reported_values import calibrated_by, require_bounded, require_scales
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.task import Task
from riderless.hil.runners import realtime
from riderless.hil.runners.assembly import new_loop
from riderless.hil.runners.log_sink import Keeper
from riderless.hil.runners.operator import Operator, Outcome, host_delay
from riderless.hil.runners.prepared_run import PreparedRun, prepare_run
from riderless.hil.runners.scheduling import describe_privileges
from riderless.hil.runners.warmup import warm_up
from riderless.models.errors import InputError

_logger = logging.getLogger("riderless.hil")
RowWatcher = Callable[[np.void], None]
ABSENT_AFTER = 1.0  # s without a word of a page


def run_realtime(
    folder: str | Path,
    rig: Rig,
    schedule: Controller,
    paths: str | Sequence[str],
    duration: float,
    label: str = "",
    extra: Mapping[str, Any] | None = None,
    watch: RowWatcher | None = None,
    fifo: int = 0,
    cpu: int | None = None,
    operator: Operator | None = None,
    allow_mismatch: bool = False,
    allow_unstable: bool = False,
    speeds: Sequence[float] = (),
    task: Task = Task(),
    feed: LiveFeed | None = None,
) -> Outcome:
    """Run on serial ports and write the log.

    Parameters
    ----------
    folder : str or Path
        Of the log; new or empty.
    rig : Rig
    schedule : Controller
    paths : str or sequence of str
        Serial ports, one for each of the rig's.
    duration : float
        Time to stay RUNNING [s].
    label : str
        Words for tables and reports; by default the folder's name.
    extra : mapping
        What else the header is to hold, such as the condition of a campaign.
    watch : callable
        Given the newest row of TICK now and then.
    fifo : int
        Real-time priority 1 to 99; 0 for none.
    cpu : int or None
        Processor to keep the loop on; None for any.
    operator : Operator
        Who demands what when; by default one that arms, runs for ``duration`` and stops.
    allow_mismatch : bool
        The gains may be for another bicycle, delay or drive lag.
    allow_unstable : bool
        Under these gains the bicycle may fall by itself.
    speeds : sequence of float
        Corners of the planned profile of speed [m/s]; by default all speeds of the gains that the rig allows.
    task : Task
        What the machine is to do beside balancing.
    feed : LiveFeed or None
        Memory by which others look on, and press STOP.

    Raises
    ------
    DeviceError
        When a port is missing or busy, or what is behind it is not the device of the rig.
    InputError
        When gains, rig and device do not fit together, could never be armed or do not balance it, or the rig wants a
        latency test, or a proof of its sensor of place or hardware stop, and there is none, the disk has no room for
        the log, or there are not as many paths as ports.
    """
    paths = [paths] if isinstance(paths, str) else list(paths)
    folder, about = Path(folder), extra or {}
    prepared = prepare_run(
        folder, rig, schedule, paths, duration, task, fifo, cpu, speeds, about, allow_mismatch, allow_unstable
    )
    warm_up(rig, schedule)  # before a port is opened: afterwards the device's samples would pile up
    return run_prepared(prepared, paths, operator or Operator(duration), label, watch, feed)


def run_prepared(
    prepared: PreparedRun,
    paths: Sequence[str],
    operator: Operator,
    label: str = "",
    watch: RowWatcher | None = None,
    feed: LiveFeed | None = None,
) -> Outcome:
    """Make a prepared run, whose loop is warmed up, on serial ports.

    Parameters
    ----------
    prepared : PreparedRun
    paths, operator, label, watch, feed
        As of `run_realtime`.

    Raises
    ------
    DeviceError, InputError
        When port, device and rig do not fit together, or there are not as many paths as ports.
    """
    folder, rig, schedule, task = prepared.folder, prepared.rig, prepared.schedule, prepared.task
    fifo, cpu = prepared.fifo, prepared.cpu
    if rig.present:
        operator.require_presence(_attendance(rig, feed))
    with open_devices(rig, paths) as (fds, devices, rig, calibration):
        require_on_board(rig, schedule, devices)
        loop = new_loop(rig, schedule, calibration.as_record(), devices, task)
        header = new_header(
            rig,
            schedule,
            calibration,
            runner="realtime",
            label=label or folder.name,
            task=task,
            ports=list(paths),
            devices=devices,
            extra={
                "timing": describe_privileges(fifo, cpu),
                "latency": prepared.latency.as_dict() if prepared.latency else None,
                **prepared.about,
            },
        )
        with RunWriter(folder, header) as writer:
            with shown_run(feed, writer, header, operator) as (sink, show):
                keep = Keeper(sink, marks=operator.marks)
                seen = joined_watchers(show, watch)
                recorder = realtime.run_loop(fds, loop, rig.rate, operator, keep, seen, rig.clock, fifo, cpu, feed)
            outcome = replace(_outcome(operator, recorder, paths), remarks=tuple(_remarks(keep, loop, recorder)))
            with suppress(InputError):  # of a log that is gone, which is said below
                log = read_run(writer.folder, everything=False, stored=True)
                outcome = outcome.blaming(host_delay(log.ticks, rig.rate, emulated="emulation" in prepared.about))
            outcome = _closed(writer, outcome, recorder)
    return outcome


def _attendance(rig: Rig, feed: LiveFeed | None) -> Callable[[float], bool]:
    """Make the function that says whether somebody looks on at a time [s]; raises InputError where nobody can."""
    if feed is None:
        raise InputError(
            f"the rig '{rig.name}' asks for a present operator ([operator] present), and nobody can look on at this "
            "run: use `riderless run --live` or `riderless campaign --live` on Linux, or leave that out of the rig"
        )
    return lambda t: feed.beheld(t) < ABSENT_AFTER


def _closed(writer: RunWriter, outcome: Outcome, recorder: realtime.Recorder) -> Outcome:
    """Close the log of a run; its outcome, with what became of the log meanwhile."""
    try:
        writer.close(outcome.reason, outcome.cause, recorder.dropped)
    except LogLostError as lost:
        return outcome if recorder.failure is not None else _without_log(lost, outcome.stopped)
    except OSError:
        if recorder.failure is None:  # else the outcome says so already
            raise
    if not writer.moved:
        return outcome
    remark = f"the log was moved during the run: it lies in {writer.folder}"
    return replace(outcome, remarks=(*outcome.remarks, remark), folder=writer.folder)


def _without_log(failure: Exception, stopped: str = "") -> Outcome:
    """Outcome of a run whose log failed, whether somebody ``stopped`` it or not."""
    advice = "" if isinstance(failure, LogLostError) else "; make room and run again"
    return Outcome("fault", f"the log could not be written: {failure}{advice}", late_stop=stopped)


@contextmanager
def open_devices(rig: Rig, paths: Sequence[str]) -> Iterator[tuple[list[int], list[Introduction], Rig, Calibration]]:
    """Open the ports and set the devices up: file descriptors, introductions, and the rig and calibration agreed on.

    Raises
    ------
    DeviceError
        When a port is missing or busy, or what is behind it is not the device of the rig.
    InputError
        When there are not as many paths as ports, rig and devices do not fit together, or the limits are those of an
        old log that no machine may have.
    """
    rig.limits.require_plausible()
    require_time_outs(rig)
    with open_ports(rig, paths) as ports:
        devices = introduce_devices(rig, ports)
        rig, calibration = agree_with_devices(rig, devices)
        _logger.info(
            "opened the rig %r: %s",
            rig.name,
            ", ".join(f"{wired.device} at {path}" for wired, path in zip(rig.ports, paths, strict=True)),
        )
        yield [port.fd for port in ports], devices, rig, calibration


@contextmanager
def open_ports(rig: Rig, paths: Sequence[str]) -> Iterator[list[SerialPort]]:
    """Open the ports of a rig for ourselves alone; nothing is said to the devices.

    Raises
    ------
    DeviceError
        When a port is missing or busy.
    InputError
        When there are not as many paths as ports.
    """
    rig.require_path_for_each_port(paths)
    with ExitStack() as stack:
        yield [
            stack.enter_context(open_line(path, wired.baud, wired.device, device(wired.device).over_udp))
            for path, wired in zip(paths, rig.ports, strict=True)
        ]


def introduce_devices(rig: Rig, ports: Sequence[SerialPort]) -> list[Introduction]:
    """Set every device of the rig up and let it say what it is; raises DeviceError.

    Each gets a number that nobody can know beforehand: of that and its own noise our node makes the session's.
    """
    introductions = []
    for wired, port in zip(rig.ports, ports, strict=True):
        driver = device(wired.device)
        nonce = 1 + secrets.randbelow(2**32 - 1)
        kind = command_kind(rig) if wired.role & ROLE_DRIVE else COMMAND_KIND_TORQUE
        guard = partial(_guard_of_node, rig)
        wants = DeviceRequirements(rig.rate, rig.watchdog, driver.settled(wired.settings), nonce, kind, guard)
        introductions.append(driver.introduce(port, wants))
    return introductions


def _guard_of_node(rig: Rig, reported: Introduction) -> GuardLimits:
    """Limits for the guard of a node that has told the scales of what it carries."""
    require_scales(rig, reported)
    return guard_of_rig(rig, calibrated_by(rig, reported, reported))


def agree_with_devices(rig: Rig, devices: Sequence[Introduction]) -> tuple[Rig, Calibration]:
    """Complete rig and calibration with what the devices say of themselves.

    Raises
    ------
    InputError
        When a device reports a value that the rig does not allow, see `riderless.hil.rig.reported_values`.
    """
    imu, steer, drive = (
        next(device for port, device in zip(rig.ports, devices, strict=True) if port.role & part)
        for part in (ROLE_IMU, ROLE_STEER, ROLE_DRIVE)
    )
    require_bounded(rig, devices)
    watchdog = rig.watchdog if drive.watchdog is None else min(drive.watchdog, rig.watchdog)
    return replace(rig, watchdog=watchdog), calibrated_by(rig, imu, steer)


def _outcome(operator: Operator, recorder: realtime.Recorder, paths: Sequence[str]) -> Outcome:
    """Outcome of the run, with what only the runner knows."""
    outcome = operator.outcome()
    if recorder.loop_failure is not None:
        cause = realtime.loop_failure_sentence(recorder.loop_failure)
        return replace(outcome, reason="fault", cause=cause, late_stop=outcome.stopped)
    if recorder.failure is not None:
        return _without_log(recorder.failure, outcome.stopped)
    error = int(recorder.flow[realtime.PORT_ERROR])
    if error and outcome.reason == "fault":
        path = paths[int(recorder.flow[realtime.FAILED_PORT])]
        cause = f"{outcome.cause}; the port {path} was lost ({os.strerror(error)}): plug it in again"
        return replace(outcome, cause=cause)
    return outcome


def _remarks(keep: Keeper, loop: LoopState, recorder: realtime.Recorder) -> Iterator[str]:
    """Describe what went wrong without ending the run."""
    if keep.late:
        late, skipped = int(loop.counters["ticks_late"]), int(loop.counters["ticks_skipped"])
        ticks, beats = ("tick" if late == 1 else "ticks"), ("beat" if skipped == 1 else "beats")
        yield f"{late} late {ticks} and {skipped} {beats} left out; the first: {keep.late}"
    if recorder.dropped:
        yield f"{recorder.dropped} rows were made and could not be kept: the log has gaps"
