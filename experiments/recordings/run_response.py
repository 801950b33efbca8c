"""Response of an own run, in stretches.

It is what the analysis takes; a long run is read stretch by stretch. Each stretch is put on the even grid, inspected
and averaged like a run of its own, with some seconds of its neighbours on either side, so that nothing happens at a
seam; only the averages are kept, in temporary files.
"""

import mmap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from tempfile import TemporaryFile, gettempdir
from typing import Any, cast

import numpy as np
from scipy.linalg import solve_banded

from riderless.experiments.datatypes import LanePath, Marker, Response
from riderless.experiments.recordings.quality import artefacts
from riderless.experiments.recordings.quality.bursts import answered_one_of, arrivals, first_arrivals, mean_lateness
from riderless.experiments.recordings.quality.inspection import inspect_recording
from riderless.experiments.recordings.runs import (
    ANALYSED_COLUMNS,
    RunCourse,
    clock_differences,
    clock_remarks,
    first_running,
    line_remarks,
    recorded_part,
    recorded_run,
    release_markers,
    require_rows,
    require_samples,
    sampled_rows,
)
from riderless.experiments.recordings.states import led_spans, left_free, places_now_and_then, state_spans, telling_rows
from riderless.experiments.recordings.torque_law import TorqueFactor, block_products, factor_of
from riderless.experiments.theory.run_theory import (
    LEAST_NOISE_ROWS,
    bridged_samples,
    instrument_noise,
    theory_alone,
    theory_with,
)
from riderless.hil.design.closed_loop import MEASURED_CHANNELS
from riderless.hil.guidance.route import Route
from riderless.hil.logs.header import RunHeader
from riderless.hil.logs.log import Run
from riderless.hil.logs.stored_rows import FEW_ROWS, STRETCH_ROWS, StoredRows
from riderless.hil.loop.states import State
from riderless.hil.rig.rig import Rig
from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.linear.path import front_wheel_place
from riderless.models.noise_statistics import STDS_95

# Reported torque of a drive against its command.

REPORT_COLUMNS = ("T_meas", "drive_age")  # of the log; old ones may lack them
LATEST_REPORT = 1.0  # s; a report that is said to be older tells of nothing


def report_products(ticks: np.ndarray, rig: Rig) -> Array:
    """Products (n, 3) of reported and expected torque in blocks of rows while RUNNING, see `block_products`."""
    if not set(REPORT_COLUMNS) <= set(ticks.dtype.names or ()) or len(ticks) == 0:
        return np.zeros((0, 3))
    age = float(np.nan_to_num(np.median(ticks["drive_age"])))
    if rig.drive is not None or not 0.0 <= age <= LATEST_REPORT:  # other drives are told no torque
        return np.zeros((0, 3))
    late = rig.obeyed_after + age
    expected = expected_torque(np.nan_to_num(np.array(ticks["T_cmd"], float)), rig.dt, late, rig.drive_lag)
    running = ticks["state"] == State.RUNNING
    return block_products(np.array(ticks["T_meas"], float)[running], expected[running], rig.dt)


def expected_torque(command: Array, dt: float, delay: float, lag: float) -> Array:
    """Torque (n,) [N m] of a drive at each row, after commands (n,) of one each row.

    Parameters
    ----------
    command : (n,) array
        N m, held from ``delay`` after its row on.
    dt : float
        Time between rows [s].
    delay : float
        s.
    lag : float
        Time constant [s] with which the torque follows; 0 for none.
    """
    rows = int(np.ceil(delay / dt - 1e-9))
    if lag > 0.0:
        kept = np.exp(-dt / lag)
        # what it made when each command began to act: x[k] - kept x[k - 1] = (1 - kept) command[k - 1], from rest
        bands = np.stack([np.ones(len(command)), np.full(len(command), -kept)])
        before = solve_banded((1, 0), bands, (1.0 - kept) * np.concatenate([[0.0], command[:-1]]))
        torque = command + (before - command) * np.exp(-(rows * dt - delay) / lag)
    else:
        torque = command
    return np.concatenate([np.zeros(rows), torque])[: len(command)]


