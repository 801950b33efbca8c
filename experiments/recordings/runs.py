"""Runs of our own as a Response, the noun that the analysis takes."""

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from experiments.datatypes import Dynamics, Marker, Response
from experiments.dynamics import SAMPLED_LOOP, Theory
from experiments.mechanics import Mechanics
from experiments.recordings.checked import Recorded
from experiments.recordings.states import held_back_rows, released_rows
from experiments.theory.theory import open_loop, steer_torque_rates
from firmware_interface.devices.link import ROLE_PLACE
from firmware_interface.devices.registry import device
from hil.controllers.controller import Controller
from hil.design.closed_loop import MEASURED_CHANNELS, SampledLoop
from hil.design.lane import hold_lane_back
from hil.design.sampled_plant import BICYCLE_PART, T_DRIVE
from hil.design.schedule import GainSchedule
from hil.logs.header import RunHeader
from hil.logs.log import RUN_FILE, Run, read_run, require_columns
from hil.loop.states import State, Verdict
from hil.rig.rig import Rig
from models.array_types import Array
from models.errors import InputError
from models.linear.perturbed import Variant
from models.linear.prescribed_steer import COMMAND_UNITS
from models.linear.zero_order_hold import zoh
from models.parameters import Bicycle
from models.plant.drive_losses import DriveLosses

BRIDGED_PERIODS = 4.5  # periods; weave turns by less than a tenth of a radian over as many at 200 Hz
RUN_GAPS_TOLD = 5  # gaps by name
SAME_SAMPLE_TIME = 1e-6  # s; a steer turns by no more than its encoder's step in it
SPEEDS_KEPT = 64  # speeds
LEAST_NOISE_ROWS = 100
MOST_POINTS = 100  # of the grid for each sample there is, beyond which the times are wrong
FEW_POINTS = 20_000
ANALYSED_COLUMNS = (
    *("k", "t", "t_host", "valid", "state", "verdict", "steer_age", "phi_dot_meas", "v_meas", "phi_est", "delta_meas"),
    *("psi_dot_meas", "T_cmd", "v_est", *MEASURED_CHANNELS),
)
MILLIMETRE_STEP = 12.0**-0.5  # mm, of a fix in whole millimetres
LINEAR_MODEL = "linear"  # of `models.plant.records.PLANT_MODELS`
_HELD = 0.55  # s after RUNNING began during which hands may still be on the bicycle


def run_of(path: Path) -> Run:
    """Read a run without its raw bytes; the last one is kept, because the report wants it again."""
    file = path / RUN_FILE if path.is_dir() else path
    if not file.exists():
        return read_run(path)  # says what is missing
    about = file.stat()
    return _run_of(path, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=1)
def _run_of(path: Path, mtime: int, size: int) -> Run:
    return read_run(path, everything=False, stored=True)


class ControlStart(NamedTuple):
    """First row of a run that was RUNNING: number of its tick, and time of its sample [s, device's clock]."""

    k: int
    t: float


@dataclass(frozen=True)
class RunCourse:
    """Facts about all rows of a run, known from the beginning on or as soon as they have happened."""

    origin: float  # s, device's clock at the first usable row, where the even grid begins
    began: ControlStart | None = None  # when it was RUNNING first
    free_from: float | None = None  # s, device's clock: since then nobody holds the bicycle
    alone: bool = False  # torque went off now and then, and left the bicycle to itself
    lane_held_back: bool = False  # heading and place were left to themselves now and then: those moments are free


def recorded_run(run: Run) -> Recorded:
    """Put a run of ours on an even grid of the device's clock; short gaps are bridged, long ones are not free."""
    require_rows(run, run.ticks)
    ticks = sampled_rows(run.ticks)
    require_samples(run, len(ticks))
    alone = bool(((ticks["verdict"].astype(np.int64) & Verdict.RELEASED) > 0).any())
    held_back = bool(run.header.excitation.held_back)
    course = RunCourse(float(ticks["t"][0]), first_running(run.ticks), None, alone, held_back)
    recorded, _ = recorded_part(run, ticks, course)
    header, bicycle, response = run.header, run.header.bicycle, recorded.response
    assert response.free is not None
    return replace(
        recorded,
        response=replace(
            response,
            markers=release_markers(response.t, response.free) if alone or held_back else response.markers,
            theory=theory_alone(header) if alone else theory_of(header, bicycle, ticks),
        ),
    )


def require_rows(run: Run, ticks: np.ndarray) -> None:
    """Refuse rows that lack a column the analysis needs, or tell of a state that no machine has."""
    require_columns(ticks.dtype, ANALYSED_COLUMNS, run.folder)
    unknown = np.setdiff1d(ticks["state"], [int(state) for state in State])
    if len(unknown):
        raise InputError(
            f"wanted states among {', '.join(f'{state.name} {state.value}' for state in State)} in the rows of "
            f"{run.folder}, found {unknown[0]}: the log is damaged, or a later version made it ({run.header.made_by})"
        )


