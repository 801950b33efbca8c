"""Own runs as Responses.

A `Response` is what the analysis takes.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from riderless.experiments.datatypes import OURS, Marker, Response
from riderless.experiments.recordings.quality.bursts import (
    AFTER_STEER_JUMP,
    answered_one_of,
    arrivals,
    came_in_bursts,
    jump_remarks,
    mean_lateness,
    steer_jumps,
)
from riderless.experiments.recordings.quality.checked import Recorded
from riderless.experiments.recordings.states import held_back_rows, released_rows
from riderless.experiments.theory.run_theory import BRIDGED_PERIODS, bridged_samples, mean_hold, theory_alone, theory_of
from riderless.hil.design.closed_loop import MEASURED_CHANNELS
from riderless.hil.logs.header import RunHeader
from riderless.hil.logs.log import RUN_FILE, Run, read_run, require_columns
from riderless.hil.loop.states import State, Verdict
from riderless.models.array_types import Array, true_spans
from riderless.models.errors import InputError
from riderless.models.linear.prescribed_steer import COMMAND_UNITS

RUN_GAPS_TOLD = 5  # gaps by name
SAME_SAMPLE_TIME = 1e-6  # s; a steer turns by no more than its encoder's step in it
CLOCK_BLOCK = 1.0  # s, over which the quickest sample tells by how much the two clocks differ
FEWEST_BLOCKS = 5
LEAST_DRIFT = 2e-4  # of the time, by which clocks run apart: two of quartz do by less
JITTERS = 4.0  # times what the quickest samples scatter by, that clocks must have run apart to be told
LEAST_BRIDGED = 0.01  # of the samples under control, from where on the loop acts later by enough to matter
MOST_POINTS = 100  # of the grid for each sample there is, beyond which the times are wrong
FEW_POINTS = 20_000
ANALYSED_COLUMNS = (
    *("k", "t", "t_host", "valid", "state", "verdict", "steer_age", "phi_dot_meas", "v_meas", "phi_est", "delta_meas"),
    *("psi_dot_meas", "T_cmd", "v_est", *MEASURED_CHANNELS),
)
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


class _ControlStart(NamedTuple):
    """First row of a run that was RUNNING: number of its tick, and time of its sample [s, device's clock]."""

    k: int
    t: float


@dataclass(frozen=True)
class RunCourse:
    """Facts about all rows of a run, known from the beginning on or as soon as they have happened."""

    origin: float  # s, device's clock at the first usable row, where the even grid begins
    began: _ControlStart | None = None  # when it was RUNNING first
    free_from: float | None = None  # s, device's clock: since then nobody holds the bicycle
    alone: bool = False  # torque went off now and then, and left the bicycle to itself
    one_of: float = 1.0  # samples for each that was answered: the pace of the loop, and of the even grid
    lane_held_back: bool = False  # heading and place were left to themselves now and then: those moments are free


def recorded_run(run: Run) -> Recorded:
    """Put a run of ours on an even grid of the device's clock; short gaps are bridged, long ones are not free."""
    require_rows(run, run.ticks)
    ticks = sampled_rows(run.ticks)
    require_samples(run, len(ticks))
    alone = bool(((ticks["verdict"].astype(np.int64) & Verdict.RELEASED) > 0).any())
    held_back = bool(run.header.excitation.held_back)
    header, bicycle = run.header, run.header.bicycle
    came, bridged = arrivals(run.ticks), bridged_samples(ticks, header.rig.rate)
    one_of = answered_one_of(header, came)
    late = mean_lateness(run, came, bridged, one_of)
    course = RunCourse(float(ticks["t"][0]), first_running(run.ticks), None, alone, one_of, held_back)
    recorded, _ = recorded_part(run, ticks, course)
    response = recorded.response
    assert response.free is not None
    return replace(
        recorded,
        response=replace(
            response,
            markers=release_markers(response.t, response.free) if alone or held_back else response.markers,
            theory=theory_alone(header) if alone else theory_of(header, bicycle, ticks, late, one_of),
            remarks=(
                *response.remarks,
                *clock_remarks(clock_differences(ticks)),
                *line_remarks(header, came, bridged, late),
            ),
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
    header, t_device = run.header, np.ascontiguousarray(ticks["t"])
    t = _grid_times(run, ticks, course, first, last)
    regular = len(t) == len(t_device) and np.abs(t - t_device).max() < SAME_SAMPLE_TIME

    def even(name: str) -> Array:
        return np.array(ticks[name], float) if regular else np.interp(t, t_device, ticks[name])

    running = even("state") == State.RUNNING
    if course.free_from is None and running.any():
        course = replace(course, free_from=float(t[int(np.argmax(running))] + _HELD))
    jumps = steer_jumps(ticks, header.rig.rate)
    free = running & _free_points(header, ticks, course, t)
    for at, _ in jumps:
        free &= (t < at) | (t > at + AFTER_STEER_JUMP)
    played = _kicks_by_drive(header, t, course.began)
    kicks = (m for m in run.markers if m.kind == "kick")
    response = Response(
        source=run.folder.name,
        kind=OURS,
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
            *(_let_go_markers(header, t, free) if course.free_from is not None and t[0] <= course.free_from else ()),
            *(() if played is None else _kick_markers(t, played)),
            *(replace(m, t=float(np.interp(m.t, ticks["t_host"], t_device))) for m in kicks),
        ),
        bicycle=header.bicycle,
        label=header.label or run.folder.name,
        remarks=(*_gap_remarks(t_device, header.rig.rate), *jump_remarks(jumps)),
    )
    columns = {"phi_dot": "phi_dot_meas", "v": "v_meas", "phi": "phi_est", "delta": "delta_meas"}
    columns |= {"psi_dot": "psi_dot_meas", "T_delta": "T_cmd", "a_z": "a_z_meas"}
    beside = {"a_z": even("a_z_meas")} if "a_z_meas" in (ticks.dtype.names or ()) else {}
    return Recorded(response, columns, beside), course


def _grid_times(run: Run, ticks: np.ndarray, course: RunCourse, first: int, last: int | None) -> Array:
    """Times of the points of a run's even grid [s, device's clock], as of `recorded_part`."""
    rate, t = run.header.rig.rate / course.one_of, ticks["t"]
    span = float(ticks["t"][-1] - ticks["t"][0])
    if not span * rate <= MOST_POINTS * len(ticks) + FEW_POINTS:
        raise InputError(
            f"wanted samples at {rate:g} Hz in the run {run.folder.name}, found {len(ticks)} over {span:.6g} s on the "
            "device's clock, most of which is gaps: the times are damaged, or the rate in the header is"
        )
    if last is None:
        last = round((t[-1] - course.origin) * rate) + 1
    if last - first < 2:
        raise InputError(
            f"the run {run.folder.name} holds {len(ticks)} usable samples over {t[-1] - t[0]:.3g} s, "
            f"less than a period at {rate:g} Hz: nothing can be analysed; times or rate are damaged"
        )
    return np.asarray(course.origin + np.arange(first, last) / rate)


def _free_points(header: RunHeader, ticks: np.ndarray, course: RunCourse, t: Array) -> np.ndarray:
    """Points (n,) of the grid in no long gap, since nobody held the bicycle, at which nothing was played."""
    rate, t_device = header.rig.rate, np.ascontiguousarray(ticks["t"])  # a column of wide rows is slow to gather from
    after = np.clip(np.searchsorted(t_device, t), 1, len(t_device) - 1)
    free = t_device[after] - t_device[after - 1] <= BRIDGED_PERIODS / rate
    if course.free_from is not None:
        free &= t >= course.free_from
    if course.alone:
        return np.asarray(free & (np.interp(t, t_device, released_rows(ticks, rate, header.rig.drive_lag)) > 0.99))
    if course.lane_held_back:
        free &= np.interp(t, t_device, held_back_rows(ticks, header.rig)) > 0.99
    played = _torque_since(header, ticks, course.began) != 0.0
    return np.asarray(free & (np.interp(t, t_device, played) == 0.0)) if played.any() else free


def _gap_remarks(t: Array, rate: float) -> tuple[str, ...]:
    """Say between which samples of the device's clock [s] the first long gaps are."""
    gaps = np.flatnonzero(np.diff(t) > BRIDGED_PERIODS / rate)[:RUN_GAPS_TOLD]
    return tuple(f"t: no samples from {t[i]:.3f} to {t[i + 1]:.3f} s, not free" for i in gaps)


def clock_differences(ticks: np.ndarray) -> Array:
    """Device's time, and host's less device's of the quickest sample [s], for each block of usable rows; (m, 2)."""
    t, apart = ticks["t"], ticks["t_host"] - ticks["t"]
    first = np.flatnonzero(np.diff(t // CLOCK_BLOCK, prepend=-np.inf))
    return np.column_stack([t[first], np.minimum.reduceat(apart, first)])


def clock_remarks(differences: Array) -> tuple[str, ...]:
    """Say that the device's clock runs another way than the host's, from `clock_differences` (m, 2) of a whole run.

    A busy host takes samples late, never early; what scatter of the quickest ones could make is no drift.
    """
    known = differences[np.isfinite(differences).all(axis=1)]
    if len(known) < FEWEST_BLOCKS:
        return ()
    t, apart = (known - known.mean(axis=0)).T
    drift = float(t @ apart / (t @ t))
    if abs(drift) < LEAST_DRIFT or abs(drift) * np.ptp(t) < JITTERS * np.ptp(apart - drift * t):
        return ()
    slow, high = ("slow", "high") if drift > 0.0 else ("fast", "low")
    return (
        f"t: the device's clock is {100.0 * abs(drift):.2g} % too {slow} by the host's, so that speed, decay and "
        f"frequency read that much too {high}, and a true model may be rejected: give the device a clock of quartz",
    )


def line_remarks(header: RunHeader, came: Array, bridged: Array, late: float) -> tuple[str, ...]:
    """Say that samples came in bursts, else which share of them was missing or no good.

    Parameters
    ----------
    header : RunHeader
    came : (4,) array
        As of `arrivals`.
    bridged : (3,) array
        As of `bridged_samples`.
    late : float
        As of `mean_lateness` [s].
    """
    rate = header.rig.rate
    if header.closed_by == "node":
        missing, due, _ = bridged
        if missing < LEAST_BRIDGED * max(due, 1.0):
            return ()
        return (
            f"t: {100.0 * missing / due:.2g} % of the samples under control are missing or no good; gaps are bridged. "
            "The node closed the loop, so that its torque was not late for what was lost on the line",
        )
    if not came_in_bursts(came):
        return _bridged_remarks(bridged, rate)
    at_once = came[2] / came[1]
    return (
        f"t: samples came in bursts, {at_once:.2g} at a time every {1e3 * at_once / rate:.2g} ms, so that the torque "
        f"was late; theory has the loop that much slower and its torque {1e3 * late:.2g} ms later for them, the mean "
        "of the run: set the latency timer of the USB adapter to 1 ms (docs/latency.md)",
    )


def _bridged_remarks(counts: Array, rate: float) -> tuple[str, ...]:
    """Say which share of a run's samples was bridged, from `bridged_samples` of all its rows at ``rate`` [Hz]."""
    missing, due, _ = counts
    if missing < LEAST_BRIDGED * max(due, 1.0):
        return ()
    return (
        f"t: {100.0 * missing / due:.2g} % of the samples under control are missing or no good; gaps are bridged, and "
        f"theory has the torque {1e3 * mean_hold(counts, rate):.2g} ms later for them, the mean of the run: look for a "
        "sensor or line that fails, for a true model may be rejected where they come unevenly",
    )


def _rows(ticks: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """Select rows, without a copy where all are kept: a long run has hundreds of megabytes."""
    return ticks if keep.all() else ticks[keep]


def release_markers(t: Array, free: np.ndarray) -> tuple[Marker, ...]:
    """Place a marker where each free part begins."""
    return tuple(Marker(float(t[first]), "release") for first, _ in true_spans(free))


def _let_go_markers(header: RunHeader, t: Array, free: np.ndarray) -> tuple[Marker, ...]:
    """Place a marker where the free part begins, if an emulated bicycle is let go there with an initial state."""
    moved = any(float(value) != 0.0 for value in header.scenario.get("x0", ()))
    return (Marker(float(t[int(np.argmax(free))]), "let go"),) if moved and free.any() else ()


def first_running(ticks: np.ndarray) -> _ControlStart | None:
    """First row that was RUNNING, if one was."""
    running = np.flatnonzero(ticks["state"] == State.RUNNING)
    return _ControlStart(int(ticks["k"][running[0]]), float(ticks["t"][running[0]])) if len(running) else None


def played_torque(run: Run, ticks: np.ndarray) -> Array:
    """Torque of the excitation [N m] at rows ``ticks`` (n,) of a run: it begins one period after RUNNING does."""
    return _torque_since(run.header, ticks, first_running(run.ticks))


def _torque_since(header: RunHeader, ticks: np.ndarray, began: _ControlStart | None) -> Array:
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


def _kicks_by_drive(header: RunHeader, t: Array, began: _ControlStart | None) -> Array | None:
    """Torque of the drive's kicks [N m] at times ``t`` (n,) of the device's clock; None where it did not kick."""
    if header.excitation.kind != "kicks" or began is None:
        return None
    samples = np.append(header.excitation.samples(header.rig.rate), 0.0)
    place = (t - began.t) * header.rig.rate - 1.0
    return np.interp(place, np.arange(len(samples)), samples, left=0.0, right=0.0)


def _kick_markers(t: Array, played: Array) -> tuple[Marker, ...]:
    """Place a marker where each kick of the drive is over, for nothing before is free."""
    on = np.abs(played) > 0.0
    return tuple(Marker(float(t[i + 1]), "kick") for i in np.flatnonzero(on[:-1] & ~on[1:]))