def go_by_reported_torque(response: Response, products: Array) -> Response:
    """Response whose theory has the gain that the drive reports, with a remark, where that is not what it is told."""
    ratio: TorqueFactor | None = factor_of(products)
    by_pull_test = response.own_theory.nominal("drive_gain") != 1.0  # by a pull test, which knows better than the drive
    if ratio is None or not ratio.differs or by_pull_test:
        return response
    remark = (
        f"T_meas: the drive reports {ratio.factor:.3f} ± {STDS_95 * ratio.std:.3f} of the torque that it is told; "
        "theory goes by the torque reported"
    )
    theory = response.own_theory.move({"drive_gain": ratio.factor})
    return replace(response, theory=theory, remarks=(*response.remarks, remark))


COARSE_STEP = 0.005  # s
SEAM = 2.0  # s of a stretch's neighbours that it sees: longer than any flaw is sought over
REMARKS_KEPT = 20  # of a long run
LANE_COLUMNS = ("psi_est", "y_est")  # absent in older runs, not a number where no place is sensed
SIGNALS = ("t", "phi_dot", "v", "phi", "delta", "psi_dot", "T_delta", "T_played", "v_read")
_COLUMNS = (*ANALYSED_COLUMNS, "a_z_meas", "seq", "samples_lost", *REPORT_COLUMNS, *LANE_COLUMNS, "x_est")


def response_of_run(run: Run, on_progress: Callable[[int, int], None] = lambda done, total: None) -> Response:
    """Make the response of a run of ours, its flaws named. Doubts are remarks: CHECK proved its units and signs.

    Parameters
    ----------
    run : Run
    on_progress : callable
        Told how many rows of a long run have been read, of how many.
    """
    response = _response_of_rows(run, on_progress)
    if run.complete:
        return response
    return replace(response, remarks=(run.recovered, *response.remarks))


