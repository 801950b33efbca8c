"""Figures of the live page's core: what looking on costs the loop, how quickly STOP works, what the server takes.

    python -m tests.tools.bench_live [--seconds 600] [--pairs 20] [--presses 20] [--fifo 50]

The loop runs in real time against a twin on a pseudo-terminal. With and without a reading client take turns, so that
whatever else the machine does falls on both. Not a test: it judges nothing.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from riderless.experiments.emulation.workstand import start_twin
from riderless.experiments.live.launch import LiveServerProcess
from riderless.hil.live.feed import LiveFeed, open_feed
from riderless.hil.logs.log import read_run
from riderless.hil.loop.states import State
from riderless.hil.rig.rig import Rig, RigPort
from riderless.hil.runners.operator import Operator
from riderless.hil.runners.session import run_realtime
from riderless.hil.runners.warmup import warm_up
from riderless.models import catalogue
from tests.experiments.live.shared_memory import areas, socket_address
from tests.experiments.live.test_server import HELLO, deaf_page
from tests.hil.machine import gains, scenario

SETTLED = 1.0  # s of a run before it is measured
_SEEN_LATE = 0.0005  # s, half a period at 1 kHz


def rig_at(rate: float, clock: str = "device") -> Rig:
    """Emulated machine at a rate [Hz], on a line that is fast enough; ``clock`` says who beats time."""
    line = RigPort(baud=4_000_000 if rate > 300.0 else 921600)
    return Rig(catalogue.load_bicycle("Silver"), rate=rate, ports=(line,), watchdog=max(0.025, 5 / rate), clock=clock)


def one_run(rig, schedule, duration, fifo, feed=None, watch=None):
    """Run for so long [s]; the rows of its log."""
    with tempfile.TemporaryDirectory() as root, start_twin(rig, scenario(kicks=()), fifo=fifo) as twin:
        operator = Operator(duration)
        folder = Path(root) / "run"
        run_realtime(folder, rig, schedule, twin.paths, duration, fifo=fifo, feed=feed, operator=operator, watch=watch)
        return read_run(folder).ticks.copy()


def reading(address: str, over: threading.Event) -> None:
    """Read what a page is sent, and draw nothing."""
    with suppress(ConnectionClosed), connect(address, max_size=None) as page:
        while not over.is_set():
            try:
                json.loads(page.recv(timeout=0.2))
            except TimeoutError:
                continue


@contextmanager
def reading_process(address: str) -> Iterator[None]:
    """Let a process of its own read what a page is sent."""
    code = (
        "from websockets.sync.client import connect\n"
        f"page = connect({address!r}, max_size=None)\n"
        "print('reads', flush=True)\n"
        "for text in page: pass\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as client:
        assert client.stdout
        client.stdout.readline()
        try:
            yield
        finally:
            client.kill()


def beside_the_loop(pairs: int, duration: float, fifo: int) -> dict[str, list[np.ndarray]]:
    """Wake-ups after they were due [s] at 1 kHz, run by run, without and with a client; they take turns.

    A beat that was left out is infinitely late.
    """
    rig = rig_at(1000.0, "host")  # of a beat that the device gives, nobody knows when it was due
    schedule = gains(rig)
    warm_up(rig, schedule)
    feed = open_feed()
    found: dict[str, list[np.ndarray]] = {"without": [], "with": []}
    for _ in range(pairs):
        for kind in found:
            with ExitStack() as stack:
                if kind == "with":
                    server = stack.enter_context(LiveServerProcess(port=0))
                    server.tell(HELLO)
                    server.read_run(areas())
                    stack.enter_context(reading_process(socket_address(server.address)))
                rows = one_run(rig, schedule, duration, fifo, feed if kind == "with" else None)
            rows = rows[rows["t_host"] > rows["t_host"][0] + SETTLED]
            skipped = int(rows["ticks_skipped"][-1] - rows["ticks_skipped"][0])
            found[kind].append(np.append(rows["t_host"] - rows["t_due"], np.full(skipped, np.inf)))
    return found


def press_to_ramp(presses: int, fifo: int, pages: int) -> tuple[list[float], dict[str, float]]:
    """Times from a click on STOP to the first command of the ramp [s], and what the server took meanwhile.

    Of several pages one never reads.
    """
    rig = rig_at(200.0)
    schedule = gains(rig)
    warm_up(rig, schedule)
    feed = open_feed()
    assert feed is not None
    times: list[float] = []
    with ExitStack() as stack:
        server = stack.enter_context(LiveServerProcess(port=0))
        server.tell(HELLO)
        server.read_run(areas())
        over = threading.Event()
        if pages > 1:
            stack.enter_context(deaf_page(server))
        for _ in range(pages - 2):
            client = threading.Thread(target=reading, args=(socket_address(server.address), over), daemon=True)
            client.start()
        stack.callback(over.set)
        page = stack.enter_context(connect(socket_address(server.address), max_size=None))
        threading.Thread(target=_drain, args=(page,), daemon=True).start()
        began, used = time.monotonic(), _cpu(server.pid)
        rng = np.random.default_rng(1)
        for _ in range(presses):
            clicked = _click_in_a_run(rig, schedule, fifo, feed, page, 1.0 + float(rng.random()))
            if clicked is not None:
                times.append(clicked)
        share = (_cpu(server.pid) - used) / (time.monotonic() - began)
        memory = resident(server.pid)
    return times, {"cpu": share, "memory_MB": memory}


def _click_in_a_run(rig, schedule, fifo, feed: LiveFeed, page, after: float) -> float | None:
    """Click once, so long [s] after control began; seconds to the first command of the ramp, None if none came."""
    clicked: list[float] = []
    began: list[float] = []

    def watch(row):
        if int(row["state"]) == State.RUNNING and not began:
            began.append(time.monotonic())
            threading.Timer(after, click).start()

    def click():
        clicked.append(time.monotonic())
        page.send('{"type":"stop"}')

    rows = one_run(rig, schedule, 8.0, fifo, feed, watch)
    ramp = rows[rows["state"] == State.RAMPDOWN]
    if not clicked or not len(ramp) or ramp["t_host"][0] < clicked[0]:
        return None
    return float(ramp["t_host"][0] + ramp["compute"][0] - clicked[0])


def _drain(page) -> None:
    with suppress(ConnectionClosed):
        for _ in page:
            pass


def _cpu(pid: int) -> float:
    """Processor time of a process so far [s]."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100.0