def require_samples(run: Run, n: int) -> None:
    """Refuse a run with fewer than two usable samples."""
    if n < 2:
        raise InputError(
            f"the run {run.folder.name} holds {n} usable samples ({run.stop.cause}): nothing can be analysed"
        )


def sampled_rows(ticks: np.ndarray) -> np.ndarray:
    """Rows with a sample of its own, each later by the device's clock than all before it."""
    ticks = _rows(ticks, (ticks["valid"] == 1) & np.isfinite(ticks["t"]))
    t = ticks["t"]
    return _rows(ticks, np.concatenate([[True], t[1:] > np.maximum.accumulate(t)[:-1]])) if len(ticks) else ticks


def recorded_part(
    run: Run, ticks: np.ndarray, course: RunCourse, first: int = 0, last: int | None = None
) -> tuple[Recorded, RunCourse]:
    """Put usable rows of a run on its even grid; also the course of the run as far as these rows tell.

    Parameters
    ----------
    run : Run
        Its header, markers and name are used.
    ticks : (n,) array
        Usable rows that reach from before the first point to behind the last.
    course : RunCourse
    first, last : int
        Points of the grid, the last excluded; None as far as the rows reach.
    """
    header, rate = run.header, run.header.rig.rate
    t_device = ticks["t"]
    _require_dense(run, ticks, rate)
    if last is None:
        last = round((t_device[-1] - course.origin) * rate) + 1
    if last - first < 2:
        raise InputError(
            f"the run {run.folder.name} holds {len(ticks)} usable samples over {t_device[-1] - t_device[0]:.3g} s, "
            f"less than a period at {rate:g} Hz: nothing can be analysed; its times or the rate in its header are damaged"
        )
    t = course.origin + np.arange(first, last) / rate
    regular = len(t) == len(t_device) and np.abs(t - t_device).max() < SAME_SAMPLE_TIME

    def even(name: str) -> Array:
        return np.array(ticks[name], float) if regular else np.interp(t, t_device, ticks[name])

    nearest = np.clip(np.searchsorted(t_device, t), 1, len(t_device) - 1)
    gap = t_device[nearest] - t_device[nearest - 1] > BRIDGED_PERIODS / rate
    running = even("state") == State.RUNNING
    begun = np.flatnonzero(running)
    free = running & ~gap
    if course.free_from is None and len(begun):
        course = replace(course, free_from=float(t[begun[0]] + _HELD))
    if course.free_from is not None:
        free &= t >= course.free_from
    if course.alone:
        free &= np.interp(t, t_device, released_rows(ticks, rate, header.rig.drive_lag)) > 0.99
    else:
        if course.lane_held_back:
            free &= np.interp(t, t_device, held_back_rows(ticks, header.rig)) > 0.99
        free &= np.interp(t, t_device, _torque_since(run.header, ticks, course.began) != 0.0) == 0.0
    played = kicks_by_drive(run.header, t, course.began)
    kicks = (m for m in run.markers if m.kind == "kick")
    response = Response(
        source=run.folder.name,
        kind="riderless",
        t=t,
        phi_dot=even("phi_dot_meas"),
        v=even("v_meas"),
        phi=even("phi_est"),
        delta=np.interp(t, t_device - ticks["steer_age"], ticks["delta_meas"]),
        psi_dot=even("psi_dot_meas"),
        T_delta=even("T_cmd"),
        command_unit=COMMAND_UNITS[header.drive_kind],
        steer_late=header.rig.drive.lag if header.rig.drive else 0.0,
        T_played=played,
        v_read=even("v_est"),
        free=free,
        # marked on the host's clock; the rows tell what the device's clock said then
        markers=(
            *(let_go_markers(header, t, free) if course.free_from is not None and t[0] <= course.free_from else ()),
            *(() if played is None else kick_markers(t, played)),
            *(replace(m, t=float(np.interp(m.t, ticks["t_host"], t_device))) for m in kicks),
        ),
        bicycle=header.bicycle,
        label=header.label or run.folder.name,
        remarks=tuple(
            f"t: no samples from {t_device[i]:.3f} to {t_device[i + 1]:.3f} s, not free"
            for i in np.flatnonzero(np.diff(t_device) > BRIDGED_PERIODS / rate)[:RUN_GAPS_TOLD]
        ),
    )
    columns = {"phi_dot": "phi_dot_meas", "v": "v_meas", "phi": "phi_est", "delta": "delta_meas"}
    columns |= {"psi_dot": "psi_dot_meas", "T_delta": "T_cmd", "a_z": "a_z_meas"}
    beside = {"a_z": even("a_z_meas")} if "a_z_meas" in (ticks.dtype.names or ()) else {}
    return Recorded(response, columns, beside), course