def _response_of_rows(run: Run, on_progress: Callable[[int, int], None]) -> Response:
    """Response of the rows of a run that were read."""
    if not isinstance(run.ticks, StoredRows):
        return _whole(run)
    n = len(run.ticks)
    stretches = 1 if n <= STRETCH_ROWS else -(-2 * n // STRETCH_ROWS)  # of several, two are in memory at once
    rows = max(1, -(-n // stretches))
    parts = run.ticks.stretches(_COLUMNS, rows)
    if n == 0:
        require_samples(run, 0)
    if stretches == 1:
        return _whole(replace(run, ticks=next(parts)))
    return _joined(run, parts, lambda done: on_progress(done, n))


def _whole(run: Run) -> Response:
    """Response of a run whose rows are all in memory."""
    response = _coarsen(inspect_recording(recorded_run(run), refuse=False))
    lane = _lane_path(run.header, sampled_rows(run.ticks))
    response = replace(response, states=state_spans(run.ticks), lane=lane)
    route = run.header.route
    response = left_free(response, led_spans(places_now_and_then(run.ticks, route), route))
    return go_by_reported_torque(response, report_products(sampled_rows(run.ticks), run.header.rig))


def _lane_path(header: RunHeader, ticks: np.ndarray) -> LanePath | None:
    """Place of both wheels under control, from rows (n,) with a sample of their own; None where none was sensed."""
    names = ticks.dtype.names or ()
    rig = header.rig
    if not set(LANE_COLUMNS) <= set(names) or rig.place is None:
        return None
    rows = ticks[(ticks["state"] == State.RUNNING) & np.isfinite(ticks["y_est"])]
    if len(rows) < 2:
        return None
    rear: Array = np.array(rows["y_est"])
    half = rig.place.belt_width / 2.0 if rig.place.belt_width is not None else np.inf
    return LanePath(np.array(rows["t"]), rear, front_wheel_place(rig.bicycle, rear, rows["psi_est"]), half)


def _coarsen(response: Response) -> Response:
    """Average over as many samples as make `COARSE_STEP`: a weave asks for no more, and a fit takes time per sample."""
    k = averaged_samples(response.dt)
    if k < 2:
        return response
    n = len(response.t) // k
    signals = {name: getattr(response, name) for name in SIGNALS}
    means = {name: y[: n * k].reshape(n, k).mean(axis=1) for name, y in signals.items() if y is not None}
    free = None if response.free is None else np.asarray(response.free[: n * k].reshape(n, k).all(axis=1), dtype=bool)
    return replace(response, free=free, **means)


def averaged_samples(dt: float) -> int:
    """Samples every ``dt`` [s] that become one."""
    return max(1, round(COARSE_STEP / dt))


@dataclass
class _Tally:
    """Noise and lateness of the instruments, gathered from stretch to stretch."""

    rows: int = 0
    squares: Array = field(default_factory=lambda: np.zeros(len(MEASURED_CHANNELS)))
    ages: list[Array] = field(default_factory=list)
    torques: list[Array] = field(default_factory=list)
    clocks: list[Array] = field(default_factory=list)
    bridged: Array = field(default_factory=lambda: np.zeros(3))
    came: Array = field(default_factory=lambda: np.zeros(4))

    def add(self, ticks: np.ndarray, rig: Rig) -> None:
        """Take usable rows."""
        running = int(np.count_nonzero(ticks["state"] == State.RUNNING))
        if running >= LEAST_NOISE_ROWS:
            self.squares += running * instrument_noise(ticks) ** 2
            self.rows += running
        self.ages.append(np.array(ticks["steer_age"][::100]))
        self.torques.append(report_products(ticks, rig))
        self.clocks.append(clock_differences(ticks))
        self.bridged += bridged_samples(ticks, rig.rate)

    @property
    def noise(self) -> Array:
        """As `instrument_noise` of all rows."""
        return cast(Array, np.sqrt(self.squares / max(self.rows, 1)))


def _joined(run: Run, stretches: Iterator[np.ndarray], tell: Callable[[int], None]) -> Response:
    """Response of a long run, from its rows in stretches."""
    header, tally, signals = run.header, _Tally(), _MappedSignals()
    assert isinstance(run.ticks, StoredRows)
    one_of = answered_one_of(header, first_arrivals(run.ticks.stretches(_COLUMNS, FEW_ROWS)))
    first: Response | None = None
    markers: list[Marker] = []
    remarks: dict[str, None] = {}
    telling: list[np.ndarray] = []
    places: list[np.ndarray] = []
    for part in _even_stretches(run, one_of, _telling(stretches, telling, places, header.route), tally, tell):
        first = first or part
        signals.add(part)
        markers += part.markers
        remarks |= dict.fromkeys(part.remarks)
    if first is None:
        require_samples(run, 0)
        raise AssertionError
    late = mean_lateness(run, tally.came, tally.bridged, one_of)
    kept = [
        *clock_remarks(np.concatenate(tally.clocks)),
        *line_remarks(header, tally.came, tally.bridged, late),
        *remarks,
    ]
    if len(kept) > REMARKS_KEPT:
        kept[REMARKS_KEPT:] = [f"{len(kept) - REMARKS_KEPT} more remarks like these"]
    joined = replace(first, **signals.arrays())
    alone, bicycle = bool(header.excitation.releases), header.bicycle
    let = alone or bool(header.excitation.held_back)
    assert joined.free is not None
    joined = replace(
        joined,
        markers=release_markers(joined.t, joined.free) if let else tuple(markers),
        theory=theory_alone(header)
        if alone
        else theory_with(header, bicycle, tally.noise, float(np.median(np.concatenate(tally.ages))), late, one_of),
        remarks=tuple(kept),
        states=state_spans(np.concatenate(telling)),
    )
    joined = left_free(joined, led_spans(np.concatenate(places) if places else np.zeros(0), header.route))
    return go_by_reported_torque(joined, np.concatenate(tally.torques))


def _telling(
    stretches: Iterator[np.ndarray], kept: list[np.ndarray], places: list[np.ndarray], route: Route
) -> Iterator[np.ndarray]:
    """Pass the stretches on, and keep of each the rows that tell of the supervisor's states, and where it was.

    Parameters
    ----------
    stretches : iterator of (n,) arrays
    kept, places : list of arrays
        Added to.
    route : Route
        That was ridden.
    """
    for rows in stretches:
        kept.append(telling_rows(rows))
        if len(where := places_now_and_then(rows, route)):
            places.append(where)
        yield rows


class _MappedSignals:
    """Signals of a long response, gathered in temporary files and mapped: only what is looked at takes memory."""

    def __init__(self) -> None:
        self._files = {name: TemporaryFile() for name in (*SIGNALS, "free")}  # noqa: SIM115  (closed by `arrays`)

    def add(self, part: Response) -> None:
        """Append the signals of the next part; a signal that a part lacks is left out."""
        for name, file in list(self._files.items()):
            values = getattr(part, name)
            if values is None:
                self._files.pop(name).close()
                continue
            try:
                file.write(values.tobytes())
            except OSError as error:
                raise InputError(
                    f"wanted room for the signals of a long run in {gettempdir()}, found none ({error.strerror}): make "
                    "some, or name another folder in TMPDIR"
                ) from None

    def arrays(self) -> dict[str, Any]:
        """Arrays (n,) of all parts, by the name of the signal."""
        mapped: dict[str, Any] = dict.fromkeys((*SIGNALS, "free"))
        for name, file in self._files.items():
            file.flush()
            pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            mapped[name] = np.frombuffer(pages, bool if name == "free" else float)
            file.close()
        return mapped


def _even_stretches(
    run: Run, one_of: float, stretches: Iterator[np.ndarray], tally: _Tally, tell: Callable[[int], None]
) -> Iterator[Response]:
    """Averaged response of each stretch of a run, one after the other without gap or overlap.

    Parameters
    ----------
    run : Run
    one_of : float
        As of `answered_one_of`.
    stretches : iterator of (n,) arrays
        All its rows.
    tally : _Tally
        Added to.
    tell : callable
        Told how many rows have been read.
    """
    rate = run.header.rig.rate / one_of
    k = averaged_samples(1.0 / rate)
    seam = round(SEAM * rate / k) * k
    held, course, began = None, None, None
    begin, read, total = 0, 0, len(run.ticks)
    for rows in stretches:
        read += len(rows)
        require_rows(run, rows)
        began = began or first_running(rows)
        fresh = sampled_rows(rows)
        tally.add(fresh, run.header.rig)
        tally.came += arrivals(rows)
        held = fresh if held is None else sampled_rows(np.concatenate([held, fresh]))
        if len(held) < 2:
            continue
        played = run.header.excitation
        course = course or RunCourse(
            float(held["t"][0]), alone=bool(played.releases), one_of=one_of, lane_held_back=bool(played.held_back)
        )
        course = replace(course, began=began)
        known = round((held["t"][-1] - course.origin) * rate) + 1  # points that the rows reach
        final = read >= total
        end = known // k * k if final else (known - seam) // k * k
        if end <= begin:
            continue
        first, last = max(0, begin - seam), min(known, end + seam)
        recorded, course = recorded_part(run, held, course, first, last)
        # units and signs show in the first ten minutes
        seen = artefacts.mend_flaws(recorded).response if begin else inspect_recording(recorded, refuse=False)
        yield _coarsen(_cut(seen, begin - first, end - first))
        begin = end
        kept = np.searchsorted(held["t"], course.origin + (begin - seam) / rate) - 1
        held = held[max(0, int(kept)) :].copy()
        tell(read)


def _cut(response: Response, first: int, last: int) -> Response:
    """Rows first to last of a response, with the markers that lie in them."""
    cut = {name: getattr(response, name) for name in (*SIGNALS, "free")}
    t = response.t[first:last]
    half = 0.5 * response.dt
    markers = tuple(m for m in response.markers if t[0] - half <= m.t < t[-1] + half)
    return replace(response, markers=markers, **{name: y[first:last] for name, y in cut.items() if y is not None})
