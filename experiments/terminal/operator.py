"""Operator of a run at the terminal.

The meaning of the keys, and the lines that show the run.
"""

import os
import re
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import degrees

import numpy as np

from riderless.hil.loop.states import STATE_SENTENCES, State
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.operator import Operator

# Single keys of the terminal, without waiting for Enter; none where there is no terminal.


ENTER, LEFT, RIGHT = "enter", "left", "right"  # names of keys whose characters differ between terminals
_NAMES = {"\r": ENTER, "\n": ENTER, "\x1b[D": LEFT, "\x1bOD": LEFT, "\x1b[C": RIGHT, "\x1bOC": RIGHT}
_KEY = re.compile(r"\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Za-z]|.", re.DOTALL)  # an arrow is three characters, and one key


def at_terminal() -> bool:
    """Is standard input a terminal? It may be closed, or a file."""
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()


@contextmanager
def keys(early: bool = False) -> Iterator[Callable[[], str]]:
    """Yield a function that gives the characters typed since its last call; the terminal is restored afterwards.

    With ``early`` what was typed before counts too. Ctrl-C and Ctrl-Z keep their meaning.
    """
    if not at_terminal() or sys.platform == "win32":
        yield lambda: ""
        return
    import termios  # here, as Windows has neither
    import tty

    fd = sys.stdin.fileno()
    kept = termios.tcgetattr(fd)

    def pressed() -> str:
        readable, _, _ = select.select([fd], [], [], 0.0)
        return os.read(fd, 64).decode(errors="replace") if readable else ""

    try:
        tty.setcbreak(fd, termios.TCSADRAIN if early else termios.TCSAFLUSH)
        yield pressed
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, kept)


def split_keys(typed: str) -> list[str]:
    """Split characters into keys: ENTER, LEFT, RIGHT, or what else was typed."""
    return [_NAMES.get(key, key) for key in _KEY.findall(typed)]


PUSH_KEYS = {"[": -1, LEFT: -1, "]": 1, RIGHT: 1}  # to the left and to the right
STOP_HINT = "any key stops"
OVER = "the run is over: the drive is off"
STOPPED_BY_KEY = "stopped by a key"
_COMMAND_SHOWN = {"rate": ("rate", "deg/s"), "angle": ("asked", "deg")}


def heed(pressed: str, operator: Operator, push: Callable[[int], None] | None = None) -> None:
    """Obey keys: Enter arms, k marks a kick, any other stops.

    Parameters
    ----------
    pressed : str
        Characters as typed.
    operator : Operator
    push : callable or None
        Kicks an emulated bicycle, to the right for 1 and to the left for -1; then `PUSH_KEYS` call it.
    """
    for key in split_keys(pressed):
        if key == ENTER:
            operator.arm() if operator.waiting else operator.interrupt(STOPPED_BY_KEY)
        elif key == "k":
            operator.mark("kick", "by key")
        elif push is not None and key in PUSH_KEYS:
            push(PUSH_KEYS[key])
        else:
            operator.interrupt(STOPPED_BY_KEY)


def mark_echo(pressed: str, t: float) -> str:
    """Say that a kick was marked by the keys just pressed, at t [s] on the clock of the log; empty if none was."""
    return f"kick marked at {t:.1f} s" if "k" in split_keys(pressed) else ""


def live_line(row: np.void, rig: Rig, operator: Operator, pushed: bool = False) -> str:
    """Say state, time left and how to stop; then each quantity with its limit. Three lines of at most 60 columns.

    Parameters
    ----------
    row : record of TICK
    rig : Rig
    operator : Operator
    pushed : bool
        Keys kick the bicycle, see `heed`.
    """
    state, limits, angle = State(int(row["state"])), rig.limits, degrees
    return "\n".join(
        (
            f"{state.name:<9} {_doing(state, operator, pushed)}",
            f"speed {row['v_est']:5.2f} m/s  lean {angle(row['phi_est']):+5.1f} of {angle(limits.lean.value):.0f} deg  "
            f"steer {angle(row['delta_est']):+5.1f} of {angle(limits.steer.value):.0f} deg",
            f"{command_text(row['T_cmd'], rig, with_limit=True)}   supply {row['bus_meas']:.1f} V",
        )
    )


def command_text(value: float, rig: Rig, with_limit: bool = False) -> str:
    """Say a command in what the rig's drive obeys: "torque  +1.20 N m", "rate  +12.3 deg/s", "asked   +3.1 deg".

    Parameters
    ----------
    value : float
        Command [N m, rad/s or rad].
    rig : Rig
    with_limit : bool
        The greatest command allowed is said too.
    """
    limits = rig.limits
    if rig.drive_kind == "torque":
        return f"torque {value:+6.2f}{f' of {limits.torque.value:g}' if with_limit else ''} N m"
    name, unit = _COMMAND_SHOWN[rig.drive_kind]
    most = limits.steer_rate if rig.drive_kind == "rate" else limits.steer_command
    return f"{name} {degrees(value):+6.1f}{f' of {degrees(most.value):.0f}' if with_limit else ''} {unit}"


def _doing(state: State, operator: Operator, pushed: bool) -> str:
    """Say what goes on and which key does what, in at most 50 columns."""
    if operator.over_since is not None:
        return OVER
    if operator.interrupted or state is State.RAMPDOWN:
        return "stopping; any key switches the drive off at once"
    if operator.waiting:
        return f"hold it upright, then Enter arms; {STOP_HINT}"
    if state is State.RUNNING:
        return f"{operator.left:.1f} s left; {STOP_HINT}, k marks{', [ ] kick' if pushed else ''}"
    return f"{STATE_SENTENCES[state]}; {STOP_HINT}"
