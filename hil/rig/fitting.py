"""Check that gains fit a machine.

Every way to run them asks here: `run`, `simulate`, campaigns, and the same from Python.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import isclose

import numpy as np

from riderless.hil.controllers.controller import Controller
from riderless.hil.design.closed_loop import MIN_DELAY
from riderless.hil.design.sampled_plant import LoopTiming
from riderless.hil.design.schedule import needs_place, require_same_kind
from riderless.hil.guidance.route import Route
from riderless.hil.loop.excitation import Excitation
from riderless.hil.loop.law import REFERENCES
from riderless.hil.loop.limits import WATCHDOG_RANGE, Limit, Limits
from riderless.hil.loop.place.settings import PlaceSettings
from riderless.hil.loop.reference import Reference
from riderless.hil.rig.on_board import require_closable
from riderless.hil.rig.rig import Rig, RigPort
from riderless.hil.rig.task import Task
from riderless.models.errors import InputError
from riderless.models.linear.path import farthest_contact
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.parameters import DISPENSABLE, PARAMETERS, Bicycle

MOST_ACROSS = 0.5  # rad, off the lane, up to which a place across it tells enough of the heading
EMULATED_DATUM = {"lat_deg": 52.0116, "lon_deg": 4.3571, "lane_deg": 30.0}
EMULATED_RTK = PlaceSettings(gate=0.3, lost_after=0.6, bandwidth=1.5, z=-1.0)  # 20 mm, 10 Hz, 80 ms
START_MARGIN = 2.5  # s of arming beside what the treadmill takes to its speed
SAME_PARAMETER = 1e-6  # relative; files keep every digit
SAME_DELAY = 0.1  # samples: less than the beat of a drive that obeys when its command comes
QUICKEST_DRIVE = 1e-4  # s; the whole loop has a drive with a lag, and a rig none quicker
SAME_LAG = 0.1  # of the lag itself: a calibration measures it anew, and no better
TOLD_PARAMETERS = 3  # of those that differ, by name


def require_fitting(rig: Rig, schedule: Controller, allow_mismatch: bool = False) -> None:
    """Refuse gains that command something else than the rig's drive obeys, or are for another rate, bicycle or delay.

    Parameters
    ----------
    rig : Rig
    schedule : Controller
    allow_mismatch : bool
        Another bicycle, delay and lag of the drive are wanted: an experiment with a wrong controller. Neither the rate
        is free nor what the drive obeys.

    Raises
    ------
    InputError
    """
    require_same_kind(schedule, rig.drive)
    if needs_place(schedule) and rig.place is None:
        raise InputError(
            f"the controller {schedule.method} uses heading and place, but the rig '{rig.name}' has no sensor of "
            'place: add a [[port]] with carries = ["place"] and a table [place] to the rig, or take one without them'
        )
    if abs(schedule.loop.rate - rig.rate) > 1e-6 * rig.rate:
        raise InputError(
            f"the gains were designed for {schedule.loop.rate:g} Hz but the rig runs at {rig.rate:g} Hz: "
            f"design them again with --rate {rig.rate:g}"
        )
    mismatch = describe_mismatch(schedule, rig.bicycle, rig.timing, rig.drive)
    if mismatch and not allow_mismatch:
        raise InputError(
            f"the gains {mismatch}, or run them all the same with --allow-mismatch (in Python allow_mismatch=True)"
        )


def require_task(rig: Rig, schedule: Controller, task: Task, linear: bool = False) -> None:
    """Refuse a task that the rig or the controller cannot do; raises InputError.

    Parameters
    ----------
    rig : Rig
    schedule : Controller
    task : Task
    linear : bool
        The bicycle is the emulated one, with linear equations of motion.
    """
    require_closable(rig, schedule, task)
    require_followed(schedule, task.reference)
    require_speeds_asked(rig, task.asked_speeds)
    require_playable_on(rig, task.excitation)
    require_route_kept(rig, schedule, task.route, linear)


def require_playable_on(rig: Rig, excitation: Excitation) -> None:
    """Refuse releases on a drive that obeys a steer rate or angle: it cannot let go; raises InputError."""
    if rig.drive is not None and excitation.releases:
        raise InputError(
            f"a release takes the torque off, but the drive of the rig '{rig.name}' obeys a steer {rig.drive_kind} "
            f"[{rig.drive.unit}] and would hold the steer where it is: kick the bicycle, play a signal on top of the "
            "command, hold back a lane, or take a rig with a torque drive"
        )


def require_followed(schedule: Controller, reference: Reference) -> None:
    """Refuse a reference that the controller does not follow; raises InputError."""
    for name in reference.used:
        if name not in schedule.inputs:
            follows = [each for each in schedule.inputs if each in REFERENCES]
            raise InputError(
                f"the controller {schedule.method} follows {', '.join(follows) or 'no reference'}, found "
                f"one of {name}: leave it out, or take a controller that does, such as yaw_rate"
            )


def require_route_kept(rig: Rig, schedule: Controller | None, route: Route, linear: bool = False) -> None:
    """Refuse a route under a controller that keeps no lane, off the belt, or too winding.

    Parameters
    ----------
    rig : Rig
    schedule : Controller or None
        None: of which controller nothing is known yet.
    route : Route
    linear : bool
        The bicycle is the emulated one, with linear equations of motion: those know small headings only.

    Raises
    ------
    InputError
    """
    if not route.rows:
        return
    if schedule is not None and "y_P" not in schedule.inputs:
        raise InputError(
            f"the controller {schedule.method} keeps no lane, so it follows no path such as {route.name}: take gains "
            "of the method lane"
        )
    table, sensors = route.table(), [port.device for port in rig.ports if "place" in port.carries]
    turned = float(np.abs(table[:, 3]).max())
    across_only = "distance" in sensors or (rig.place is not None and rig.place.belt_width is not None)
    if across_only and turned > MOST_ACROSS:
        raise InputError(
            f"the path {route.name} turns by {np.degrees(turned):.0f} deg off the lane, and a place known across "
            f"the lane alone serves up to {np.degrees(MOST_ACROSS):.0f} deg: take a sensor that tells x too, off a belt"
        )
    if linear and turned > MOST_ACROSS:
        raise InputError(
            f"the path {route.name} turns by {np.degrees(turned):.0f} deg off the lane, and the linear plant knows "
            'small headings only: take the nonlinear one, model="nonlinear" or --model nonlinear'
        )
    if rig.place is not None and rig.place.belt_width is not None:
        farthest = float(farthest_contact(rig.bicycle, table[:, 2], table[:, 3]).max())
        if farthest > rig.place.edge:
            raise InputError(
                f"the path {route.name} leads a wheel {farthest:.2f} m from the middle, and the belt's edge less the "
                f"margin is at {rig.place.edge:.2f} m: choose a narrower path"
            )


def require_speeds_asked(rig: Rig, requested: Sequence[tuple[float, float]]) -> None:
    """Refuse speeds asked of a rig without a treadmill, none of one with it, and a start that takes too long.

    Parameters
    ----------
    rig : Rig
    requested : sequence of (s, m/s)
        Corners of the requested speed.

    Raises
    ------
    InputError
    """
    if bool(len(requested)) != (rig.speed_drive is not None):
        speeds = "none" if rig.speed_drive else "some, and the rig has no [speed_drive]"
        raise InputError(
            f"a rig with a treadmill or wheel drive wants to be asked for a speed, found {speeds}: correct --speed"
        )
    if rig.speed_drive is None:
        return
    keeper = next(port.device for port in rig.ports if "speed" in port.carries)
    slowest, fastest = rig.limits.speed_min.value, rig.limits.speed_max.value
    for _, v in requested:
        if not slowest <= v <= fastest:
            raise InputError(
                f"the {keeper} is asked for {v:g} m/s, and the rig's limits are {slowest:g} to {fastest:g} m/s: "
                "choose a speed between them"
            )
    start, given = requested[0][1] / rig.speed_drive.ramp + START_MARGIN, rig.limits.check_timeout.value
    if start > given:
        raise InputError(
            f"the {keeper} takes {start:.0f} s to {requested[0][1]:g} m/s, and arming is given up after {given:g} s: "
            "set [limits.check_timeout] or ramp_m_per_s2 of the rig higher, or begin slower"
        )


def emulated_rig(bicycle: Bicycle, schedule: Controller) -> Rig:
    """Make the emulated rig that a controller was made for: its rate, delay, lag and kind of drive.

    Its time-outs are five periods of a slow loop, and never shorter than usual. Under one that keeps a lane it has a
    distance sensor across the belt.
    """
    loop, drive = schedule.loop, schedule.drive
    delay = None if loop.delay == 1 else max(loop.delay * loop.dt, MIN_DELAY)
    lag = max(loop.drive_lag, QUICKEST_DRIVE) if drive is None else Rig.drive_lag
    time_out = max(min(5.0 * loop.dt, WATCHDOG_RANGE[1]), Rig.watchdog)
    limits = Limits(stale=max(Limits.stale, Limit(time_out, "s", "five periods of the loop"), key=lambda x: x.value))
    rig = Rig(
        bicycle, rate=loop.rate, drive=drive, drive_lag=lag, command_delay=delay, watchdog=time_out, limits=limits
    )
    return with_emulated_place(rig) if needs_place(schedule) else rig


def with_emulated_place(rig: Rig, belt_width: float | None = None) -> Rig:
    """Add a distance sensor across the belt to a rig that has no sensor of place; ``belt_width`` [m], None: no edge."""
    if rig.place is not None:
        return rig
    sensor = RigPort(device="distance", baud=115200, carries=("place",))
    return replace(rig, ports=(*rig.ports, sensor), place=PlaceSettings(belt_width=belt_width))


def with_emulated_receiver(rig: Rig) -> Rig:
    """Add a satellite receiver with RTK to a rig that has no sensor of place: it tells x too, off a belt."""
    if rig.place is not None:
        return rig
    sensor = RigPort(device="ubx", baud=115200, carries=("place",), settings=EMULATED_DATUM)
    return replace(rig, ports=(*rig.ports, sensor), place=EMULATED_RTK)


def describe_mismatch(
    schedule: Controller, bicycle: Bicycle, timing: LoopTiming, drive: InnerLoop | None = None
) -> str:
    """Describe what gains were designed for and do not meet, and the remedy; empty if they fit, or are all zero.

    Parameters
    ----------
    schedule : Controller
    bicycle, timing, drive
        Of the rig; the drive is of the kind that the gains command.
    """
    if schedule.is_off:
        return ""  # no torque suits every bicycle
    designed = schedule.bicycle
    linear = [name for name in PARAMETERS if name not in DISPENSABLE]
    others = [p for p in linear if not isclose(getattr(designed, p), getattr(bicycle, p), rel_tol=SAME_PARAMETER)]
    if others and designed.name != bicycle.name:
        return f"were designed for {designed.name}, not for {bicycle.name}: design them for it"
    if others:
        differences = ", ".join(
            f"{name} {getattr(designed, name):.6g}, not {getattr(bicycle, name):.6g} {PARAMETERS[name][0]}"
            for name in others[:TOLD_PARAMETERS]
        )
        more = f" and {len(others) - TOLD_PARAMETERS} more" if len(others) > TOLD_PARAMETERS else ""
        return f"were designed for another {designed.name} ({differences}{more}): design them again"
    if (designed_for := schedule.drive) and drive and not _alike(designed_for, drive):
        return (
            f"were designed for {_loop_in_words(designed_for)}, not for {_loop_in_words(drive)}: design them again "
            f"with --drive {drive.kind} --bandwidth {drive.bandwidth:.6g}"
            + (f" --damping {drive.damping:.6g}" if drive.damping is not None else "")
        )
    late = abs(schedule.loop.delay - timing.delay) > SAME_DELAY
    if late or not isclose(schedule.loop.drive_lag, timing.drive_lag, rel_tol=SAME_LAG, abs_tol=QUICKEST_DRIVE):
        return (
            f"were designed for {_in_words(schedule.loop)}, not for {_in_words(timing)}: design them again with "
            f"--delay {timing.delay:.4g} --drive-lag {timing.drive_lag:.4g}"
            + (f" --rate {timing.rate:g}" if timing.rate != LoopTiming().rate else "")
        )
    return ""


def _alike(loop: InnerLoop, other: InnerLoop) -> bool:
    """Tell whether two inner loops are as quick and as damped as each other."""
    if loop.damping is None or other.damping is None:
        return loop.damping == other.damping and isclose(loop.bandwidth, other.bandwidth, rel_tol=SAME_LAG)
    return all(isclose(getattr(loop, n), getattr(other, n), rel_tol=SAME_LAG) for n in ("bandwidth", "damping"))


def _loop_in_words(loop: InnerLoop) -> str:
    damping = "no damping" if loop.damping is None else f"damping {loop.damping:.4g}"
    return f"a {loop.kind} drive of {loop.bandwidth:.4g} rad/s and {damping}"


def _in_words(timing: LoopTiming) -> str:
    samples = "sample" if timing.delay == 1 else "samples"
    return f"a delay of {timing.delay:.4g} {samples} and a drive lag of {1e3 * timing.drive_lag:.4g} ms"
