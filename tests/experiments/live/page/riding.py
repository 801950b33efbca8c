"""Emulated machine that rides in real time in this process, on pages before it; the test itself drives the browser."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from riderless.experiments.emulation.workstand import start_twin
from riderless.experiments.live.hello import hello_of
from riderless.experiments.live.launch import LiveServerProcess
from riderless.experiments.live.schema import LiveStatus, as_text
from riderless.hil.live import layout
from riderless.hil.live.feed import LiveFeed
from riderless.hil.logs.header import new_header
from riderless.hil.logs.log import Run, read_run
from riderless.hil.loop.states import Demand, State
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.operator import Operator, Outcome
from riderless.hil.runners.session import run_realtime
from riderless.hil.runners.warmup import warm_up
from tests.experiments.live.page.looking import await_that
from tests.hil.machine import gains, rig_of, scenario

FIFO = 20  # where this machine gives it
PATIENCE = 0.2  # s without a sample or a command


class Ride:
    """Ride under way.

    Attributes
    ----------
    server : LiveServerProcess
    outcome : Outcome or None
        None as long as it goes on.
    """

    def __init__(self, folder: Path, rig: Rig, feed: LiveFeed, duration: float, fifo: int) -> None:
        self.rig, self.folder, self.fifo = rig, folder, fifo
        self.schedule = gains(rig)
        warm_up(rig, self.schedule)
        self.server = self.new_server()
        self.row: np.void | None = None
        self.outcome: Outcome | None = None
        self._feed, self._duration = feed, duration
        self._thread = threading.Thread(target=self._go)

    def new_server(self, port: int = 0) -> LiveServerProcess:
        """Start a server for the run's memory, told what a teller tells."""
        server = LiveServerProcess(port=port)
        header = new_header(self.rig, self.schedule, self.rig.calibrated(), runner="realtime", label="a ride")
        server.tell(
            as_text(hello_of(header, kind="live", title="A ride", can=["stop"], presence=bool(self.rig.present)))
        )
        server.tell(as_text(LiveStatus(state="a ride", code="RUNNING")))
        server.read_run(layout.areas_of(os.getpid()))
        return server

    def start(self) -> None:
        """Let it begin."""
        self._thread.start()

    def await_control(self) -> None:
        """Wait until the controller commands."""
        await_that(lambda: not self._thread.is_alive() or self._state() == State.RUNNING)
        assert self._state() == State.RUNNING, self.outcome

    def run(self) -> Run:
        """Wait for its end; its log."""
        self._thread.join(60.0)
        assert not self._thread.is_alive()
        return read_run(self.folder)

    def close(self) -> None:
        """End ride and server; harmless when they have ended."""
        if self._thread.is_alive():
            self._feed.presses[layout.STOP_PRESSES] = 2
            self._thread.join(60.0)
        self.server.close()

    def _state(self) -> int:
        return -1 if self.row is None else int(self.row["state"])

    def _go(self) -> None:
        def watch(row: np.void) -> None:
            self.row = row

        with start_twin(self.rig, scenario(kicks=()), fifo=self.fifo) as twin:
            self.outcome = run_realtime(
                self.folder,
                self.rig,
                self.schedule,
                twin.paths,
                self._duration,
                fifo=self.fifo,
                feed=self._feed,
                operator=Operator(self._duration),
                watch=watch,
            )


def patient(rig: Rig) -> Rig:
    """Give a rig patience: a browser takes the processor from the loop, and that is not what is looked at here."""
    limits = replace(
        rig.limits,
        stale=replace(rig.limits.stale, value=PATIENCE, reason="a browser runs beside"),
        late=replace(rig.limits.late, value=rig.rate, reason="a browser runs beside"),
    )
    return replace(rig, watchdog=PATIENCE, limits=limits)


@contextmanager
def a_ride(folder: Path, feed: LiveFeed, duration: float = 15.0, fifo: int = FIFO, **rig: Any) -> Iterator[Ride]:
    """Ride that a test starts; it ends with the context."""
    feed.presses[:] = feed.flow[:] = 0  # nothing of the ride before is shown
    made = Ride(folder, patient(rig_of(**rig)), feed, duration, fifo)
    try:
        yield made
    finally:
        made.close()


NOTE_PRESSES = """(() => {
    globalThis.pressedAt = [];
    const note = (event) => { if (event.isTrusted) pressedAt.push(performance.timeOrigin + event.timeStamp); };
    document.getElementById("stop").addEventListener("click", note, true);
    addEventListener("keydown", (event) => { if (event.code === "Space") note(event); }, true);
})()"""


class Press(NamedTuple):
    """STOP clicked in a ride: seconds to the first command of the ramp, or why there was none to be timed."""

    took: float | None
    why: str


def press_in_a_ride(page: Any, ride: Ride, after: float) -> Press:
    """Ride, and click on STOP so long [s] after control began.

    A ride that its own supervisor has ended before the click shows nothing about STOP, and is told apart from one in
    which the click did nothing.

    Parameters
    ----------
    page : Page
        That looks at the ride.
    ride : Ride
        Not yet started.
    after : float
    """
    page.evaluate(NOTE_PRESSES)
    ride.start()
    try:
        ride.await_control()
    except AssertionError as never:
        return Press(None, f"before the press: {never}")
    page.wait_for_timeout(1000.0 * after)
    if ride.outcome is not None:
        return Press(None, f"before the press: {ride.outcome.cause}")
    page.click("#stop")
    run, pressed = ride.run(), pressed_at(page)
    assert ride.outcome is not None
    ended = run.ticks[np.isin(run.ticks["state"], (State.RAMPDOWN, State.FAULT, State.DISARMED))]
    ended = ended[ended["k"] > run.ticks["k"][run.ticks["state"] == State.RUNNING][0]]
    if pressed and ended["t_host"][0] < pressed[0]:
        return Press(None, f"before the press: {ride.outcome.cause}")
    stopped = ended[ended["demand"] <= Demand.STOP]
    took = float(stopped["t_host"][0] + stopped["compute"][0] - pressed[0]) if pressed and len(stopped) else None
    return Press(took, ride.outcome.cause if pressed else "the page heard of no press")


def pressed_at(page: Any) -> list[float]:
    """Presses on the page [s, clock of `t_host`]; `NOTE_PRESSES` must have been evaluated there."""
    shift = time.time() - time.monotonic()
    return [at / 1000.0 - shift for at in page.evaluate("pressedAt")]
