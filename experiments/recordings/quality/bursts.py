"""Samples that came in bursts, and their effect.

An adapter with a latency timer hands them over like this. The newest sample of a burst is answered and the others are
passed over, so the loop is that much slower, and its commands are late. By how much the raw bytes tell, for each sample
of our node says which command was at work when it was taken, and the rows say which sample that command answered. The
arrival of the newest sample alone does not tell it: a node obeys at its next sample, so that some milliseconds may cost
a whole period or nothing.
"""

from collections.abc import Iterable

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from riderless.experiments.theory.run_theory import BRIDGED_PERIODS, mean_hold
from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_IMU, hear
from riderless.firmware_interface.kernels import njit
from riderless.hil.logs.header import RunHeader
from riderless.hil.logs.log import RUN_FILE, Run, read_run
from riderless.hil.loop.states import State
from riderless.hil.loop.wire_tape import new_wire, read_tape
from riderless.models.array_types import Array

LEAST_TOGETHER = 0.1  # of the samples, that come with another, and of the ticks, without any: a line, no busy computer
SAMPLE_NUMBERS = 1 << 16  # after which they begin anew
ENOUGH_TICKS = 2_000  # under control
MOST_AT_ONCE = 100  # samples in one tick, and periods a command is at work; more is a device that restarted
_BOTH = ROLE_IMU | ROLE_DRIVE
_RUNNING = int(State.RUNNING)


def arrivals(rows: np.ndarray) -> Array:
    """Count ticks under control, those with a sample, samples, and samples that came with another; (4,), of all rows.

    Counts of several stretches may be added. Rows without these columns tell nothing.
    """
    if not {"seq", "samples_lost"} <= set(rows.dtype.names or ()):
        return np.zeros(4)
    running = rows["state"] == State.RUNNING
    numbers, lost = (np.array(rows[name], float) for name in ("seq", "samples_lost"))
    came = np.mod(np.diff(numbers), SAMPLE_NUMBERS) - np.diff(lost)
    came = came[running[1:] & running[:-1] & (came >= 0) & (came <= MOST_AT_ONCE)]
    return np.array([len(came), np.count_nonzero(came), came.sum(), came[came > 1].sum()], float)


def came_in_bursts(came: Array) -> bool:
    """Tell from `arrivals` whether several samples at a time were handed over."""
    ticks, with_one, samples, together = came
    return bool(together > LEAST_TOGETHER * samples and ticks - with_one > LEAST_TOGETHER * ticks)


def answered_one_of(header: RunHeader, came: Array) -> float:
    """Count samples for each that was answered, from `arrivals`; 1 where theory has no loop that is as much slower.

    A law with states of its own goes on in every tick, samples or not: its loop keeps the rig's rate. So does one on
    the node, which answers each sample that it takes.
    """
    if header.closed_by == "node":
        return 1.0
    if not came_in_bursts(came) or header.excitation.releases or header.controller == "off" or header.schedule.states:
        return 1.0
    _, with_one, samples, _ = came
    return float(samples / with_one)


def first_arrivals(rows: Iterable[np.ndarray]) -> Array:
    """Count as `arrivals` over rows of a run, stretch by stretch, until there are enough to tell how it went on."""
    came = np.zeros(4)
    for some in rows:
        came += arrivals(some)
        if came[0] >= ENOUGH_TICKS:
            break
    return came


def mean_lateness(run: Run, came: Array, bridged: Array, one_of: float) -> float:
    """Time by which a run's commands are obeyed later on average than its theory says by itself [s].

    Parameters
    ----------
    run : Run
    came : (4,) array
        As of `arrivals`, of all rows.
    bridged : (3,) array
        As of `bridged_samples`, of all rows: what the raw bytes cannot tell.
    one_of : float
        As of `answered_one_of`: a slower loop holds each command for longer by itself.
    """
    if run.header.closed_by == "node":  # no line between its samples and its torque
        return 0.0
    rate = run.header.rig.rate
    periods = _lateness_in_bursts(run) if came_in_bursts(came) else None
    late = mean_hold(bridged, rate) if periods is None else periods / rate
    return max(late - 0.5 * (one_of - 1.0) / rate, 0.0)