def resident(pid: int) -> float:
    """Memory of a process [MB]."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1000.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=30.0, help="of each run at 1 kHz")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--presses", type=int, default=20)
    parser.add_argument("--fifo", type=int, default=0)
    told = parser.parse_args()
    for pages in (1, 8) if told.presses else ():
        times, took = press_to_ramp(told.presses, told.fifo, pages)
        p50, p95 = np.percentile(times, [50, 95]) * 1e3 if times else (np.nan, np.nan)
        print(
            f"STOP to the first command of the ramp, {pages} page(s): p50 {p50:.1f} ms, p95 {p95:.1f} ms "
            f"({len(times)} of {told.presses} runs); server {100 * took['cpu']:.1f} % of a core, "
            f"{took['memory_MB']:.0f} MB",
            flush=True,
        )
    if told.pairs:
        found = beside_the_loop(told.pairs, told.seconds, told.fifo)
        late = {kind: np.concatenate(runs) for kind, runs in found.items()}
        p50 = {kind: 1e6 * float(np.median(values)) for kind, values in late.items()}
        missed = {kind: float(np.mean(values > _SEEN_LATE)) for kind, values in late.items()}
        ratio = missed["with"] / missed["without"] if missed["without"] else np.nan
        print(
            f"loop at 1 kHz, without / with a reading client: wake-up p50 {p50['without']:.0f} / {p50['with']:.0f} us "
            f"(ratio {p50['with'] / p50['without']:.2f}), later than half a period {100 * missed['without']:.2f} / "
            f"{100 * missed['with']:.2f} % (ratio {ratio:.2f}), {told.pairs} pairs of {told.seconds:g} s"
        )


if __name__ == "__main__":
    main()
