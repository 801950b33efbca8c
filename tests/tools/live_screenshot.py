"""Take the picture of the live page that the README shows: `riderless play`, kicked a few times, in a real Chromium.

    python -m tests.tools.live_screenshot docs/live.png

Wants chromium and playwright. Before the page rides an emulated bicycle in real time: no two pictures are alike.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.image import imread, imsave

from tests.browser import a_browser

LARGEST = 200_000  # bytes
KICKS = ("ArrowLeft", "ArrowRight", "ArrowLeft")
BETWEEN = 4.5  # s between two kicks: a window and its fit
LATE = 0.55  # s after the last kick, while it still leans
COLOURS = 8  # steps of each of red, green, blue: a drawing needs no more


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, default=800)
    parser.add_argument("--scheme", choices=["light", "dark"], default="light")
    parser.add_argument("--view", choices=["3d", "flat"], default="3d")
    told = parser.parse_args()
    command = [sys.executable, "-m", "riderless.experiments.cli", "play", "--tcp-port", "0", "--no-browser", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as play:
        try:
            with suppress(PermissionError):  # a browser that draws in 3D without a card leaves little to others
                os.sched_setscheduler(play.pid, os.SCHED_FIFO, os.sched_param(10))
            assert play.stdout
            address = json.loads(play.stdout.readline())["address"]
            with a_browser() as browser:
                context = browser.new_context(
                    viewport={"width": told.width, "height": told.height}, color_scheme=told.scheme
                )
                take(context.new_page(), f"{address}&view={told.view}", told.out)
        finally:
            os.kill(play.pid, signal.SIGINT)
    shrink(told.out)
    print(f"{told.out}: {told.out.stat().st_size / 1000:.0f} kB")


def take(page: Any, address: str, out: Path) -> None:
    """Kick until there are fits, once more, and take the picture while it leans."""
    page.set_default_timeout(120_000)
    page.goto(address)
    page.wait_for_selector('body[data-state="RUNNING"]')
    time.sleep(2.0)
    for key in KICKS:
        page.keyboard.press(key)
        time.sleep(BETWEEN)
    page.wait_for_selector("#fits tbody tr")
    page.locator("#strength").fill("2.5")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowRight")
    time.sleep(LATE)
    page.screenshot(path=str(out))


def shrink(path: Path) -> None:
    """Write a picture with fewer colours, where it is too large as it is."""
    for steps in (64, 32, 16, COLOURS):
        if path.stat().st_size <= LARGEST:
            return
        picture = imread(path)[..., :3]
        imsave(path, np.round(picture * (steps - 1)) / (steps - 1), pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
