"""Paced runner: lockstep at wall-clock speed.

For an emulated bicycle that a person plays with. Time is simulated, as of every run in lockstep: the same tick answers
the same bytes. The run waits for the clock on the wall where it is ahead. Where the computer is too busy it falls
behind, and the bicycle's clock slows: no sample comes late in its own time. The machine is a plant in memory; nothing
here opens a port.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from riderless.firmware_interface.twins.faulty_node import drive_output
from riderless.firmware_interface.twins.virtual_node import take_readings
from riderless.hil.controllers.controller import Controller
from riderless.hil.logs.header import new_header
from riderless.hil.logs.writer import RunWriter
from riderless.hil.loop.tick import LoopState
from riderless.hil.loop.tick_record import TICK
from riderless.hil.loop.wire_tape import new_tape
from riderless.hil.rig.armable import require_armable
from riderless.hil.rig.fitting import require_fitting
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.assembly import new_loop
from riderless.hil.runners.disk_room import require_disk_room
from riderless.hil.runners.emulation import Emulation, emulated_node, emulated_place
from riderless.hil.runners.lockstep import LockstepBench, exchange_bytes, new_bench
from riderless.hil.runners.log_sink import Keeper
from riderless.hil.runners.operator import Operator, Outcome
from riderless.hil.runners.paced.wall_clock import WallClock
from riderless.models.errors import InputError
from riderless.models.plant.plant import Plant, Scenario

LOOK_EVERY = 0.02  # s of the run between two looks at clock and operator


class _HandledPlant(Protocol):
    """Plant in memory that somebody handles while it moves; `experiments.emulation.plaything.PlayedPlant` is one."""

    plant: Plant

    def advance(self, T_cmd: float, enabled: bool, dt: float) -> object:
        """Let ``dt`` s pass under the command ``T_cmd``: N m, or rad/s or rad where the drive has an inner loop."""

    def read(self) -> np.void:
        """Take one sample of the instruments."""


def run_paced(
    folder: Path,
    rig: Rig,
    schedule: Controller,
    make_plant: Callable[[Rig, Scenario, Emulation], _HandledPlant],
    scenario: Scenario,
    operator: Operator,
    watch: Callable[[np.void, float], None],
    emulation: Emulation = Emulation(),
    label: str = "",
    clock: WallClock | None = None,
) -> Outcome:
    """Run against a handled plant in memory, at the speed of the clock on the wall, and write the log.

    Parameters
    ----------
    folder : Path
        Of the log; new or empty.
    rig : Rig
        Machine with our node, as `riderless.hil.runners.emulation.rig_in_simulated_time` makes it.
    schedule : Controller
    make_plant : callable
        Gives the bicycle, with whoever handles it.
    scenario : Scenario
        Speed and noise of the ride.
    operator : Operator
        Who demands what when.
    watch : callable
        Given the newest row of TICK every `LOOK_EVERY` of the run, and the rate of its clock.
    emulation : Emulation
        Equations of motion, surroundings and drive.
    label : str
        Words for tables and reports; by default the folder's name.
    clock : WallClock or None
        By default that of this computer.

    Raises
    ------
    InputError
        When the rig names a port of a wired machine, gains and rig do not fit together or could never be armed, the
        folder is in use, or the disk has no room for the log.
    """
    require_unwired(rig)
    rig = replace(rig, closed_by="computer")  # a bicycle that is played has no controller on its node
    require_fitting(rig, schedule)
    require_armable(rig, schedule)
    require_disk_room(folder, [(rig, operator.duration)])
    calibration, node, clock = rig.calibrated(), emulated_node(rig), clock or WallClock()
    handled = make_plant(rig, scenario, emulation)
    loop = new_loop(rig, schedule, calibration.as_record())
    bench = new_bench(handled.plant, node, place=emulated_place(rig, scenario, emulation))
    circumstances: Mapping[str, Any] = {"scenario": scenario, "emulation": emulation}
    header = new_header(rig, schedule, calibration, runner="lockstep", label=label or folder.name, extra=circumstances)
    ticks = max(1, round(LOOK_EVERY * rig.rate))
    tape = new_tape(len(bench.wire.n_rx), ticks)
    with RunWriter(folder, header) as writer, operator.heeding_signals():
        keep = Keeper(writer, handled.plant, operator.marks)
        t = 0.0
        while not operator.finished(t):
            rows = np.zeros(ticks, TICK)
            loop.orders["demand"] = operator.demand
            keep(rows, tape[: _run_ticks(loop, bench, handled, node.bus, rig.dt, rows, tape)])
            operator.watch(rows[-1])
            t = float(rows[-1]["t_host"])
            clock.keep_to(t)
            watch(rows[-1], clock.rate)
        outcome = operator.outcome()
        writer.close(outcome.reason, outcome.cause)
    return outcome


def require_unwired(rig: Rig) -> None:
    """Refuse a rig that names a port of a wired machine; raises InputError."""
    wired = [port.path for port in rig.ports if port.path]
    if wired:
        raise InputError(
            f"play is for an emulated bicycle, found a rig wired to {', '.join(wired)}: give a bicycle, or run that "
            "rig with `riderless run`"
        )


def _run_ticks(
    loop: LoopState,
    bench: LockstepBench,
    handled: _HandledPlant,
    bus: float,
    dt: float,
    rows: np.ndarray,
    tape: np.ndarray,
) -> int:
    """Run one tick and one step of the handled plant for each row, as `lockstep.run_ticks` does; bytes on the tape."""
    length = 0
    for row in rows:
        if bench.k[0] > 0:
            command, enabled = drive_output(bench.node, (bench.k[0] - 1) * dt)
            handled.advance(command, enabled, dt)
        take_readings(handled, bench.readings)
        _, length = exchange_bytes(loop, bench, bus, dt, row, tape, length)
        bench.k[0] += 1
    return length
