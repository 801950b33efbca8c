"""Somebody who looks at the live page, and a teller whose machine does what the test says."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from riderless.experiments.live.altered import AlteredBicycle
from riderless.experiments.live.hello import bicycle_fields, limit_reasons, limit_values
from riderless.experiments.live.launch import LiveServerProcess
from riderless.experiments.live.schema import (
    LiveChoice,
    LiveEvent,
    LiveFit,
    LiveHello,
    LiveRows,
    LiveStatus,
    PlayChoices,
    ReplayLine,
    ShownRun,
    ShownWindow,
    as_text,
)
from riderless.hil.rig.rig import Rig
from riderless.models import load_bicycle
from tests.browser import overhear

RIG = Rig(load_bicycle("Benchmark"))
CAN: dict[str, list[Any]] = {
    "live": ["stop"],
    "play": ["stop", "kick", "wind", "speed", "fault", "controller", "parameter"],
    "replay": ["seek", "pace"],
}
PATIENCE = 20.0  # s, of a test on a busy computer
PERIOD = 1.0 / 30.0  # s
BROKEN_WEBGL = "GL Driver Message"  # Chromium's own remark where a processor draws in 3D


def hello(kind: Any = "live", **about: Any) -> LiveHello:
    """First message of a machine with a bicycle of the catalogue."""
    play = PlayChoices(
        faults=[LiveChoice(name="none"), LiveChoice(name="drive dead", what="the drive makes no torque")],
        controllers=[LiveChoice(name="lqr"), LiveChoice(name="off")],
        controller="lqr",
        speed=4.6,
        speed_min=2.0,
        speed_max=8.0,
        parameters=AlteredBicycle(RIG.bicycle).sliders(),
    )
    windows = [ShownWindow(t_start=3.0, t_end=5.0, text="weave"), ShownWindow(t_start=7.0, t_end=8.0, rejected=True)]
    return LiveHello(
        **{
            "kind": kind,
            "title": "A machine to look at",
            "label": "lqr at 4.6 m/s",
            "rate": 200.0,
            "limits": limit_values(RIG.limits, "torque"),
            "limit_reasons": limit_reasons(RIG.limits, "torque"),
            "gain_speeds": [2.0, 4.0, 6.0],
            "can": CAN[kind],
            "play": play if kind == "play" else None,
            "replay": ReplayLine(start=0.0, end=60.0, windows=windows, runs=[ShownRun(name="a run")])
            if kind == "replay"
            else None,
            **bicycle_fields(RIG.bicycle, None),
            **about,
        }
    )


class Teller:
    """Machine as the page sees it: rows and a digest, again and again, until it is silent.

    Attributes
    ----------
    status : LiveStatus
        Told ten times a second.
    """

    def __init__(self, kind: str = "live", port: int = 0, **about: Any) -> None:
        self.server = LiveServerProcess(port=port)
        self.status = LiveStatus(state="under control, 12 s left", code="RUNNING", age_s=0.0)
        self.lean = np.radians(5.0)
        self.asked: list[dict[str, Any]] = []
        self._silent, self._over = threading.Event(), threading.Event()
        self._began = time.monotonic()
        self.server.tell(as_text(hello(kind, **about)))
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return self.server.address

    @property
    def t(self) -> float:
        return time.monotonic() - self._began

    def be_silent(self, silent: bool = True) -> None:
        """Tell nothing any more, or again."""
        (self._silent.set if silent else self._silent.clear)()

    def event(self, kind: Any, text: str) -> None:
        self.server.tell(as_text(LiveEvent(t=self.t, kind=kind, text=text)))

    def fit(self, **about: Any) -> None:
        self.server.tell(as_text(LiveFit(**about)))

    def heard(self, kind: str, n: int = 1) -> list[dict[str, Any]]:
        """Give what pages have asked for of that kind, as soon as there are ``n``."""
        await_that(lambda: len([one for one in self.asked if one["type"] == kind]) >= n)
        return [one for one in self.asked if one["type"] == kind]

    def close(self) -> None:
        """End machine and server; harmless the second time."""
        if not self._over.is_set():
            self._over.set()
            self._thread.join()
            self.server.close()

    def _go_on(self) -> None:
        beat = 0
        while not self._over.wait(PERIOD):
            self.asked.extend(self.server.requests())
            if self._silent.is_set():
                continue
            n, empty = 3, [None] * 3
            t = [self.t - 0.01 * i for i in reversed(range(n))]
            numbers: dict[str, list[float]] = {"phi": [self.lean] * n, "delta": [-0.1] * n, "v": [4.6] * n}
            still: dict[str, list[float]] = {name: [0.0] * n for name in ("phi_dot", "delta_dot", "torque")}
            rows = LiveRows(t=t, **numbers, **still, y=empty, psi=empty, state=[3] * n, cause=[0] * n)
            self.server.tell(as_text(rows))
            beat += 1
            if beat % 3 == 0:
                self.server.tell(as_text(self.status))


def await_that(true: Callable[[], bool]) -> None:
    """Wait until something is true."""
    until = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < until, "it did not come true"
        time.sleep(0.02)


@contextmanager
def a_page(browser: Any, address: str, width: int = 1280, height: int = 800, scheme: str = "light") -> Iterator[Any]:
    """Look at an address; fails when the page asks for anything outside, or says anything on the browser's console."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page = context.new_page()
    own = address.split("?")[0].removeprefix("http://").split("/")[0]
    said, outside = overhear(page, lambda url: own in url)
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(address)
    page.wait_for_selector("body[data-kind]")
    try:
        yield page
    finally:
        context.close()
    assert outside == []
    # a server that is gone is gone; the browser itself says so
    assert [text for text in said if BROKEN_WEBGL not in text and "WebSocket connection to" not in text] == []
