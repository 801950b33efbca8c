"""`make bench`: the figures that matter, measured in one run on this machine. Not a test: it judges nothing.

Wall-clock figures of a shared machine wander; compare ratios within one run.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import control
import numpy as np
from numba import njit
from rich.console import Console
from rich.table import Table

from riderless.experiments.recordings.foreign.formats.registry import read_table
from riderless.firmware_interface.messages import RAW
from riderless.firmware_interface.node import reference_codec
from riderless.firmware_interface.node.protocol import RECEIVER, encode_sample, receive_samples
from riderless.firmware_interface.twins.faults import TO_NODE
from riderless.firmware_interface.twins.faulty_link import fetch, post
from riderless.firmware_interface.twins.faulty_node import drive_output, sampling_instant
from riderless.hil.controllers.compiled import read_law
from riderless.hil.controllers.lti import LTI_INPUTS, LTIController
from riderless.hil.loop.tick import tick
from riderless.hil.loop.tick_record import TICK
from riderless.hil.rig.file import read_rig
from riderless.hil.rig.rig import Rig
from riderless.hil.runners import libc, lockstep
from riderless.hil.runners.assembly import new_loop
from riderless.hil.runners.emulation import emulated_devices, emulated_node, emulated_plant
from riderless.hil.runners.operator import Operator
from riderless.hil.runners.session import agree_with_devices
from riderless.models.plant import plant as bicycle_plant
from tests.hil.machine import gains, rig_of, scenario
from tests.paths import DOCS, ROOT
from tests.process_usage import usage_of
from tests.tools import bench_modes, bench_nonlinear, bench_verdict
from tests.tools.long_log import write_long_log

TICKS = 20_000
SHORT_RUN, LONG_RUN = 600.0, 5 * 3600.0  # s, of the log that is analysed; the longer one takes 4 GB and ten minutes
STARTED = (  # as `riderless run` with a rig file and a file of gains
    "import sys, time; t = time.perf_counter(); from pathlib import Path;"
    "from riderless.hil.controllers.registry import read_controller; from riderless.hil.rig.file import read_rig;"
    "from riderless.hil.runners.warmup import warm_up; rig = read_rig(Path(sys.argv[1]));"
    "warm_up(rig, read_controller(sys.argv[2], rig.bicycle, rig.timing, rig.drive)); print(time.perf_counter() - t)"
)


@njit
def _timed(loop, bench, bus, dt, row, scratch, ns):
    """As `lockstep.run_ticks`, with the host's clock read before and after each tick."""
    node, wire = bench.node, bench.wire
    for i in range(ns.size):
        t = i * dt
        if i > 0:
            T, on = drive_output(node, (i - 1) * dt)
            bicycle_plant.advance_plant(bench.p, bench.s, bench.kicks, T, on, dt)
        bicycle_plant.read_plant(bench.p, bench.s, bench.instruments)
        sampling_instant(node, bench.readings, bus, t, t)
        wire.n_rx[0] = fetch(node.up, t, wire.rx[0])
        before = libc.now(scratch)
        tick(loop, wire, t, t, row)
        ns[i] = libc.now(scratch) - before
        post(node.down, node.faults, TO_NODE, wire.tx[0], wire.n_tx[0], t, t)


def documented_law(rig):
    """Law in Python of docs/controllers.md, for a rig."""
    text = (DOCS / "controllers.md").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "my_law.py"
        path.write_text(text.split("```python\n")[1].split("```")[0], encoding="utf-8")
        return read_law(path, rig.bicycle, rig.timing)


def smoothed_gains(rig):
    """Gains of the LQR behind two quick lags on each of their four inputs: a state space of eight states."""
    schedule, pole = gains(rig), 0.3
    A = np.kron(np.eye(4), [[pole, 0.0], [1.0 - pole, pole]])
    B = np.kron(np.eye(4), [[1.0 - pole], [0.0]])
    systems = [control.ss(A, B, -np.kron(K[:4], [0.0, 1.0])[None, :], 0.0, rig.dt) for K in schedule.K]
    return LTIController.from_statespace(systems, schedule.v, LTI_INPUTS[:4], rig.bicycle, rig.timing)


LAWS = {"gains": gains, "state space": smoothed_gains, "law in Python": documented_law}


def _machine(law="gains"):
    rig = rig_of()
    loop = new_loop(rig, LAWS[law](rig), rig.calibrated().as_record())
    return rig, loop, emulated_plant(rig, scenario())


