"""Play with an emulated bicycle on the page.

It arms and starts itself again, whatever a person does to it.
"""

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from riderless.experiments.emulation.plaything import FAULTS, PlayedPlant, Playmate, PlayTruth, ground_forces
from riderless.experiments.live.altered import ALTERABLE, AlteredBicycle
from riderless.experiments.live.emulated import play_choices
from riderless.experiments.live.fits import Fitter, ToldFits
from riderless.experiments.live.hello import bicycle_fields, hello_of
from riderless.experiments.live.launch import LiveServerProcess
from riderless.experiments.live.narrator import Narrator
from riderless.experiments.live.replay.player import rows_message
from riderless.experiments.live.schema import LiveAltered, LiveChoice, LiveEvent, LiveHello, LiveStatus, as_text
from riderless.hil.controllers.controller import Controller
from riderless.hil.logs.folders import run_folder
from riderless.hil.logs.header import RunHeader, new_header
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.emulation import Emulation
from riderless.hil.runners.operator import Operator, Outcome
from riderless.hil.runners.paced.run import run_paced
from riderless.models.errors import InputError
from riderless.models.plant.scenario import Scenario

LONGEST_PLAYED = 300.0  # s; then a new log begins, so that fits stay quick
STOP_ON_PAGE = "STOP on the page"
_BATCH, _DIGEST, _LOOK = 1.0 / 30.0, 0.1, 0.05  # s between rows, digests, looks while it rests
_PICKED_UP = 2.0  # s that a fallen bicycle rests
_SETTLED = 0.6  # s since a parameter was altered, after which the altered bicycle rides
_WINDOW = 3.5  # s after a kick at which its window is whole


@dataclass(frozen=True)
class Toy:
    """Emulated machine to play with, and how it is controlled.

    Parameters
    ----------
    rig : Rig
        In simulated time.
    scenario : Scenario
        Its speeds count for nothing: the playmate says how fast the belt is. Each ride has a seed of its own.
    emulation : Emulation
    playmate : Playmate
        Does to it what is asked for.
    choose : callable
        Controller of a name, for a rig.
    controllers : sequence of str
        Names to choose from.
    speeds : (float, float)
        Slowest and fastest speed of the belt [m/s].
    out : Path
        Folder of the runs' folders.
    """

    rig: Rig
    scenario: Scenario
    emulation: Emulation
    playmate: Playmate
    choose: Callable[[str, Rig], Controller]
    controllers: Sequence[str]
    speeds: tuple[float, float]
    out: Path

    def ground_forces(self) -> list[float] | None:
        """Forces of the ground on its wheels now [N]; None where the model has none."""
        truth = self.playmate.truth
        if truth.held or self.emulation.model != "nonlinear":
            return None
        return ground_forces(self.rig.bicycle, truth)


