"""Lockstep runner against the emulated plant.

The same tick in memory, deterministic, far faster than real time. Bytes are exchanged once per sampling instant, in the
order in which they pass on the wire: the node takes the command that answered its last sample, latches it, and sends
the next sample; the tick answers it. Other devices say what the tick before asked of them. A drive that obeys when a
command comes obeys between two samples, as late as the rig says. Time is the device's clock; the same seed gives the
same bytes. What can go wrong is played by the hooks of `riderless.firmware_interface.twins.faulty_node`, here as on a
pseudo-terminal.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import COMMAND_KIND_BOUND
from riderless.firmware_interface.node.rules import open_session
from riderless.firmware_interface.twins.faults import TO_NODE, Faults
from riderless.firmware_interface.twins.faulty_link import fetch, post
from riderless.firmware_interface.twins.faulty_node import (
    FaultyNode,
    drive_output,
    new_faulty_node,
    obey_at,
    sampling_instant,
)
from riderless.firmware_interface.twins.place.sending import send_place
from riderless.firmware_interface.twins.place.sensor import PLACE_TWIN, see_place
from riderless.firmware_interface.twins.quick import QUICK_TWIN, hear_quick, quick_output, tell_quick
from riderless.firmware_interface.twins.speed.belt import BELT_TWIN, move_belt
from riderless.firmware_interface.twins.speed.speaking import hear_speed_drive, tell_speed_drive
from riderless.firmware_interface.twins.virtual_node import NodeConfig
from riderless.hil.loop.on_board import BoardController, ask_board_controller, no_board_controller
from riderless.hil.loop.tick import LoopState, tick
from riderless.hil.loop.tick_record import TICK
from riderless.hil.loop.wire_tape import Wire, new_tape, new_wire, tape_length, write_tape
from riderless.hil.runners.assembly import SIMULATED_SESSION
from riderless.hil.runners.operator import Operator
from riderless.models.coordinates import DELTA, PHI
from riderless.models.errors import InputError
from riderless.models.linear.path import PSI, Y_P
from riderless.models.plant import plant as bicycle_plant
from riderless.models.plant.belt import run_with_belt
from riderless.models.plant.plant import Plant
from riderless.models.plant.records import CORNER_SPEED, X_P
from riderless.models.plant.sensors import READINGS

TICKS_PER_BATCH = 50  # ticks between two looks of the operator: few enough to react, many enough to be fast


DIARY = np.dtype(
    [
        ("t", "f8"),  # s, sampling instant
        ("T", "f8"),  # N m, torque on the steer at this instant
        ("T_asked", "f8"),  # N m, rad/s or rad, what the node asks of the drive from now on
        ("T_made", "f8"),  # what the drive makes of that, in the same unit
        ("phi", "f8"),  # rad, true lean
        ("delta", "f8"),  # rad, true steer
        ("command_seq", "i8"),  # of the command obeyed
        ("on", "i1"),  # the node has the drive enabled
        ("tripped", "i1"),  # its watchdog is latched
        ("awake", "i1"),  # it took a sample at this instant
        ("fallen", "i1"),
        ("psi", "f8"),  # rad, true heading
        ("y_P", "f8"),  # m, true place of the rear contact
        ("x_P", "f8"),  # m, and its way along the lane
    ],
    align=True,
)


WIRING = np.dtype(
    [
        ("node", "i8"),  # port of our node, of a sensor of place, of a treadmill; -1: none
        ("place", "i8"),
        ("belt", "i8"),
        ("drive", "i8"),  # place among the other devices of the one that drives; -1: the node
        ("delay", "f8"),  # s, from a sample to the moment its command is obeyed; 0: at the node's next sample
        ("ports", "i8"),
        # what the drive has followed since the last command was obeyed
        ("T", "f8"),  # N m, rad/s or rad
        ("on", "i8"),
    ],
    align=True,
)


class LockstepBench(NamedTuple):
    """Emulated side of the wire: plant, node, and the bytes under way."""

    p: np.ndarray
    s: np.ndarray
    kicks: np.ndarray
    node: FaultyNode
    readings: np.ndarray  # (9,) f8, the same memory as `instruments`
    instruments: np.ndarray  # (1,) READINGS
    wire: Wire  # bytes under way, of the node and of a sensor of place
    place: np.void  # that sensor, a record of PLACE_TWIN; all zero where there is none
    belt: np.void  # of a treadmill, a record of BELT_TWIN; all zero where there is none
    devices: np.ndarray  # (m,) QUICK_TWIN, beside our node; often none
    board: BoardController  # on the node; asked in a session of its kind alone
    wiring: np.void  # a record of WIRING
    k: np.ndarray  # (1,) i8, sampling instant


def new_bench(
    plant: Plant,
    config: NodeConfig,
    faults: Faults = (),
    place: np.void | None = None,
    belt: np.void | None = None,
    devices: np.ndarray | None = None,
    wiring: np.void | None = None,
    board: BoardController | None = None,
) -> LockstepBench:
    """Make plant, node, sensor of place, treadmill and other devices as after power-up and a HELLO.

    Parameters
    ----------
    plant : Plant
    config : NodeConfig
    faults : Faults
    place : record of PLACE_TWIN or None
    belt : record of BELT_TWIN or None
    devices : (m,) array of QUICK_TWIN
        Other devices.
    wiring : record of WIRING
        Which port is whose; by default the node's, then that of a sensor of place, then that of a treadmill.
    board : BoardController or None
        That closes the loop on the node.
    """
    if wiring is None:
        wiring = np.zeros(1, WIRING)[0]
        wiring["place"], wiring["belt"], wiring["drive"] = 1, 1 + (place is not None), -1
        wiring["ports"] = 1 + (place is not None) + (belt is not None)
    instruments, node = np.zeros(1, READINGS), new_faulty_node(config.new_firmware(), faults)
    if config.guard is not None:
        node.firmware["guard"] = config.guard.as_record()
    kind = int(plant.p[0]["servo"]["kind"]) if board is None else COMMAND_KIND_BOUND
    open_session(node.firmware, SIMULATED_SESSION, kind)
    return LockstepBench(
        p=plant.p,
        s=plant.s,
        kicks=plant.kicks,
        node=node,
        readings=instruments.view(np.float64),
        instruments=instruments,
        wire=new_wire(int(wiring["ports"])),
        place=np.zeros(1, PLACE_TWIN)[0] if place is None else place,
        belt=np.zeros(1, BELT_TWIN)[0] if belt is None else belt,
        devices=np.zeros(0, QUICK_TWIN) if devices is None else devices,
        board=no_board_controller() if board is None else board,
        wiring=wiring,
        k=np.zeros(1, np.int64),
    )


def new_diary(ticks: int) -> np.ndarray:
    """Make room for the true motion of drive and bicycle in each of ``ticks`` ticks, an array of DIARY."""
    return np.zeros(ticks, DIARY)


@njit(cache=True, nogil=True)
def run_ticks(loop, bench, bus, dt, rows, tape, diary):
    """Run one tick and one step of the plant for each row of ``rows``.

    Parameters
    ----------
    loop : LoopState
    bench : LockstepBench
        Plant, node and the bytes under way; it moves on.
    bus : float
        Supply of the drive [V].
    dt : float
        Sampling period [s].
    rows : (n,) array of TICK
        Filled.
    tape : array of u1
        Filled with the bytes of each tick.
    diary : (n,) array of DIARY
        Filled with what no controller can know; an empty one is left alone.

    Returns
    -------
    int
        Bytes on the tape.
    """
    length = 0
    for i in range(rows.size):
        t = bench.k[0] * dt
        if bench.belt.on:
            port = bench.wiring.belt
            hear_speed_drive(bench.belt, bench.wire.tx[port], bench.wire.n_tx[port], t)
            move_belt(bench.belt, t, dt)
            run_with_belt(bench.p[0], bench.s[0], bench.belt.speed - dt * bench.belt.change, bench.belt.change)
        if bench.k[0] > 0:
            _advance(bench, (bench.k[0] - 1) * dt, dt)
        bicycle_plant.read_plant(bench.p, bench.s, bench.instruments)
        awake, length = exchange_bytes(loop, bench, bus, dt, rows[i], tape, length)
        if diary.size > 0:
            _confide(bench, awake, t, diary[i])
        bench.k[0] += 1
    return length


@njit(cache=True, nogil=True)
def _advance(bench, t, dt):
    """Let the plant go on from the sample at ``t`` [s] to the next, under the old command and then the new one."""
    wiring = bench.wiring
    if wiring.delay > 0.0:
        bicycle_plant.advance_plant(bench.p, bench.s, bench.kicks, wiring.T, wiring.on != 0, wiring.delay)
        if wiring.drive < 0:
            obey_at(bench.node, t + wiring.delay, t + wiring.delay)
    command, enabled = _output(bench, t + wiring.delay)
    if dt > wiring.delay:
        bicycle_plant.advance_plant(bench.p, bench.s, bench.kicks, command, enabled, dt - wiring.delay)
    wiring.T, wiring.on = command, enabled


@njit(cache=True, nogil=True)
def _output(bench, t):
    """Command that the drive follows at ``t`` [s], and whether it is on."""
    if bench.wiring.drive < 0:
        return drive_output(bench.node, t)
    return quick_output(bench.devices[bench.wiring.drive], t)


@njit(cache=True, nogil=True)
def exchange_bytes(loop, bench, bus, dt, row, tape, length):
    """Let the node measure what the instruments read at this instant, and the tick answer it.

    Parameters
    ----------
    loop, bench, bus, dt
        As of `run_ticks`.
    row : record of TICK
        Filled.
    tape : array of u1
        The bytes of this tick are added to it.
    length : int
        Bytes on it before.

    Returns
    -------
    bool, int
        Whether the node took a sample, and the bytes on the tape.
    """
    node, wire, wiring, t = bench.node, bench.wire, bench.wiring, bench.k[0] * dt
    awake = True
    if wiring.node >= 0:
        awake = sampling_instant(node, bench.readings, bus, t, t)
        if awake:
            ask_board_controller(bench.board, node.firmware)
        wire.n_rx[wiring.node] = fetch(node.up, t, wire.rx[wiring.node])
    for i in range(bench.devices.size):
        port = bench.devices[i].port
        wire.n_rx[port] = tell_quick(bench.devices[i], t, bench.readings, wire.rx[port])
    if bench.place.on:
        x = bench.s[0].x
        if bench.s[0].held:  # a person goes along
            bench.place.walked += dt * bench.p[0].speed[0, CORNER_SPEED]
        see_place(bench.place, t, x[X_P], x[Y_P], x[PSI], x[PHI])
        wire.n_rx[wiring.place] = send_place(bench.place, t, wire.rx[wiring.place])
    if bench.belt.on:
        wire.n_rx[wiring.belt] = tell_speed_drive(bench.belt, t, wire.rx[wiring.belt])
    tick(loop, wire, t, t, row)
    if wiring.node >= 0:
        post(node.down, node.faults, TO_NODE, wire.tx[wiring.node], wire.n_tx[wiring.node], t, t)
    for i in range(bench.devices.size):
        port = bench.devices[i].port
        hear_quick(bench.devices[i], wire.tx[port], wire.n_tx[port], t, bench.readings)
    row.n_wire = tape_length(wire)
    return awake, write_tape(wire, tape, length)


@njit(cache=True, nogil=True)
def _confide(bench, awake, t, entry):
    """Write what drive and bicycle truly do at ``t`` into one record of DIARY."""
    p, s, firmware = bench.p[0], bench.s[0], bench.node.firmware
    made, on = _output(bench, t)
    entry.t = t
    entry.T = p.drive.gain * s.drive.T
    entry.T_asked = firmware.T if bench.wiring.drive < 0 else made
    entry.T_made = made
    entry.phi = s.x[PHI]
    entry.delta = s.x[DELTA]
    entry.command_seq = firmware.raw.command_seq
    entry.on = firmware.enabled if bench.wiring.drive < 0 else on
    entry.tripped = firmware.tripped
    entry.awake = awake
    entry.fallen = s.fallen
    entry.psi = s.x[PSI]
    entry.y_P = s.x[Y_P]
    entry.x_P = s.x[X_P]


def run_in_lockstep(
    loop: LoopState,
    plant: Plant,
    config: NodeConfig,
    operator: Operator,
    record: Callable[[np.ndarray, np.ndarray], None],
    watch: Callable[[np.void], None] | None = None,
    longest: float = 3600.0,
    faults: Faults = (),
    place: np.void | None = None,
    belt: np.void | None = None,
    devices: np.ndarray | None = None,
    wiring: np.void | None = None,
    board: BoardController | None = None,
) -> None:
    """Run tick and plant in turn until the operator has finished.

    Parameters
    ----------
    loop : LoopState
        As `riderless.hil.runners.assembly.new_loop` makes it.
    plant : Plant
        Bicycle, drive and instruments.
    config : NodeConfig
        Settings of the emulated node.
    operator : Operator
        Who demands what when.
    record : callable
        Given each batch of TICK rows and the tape that belongs to it.
    watch : callable
        Given the newest row of each batch.
    longest : float
        Simulated time [s] after which the run is given up.
    faults : tuple of Fault
        What goes wrong with the node.
    place : record of PLACE_TWIN or None
        Sensor of place behind the second port.
    belt : record of BELT_TWIN or None
        Treadmill behind the last port.
    devices, wiring, board
        As of `new_bench`.

    Raises
    ------
    InputError
        When the operator has not finished within ``longest``.
    """
    bench, dt = new_bench(plant, config, faults, place, belt, devices, wiring, board), 1.0 / config.rate_hz
    tape = new_tape(len(bench.wire.n_rx), TICKS_PER_BATCH)
    diary = new_diary(0)
    with operator.heeding_signals():
        while True:
            rows = np.zeros(TICKS_PER_BATCH, TICK)
            loop.orders["demand"] = operator.demand
            length = run_ticks(loop, bench, config.bus, dt, rows, tape, diary)
            operator.watch(rows[-1])
            record(rows, tape[:length])
            if watch is not None:
                watch(rows[-1])
            t = float(rows[-1]["t_host"])
            if operator.finished(t):
                return
            if t > longest:
                raise InputError(
                    f"the lockstep run did not end within {longest:g} s of simulated time: ask for a shorter one"
                )