def _lateness_in_bursts(run: Run) -> float | None:
    """Periods by which commands at work were older on average than one period; None where nothing tells.

    All samples under control that came are asked, but those over a gap too long to be bridged.
    """
    from riderless.hil.runners.assembly import links_of_rig  # all drivers, for a few recordings only

    ports = run.header.rig.ports
    lead = next((i for i, port in enumerate(ports) if port.role & _BOTH == _BOTH), None)
    # a run that was read without its raw bytes gets them from its log
    run = run if run.tapes or not (run.folder / RUN_FILE).exists() else read_run(run.folder, stored=True)
    if lead is None or not run.tapes or not _tells_answers(run.ticks.dtype) or not run.header.node_is_understood:
        return None
    links, wire = links_of_rig(run.header.rig, run.header.devices), new_wire(len(ports))
    answered, tally = np.full(SAMPLE_NUMBERS, -1, np.int64), np.zeros(5)
    tally[_LAST_TIME] = np.nan
    for _, rows, raw in run.batches():
        columns = (np.array(rows[name], kind) for name, kind in _ANSWERS.items())
        _count_lateness(links, lead, wire, np.frombuffer(raw, np.uint8), answered, tally, run.header.rig.rate, *columns)
    return float(tally[_LATE] / tally[_SAMPLES]) if tally[_SAMPLES] else None


_ANSWERS = {"t": float, "valid": bool, "state": np.int64, "seq": np.int64, "command_seq": np.int64}
_SAMPLES, _LATE, _NEW_SAMPLES, _NEW_LATE, _LAST_TIME = range(5)  # of a tally: counted, since the last usable row, its s


@njit(cache=True, nogil=True)
def _count_lateness(links, lead, wire, tape, answered, tally, rate, t, valid, state, seq, command_seq):
    """Add to ``tally`` how late the commands were that each sample of a batch says were at work.

    ``answered`` (65536,) keeps, by the number of a command, that of the sample it answered; the columns (n,) are those
    of the batch's rows.
    """
    place, raw = 0, links[lead].raw
    for i in range(t.size):
        place = read_tape(wire, tape, place)
        if place < 0:
            return
        for byte in range(wire.n_rx[lead]):
            if hear(links[lead], wire.rx[lead, byte:], 1) <= 0 or answered[raw.command_seq] < 0:
                continue
            late = (np.int64(raw.seq) - answered[raw.command_seq]) % SAMPLE_NUMBERS - 1
            if 0 <= late <= MOST_AT_ONCE:
                tally[_NEW_SAMPLES] += 1
                tally[_NEW_LATE] += late
        if not valid[i]:
            continue
        if state[i] == _RUNNING and (t[i] - tally[_LAST_TIME]) * rate <= BRIDGED_PERIODS:
            tally[_SAMPLES] += tally[_NEW_SAMPLES]
            tally[_LATE] += tally[_NEW_LATE]
        tally[_NEW_SAMPLES] = tally[_NEW_LATE] = 0.0
        tally[_LAST_TIME] = t[i]
        answered[command_seq[i] % SAMPLE_NUMBERS] = seq[i]


def _tells_answers(dtype: np.dtype) -> bool:
    """True if rows say by numbers which command answered which sample: those of a damaged log need not."""
    return all(name in (dtype.names or ()) and dtype[name].kind in "iuf" for name in _ANSWERS)


# Jumps of the steer angle in a run of ours: an index that came late, or a coupling that slipped, moves its zero.


LEAST_STEER_JUMP = float(np.radians(0.25))  # within a sample, beyond what the steer does in those beside it
STEPS_BESIDE = 10  # to either side: an encoder slower than the loop moves in every fourth sample alone, say
AFTER_STEER_JUMP = 1.0  # s, in which the controller answers it
STEER_JUMPS_TOLD = 5


def steer_jumps(ticks: np.ndarray, rate: float) -> list[tuple[float, float]]:
    """Find where the steer angle moves, within one sample under control, farther than any steer turns, and stays.

    Parameters
    ----------
    ticks : (n,) array
        Usable rows.
    rate : float
        Of the loop [Hz].

    Returns
    -------
    list of (float, float)
        Device's time of the last sample before [s], and size [rad].
    """
    t, steps = ticks["t"], np.diff(ticks["delta_meas"])
    size = np.abs(steps)
    steered = (ticks["state"][1:] == State.RUNNING) & (np.diff(t) < 1.5 / rate)
    far = np.flatnonzero(steered & (size > LEAST_STEER_JUMP))
    around = sliding_window_view(np.pad(size, STEPS_BESIDE), 2 * STEPS_BESIDE + 1)[far].copy()
    around[:, STEPS_BESIDE] = 0.0
    alone = far[size[far] - around.max(axis=1) > LEAST_STEER_JUMP]
    return [(float(t[i]), float(steps[i])) for i in alone]


def jump_remarks(jumps: list[tuple[float, float]]) -> tuple[str, ...]:
    """Say where the steer's zero moved, from `steer_jumps`."""
    return tuple(
        f"delta_meas: the steer jumps by {np.degrees(size):+.2g} deg at {at:.3f} s and stays, not free for "
        f"{AFTER_STEER_JUMP:g} s: its zero has moved; turn the bars past the encoder's index before the run, and see "
        "that no coupling slips"
        for at, size in jumps[:STEER_JUMPS_TOLD]
    )