class PlaySession:
    """Rides one after another, each told to the page and heeding it.

    Parameters
    ----------
    toy : Toy
    controller : str
        Name of the first one.
    server : LiveServerProcess

    Attributes
    ----------
    wanted : str
        Name of the controller of this ride, or of the next.
    seeds : iterator of int
        Of the noise of the next rides.
    """

    def __init__(self, toy: Toy, controller: str, server: LiveServerProcess) -> None:
        self.toy, self.server = toy, server
        self.wanted, self.seeds = controller, count(toy.scenario.seed)
        self._altered = AlteredBicycle(toy.rig.bicycle)
        self._altered_at = np.inf  # since when no ride has begun
        self._refusal = ""
        self._again = False  # a person wants another ride
        self._ended = False  # by a signal, which a ride hears in place of us
        self._zero = time.monotonic()
        self._stopped: Callable[[], bool] = lambda: False

    def play(self, stopped: Callable[[], bool]) -> None:
        """Play until ``stopped()`` or the server is gone."""
        self._stopped = stopped
        ground_forces(self.toy.rig.bicycle, PlayTruth(v=self.toy.playmate.speed))  # compiled before a ride, not in it
        shown = ridden = None  # controller and bicycle
        with Fitter(lambda why: self.event("note", why)) as fitter:
            while not self.over:
                self._again, self._altered_at = False, np.inf
                wanted = self.wanted, self._altered
                self.toy = replace(self.toy, rig=replace(self.toy.rig, bicycle=self._altered.bicycle))
                try:
                    with self.telling("starting", ""):
                        schedule = self.toy.choose(self.wanted, self.toy.rig)
                        if wanted != shown:
                            self.server.tell(as_text(self._hello(schedule)))
                            shown = wanted
                    self.toy.playmate.break_as(FAULTS[0].name)
                    ride = _Ride(self, schedule, fitter)
                    outcome = ride.go()
                except InputError as refused:
                    if ridden is None or wanted == ridden:
                        raise
                    self._refusal = f"{self.wanted}: {refused}"
                    shown, (self.wanted, self._altered) = None, ridden
                    continue
                ridden = wanted
                self._ended = ride.ended_by_signal
                if not (self.over or self._again):
                    self._rest(outcome)

    @property
    def t(self) -> float:
        """Time of the page [s], which a ride sets to its own: it slows where the computer is too busy."""
        return time.monotonic() - self._zero

    @t.setter
    def t(self, t: float) -> None:
        self._zero = time.monotonic() - t

    @property
    def over(self) -> bool:
        """Has play ended?"""
        return self._ended or self._stopped() or not self.server.alive

    def header(self, schedule: Controller) -> RunHeader:
        """Describe the next ride, as the log of it will."""
        rig = self.toy.rig
        return new_header(rig, schedule, rig.calibrated(), runner="lockstep", label=self.label())

    def label(self) -> str:
        """Words for the next ride."""
        return f"{self.wanted} at {self.toy.playmate.speed:g} m/s"

    def _hello(self, schedule: Controller) -> LiveHello:
        toy = self.toy
        controllers = [LiveChoice(name=choice) for choice in toy.controllers]
        return hello_of(
            self.header(schedule),
            kind="play",
            title=f"{toy.rig.bicycle.name} bicycle, emulated",
            can=["stop", "kick", "wind", "speed", "fault", "controller", "parameter"],
            play=play_choices(
                toy.playmate,
                toy.speeds,
                controllers=controllers,
                controller=self.wanted,
                parameters=self._altered.sliders(),
                refused=self._refusal,
            ),
        )

    def event(self, kind: Any, text: str, t: float | None = None) -> None:
        """Tell the page that something happened at ``t`` [s], by default now."""
        self.server.tell(as_text(LiveEvent(t=self.t if t is None else t, kind=kind, text=text)))

    def heed(self, stop: Callable[[str], None]) -> None:
        """Do what pages have asked for; ``stop`` ends a ride and is told why."""
        before, changed = self._altered, False
        for request in self.server.requests():
            match request["type"]:
                case "stop":
                    stop(STOP_ON_PAGE)
                case "controller" if request["name"] in self.toy.controllers:
                    self.wanted, self._again, self._refusal = request["name"], True, ""
                    stop(f"another ride is asked for, with {request['name']}")
                case "parameter" if request["name"] in ALTERABLE:
                    changed = True
                    self._alter(request["name"], request["value"])
                case _:
                    if note := self.toy.playmate.obey(request, self.toy.speeds):
                        self.event("note", note)
        if changed:
            # without the loop: to design that would hold up a ride
            fields = bicycle_fields(self._altered.bicycle, None) if self._altered != before else {}
            altered = LiveAltered(parameters=self._altered.sliders(), refused=self._refusal, **fields)
            self.server.tell(as_text(altered))
            if fields or self._altered_at < np.inf:
                self._altered_at = time.monotonic()
        elif time.monotonic() - self._altered_at > _SETTLED and not self._again:
            self._again = True
            stop("another ride is asked for, with other parameters")

    def _alter(self, name: str, shown: float | None) -> None:
        try:
            self._altered, self._refusal = self._altered.with_parameter(name, shown), ""
        except InputError as refused:
            self._refusal = str(refused)

    def _rest(self, outcome: Outcome) -> None:
        """Wait until it starts again: by itself after a fall, when asked to after a STOP."""
        stopped = bool(outcome.stopped)
        began = time.monotonic()
        words = "stopped: S or 'start again' starts it" if stopped else "picked up: starts again at once"
        with self.telling(words, outcome.cause):
            while not (self.over or self._again):
                self.heed(lambda why: None)
                if not stopped and time.monotonic() - began > _PICKED_UP:
                    return
                time.sleep(_LOOK)

    @contextmanager
    def telling(self, words: str, why: str) -> Iterator[threading.Event]:
        """Tell pages the same digest ten times a second while something else takes its time; setting it ends that."""
        over = threading.Event()

        def tell() -> None:
            while not over.is_set():
                status = LiveStatus(t=self.t, state=words, code="DISARMED", why=why, still=True, age_s=0.0)
                self.server.tell(as_text(status))
                over.wait(_DIGEST)

        teller = threading.Thread(target=tell, daemon=True)
        teller.start()
        try:
            yield over
        finally:
            over.set()
            teller.join()


