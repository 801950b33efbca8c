"""Rows and runs for the tests of the log."""

import numpy as np

from riderless.hil.logs.header import RunHeader
from riderless.hil.logs.log import RunWriter
from riderless.hil.loop.tick_record import TICK

PERIOD = 0.005  # s
HEADER = RunHeader({"controller": "lqr", "rate": 200.0})


def random_rows(n, seed=1):
    """Any bits at all: NaN with payloads, infinities, denormals, the largest integers."""
    rng = np.random.default_rng(seed)
    rows = np.zeros(n, TICK)
    for name in TICK.names:
        width = TICK[name].itemsize
        rows[name] = np.frombuffer(rng.bytes(n * width), TICK[name])
    extremes = [np.nan, np.inf, -np.inf, -0.0, 5e-324, np.finfo(float).max][:n]
    rows["T_req"][: len(extremes)] = extremes
    rows["k"][-1:] = 2**64 - 1
    return rows


def timed_rows(n, first=0):
    rows = random_rows(n, seed=first + 1)
    rows["k"] = np.arange(first, first + n)
    rows["t_host"] = 100.0 + rows["k"] * PERIOD
    return rows


def write_run(folder, rows, batch=50, stop=("success", "the end")):
    with RunWriter(folder, HEADER) as writer:
        for start in range(0, len(rows), batch):
            writer.write(rows[start : start + batch])
        writer.marker(100.25, "kick", "lateral, 5 N s")
        writer.close(*stop)


def assert_same_bits(found, wanted):
    assert found.dtype == wanted.dtype
    for name in wanted.dtype.names:
        assert found[name].tobytes() == wanted[name].tobytes(), name