def _require_dense(run: Run, ticks: np.ndarray, rate: float) -> None:
    """Refuse rows over so long a time that nearly all of the grid would be gaps."""
    span = float(ticks["t"][-1] - ticks["t"][0])
    if not span * rate <= MOST_POINTS * len(ticks) + FEW_POINTS:
        raise InputError(
            f"wanted samples at {rate:g} Hz in the run {run.folder.name}, found {len(ticks)} over {span:.6g} s on the "
            "device's clock, most of which is gaps: the times are damaged, or the rate in the header is"
        )


def _rows(ticks: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """Select rows, without a copy where all are kept: a long run has hundreds of megabytes."""
    return ticks if keep.all() else ticks[keep]


def release_markers(t: Array, free: np.ndarray) -> tuple[Marker, ...]:
    """Place a marker where each free part begins."""
    return tuple(Marker(float(t[i]), "release") for i in np.flatnonzero(np.diff(free.astype(int), prepend=0) > 0))


def let_go_markers(header: RunHeader, t: Array, free: np.ndarray) -> tuple[Marker, ...]:
    """Place a marker where the free part begins, if an emulated bicycle is let go there with an initial state."""
    moved = any(float(value) != 0.0 for value in header.scenario.get("x0", ()))
    return (Marker(float(t[int(np.argmax(free))]), "let go"),) if moved and free.any() else ()


def first_running(ticks: np.ndarray) -> ControlStart | None:
    """First row that was RUNNING, if one was."""
    running = np.flatnonzero(ticks["state"] == State.RUNNING)
    return ControlStart(int(ticks["k"][running[0]]), float(ticks["t"][running[0]])) if len(running) else None


def played_torque(run: Run, ticks: np.ndarray) -> Array:
    """Torque of the excitation [N m] at rows ``ticks`` (n,) of a run: it begins one period after RUNNING does."""
    return _torque_since(run.header, ticks, first_running(run.ticks))


def _torque_since(header: RunHeader, ticks: np.ndarray, began: ControlStart | None) -> Array:
    """Torque of the excitation [N m] at rows (n,) of a run that was RUNNING since ``began``."""
    if began is None:
        return np.zeros(len(ticks))
    samples = header.excitation.samples(header.rig.rate)
    if header.excitation_clock == "device":
        n = np.rint((ticks["t"] - began.t) * header.rig.rate).astype(np.int64) - 1
    else:  # the difference of unsigned numbers, as it wraps
        n = (ticks["k"] - np.uint64(began.k)).astype(np.int64) - 1
    inside = (n >= 0) & (n < len(samples))
    return np.where(inside, np.append(samples, 0.0)[np.where(inside, n, -1)], 0.0)


def kicks_by_drive(header: RunHeader, t: Array, began: ControlStart | None) -> Array | None:
    """Torque of the drive's kicks [N m] at times ``t`` (n,) of the device's clock; None where it did not kick."""
    if header.excitation.kind != "kicks" or began is None:
        return None
    samples = np.append(header.excitation.samples(header.rig.rate), 0.0)
    place = (t - began.t) * header.rig.rate - 1.0
    return np.interp(place, np.arange(len(samples)), samples, left=0.0, right=0.0)


def kick_markers(t: Array, played: Array) -> tuple[Marker, ...]:
    """Place a marker where each kick of the drive is over, for nothing before is free."""
    on = np.abs(played) > 0.0
    return tuple(Marker(float(t[i + 1]), "kick") for i in np.flatnonzero(on[:-1] & ~on[1:]))


def instrument_noise(ticks: np.ndarray) -> Array:
    """Standard deviations (4,) of white noise in the readings of `MEASURED_CHANNELS`, while RUNNING.

    From third differences: motion is smooth over four samples, noise and the steps of an encoder are not.
    Third differences of white noise have 20 times its variance.
    """
    running = ticks["state"] == State.RUNNING
    if np.count_nonzero(running) < LEAST_NOISE_ROWS:
        return np.zeros(len(MEASURED_CHANNELS))
    differences = np.array([np.diff(ticks[name][running], 3) for name in MEASURED_CHANNELS])
    return np.sqrt(np.mean(differences**2, axis=1) / 20.0)


def theory_of(header: RunHeader, bicycle: Bicycle, ticks: np.ndarray) -> Theory:
    """Theory of what moves in a run: the bicycle alone with torque off, else the whole sampled loop."""
    return theory_with(header, bicycle, instrument_noise(ticks), float(np.median(ticks["steer_age"])))


def theory_with(header: RunHeader, bicycle: Bicycle, noise: Array, steer_age: float) -> Theory:
    """Theory of what moves in a run whose instruments are as noisy and as late as given.

    Parameters
    ----------
    header : RunHeader
    bicycle : Bicycle
    noise : (4,) array
        As `instrument_noise` gives it.
    steer_age : float
        How much older the steer angle is than the inertial readings [s].
    """
    rig = replace(header.rig, bicycle=bicycle)
    if header.controller == "off":
        axis = DriveLosses(friction=rig.losses.friction)
        return replace(open_loop(bicycle), std=rig.std, linear=is_linear(header), losses=axis)
    schedule, name = header.schedule, header.controller
    if header.excitation.held_back and isinstance(schedule, GainSchedule):
        schedule, name = hold_lane_back(schedule), f"{name}, held back"
    return replace(loop_theory(rig, schedule, name, noise, steer_age), linear=is_linear(header))


def loop_theory(rig: Rig, schedule: Controller, name: str, noise: Array, steer_age: float = 0.0) -> Theory:
    """Theory of a rig's whole sampled loop under a controller.

    Parameters
    ----------
    rig : Rig
    schedule : Controller
    name : str
        What the controller is called.
    noise : (4,) array
        Standard deviation of each reading, in the order of `MEASURED_CHANNELS`.
    steer_age : float
        How much older the steer angle is than the inertial readings [s].
    """

    sigma = fix_deviation(rig)

    def build(real: Variant, more_delay: float) -> Dynamics:
        loop = SampledLoop.of_rig(rig, schedule, steer_age=steer_age, real=real, more_delay=more_delay)
        return Dynamics(
            name=f"{SAMPLED_LOOP}{name}",
            states=loop.states,
            matrix=lru_cache(SPEEDS_KEPT)(loop.matrix),  # every window asks for that of its mean speed several times
            output=loop.output,
            embed=lru_cache(SPEEDS_KEPT)(loop.embed),
            dt=loop.dt,
            hidden=lru_cache(SPEEDS_KEPT)(loop.hidden_starts),
            misread=lru_cache(SPEEDS_KEPT)(loop.misread),
            noise=lambda v: np.column_stack([loop.noise(v, noise), loop.place_noise(v, sigma)]),
            reading={
                channel.removesuffix("_meas"): np.append(row, 0.0)
                for channel, row in zip(MEASURED_CHANNELS, np.diag(noise), strict=True)
            },
            mechanics=Mechanics(
                real.bicycle,
                real.matrices,
                real.speed_scale,
                torque=real.drive_gain * np.eye(len(loop.states))[T_DRIVE],
                readings=lambda v: loop.noise(v, np.ones(len(MEASURED_CHANNELS))),
                instruments=loop.instruments,
                x_imu=rig.x_imu,
                z_imu=rig.z_imu,
            ),
            steer_torque=lambda v: _steer_torque_after(loop, v),
            drive=lambda v: real.drive_gain * np.eye(len(loop.states))[T_DRIVE],
            command=loop.input_vector,
        )

    return Theory(
        f"{SAMPLED_LOOP}{name}",
        rig.bicycle,
        build,
        rig.std,
        {"drive_gain": rig.losses.gain} if rig.losses.gain != 1.0 else {},
        losses=rig.losses,
        known_delay=rig.dt if rig.command_delay is None else rig.command_delay,
    )


def fix_deviation(rig: Rig) -> float:
    """Standard deviation [m] of a fix of place if one came with every sample; 0 without a sensor that tells."""
    for port in rig.ports:
        settings = device(port.device).settled(port.settings) if port.role & ROLE_PLACE else {}
        if {"sigma_mm", "rate_Hz"} <= settings.keys():
            every_sample = max(rig.rate / settings["rate_Hz"], 1.0)
            return float(1e-3 * np.hypot(settings["sigma_mm"], MILLIMETRE_STEP) * np.sqrt(every_sample))
    return 0.0


def theory_alone(header: RunHeader) -> Theory:
    """Theory of a run whose bicycle was left to itself now and then."""
    axis = DriveLosses(friction=header.rig.losses.friction)
    return replace(open_loop(header.bicycle), linear=is_linear(header), losses=axis)


def is_linear(header: RunHeader) -> bool:
    """Say whether a run's machine was emulated by linear equations, which hold however far it leans."""
    known = "" if not header.scenario else LINEAR_MODEL  # emulated before a header named its model
    return header.emulation.get("model", known) == LINEAR_MODEL


def _steer_torque_after(loop: SampledLoop, v: float) -> Array:
    """Change of the loop's state after one sample per N m held on the steer axis, (m,), at speed ``v`` [m/s].

    What such a torque does to the accelerometer within that sample is left out: the observer follows it slowly.
    """
    change = np.zeros(len(loop.states))
    _, held = zoh(loop.real.system(v)[0], steer_torque_rates(loop.real.matrices(v)[0])[:, np.newaxis], loop.dt)
    change[BICYCLE_PART] = held[:, 0]
    return change
