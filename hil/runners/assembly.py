"""Assembly of a loop from its parts.

From a rig, gains and calibration, disarmed and ready for its first tick.
"""

from collections.abc import Sequence

import numpy as np

from riderless.firmware_interface.calibration import DEVICE_CLOCK
from riderless.firmware_interface.devices.driver import Introduction
from riderless.firmware_interface.devices.link import LINK_STATE, ROLE_DRIVE, ROLE_HEARTBEAT
from riderless.firmware_interface.devices.registry import device
from riderless.firmware_interface.messages import COMMAND, RAW, SAMPLE
from riderless.firmware_interface.node.layouts import PROTOCOL_VERSION
from riderless.hil.controllers.controller import Controller
from riderless.hil.loop.clock_offset import TIMEBASE
from riderless.hil.loop.law import LOOP_LAW, LOOP_REFERENCE, LOOP_SIGNALS, WISH, Law
from riderless.hil.loop.observer import ESTIMATE
from riderless.hil.loop.pace.entry import reach_pace
from riderless.hil.loop.pace.settings import no_speed_drive, speed_corners
from riderless.hil.loop.pace.speed_hold import new_pacing
from riderless.hil.loop.place.entries import reach_place
from riderless.hil.loop.place.route import ON_ROUTE
from riderless.hil.loop.place.settings import no_place
from riderless.hil.loop.place.tracker import new_place
from riderless.hil.loop.plausibility import new_monitor
from riderless.hil.loop.resting import RESTING
from riderless.hil.loop.supervisor import NEWS, new_supervisor
from riderless.hil.loop.tick import LOOP_COUNTERS, LOOP_PULSE, ORDERS, LoopState
from riderless.hil.rig.guard import guard_of_rig
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.task import Task

SAMPLED_NEWS = 2.0  # periods by which a drive's news of its trip may be late: that of two samples may be lost
POLLED_NEWS = 0.05  # s, of a drive that answers when asked, looks at its time-out now and then, and may miss a question
SIMULATED_SESSION = 1  # of a node in simulated time, where the same seed gives the same bytes and nobody listens in


def new_loop(
    rig: Rig,
    schedule: Controller,
    calibration: np.void,
    devices: Sequence[Introduction] | None = None,
    task: Task = Task(),
    protocol: int = PROTOCOL_VERSION,
) -> LoopState:
    """Assemble a disarmed loop.

    Parameters
    ----------
    rig : Rig
        Machine to control.
    schedule : Controller
        Gains over speed.
    calibration : record of CALIBRATION
        As given by ``Calibration.as_record``.
    devices : sequence of Introduction
        One for each port, as the devices introduced themselves; by default as our node would.
    task : Task
        What it is to do beside balancing.
    protocol : int
        Version of our node's in simulated time, an older one to replay an old log.
    """
    links = links_of_rig(rig, devices, protocol)
    polled = bool(links["polled"][links["role"] & ROLE_DRIVE != 0].any())
    pulse, orders = _zero(LOOP_PULSE), _zero(ORDERS)
    pulse["dt"] = rig.dt
    pulse["expiry_ms"] = round(rig.watchdog * 1e3)
    law, signals = schedule.law(), _zero(LOOP_SIGNALS)
    signals["dt"] = rig.dt
    orders["attended"] = orders["recording"] = orders["tested"] = 1
    return LoopState(
        calibration=calibration,
        observer=rig.observer.as_record(
            rig.bicycle, rig.dt, rig.drive_lag, rig.x_imu, rig.z_imu, rig.command_delay, rig.drive, rig.rules
        ),
        limits=_limits(rig),
        tracking=reach_place(rig.place.as_record(rig.bicycle, rig.dt, rig.torque_gone)) if rig.place else no_place(),
        pace=reach_pace(rig.speed_drive.as_record(rig.limits.speed_max.value)) if rig.speed_drive else no_speed_drive(),
        asked_speeds=speed_corners(task.asked_speeds),
        law=_law_record(law),
        settings=law.settings,
        route=task.route.table(rig.drive),
        references=task.reference.samples(rig.rate),
        excitation=task.excitation.samples(rig.rate),
        freedom=task.excitation.freedom(rig.rate),
        links=links,
        clock=_zero(DEVICE_CLOCK),
        timebase=_zero(TIMEBASE),
        raw=_zero(RAW),
        sample=_zero(SAMPLE),
        estimate=_zero(ESTIMATE),
        place=new_place(),
        on_route=_zero(ON_ROUTE),
        pacing=new_pacing(),
        signals=signals,
        reference=_zero(LOOP_REFERENCE),
        law_state=np.zeros(law.states),
        wish=_zero(WISH),
        monitor=new_monitor(),
        resting=_zero(RESTING),
        news=_zero(NEWS),
        supervisor=new_supervisor(rig.watchdog, POLLED_NEWS if polled else SAMPLED_NEWS * rig.dt),
        command=_zero(COMMAND),
        counters=_zero(LOOP_COUNTERS),
        pulse=pulse,
        orders=orders,
    )


def _limits(rig: Rig) -> np.void:
    """Limits of the rig, a record of LIMITS; with that of the node's steps where its controller closes the loop."""
    limits = rig.limits.as_record(rig.drive_kind)
    if rig.closed_by == "node":
        limits["node_step"] = 1e-3 * guard_of_rig(rig, rig.calibrated()).as_record()["torque_step_mNm"]
    return limits


def _law_record(law: Law) -> np.void:
    """Part of a law that every law has, a record of LOOP_LAW."""
    record = _zero(LOOP_LAW)
    record["step"], record["slowest"], record["fastest"] = law.step, law.slowest, law.fastest
    return record


def links_of_rig(
    rig: Rig, devices: Sequence[Introduction] | None = None, protocol: int = PROTOCOL_VERSION
) -> np.ndarray:
    """Decoder and state of each port, (P,) of LINK_STATE, for devices as of `new_loop`."""
    simulated = Introduction("node", round(rig.rate), session=SIMULATED_SESSION, protocol=protocol)
    devices = devices or [simulated] * len(rig.ports)
    links = np.zeros(len(rig.ports), LINK_STATE)
    beating = any(rig.beats_at(port) for port in rig.ports)
    for i, (port, introduction) in enumerate(zip(rig.ports, devices, strict=True)):
        heartbeat = ROLE_HEARTBEAT if rig.beats_at(port) or (beating and port.role & ROLE_DRIVE) else 0
        links[i] = device(port.device).new_link(port.settings, port.role | heartbeat, rig.dt, introduction)
    return links


def _zero(dtype: np.dtype) -> np.void:
    """Make an empty record."""
    return np.zeros(1, dtype)[0]
