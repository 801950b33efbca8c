"""Figures of the live page in a real Chromium: how quickly STOP works from it, how late its pictures are, how many.

    python -m tests.tools.bench_page [--presses 20] [--fifo 20] [--view flat]

The loop rides in real time against a twin, the page is looked at by headless Chromium on the same computer: once alone,
once as the eighth page beside six that read and one that never does. Pixels are counted as there when the next picture
begins. Not a test: it judges nothing.
"""

import argparse
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from hil.live.feed import LiveFeed, open_feed
from hil.loop.states import State
from tests.experiments.live.page.looking import a_browser, a_page
from tests.experiments.live.page.riding import NOTE_PRESSES, Ride, a_ride, pressed_at
from tests.tools.bench_live import deaf_page, reading

LOOKED_AT = 3.0  # s of each ride before the press
NOTE_PICTURES = """(() => {
    globalThis.shownAt = [];
    let drawn = riderless.measured.pictures, t = riderless.measured.t;
    const look = (now) => {
        if (riderless.measured.pictures !== drawn) shownAt.push([t, performance.timeOrigin + now]);
        ({ pictures: drawn, t } = riderless.measured);
        requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
})()"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--presses", type=int, default=20)
    parser.add_argument("--fifo", type=int, default=20)
    parser.add_argument("--view", choices=["3d", "flat"], default="flat")
    told = parser.parse_args()
    feed = open_feed()
    assert feed is not None
    with a_browser() as browser:
        for pages in (1, 8):
            stops, late, rates = [], [], []
            for _ in range(told.presses):
                with tempfile.TemporaryDirectory() as root:
                    one = press_in_a_ride(browser, feed, Path(root), told.fifo, pages, told.view)
                stops += one[0]
                late += one[1]
                rates.append(one[2])
            print(
                f"{pages} page(s), {told.view}, {len(stops)} of {told.presses} rides: " + in_words(stops, late, rates)
            )


def in_words(stops: list[float], late: list[float], rates: list[float]) -> str:
    """Say percentiles of times [s] and the pictures a second."""
    if not stops:
        return "none came to a press"
    press, pixels = (np.percentile(values, [50, 95]) * 1e3 for values in (stops, late or [np.nan]))
    return (
        f"STOP to the first command of the ramp p50 {press[0]:.1f}, p95 {press[1]:.1f} ms; tick to pixels "
        f"p50 {pixels[0]:.0f}, p95 {pixels[1]:.0f} ms; {np.nanmedian(rates):.1f} pictures a second"
    )


def press_in_a_ride(
    browser: Any, feed: LiveFeed, root: Path, fifo: int, pages: int, view: str
) -> tuple[list[float], list[float], float]:
    """Click on STOP in a ride: time to the ramp, ages of pictures [s], pictures a second.

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
    view : str
    """
    with ExitStack() as stack:
        ride = stack.enter_context(a_ride(root / "run", feed, fifo=fifo))
        others(stack, ride, pages)
        page = stack.enter_context(a_page(browser, f"{ride.server.address}?view={view}"))
        page.evaluate(NOTE_PRESSES)
        ride.start()
        try:
            ride.await_control()
        except AssertionError:
            return [], [], np.nan
        page.evaluate(NOTE_PICTURES)
        time.sleep(LOOKED_AT)
        page.click("#stop")
        run = ride.run()
        pressed, shown = pressed_at(page), page.evaluate("shownAt")
    ramp = run.ticks[run.ticks["state"] == State.RAMPDOWN]
    if not len(ramp) or ramp["t_host"][0] < pressed[0]:
        return [], [], np.nan
    shift = time.time() - time.monotonic()
    zero = float(run.ticks["t_host"][0])
    late = [at / 1000.0 - shift - zero - t for t, at in shown if t is not None]
    spread = (shown[-1][1] - shown[0][1]) / 1000.0
    took = float(ramp["t_host"][0] + ramp["compute"][0] - pressed[0])
    return [took], late, (len(shown) - 1) / spread


def others(stack: ExitStack, ride: Ride, pages: int) -> None:
    """Let other pages look on: one that never reads, and clients that read."""
    if pages < 2:
        return
    stack.enter_context(deaf_page(ride.server.port))
    over = threading.Event()
    stack.callback(over.set)
    for _ in range(pages - 2):
        threading.Thread(target=reading, args=(ride.server.port, over), daemon=True).start()


if __name__ == "__main__":
    main()
