"""Danger of a played case, as numbers.

They measure how near it came to what must never happen, so that a search can climb them. Two things must never happen,
whatever the fault: torque for long on a bicycle that truly leans beyond its limit, and a drive that is moved by
commands that are not new. Both are read from the drive's own diary, never from what the loop believed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riderless.experiments.fault_injection.simulate import Played
from riderless.experiments.fault_injection.threats.fault_spec import SAMPLE_PERIOD
from riderless.models.linear.path import farthest_contact

NO_TORQUE = 0.07  # N m: a hundredth of the limit; static friction of a head set is more
LEANING_TIME = 0.5  # s, of torque on a bicycle that leans too far
OLD_COMMAND_TIME = 0.05  # s, of torque by commands of which none is new
SAME_TORQUE = 2e-3  # N m, between a command as sent and as obeyed, in whole mN m
_WRAP = 2**16  # numbers of commands


@dataclass(frozen=True)
class Danger:
    """Greatest danger that a case came to."""

    lean: float  # rad, greatest true lean under torque
    leaning: float  # s of true lean beyond the limit, in all, before the last torque
    old: float  # s, longest torque by commands of which none was new
    lean_limit: float  # rad

    @property
    def level(self) -> float:
        """Nearness to the unsafe: 1 and more is unsafe, and a little more danger is a little more."""
        leaning = 0.5 * min(self.lean / self.lean_limit, 1.0) + 0.5 * self.leaning / LEANING_TIME
        return max(leaning, self.old / OLD_COMMAND_TIME)

    def __str__(self) -> str:
        return (
            f"{np.degrees(self.lean):.1f} deg of true lean under torque, torque for {self.leaning:.2f} s beyond "
            f"{np.degrees(self.lean_limit):.0f} deg, {1e3 * self.old:.0f} ms of torque without a new command"
        )


NO_DANGER = Danger(0.0, 0.0, 0.0, 1.0)


def measure_danger(played: Played, lean_limit: float) -> Danger:
    """Measure how near a case came to the unsafe; ``lean_limit`` is the one promised [rad]."""
    if played.refused:
        return NO_DANGER
    lean, torque = np.abs(played.diary["phi"]), np.abs(played.diary["T"]) > NO_TORQUE
    leaning = float(np.sum((lean > lean_limit) & (played.diary["t"] < last_torque(played)))) * SAMPLE_PERIOD
    return Danger(float(lean[torque].max(initial=0.0)), leaning, longest_old_command(played), lean_limit)


def farthest_under_torque(played: Played) -> float:
    """Find how far a wheel truly was from the middle of the belt while there was torque [m]; 0 without any."""
    diary = played.diary[np.abs(played.diary["T"]) > NO_TORQUE]
    return float(farthest_contact(played.rig.bicycle, diary["y_P"], diary["psi"]).max(initial=0.0))


def last_torque(played: Played) -> float:
    """Find the end of the torque on the steer [s since power-up]; 0 if there never was any."""
    torque = np.flatnonzero(np.abs(played.diary["T"]) > NO_TORQUE)
    return float(played.diary["t"][torque[-1]]) + SAMPLE_PERIOD if torque.size else 0.0


def longest_old_command(played: Played) -> float:
    """Find the longest time for which the drive was asked for torque without a new command [s].

    A command is new when the loop sent it no more than `OLD_COMMAND_TIME` before, later than every one obeyed so far,
    and asked for just this torque: recorded, repeated, late and forged ones are not.
    """
    rows, diary = played.rows, played.diary
    sent = _rows_of_commands(rows["command_seq"], diary["command_seq"])
    known = sent >= 0
    age = np.where(known, np.arange(len(rows)) - sent, len(rows)) * SAMPLE_PERIOD
    ours = known & (np.abs(diary["T_asked"] - rows["T_cmd"][sent]) < SAME_TORQUE)
    newest = np.maximum.accumulate(np.concatenate([[-1], sent[:-1]]))
    fresh = ours & (sent > newest) & (age <= OLD_COMMAND_TIME + 1e-9)
    moved = np.abs(diary["T_asked"]) > NO_TORQUE
    longest = since = 0
    for anew, on in zip(fresh.tolist(), moved.tolist(), strict=True):
        since = 0 if anew or not on else since + 1
        longest = max(longest, since)
    return longest * SAMPLE_PERIOD


def _rows_of_commands(sent: NDArray, obeyed: NDArray) -> NDArray:
    """Find the last row before each instant in which the command that is obeyed then was sent; -1 if there is none."""
    last = np.full(_WRAP, -1)
    rows = np.full(len(obeyed), -1)
    changed = np.flatnonzero(np.diff(sent.astype(np.int64), prepend=0))  # no new number: nothing was sent in that tick
    numbers = iter(zip(changed.tolist(), (sent[changed] % _WRAP).tolist(), strict=True))
    coming = next(numbers, None)
    for k, number in enumerate((obeyed % _WRAP).tolist()):
        while coming is not None and coming[0] < k:
            last[coming[1]] = coming[0]
            coming = next(numbers, None)
        rows[k] = last[number]
    return rows
