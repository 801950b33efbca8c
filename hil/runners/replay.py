"""Replay of a run's bytes through the tick.

Its commands are identical to the last bit, or the first tick that differs is named. The header rebuilds the loop (rig,
bicycle, gains, limits, calibration); the log's tape gives each tick the bytes it had, its row the times and orders.
Nothing else enters a tick, so everything it said must come out again, bit for bit. Where it does not, the program has
changed, or the log has been.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.node.layouts import REPLAYED_VERSIONS
from riderless.hil.logs.export import STATE_PREFIX, Told, nobody_told
from riderless.hil.logs.header import RunHeader
from riderless.hil.logs.log import Run, run_or_read
from riderless.hil.logs.provenance import PACKAGE_NAME, provenance
from riderless.hil.loop.tick import LoopState, tick
from riderless.hil.loop.tick_record import TICK, YOUNGER_COLUMNS
from riderless.hil.loop.wire_tape import Wire, new_wire, read_tape
from riderless.hil.rig.recorded_rig import require_drivers_of
from riderless.hil.runners.assembly import new_loop
from riderless.models.errors import InputError

RUNNER_COLUMNS = ("compute", "ticks_skipped", "write_short", "n_wire")  # columns that the runner fills, not the tick
_SAME, _CUT, _OTHER_BYTES = 0, 1, 2


@dataclass(frozen=True)
class Replay:
    """Result of a replay."""

    ticks: int  # replayed, all with the same commands if `first` is None
    commands: int  # frames compared
    first: int | None  # number k of the first tick that differs
    difference: str  # what differs there, or why the replay could not go on; empty if nothing
    made_by: str = ""  # where the tick itself differs: version and commit that made the run, if not this program's

    @property
    def identical(self) -> bool:
        """Every tick of the log was replayed and said the same."""
        return not self.difference

    @property
    def sentence(self) -> str:
        """Result in words."""
        if self.identical:
            return f"bit-identical: {self.ticks} ticks, {self.commands} commands"
        comparison = (
            f"{self.ticks} ticks said the same, {self.commands} commands; then, at tick {self.first}: {self.difference}"
        )
        if not self.made_by:
            return comparison
        return f"{comparison}; another version of the tick made this run ({self.made_by}): replay it with that commit"


def rebuilt_loop(header: RunHeader) -> LoopState:
    """Loop as it stood before the first tick of a run.

    Raises
    ------
    InputError
        When the header lacks something, as those of versions before the tape do, or its node spoke another version.
    DeviceError
        When a driver from outside is not here, or another than the run's.
    """
    if not header.node_is_understood:
        understood = " or ".join(map(str, REPLAYED_VERSIONS))
        raise InputError(
            f"wanted a run whose node spoke version {understood} of its protocol, found one made with another "
            f"version of the node's protocol: replay it with {header.made_by}"
        )
    require_drivers_of(header.rig)
    return new_loop(
        header.rig, header.schedule, header.calibration.as_record(), header.devices, header.task, header.protocol
    )


def replay(
    run: Run | str | Path,
    on_progress: Told = nobody_told,
    on_states: Callable[[np.ndarray, np.ndarray], None] = lambda rows, states: None,
) -> Replay:
    """Replay a run as far as its tape reaches.

    Parameters
    ----------
    run : Run or path
        A path is the run's folder, or its `run.mcap`.
    on_progress : callable
        Told how many ticks have been replayed, of how many.
    on_states : callable
        Given, batch by batch, the rows of the run that were replayed (n) and what its controller remembered after each
        of these ticks (n x its states).

    Raises
    ------
    InputError
        When it cannot be read or its loop not be rebuilt, its rows have other columns than this version's, or it has
        no tape.
    """
    run = run_or_read(run)
    loop = rebuilt_loop(run.header)
    if not _has_no_other(run.ticks.dtype):
        raise InputError(
            "wanted a run with this version's columns, found others: another version of the tick made it; replay it "
            f"with {run.header.made_by}"
        )
    if not run.tapes:
        raise InputError(f"the run {run.folder} holds no raw bytes: it cannot be replayed")
    n_states = len(run.header.schedule.states)
    wire, again = new_wire(len(loop.links)), new_wire(len(loop.links))
    again = Wire(wire.rx, wire.n_rx, again.tx, again.n_tx)
    done, commands, expected = 0, 0, 1
    for k, rows, raw in run.batches():
        on_progress(done, len(run.ticks))
        if k != expected:
            return Replay(done, commands, expected, f"ticks {expected} to {k - 1} are missing from the log")
        tape = np.frombuffer(raw, np.uint8)
        made, states = np.zeros(len(rows), TICK), np.zeros((len(rows), n_states))
        n, verdict, sent = _replay(loop, wire, again, tape, _as_now(rows), made, states)
        on_states(rows[:n], states[:n])
        done, commands, expected = done + n, commands + sent, k + len(rows)
        difference = _difference(rows[:n], made[:n])
        if difference:
            return Replay(done, commands, *difference, _other_version(run.header))
        if verdict == _CUT:
            return Replay(done, commands, int(k + n), "the raw bytes end here")
        if verdict == _OTHER_BYTES:
            return Replay(done, commands, int(k + n), "the bytes sent to the drive differ", _other_version(run.header))
    return Replay(done, commands, None, "")


def with_law_states(run: Run, on_progress: Told = nobody_told) -> Run:
    """Add to the rows of a run what its controller remembered after each tick, as columns ``law_`` and a state's name.

    The log holds no states: they follow from its raw bytes, and are those of the run to the last bit where the replay
    is bit-identical, which is required.

    Parameters
    ----------
    run : Run
    on_progress : callable
        Told how many ticks have been replayed, of how many.

    Raises
    ------
    InputError
        As of `replay`; the replay differs; or the controller remembers nothing.
    """
    names = run.header.schedule.states
    if not names:
        raise InputError(
            f"the controller {run.header.controller} of the run {run.folder.name} has no states: leave --law-states out"
        )
    wider: list[np.ndarray] = []
    result = replay(run, on_progress, lambda rows, states: wider.append(_with_columns(rows, names, states)))
    if not result.identical:
        raise InputError(f"the states of a controller follow from a replay, which differs here: {result.sentence}")
    return replace(run, ticks=np.concatenate(wider))


def _with_columns(rows: np.ndarray, names: tuple[str, ...], states: np.ndarray) -> np.ndarray:
    """Rows (n) with the states (n x names) beside them."""
    columns = [(name, rows.dtype[name]) for name in rows.dtype.names or ()]
    wide = np.zeros(len(rows), columns + [(f"{STATE_PREFIX}{name}", np.dtype("f8")) for name in names])
    for name, _ in columns:
        wide[name] = rows[name]
    for name, column in zip(names, states.T, strict=True):
        wide[f"{STATE_PREFIX}{name}"] = column
    return wide


def _has_no_other(dtype: np.dtype) -> bool:
    """True if all columns are of this version, which may have more: those of a place are younger than most runs."""
    known = {(name, TICK[name]) for name in TICK.names or ()}
    younger = {column.name for column in YOUNGER_COLUMNS}
    own = {(name, dtype[name]) for name in dtype.names or ()}
    return own <= known and {name for name, _ in known - own} <= younger


def _as_now(rows: np.ndarray) -> np.ndarray:
    """Rows with all columns of this version, zero in those that they do not have."""
    from numpy.lib.recfunctions import require_fields  # most runs have all columns, and do not wait for it

    return rows if rows.dtype == TICK else require_fields(rows, TICK)


def _other_version(header: RunHeader) -> str:
    """Version and commit that made a run, in words; empty if they are this program's."""
    here = provenance()
    same = (header.version, header.commit) == (here["packages"].get(PACKAGE_NAME), here["git"]["commit"])
    return "" if same else header.made_by