def tick_time(law: str = "gains") -> np.ndarray:
    """Nanoseconds of each tick, decode to record, in a running loop under that law."""
    rig, loop, plant = _machine(law)
    bench, row = lockstep.new_bench(plant, emulated_node(rig)), np.zeros(1, TICK)[0]
    ns, scratch = np.zeros(TICKS), np.zeros(1, libc.TIMESPEC)
    loop.orders["demand"] = 3
    _timed(loop, bench, 24.0, rig.dt, row, scratch, ns[:10])
    _timed(loop, bench, 24.0, rig.dt, row, scratch, ns)
    return ns


def lockstep_multiple(rig: Rig, seconds: float = 120.0) -> float:
    """Simulated seconds per second of a whole lockstep run, with all devices of the rig."""

    def once(duration: float) -> float:
        devices, agreed, calibration = emulated_devices(rig), rig, rig.calibrated()
        if devices.introductions is not None:
            agreed, calibration = agree_with_devices(rig, devices.introductions)
        loop = new_loop(agreed, gains(agreed), calibration.as_record(), devices.introductions)
        plant, operator = emulated_plant(agreed, scenario()), Operator(duration)
        began = time.perf_counter()
        lockstep.run_in_lockstep(
            loop,
            plant,
            emulated_node(agreed),
            operator,
            lambda rows, tape: None,
            devices=devices.twins,
            wiring=devices.wiring,
        )
        assert operator.outcome().reason == "success"
        return time.perf_counter() - began

    once(0.1)
    return seconds / once(seconds)


def decode_rates() -> tuple[float, float]:
    """MB/s of sample frames through the compiled receiver and through the plain-Python codec."""
    rng, out, stream = np.random.default_rng(0), np.zeros(64, np.uint8), []
    raw = np.zeros(1, RAW)[0]
    for seq in range(20_000):
        raw["seq"], raw["t_us"] = seq, 5000 * seq
        raw["gyro_counts"] = rng.integers(-3000, 3000, 3)
        stream.append(out[: encode_sample(raw, out)].copy())
    data = np.concatenate(stream)
    receiver = np.zeros(1, RECEIVER)[0]
    receive_samples(receiver, data, 100, raw)
    began = time.process_time()
    for _ in range(10):
        receive_samples(receiver, data, data.size, raw)
    compiled = 10 * data.size / (time.process_time() - began) / 1e6
    frames = [frame for frame in data[:100_000].tobytes().split(b"\0") if frame]
    began = time.process_time()
    for frame in frames:
        reference_codec.decode(frame)
    return compiled, 0.1 / (time.process_time() - began)


