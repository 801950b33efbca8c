"""Page of an emulated machine.

The bicycle itself, and the program that runs it as long as one is connected.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from riderless.experiments.emulation.plaything import FAULTS, Playmate, PlayTruth
from riderless.experiments.live.beside import LiveTeller
from riderless.experiments.live.hello import bicycle_fields, limit_values
from riderless.experiments.live.launch import LiveServerProcess
from riderless.experiments.live.schema import (
    LiveChoice,
    LiveEvent,
    LiveHello,
    LiveRows,
    LiveStatus,
    Obstacle,
    PlayChoices,
    as_text,
)
from riderless.firmware_interface.port_users import has_open
from riderless.hil.live import layout
from riderless.hil.loop.states import State
from riderless.hil.rig.rig import Rig

CAN_DO: tuple[Any, ...] = ("kick", "wind", "speed", "fault")
_BEAT = 1.0 / 30.0  # s between two rows while no program is connected
_DIGEST = 0.1  # s


class EmulatedPage:
    """Teller of an emulated machine.

    Parameters
    ----------
    server : LiveServerProcess
    rig : Rig
    path : str
        Pseudo-terminal at which a program finds the machine.
    playmate : Playmate
        Does to the machine what pages ask for, and knows how it moves.
    speeds : (float, float)
        Slowest and fastest speed of the belt that a page may choose [m/s].
    connect : str
        Command that connects a program.
    """

    def __init__(
        self,
        server: LiveServerProcess,
        rig: Rig,
        path: str,
        playmate: Playmate,
        speeds: tuple[float, float],
        connect: str,
    ) -> None:
        self._server, self._rig, self._playmate = server, rig, playmate
        self._path, self._speeds, self._connect = path, speeds, connect
        self._zero = time.monotonic()
        self._told_at = -np.inf
        self._greeted = False
        self._teller = LiveTeller(server, look=self._run_at_the_port, heed=self._heed, alone=self._tell_truth)
        self._teller.can, self._teller.play = list(CAN_DO), play_choices(playmate, speeds)

    def serve(self, stopped: Callable[[], bool]) -> None:
        """Tell until ``stopped()`` or the server is gone."""
        self._teller.serve(stopped)

    def _run_at_the_port(self) -> layout.SharedAreas | None:
        """Find the run that has our pseudo-terminal open."""
        for areas in layout.find_shared_areas():
            if has_open(areas.pid, self._path):
                self._greeted = False
                return areas
        return None

    def _heed(self, request: dict[str, Any]) -> None:
        """Do to the machine what a page asked for."""
        if note := self._playmate.obey(request, self._speeds):
            self._event("note", note)

    def _event(self, kind: Any, text: str, t: float | None = None) -> None:
        zero = self._teller.zero
        at = (time.monotonic() if t is None else t) - (self._zero if np.isnan(zero) else zero)
        self._server.tell(as_text(LiveEvent(t=at, kind=kind, text=text)))

    def _tell_truth(self, connected: bool) -> float:
        """Tell its kicks, and while nobody runs it how it moves; returns when to come again [s]."""
        for t, text in self._playmate.news():
            self._event("kick" if t is not None else "note", text, t)
        if connected:
            return _DIGEST
        if not self._greeted:
            self._greeted = True
            self._zero = time.monotonic()
            self._server.tell(as_text(self._hello()))
        now, truth = time.monotonic(), self._playmate.truth
        self._server.tell(as_text(_row_of(truth, now - self._zero)))
        if now - self._told_at >= _DIGEST:
            self._told_at = now
            self._server.tell(as_text(self._status(truth, now - self._zero)))
        return _BEAT

    def _status(self, truth: PlayTruth, t: float) -> LiveStatus:
        held = "somebody holds the bicycle" if truth.held else "nobody holds the bicycle"
        return LiveStatus(
            t=t,
            state="emulated machine: no program runs it",
            code=State.DISARMED.name,
            why=held,
            still=True,
            obstacles=[Obstacle(what="no program is connected", do=f"type in another terminal: {self._connect}")],
            age_s=0.0,
        )

    def _hello(self) -> LiveHello:
        return LiveHello(
            kind="live",
            title=f"{self._rig.bicycle.name} bicycle, emulated at {self._path}",
            rate=self._rig.rate,
            row_rate=1.0 / _BEAT,
            limits=limit_values(self._rig.limits, self._rig.drive_kind),
            can=list(CAN_DO),
            play=play_choices(self._playmate, self._speeds),
            **bicycle_fields(self._rig.bicycle, None),
        )


def play_choices(playmate: Playmate, speeds: tuple[float, float], **more: Any) -> PlayChoices:
    """Describe what a page may do to an emulated machine, its belt from the slowest to the fastest speed [m/s]."""
    faults = [LiveChoice(name=fault.name, what=fault.what) for fault in FAULTS]
    return PlayChoices(faults=faults, speed=playmate.speed, speed_min=speeds[0], speed_max=speeds[1], **more)


def _row_of(truth: PlayTruth, t: float) -> LiveRows:
    columns: dict[str, Any] = {name: [value if np.isfinite(value) else None] for name, value in truth.shown().items()}
    return LiveRows(t=[round(t, 4)], **columns, state=[int(State.DISARMED)], cause=[0])
