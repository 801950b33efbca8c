"""Screen and keyboard of one run.

What is being started, what it waits for, and how it goes.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from riderless.experiments.emulation.hand import Hand
from riderless.experiments.terminal.obstacles import beyond_gains, obstacles
from riderless.experiments.terminal.operator import (
    ENTER,
    PUSH_KEYS,
    STOP_HINT,
    STOPPED_BY_KEY,
    at_terminal,
    heed,
    keys,
    live_line,
    mark_echo,
    split_keys,
)
from riderless.hil.controllers.controller import Controller
from riderless.hil.live.feed import LiveFeed
from riderless.hil.loop.states import State
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.operator import Operator, Outcome

_OBSTACLES_SHOWN = 3
_SAID_FOR = 4.0  # s that a message stays
_REPAINT = 0.1  # s between two pictures of a run
_LOOK = 0.1  # s between two looks at the keyboard while something is started
_MEANT_FOR_LATER = {ENTER, "k", *PUSH_KEYS}  # keys that mean nothing before a run has begun


class StoppedBeforeRunError(Exception):
    """Stop by a person while something is started; the text says how."""


class RunScreen:
    """Show a run and obey the keys; made by `run_screen`.

    Attributes
    ----------
    hand : Hand or None
        Kicks an emulated bicycle.
    feed : LiveFeed or None
        Memory by which others look on, and ask for kicks.
    waited_for : list of str
        What was in the way of arming when it was last looked at.
    """

    def __init__(
        self, pressed: Callable[[], str], live: Live, rig: Rig, schedule: Controller, operator: Operator
    ) -> None:
        self.hand: Hand | None = None
        self.feed: LiveFeed | None = None
        self.waited_for: list[str] = []
        self._pressed, self._live = pressed, live
        self._rig, self._schedule, self._operator = rig, schedule, operator
        self._said, self._said_at = "", -np.inf
        self._begun, self._shown_at = False, -np.inf

    @contextmanager
    def starting(self) -> Iterator[Callable[[str], None]]:
        """Yield a function that shows what is being started; meanwhile a key stops, as Ctrl-C does.

        Raises
        ------
        StoppedBeforeRunError
        """
        over, stopped = threading.Event(), threading.Event()

        def listen() -> None:
            while not over.wait(_LOOK):
                if not set(split_keys(self._pressed())) <= _MEANT_FOR_LATER:
                    stopped.set()
                    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
                    return

        listener = threading.Thread(target=listen, daemon=True)
        try:
            try:
                if at_terminal():
                    listener.start()
                yield lambda step: self._show(f"{step} ...", STOP_HINT)
            finally:
                over.set()
                if listener.is_alive():
                    listener.join()
        except KeyboardInterrupt:
            how = STOPPED_BY_KEY if stopped.is_set() else "stopped by SIGINT"
            raise StoppedBeforeRunError(f"{how} before the run began; nothing was recorded") from None

    def watch(self, row: np.void) -> None:
        """Obey the keys, then show the newest row of TICK."""
        typed, hand, now, operator = self._pressed(), self.hand, float(row["t_host"]), self._operator
        if not self._begun:  # Enter arms only who has seen the bicycle's values
            self._begun, typed = True, typed.replace("\r", "").replace("\n", "")
        heed(typed, operator, hand.push if hand else None)
        if echo := mark_echo(typed, float(row["t"])):
            self._said, self._said_at = echo, now
        self._grant_wishes()
        for t, text in hand.news() if hand else ():
            if t is not None:
                operator.marks.append((t, "kick", text))
            self._said, self._said_at = text, now
        if now - self._shown_at < _REPAINT and operator.over_since is None:
            return  # painting takes the time of the processor that the loop runs on
        self._shown_at = now
        remarks = self._told(row)
        if now - self._said_at < _SAID_FOR:
            remarks = [*remarks, self._said]
        self._show(live_line(row, self._rig, operator, pushed=hand is not None), "\n".join(remarks))

    def _grant_wishes(self) -> None:
        """Kick as pages ask for it; any process of this user may have written what is there."""
        if self.feed is None or self.hand is None:
            return
        for wish in self.feed.wishes():
            match wish:
                case {"type": "kick", "side": "left" | "right" as side, "strength": float() | int() as strength}:
                    self.hand.push(-1 if side == "left" else 1, strength)

    def with_remarks(self, outcome: Outcome) -> Outcome:
        """Add to the outcome of a run that never began what it waited for, and what to do."""
        if self._operator.running_since is not None or outcome.reason != "fault":
            return outcome
        return replace(
            outcome, remarks=(*outcome.remarks, *(f"waited for: {obstacle}" for obstacle in self.waited_for))
        )

    def _show(self, lines: str, remarks: str) -> None:
        """Paint lines and sentences on a terminal; a file would keep the last picture only, without an end."""
        if self._live.console.is_terminal:
            self._live.update(_whole(lines, remarks))

    def _told(self, row: np.void) -> list[str]:
        """Say what a person should know beside the figures."""
        state, operator = State(int(row["state"])), self._operator
        if operator.over_since is not None:
            return []
        if state in (State.DISARMED, State.CHECK) and not operator.interrupted:
            waiting = obstacles(row, self._rig, self._schedule)
            self.waited_for = waiting or self.waited_for
            return [f"waits: {obstacle}" for obstacle in waiting[:_OBSTACLES_SHOWN]]
        return [beyond_gains(float(row["v_est"]), self._schedule)] if state is State.RUNNING else []


@contextmanager
def run_screen(screen: Console, rig: Rig, schedule: Controller, operator: Operator) -> Iterator[RunScreen]:
    """Open the keyboard, with what was typed already, and a live part of the screen.

    Parameters
    ----------
    screen : Console
    rig : Rig
    schedule : Controller
    operator : Operator
        Of the run; the keys act on it.
    """
    with keys(early=True) as pressed, Live(console=screen, refresh_per_second=8) as live:
        yield RunScreen(pressed, live, rig, schedule, operator)


def _whole(lines: str, remarks: str) -> Group:
    """Lines that are never broken, and sentences that are broken between words."""
    parts = [Text(lines, no_wrap=True, overflow="ellipsis"), *([Text(remarks)] if remarks else [])]
    return Group(*parts)