class _Ride:
    """One ride: a run at the speed of the clock on the wall, of which the page hears."""

    def __init__(self, session: PlaySession, schedule: Controller, fitter: Fitter) -> None:
        self._session, self._schedule, self._fitter = session, schedule, fitter
        self._toy, self._server = session.toy, session.server
        self._narrator = Narrator(session.header(schedule), 0.0)
        self._operator = Operator(LONGEST_PLAYED)
        self.folder = run_folder(self._toy.out, self._toy.rig.bicycle.name, session.wanted)
        self._rows: list[np.void] = []
        self._batch_at = self._digest_at = -np.inf
        self._began = np.nan  # s, time of the page at the ride's
        self._stopped = False  # by a page
        self._kicked_at = np.inf  # of the newest kick that has not been fitted
        self._told = ToldFits()

    def go(self) -> Outcome:
        """Ride until it falls, is stopped, or the ride is long enough."""
        toy = self._toy
        self._fitter.cancel()  # what it asked for is of the ride before
        with self._session.telling("starting", "") as started:
            self._started = started
            return run_paced(
                self.folder,
                toy.rig,
                self._schedule,
                partial(PlayedPlant, memory=toy.playmate.memory, simulated=True),
                replace(toy.scenario, seed=next(self._session.seeds)),
                self._operator,
                self._watch,
                toy.emulation,
                self._session.label(),
            )

    @property
    def ended_by_signal(self) -> bool:
        """Did Ctrl-C or another signal end the ride?"""
        return bool(self._operator.interrupted) and not self._stopped

    def _watch(self, row: np.void, rate: float) -> None:
        """Tell the newest row, and the rate of the bicycle's clock; heed the page."""
        session, operator, t, now = self._session, self._operator, float(row["t_host"]), time.monotonic()
        if not self._started.is_set():
            self._started.set()
            self._began = session.t - t
            self._narrator.t_zero = -self._began
        session.t = self._began + t
        if session.over:
            operator.interrupt("play has ended")
        session.heed(self._stop)
        self._tell_kicks()
        self._rows.append(row)
        if now - self._batch_at >= _BATCH:
            self._batch_at = now
            self._tell_rows()
        if now - self._digest_at >= _DIGEST:
            self._digest_at = now
            self._tell_digest(row, rate)
            self._look_for_fits(t)

    def _stop(self, why: str) -> None:
        if not self._operator.interrupted:
            self._session.event("stop", why)
        self._stopped = True
        self._operator.interrupt(why)

    def _tell_kicks(self) -> None:
        for t, text in self._toy.playmate.news():
            if t is not None:
                self._operator.marks.append((t, "kick", text))
                self._kicked_at = t
            self._session.event("kick" if t is not None else "note", text, None if t is None else self._began + t)

    def _tell_rows(self) -> None:
        rows, self._rows = np.array(self._rows), []
        self._server.tell(as_text(rows_message(rows, -self._began)))
        for event in self._narrator.events(rows):
            self._server.tell(as_text(event))

    def _tell_digest(self, row: np.void, rate: float) -> None:
        log = next(self.folder.glob("*.mcap"), None)
        size = log.stat().st_size if log else None
        room = shutil.disk_usage(self._toy.out)
        status = self._narrator.status(
            row,
            ground_forces=self._toy.ground_forces(),
            recording=str(self.folder),
            recording_bytes=size,
            disk_left=room.free,
            age_s=0.0,
            pace=round(rate, 2),
        )
        self._server.tell(as_text(status))

    def _look_for_fits(self, t: float) -> None:
        """Ask for the fits once a kick's window is whole at ``t`` [s of the ride]; tell those that are new."""
        if self._fitter.free and t - self._kicked_at > _WINDOW:
            self._kicked_at = np.inf
            self._fitter.ask(self.folder)
        if (fits := self._fitter.found()) is None:
            return
        for fit in fits.fits:
            if not self._told.is_new(fit):
                continue
            times = {"t_start": fit.t_start, "t_end": fit.t_end}
            moved = {name: None if at is None else self._began + at for name, at in times.items()}
            self._server.tell(as_text(fit.model_copy(update=moved)))
            agreement = "" if fit.z is None else f", {fit.z:.1f} standard deviations from like for like"
            found_at = f"{fit.mode} at {fit.speed:.2f} m/s: measured {fit.re:.2f}, {fit.im:.2f} i"
            self._session.event("verdict", found_at + agreement)
