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
from firmware_interface.framing import MAX_FRAME, new_decoder
from firmware_interface.virtual import NodeConfig
from hil.operator import Operator
from hil.record import TICK
from hil.tick import RX_SIZE, TX_SIZE, Loop, tick
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
    line: np.ndarray  # bytes from the node
    tx: np.ndarray  # bytes to the node
    under_way: np.ndarray  # (1,) i8, how many of `tx`
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
        line=np.zeros(RX_SIZE, np.uint8),
        tx=np.zeros(max(TX_SIZE, MAX_FRAME), np.uint8),
        under_way=np.zeros(1, np.int64),
        k=np.zeros(1, np.int64),
    )


@njit(cache=True, nogil=True)
def advance(loop, bench, bus, dt, rows):
    """One tick for each row of ``rows`` (n,) of TICK; ``bus`` in V, ``dt`` in s."""
    firmware = bench.firmware
    for i in range(rows.size):
        t = bench.k[0] * dt
        if bench.k[0] > 0:
            bicycle_plant.advance(bench.p, bench.s, firmware.T, firmware.enabled, dt)
        bicycle_plant.read(bench.p, bench.s, bench.instruments)
        firmware_receive(firmware, bench.decoder, bench.tx, bench.under_way[0])
        firmware_latch(firmware, t)
        n = firmware_sample(firmware, bench.readings, bus, bench.line)
        bench.under_way[0] = tick(loop, bench.line, n, t, t, rows[i], bench.tx)
        bench.k[0] += 1


def run(
    loop: Loop,
    plant: Plant,
    config: NodeConfig,
    operator: Operator,
    record: Callable[[np.ndarray], None],
    longest: float = 3600.0,
) -> None:
    """Run tick and plant in turn until the operator has finished.

    Parameters
    ----------
    record : callable
        Given each batch of TICK rows.
    longest : float
        Simulated time [s] after which the run is given up.

    Raises
    ------
    InputError
        When the operator has not finished within ``longest``.
    """
    bench, dt = new_bench(plant, config), 1.0 / config.rate_hz
    with operator.heeding_signals():
        while True:
            rows = np.zeros(BATCH, TICK)
            loop.operator[0] = operator.demand
            advance(loop, bench, config.bus, dt, rows)
            operator.watch(rows[-1])
            record(rows)
            t = float(rows[-1]["t_host"])
            if operator.finished(t):
                return
            if t > longest:
                raise InputError(
                    f"the lockstep run did not end within {longest:g} s of simulated time: ask for a shorter one"
                )
