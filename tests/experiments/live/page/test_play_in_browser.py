"""`riderless play` from end to end: a browser kicks, breaks and stops a bicycle that arms and starts itself."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from riderless.hil.logs.log import read_run
from tests.browser import a_browser
from tests.experiments.live.page.looking import a_page, await_that

RIDES = 'body[data-state="RUNNING"]'
FALLEN = "text=picked up: starts again at once"
STOPPED = "text=stopped: S or 'start again' starts it"
MEAN = """([name, seconds]) => {
    const rows = riderless.store.rows, from = rows.at(rows.now("t") - seconds);
    return rows[name].slice(from, rows.end).reduce((sum, value) => sum + value, 0) / (rows.end - from);
}"""


@contextmanager
def playing(out: Path) -> Iterator[Any]:
    """Start play, and look at it as soon as it rides by itself; nobody has armed it."""
    command = [sys.executable, "-m", "riderless.experiments.cli", "play", "--tcp-port", "0", "--no-browser", "--json"]
    with subprocess.Popen([*command, "--out", str(out)], stdout=subprocess.PIPE, text=True) as play:
        try:
            assert play.stdout
            address = json.loads(play.stdout.readline())["address"]
            with a_browser() as browser, a_page(browser, address) as page:
                page.set_default_timeout(60_000)
                page.wait_for_selector(RIDES)
                page.wait_for_timeout(1500)
                yield page
        finally:
            play.send_signal(signal.SIGINT)
            assert play.wait(60.0) == 0


def kick_and_look(page: Any, side: str, sign: int) -> None:
    """Kick by a key; the bicycle leans to that side, and the page says so."""
    page.keyboard.press(f"Arrow{side.capitalize()}")
    page.wait_for_selector(f"#event-list >> text=kicked to the {side}")
    newest = f"{sign} * riderless.store.rows.now('phi') > 0.01"
    await_that(lambda: page.evaluate(newest))


def test_a_person_kicks_and_stops(tmp_path):
    with playing(tmp_path) as page:
        kick_and_look(page, "left", -1)
        page.keyboard.press("Space")
        page.wait_for_selector(STOPPED)
    assert len(list(tmp_path.glob("*/run.mcap"))) == 1


def test_a_person_alters_the_bicycle_and_opens_the_loop(tmp_path):
    with playing(tmp_path) as page:
        before = page.inner_text("#plane-now")
        page.locator("#parameter-w").fill("1.2")
        await_that(lambda: page.inner_text("#plane-now") != before)  # at once
        assert page.locator("#plane .curve.earlier").count() > 0  # the loop's curves stay, pale, until theirs are known
        assert "pale line" in page.inner_text("#plane-key")
        page.wait_for_selector("#title >> text=Benchmark, altered bicycle")
        page.wait_for_selector(RIDES)
        assert page.locator("#plane .curve.earlier").count() == 0
        assert "whole line" in page.inner_text("#plane-key")
        page.locator("#parameter-c").fill("-0.02")
        page.wait_for_selector("#refused >> text=c = -0.02 m, plausible are 0.01 to 0.4 m")
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("o")
        page.wait_for_selector("#title >> text=off at 4.6 m/s")
        page.wait_for_selector(RIDES)
        page.wait_for_timeout(1500)
        kick_and_look(page, "right", 1)
        page.click("#reset")
        page.wait_for_selector("#title >> text=Benchmark bicycle")
    ridden = [read_run(run.parent).header.rig.bicycle for run in sorted(tmp_path.glob("*/run.mcap"))]
    assert [(bicycle.name, bicycle.w) for bicycle in ridden[:3]] == [
        ("Benchmark", 1.02),
        ("Benchmark, altered", pytest.approx(1.2)),
        ("Benchmark, altered", pytest.approx(1.2)),
    ]


@pytest.mark.slow
def test_a_person_plays_with_all_there_is(tmp_path):
    with playing(tmp_path) as page:
        told = page.inner_text("#keys")
        for words in ("← → kick", "↑ ↓ speed", "A D wind", "1 to 9 controller", "S start again", "space stop"):
            assert words in told
        kick_and_look(page, "left", -1)
        page.wait_for_timeout(2500)
        kick_and_look(page, "right", 1)
        page.wait_for_selector("#fits >> text=weave")  # the motion after a kick, beside theory

        before = page.evaluate(MEAN, ["v", 0.5])
        for _ in range(5):
            page.keyboard.press("ArrowUp")
        await_that(lambda: abs(page.evaluate(MEAN, ["v", 0.3]) - before - 1.0) < 0.1)  # of 0.2 m/s each

        straight = page.evaluate(MEAN, ["delta", 2.0])
        for _ in range(10):
            page.keyboard.press("d")  # 2 N each, to the right
        page.wait_for_timeout(4000)
        assert page.get_attribute("body", "data-state") == "RUNNING"
        assert page.evaluate(MEAN, ["delta", 2.0]) - straight > 0.005  # it is blown into a turn to that side
        for _ in range(10):
            page.keyboard.press("a")

        page.keyboard.press("2")
        page.wait_for_selector("#title >> text=poles at 5.6 m/s")
        page.wait_for_selector(RIDES)
        for _ in range(9):
            page.keyboard.press("ArrowDown")  # below the weave speed, where a kick without a drive is too much for it
        await_that(lambda: abs(page.evaluate(MEAN, ["v", 0.3]) - (before - 0.8)) < 0.1)
        page.select_option("#fault", "drive dead")
        page.click("#break")
        page.wait_for_selector("#event-list >> text=fault asked for: drive dead")
        page.keyboard.press("ArrowLeft")
        page.wait_for_selector(FALLEN)
        page.wait_for_selector(RIDES)  # mended, and by itself

        page.keyboard.press("Space")
        page.wait_for_selector(STOPPED)
        page.wait_for_timeout(3000)
        assert page.get_attribute("body", "data-state") == "DISARMED", "a STOP is heeded until somebody starts"
        page.keyboard.press("s")
        page.wait_for_selector(RIDES)
    assert len(list(tmp_path.glob("*/run.mcap"))) == 4, "each ride has its log"
