"""The same tick against the emulated plant in memory: deterministic, far faster than real time.

Bytes are exchanged once per sampling instant, in the order in which they pass on the wire: the node
takes the command that answered its last sample, latches it, and sends the next sample; the tick
answers it. Time is the device's clock; the same seed gives the same bytes.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from firmware_interface.firmware import firmware_latch, firmware_receive, firmware_sample
from firmware_interface.framing import new_decoder
from firmware_interface.virtual import NodeConfig
from hil.operator import Operator
from hil.record import TICK
from hil.tick import Loop, tick
from hil.wire import Wire, lay_down, new_tape, new_wire, tape_length
from models import plant as bicycle_plant
from models.errors import InputError
from models.plant import Plant
from models.sensors import READINGS

BATCH = 50  # ticks between two looks of the operator: few enough to react, many enough to be fast


class Bench(NamedTuple):
    """The emulated side of the wire: plant, node, and the bytes under way."""

    p: np.ndarray
    s: np.ndarray
    firmware: np.void
    decoder: np.void
    readings: np.ndarray  # (9,) f8, the same memory as `instruments`
    instruments: np.ndarray  # (1,) READINGS
    wire: Wire  # bytes under way
    k: np.ndarray  # (1,) i8, sampling instant


def new_bench(plant: Plant, config: NodeConfig) -> Bench:
    """Plant and node as after power-up."""
    instruments = np.zeros(1, READINGS)
    return Bench(
        p=plant.p,
        s=plant.s,
        firmware=config.new_firmware(),
        decoder=new_decoder(),
        readings=instruments.view(np.float64),
        instruments=instruments,
        wire=new_wire(),
        k=np.zeros(1, np.int64),
    )


@njit(cache=True, nogil=True)
def advance(loop, bench, bus, dt, rows, tape):
    """One tick for each row of ``rows`` (n,) of TICK, its bytes on the ``tape``; ``bus`` in V, ``dt`` in s.

    Returns
    -------
    int
        Bytes on the tape.
    """
    firmware, wire, length = bench.firmware, bench.wire, 0
    for i in range(rows.size):
        t = bench.k[0] * dt
        if bench.k[0] > 0:
            bicycle_plant.advance(bench.p, bench.s, firmware.T, firmware.enabled, dt)
        bicycle_plant.read(bench.p, bench.s, bench.instruments)
        firmware_receive(firmware, bench.decoder, wire.tx[0], wire.n_tx[0])
        firmware_latch(firmware, t)
        wire.n_rx[0] = firmware_sample(firmware, bench.readings, bus, wire.rx[0])
        tick(loop, wire, t, t, rows[i])
        rows[i].n_wire = tape_length(wire)
        length = lay_down(wire, tape, length)
        bench.k[0] += 1
    return length


def run(
    loop: Loop,
    plant: Plant,
    config: NodeConfig,
    operator: Operator,
    record: Callable[[np.ndarray, np.ndarray], None],
    watch: Callable[[np.void], None] | None = None,
    longest: float = 3600.0,
) -> None:
    """Run tick and plant in turn until the operator has finished.

    Parameters
    ----------
    record : callable
        Given each batch of TICK rows and the tape that belongs to it.
    watch : callable
        Given the newest row of each batch.
    longest : float
        Simulated time [s] after which the run is given up.

    Raises
    ------
    InputError
        When the operator has not finished within ``longest``.
    """
    bench, dt, tape = new_bench(plant, config), 1.0 / config.rate_hz, new_tape(1, BATCH)
    with operator.heeding_signals():
        while True:
            rows = np.zeros(BATCH, TICK)
            loop.orders["demand"] = operator.demand
            length = advance(loop, bench, config.bus, dt, rows, tape)
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