@njit(cache=True, nogil=True)
def _replay(loop, wire, again, tape, rows, made, states):
    """Replay ``rows``; how many said the same bytes, why it ended, and how many frames were compared.

    ``made`` takes what the tick writes, ``states`` what its controller remembers.
    """
    place, sent = 0, 0
    for i in range(rows.size):
        place = read_tape(wire, tape, place)
        if place < 0:
            return i, _CUT, sent
        row, orders = rows[i], loop.orders
        orders.demand = row.demand
        orders.acknowledged = row.acknowledged
        orders.attended = row.attended
        orders.recording = row.recording
        orders.tested = row.tested
        orders.late = row.late
        tick(loop, again, row.t_host, row.t_due, made[i])
        for j in range(states.shape[1]):
            states[i, j] = loop.law_state[j]
        for port in range(wire.n_tx.size):
            if wire.n_tx[port] != again.n_tx[port]:
                return i, _OTHER_BYTES, sent
            for j in range(wire.n_tx[port]):
                if wire.tx[port, j] != again.tx[port, j]:
                    return i, _OTHER_BYTES, sent
            sent += wire.n_tx[port] > 0
    return rows.size, _SAME, sent


def _difference(rows: np.ndarray, made: np.ndarray) -> tuple[int, str] | None:
    """Find the first tick whose row differs, and in which columns; bits are compared, so NaN equals NaN."""
    differing: dict[str, np.ndarray] = {}
    for name in rows.dtype.names or ():
        if name not in RUNNER_COLUMNS:
            bits = f"u{rows.dtype[name].itemsize}"
            differing[name] = np.ascontiguousarray(rows[name]).view(bits) != np.ascontiguousarray(made[name]).view(bits)
    wrong = np.any(list(differing.values()), axis=0)
    if not wrong.any():
        return None
    i = int(np.argmax(wrong))
    columns = [f"{name} {rows[name][i]} became {made[name][i]}" for name, at in differing.items() if at[i]]
    return int(rows["k"][i]), ", ".join(columns)
