"""Keep the live page open in a real Chromium, before an emulated bicycle that is kicked, and watch what it takes.

    python -m tests.tools.live_soak [--minutes 30] [--view flat] [--every 60]

Prints, once a minute, the page's heap after a collection, the memory of the browser's processes and of the server, and
the pictures a second; at the end how much each grew from the first third to the last. Not a test: it judges nothing.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from tests.browser import a_browser
from tests.tools.bench_live import resident

BETWEEN = 10.0  # s between two kicks
SETTLED = 120.0  # s that a page and its browser take to have everything


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--view", choices=["3d", "flat"], default="flat")
    parser.add_argument("--every", type=float, default=60.0, help="s between two looks")
    told = parser.parse_args()
    command = [sys.executable, "-m", "riderless.experiments.cli", "play", "--tcp-port", "0", "--no-browser", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as play:
        try:
            assert play.stdout
            started = json.loads(play.stdout.readline())
            with a_browser() as browser:
                page = browser.new_page(viewport={"width": 1280, "height": 800})
                page.set_default_timeout(120_000)
                page.goto(f"{started['address']}&view={told.view}")
                page.wait_for_selector('body[data-state="RUNNING"]')
                time.sleep(SETTLED)
                rows = watch(page, started["server"], told.minutes * 60.0, told.every)
        finally:
            os.kill(play.pid, signal.SIGINT)
    third = max(1, len(rows) // 3)
    first, last = np.mean(rows[:third], axis=0), np.mean(rows[-third:], axis=0)
    for name, a, b in zip(("heap", "browser", "server", "pictures a second"), first[1:], last[1:], strict=True):
        print(f"{name}: {a:.1f} in the first third, {b:.1f} in the last, {100.0 * (b / a - 1.0):+.1f} %")


def watch(page: Any, server: int, seconds: float, every: float) -> list[tuple[float, ...]]:
    """Kick and look; rows of time [s], heap, browser, server [MB], pictures a second."""
    spoken = page.context.new_cdp_session(page)
    rows: list[tuple[float, ...]] = []
    began = time.monotonic()
    side, pictures, at = 0, page.evaluate("riderless.measured.pictures"), time.monotonic()
    while (now := time.monotonic()) - began < seconds:
        page.keyboard.press(("ArrowLeft", "ArrowRight")[side % 2])
        side += 1
        time.sleep(BETWEEN)
        if now - at < every:
            continue
        drawn, then = page.evaluate("riderless.measured.pictures"), time.monotonic()
        spoken.send("HeapProfiler.collectGarbage")
        heap = page.evaluate("performance.memory.usedJSHeapSize") / 1e6
        rows.append((then - began, heap, browser_memory(), resident(server), (drawn - pictures) / (then - at)))
        pictures, at = drawn, then
        print("{:6.0f} s  heap {:6.2f} MB  browser {:6.1f} MB  server {:5.1f} MB  {:4.1f} a second".format(*rows[-1]))
        sys.stdout.flush()
    return rows


def browser_memory() -> float:
    """Memory of the browsers that this process started, shared parts counted once [MB]."""
    total, known = 0.0, {os.getpid()}
    for found in sorted(int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit()):
        try:
            parent = int(Path(f"/proc/{found}/stat").read_text().rsplit(")", 1)[1].split()[1])
            if parent not in known:
                continue
            known.add(found)
            if "chrom" in Path(f"/proc/{found}/comm").read_text():
                pss = Path(f"/proc/{found}/smaps_rollup").read_text().split("Pss:", 1)[1]
                total += int(pss.split()[0]) / 1000.0
        except (OSError, IndexError):
            continue
    return total


if __name__ == "__main__":
    main()
