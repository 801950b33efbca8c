"""Figures of the live page in a real Chromium: how quickly STOP works from it, how late its pixels are, how many.

    python -m tests.tools.bench_page [--presses 20] [--rides 3] [--seconds 20] [--fifo 20] [--view flat]

The loop rides in real time against a twin, the page is looked at by headless Chromium on the same computer: once alone,
once as the eighth page beside six that read and one that never does. A ride that its supervisor ended before the press
is told apart from one in which the press did nothing. Pixels are those of pictures that Chromium has composed and
handed out (`tests.experiments.live.page.pixels`); every row counts, from its tick to the first picture that shows it or
a newer one. Not a test: it judges nothing.
"""

import argparse
import os
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from riderless.hil.live.feed import LiveFeed, open_feed
from tests.browser import a_browser
from tests.experiments.live.page.looking import a_page
from tests.experiments.live.page.pixels import Pixels, ages
from tests.experiments.live.page.riding import Press, Ride, a_ride, press_in_a_ride
from tests.experiments.live.shared_memory import socket_address
from tests.experiments.live.test_server import deaf_page
from tests.tools.bench_live import reading

LOOKED_AT = 3.0  # s of each ride before the press


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--presses", type=int, default=20)
    parser.add_argument("--rides", type=int, default=3, help="in which pixels are looked at")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each of them")
    parser.add_argument("--fifo", type=int, default=20)
    parser.add_argument("--view", choices=["3d", "flat"], default="flat")
    told = parser.parse_args()
    feed = open_feed()
    assert feed is not None
    with a_browser() as browser:
        for pages in (1, 8) if told.presses else ():
            presses = []
            for _ in range(told.presses):
                with tempfile.TemporaryDirectory() as root:
                    presses.append(press_once(browser, feed, Path(root), told.fifo, pages))
            print(f"{pages} page(s): {presses_in_words(presses)}; load {os.getloadavg()[0]:.0f}", flush=True)
        if told.rides:
            found = []
            for _ in range(told.rides):
                with tempfile.TemporaryDirectory() as root:
                    found.append(pixels_of_a_ride(browser, feed, Path(root), told.fifo, told.view, told.seconds))
            print(f"{told.view}: {pixels_in_words(found)}; load {os.getloadavg()[0]:.0f}", flush=True)


def presses_in_words(presses: list[Press]) -> str:
    """Say percentiles of the times to the ramp, and what became of presses that cannot be timed."""
    took = [1e3 * press.took for press in presses if press.took is not None]
    why = sorted({press.why for press in presses if press.took is None})
    told = f"STOP to the first command of the ramp, {len(took)} of {len(presses)} rides"
    if took:
        p50, p95 = np.percentile(took, [50, 95])
        told += f": p50 {p50:.1f}, p95 {p95:.1f}, worst {max(took):.1f} ms"
    return "; not timed: ".join([told, *why])


def pixels_in_words(found: list[tuple[np.ndarray, np.ndarray, float]]) -> str:
    """Say percentiles of the time from a tick to pixels, and the pictures a second."""
    composed, handed = (np.percentile(np.concatenate([one[i] for one in found]), [50, 95]) * 1e3 for i in (0, 1))
    rate = np.median([one[2] for one in found])
    return (
        f"tick to composed picture p50 {composed[0]:.0f}, p95 {composed[1]:.0f} ms; to a picture in our hands "
        f"p50 {handed[0]:.0f}, p95 {handed[1]:.0f} ms; {rate:.0f} pictures a second, {len(found)} ride(s)"
    )


def press_once(browser: Any, feed: LiveFeed, root: Path, fifo: int, pages: int) -> Press:
    """Click on STOP in a ride.

    Parameters
    ----------
    browser : Browser
    feed : LiveFeed
    root : Path
        For the log.
    fifo : int
        Real-time priority of loop and twin.
    pages : int
        That look on; of several one never reads.
    """
    with ExitStack() as stack:
        ride = stack.enter_context(a_ride(root / "run", feed, fifo=fifo))
        others(stack, ride, pages)
        page = stack.enter_context(a_page(browser, f"{ride.server.address}&view=flat"))
        return press_in_a_ride(page, ride, LOOKED_AT)


def pixels_of_a_ride(
    browser: Any, feed: LiveFeed, root: Path, fifo: int, view: str, seconds: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Look at a ride: times from each row to pixels, composed and in our hands [s], and the pictures a second.

    Parameters
    ----------
    browser : Browser
    feed : LiveFeed
    root : Path
        For the log.
    fifo : int
        Real-time priority of loop and twin.
    view : str
    seconds : float
        That are looked at.
    """
    count = "riderless.measured.pictures"
    with (
        a_ride(root / "run", feed, duration=seconds + 2.0, fifo=fifo) as ride,
        a_page(browser, f"{ride.server.address}&view={view}") as page,
    ):
        ride.start()
        ride.await_control()
        pixels, before = Pixels(page), page.evaluate(count)
        page.wait_for_timeout(1e3 * seconds)
        drawn = page.evaluate(count) - before
        pixels.stop()
        run = ride.run()
    t = run.ticks["t_host"]
    return (*ages(pixels.shown, t, float(t[0])), drawn / seconds)


def others(stack: ExitStack, ride: Ride, pages: int) -> None:
    """Let other pages look on: one that never reads, and clients that read."""
    if pages < 2:
        return
    stack.enter_context(deaf_page(ride.server))
    over = threading.Event()
    stack.callback(over.set)
    for _ in range(pages - 2):
        threading.Thread(target=reading, args=(socket_address(ride.server.address), over), daemon=True).start()


if __name__ == "__main__":
    main()