def start_up() -> tuple[float, float]:
    """Seconds from the first import until the loop could tick: with an empty cache, then with a full one."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        rig, controller = DOCS / "rigs" / "node.toml", Path(cache) / "gains.toml"
        controller.write_text(gains(read_rig(rig)).to_toml(), encoding="utf-8")

        def once() -> float:
            done = subprocess.run(
                [sys.executable, "-c", STARTED, rig, controller],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            return float(done.stdout)

        return once(), min(once() for _ in range(3))


def first_look() -> float:
    """Seconds of what `make run` begins with, everything compiled on the way."""
    command = [sys.executable, "-m", "riderless.experiments.cli", "campaign", "docs/campaigns/first_look.toml", "--out"]
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as out:
        began = time.perf_counter()
        subprocess.run(
            [*command, out], cwd=ROOT, env={**os.environ, "NUMBA_CACHE_DIR": cache}, capture_output=True, check=True
        )
        return time.perf_counter() - began


def command_time(*arguments: str) -> float:
    """Seconds of `riderless ARGUMENTS`, best of seven."""
    command = [sys.executable, "-m", "riderless.experiments.cli", *arguments]

    def once() -> float:
        began = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        return time.perf_counter() - began

    return min(once() for _ in range(7))


def long_analysis(seconds: float) -> tuple[float, float, float]:
    """Size of a log at 1 kHz [MB], and processor time [s] and memory [MB] of its analysis in a process of its own."""
    with tempfile.TemporaryDirectory() as root:
        asked = [sys.executable, "-m", "riderless.experiments.cli", "analyze", "--json"]
        warm = write_long_log(Path(root) / "warm", 20.0)  # so that nothing is compiled in what is measured
        subprocess.run([*asked, str(warm)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        log = write_long_log(Path(root) / "long", seconds)
        size = (log / "run.mcap").stat().st_size / 1e6
        used = usage_of([*asked, str(log)], stderr=subprocess.DEVNULL)
        assert used.code == 0
    return size, used.seconds, used.memory / 1e6


def long_text() -> tuple[float, float]:
    """Processor time [s] of reading a CSV of ten minutes at 1 kHz, by us and by `numpy.loadtxt`, best of three each."""
    t = np.arange(600_000) / 1000.0
    with tempfile.TemporaryDirectory() as root:
        path = Path(root) / "log.csv"
        columns = np.column_stack([t, *np.random.default_rng(1).standard_normal((5, len(t)))])
        np.savetxt(path, columns, fmt="%.6f", delimiter=",", header="t,a,b,c,d,e", comments="")

        def once(read: Callable[[Path], object]) -> float:
            began = time.process_time()
            read(path)
            return time.process_time() - began

        # in turn, because the clock of a processor wanders
        rounds = [(once(read_table), once(lambda p: np.loadtxt(p, delimiter=",", skiprows=1))) for _ in range(3)]
    ours, plain = map(min, zip(*rounds, strict=True))
    return ours, plain


def main() -> None:
    seconds = LONG_RUN if "--long" in sys.argv else SHORT_RUN
    three_ports = read_rig(DOCS / "rigs" / "vectornav-vesc.toml")
    ns, multiple, several, (compiled, plain), (cold, warm) = (
        tick_time(),
        lockstep_multiple(rig_of()),
        lockstep_multiple(three_ports),
        decode_rates(),
        start_up(),
    )
    table = Table(title=f"riderless bench, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}", title_justify="left")
    for column in ("what", "figure", "beside"):
        table.add_column(column)
    median, tail = np.percentile(ns, [50, 99]) / 1e3
    table.add_row(
        "tick, decode to record, p50",
        f"{median:.2f} us",
        f"p99 {tail:.2f} us; {0.005 / median * 1e6:.0f} x faster than 200 Hz needs",
    )
    # in turn, because the clock of a processor wanders
    rounds = [(tick_time(), tick_time("state space"), tick_time("law in Python")) for _ in range(5)]
    under, other, own = (min(float(np.percentile(each[i], 50)) for each in rounds) / 1e3 for i in range(3))
    table.add_row(
        "tick under a state space of 8 states", f"{other:.2f} us", f"under gains {under:.2f} us, best of 5 each"
    )
    table.add_row(
        "tick under a law in Python", f"{own:.2f} us", f"that of docs/controllers.md; under gains {under:.2f} us"
    )
    table.add_row("lockstep run", f"{multiple:.0f} x real time", "200 Hz, plant, node, tick, operator")
    table.add_row("lockstep run of three ports", f"{several:.0f} x real time", "VectorNav, VESC and our node at 200 Hz")
    table.add_row(
        "decoding samples",
        f"{compiled:.0f} MB/s",
        f"plain Python {plain:.2f} MB/s, ratio {compiled / plain:.0f}",
    )
    table.add_row("start-up to first tick", f"cold {cold:.1f} s", f"warm {warm:.2f} s, ratio {cold / warm:.0f}")
    table.add_row("first report of make run", f"{first_look():.0f} s", "everything compiled on the way")
    shown, listed = command_time("--help"), command_time("eig", "Silver", "--speeds", "0:10:0.5")
    table.add_row("riderless --help", f"{shown:.2f} s", f"eig Silver --speeds 0:10:0.5 {listed:.2f} s")
    nonlinear = bench_nonlinear.bench()
    one, lane = nonlinear["evaluation_us"], nonlinear["ensemble_evaluation_us"]
    table.add_row(
        "nonlinear bicycle, one evaluation",
        f"{one:.3f} us",
        f"one SIMD lane each {lane:.3f} us, ratio {one / lane:.1f}",
    )
    table.add_row(
        "5 s of figure 4, RK4 at 1 ms",
        f"{nonlinear['figure_4_ms']:.1f} ms",
        f"{5e3 / nonlinear['figure_4_ms']:.0f} x real time",
    )
    table.add_row("eigenvalues, named, 1000 speeds", *bench_modes.row())
    table.add_row("verdict with pairs of causes, beyond the fits", *bench_verdict.row())
    ours, plain = long_text()
    table.add_row("ten minutes of CSV at 1 kHz, read", f"{ours:.2f} s", f"ratio to numpy.loadtxt {ours / plain:.2f}")
    size, used, memory = long_analysis(seconds)
    table.add_row(
        f"{seconds / 60:.0f} min at 1 kHz, analysed",
        f"{used:.1f} s",
        f"{memory:.0f} MB of memory for a log of {size:.0f} MB"
        + ("" if seconds == LONG_RUN else "; five hours: --long"),
    )
    Console().print(table)


if __name__ == "__main__":
    main()
