"""Kicks in a recording: when somebody kicked the bicycle, and when the kick was over.

A marker of kind "kick" is believed. Without markers a kick is a sudden rise: the lean rate soon reaches
several times what it was just before. A decaying motion never does that, and an unstable one grows slower.
"""

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from experiments.datatypes import Response
from models.array_types import Array

WINDOWS_AT_ONCE = 4_096


@dataclass(frozen=True)
class KickRules:
    """Rules of what counts as a kick; each number with its reason."""

    smooth: float = 0.05  # s, averaging that takes the ringing of a struck frame (10-30 Hz) away
    rise: float = 0.4  # s, a push by hand lasts 0.1 to 0.3 s
    calm: float = 0.5  # s before it, over which "just before" is meant: half a cycle of weave
    ratio: float = 2.5  # times the lean rate just before; growth of 2 1/s over rise + calm/2 makes 3.3
    above_noise: float = 5.0  # times the background motion
    moved: float = 0.05  # of the whole rise: less is the drift that a push sets out from
    turned: float = 0.1  # s without a higher value: the push is over where the lean rate turns back


@dataclass(frozen=True)
class DetectedKick:
    """Rows of one kick: the first it moved, and the one where the lean rate turned back."""

    onset: int
    end: int
    marked: bool = False


def find_kicks(response: Response, rules: KickRules) -> list[DetectedKick]:
    """Find the kicks in order of time: marked ones if there are any marks, else those the signal shows."""
    s, dt = without_bias(response, rules.smooth), response.dt
    marks = [marker.t for marker in response.markers if marker.kind == "kick"]
    if marks:
        onsets = np.clip(np.searchsorted(response.t, sorted(marks)), 0, len(s) - 2)
        return [DetectedKick(int(i), end_of_kick(s, int(i), dt, rules), marked=True) for i in onsets]
    size = np.abs(s)
    ahead = running_maximum(size, row_count(rules.rise, dt))
    behind = running_maximum(size[::-1], row_count(rules.calm, dt))[::-1]
    sudden = (ahead > rules.ratio * behind) & (ahead > rules.above_noise * background_amplitude(response, s))
    kicks: list[DetectedKick] = []
    edges = np.flatnonzero(np.diff(sudden.astype(np.int8), prepend=0, append=0))
    for first, last in zip(edges[::2], edges[1::2] - 1, strict=True):
        onset = max(int(first) - 1, 0)
        # the rise begins where the lean rate last was as small as before
        quiet = np.flatnonzero(size[onset : last + 1] <= behind[onset])
        onset += int(quiet[-1]) if len(quiet) else 0
        end = end_of_kick(s, onset, dt, rules)
        kick = DetectedKick(row_of_rise(s, onset, end, rules), end)
        if not kicks or kick.onset > kicks[-1].end:
            kicks.append(kick)
    return kicks


def row_of_rise(s: Array, onset: int, end: int, rules: KickRules) -> int:
    """Row where the rise to the end of a kick begins; motion that wavered before it may look like a part of it.

    Parameters
    ----------
    s : (n,)
        Lean rate without bias.
    onset, end : int
        Rows where the kick seems to begin, and where it ends.
    rules : KickRules
    """
    way = np.sign(s[end] - s[onset]) * s[onset : end + 1]
    low = way <= way.min() + rules.moved * np.ptp(way)
    return onset + int(np.flatnonzero(low)[-1]) if end > onset else onset


def end_of_kick(s: Array, onset: int, dt: float, rules: KickRules) -> int:
    """Row where the lean rate, having moved away from its value at the onset, first turns back.

    Parameters
    ----------
    s : (n,)
        Lean rate without bias.
    onset : int
        First row of the kick.
    dt : float
        Sampling interval [s].
    rules : KickRules
    """
    return onset + turning_row(s[onset:], row_count(rules.rise, dt), row_count(rules.turned, dt))


def turning_row(s: Array, within: int, ahead: int) -> int:
    """First row at which a signal turns back towards its first value.

    Sought in the first ``within`` rows: at least half as far from s[0] as any of them, and no further in the
    ``ahead`` rows that follow. Where it never turns, the last of those rows.
    """
    away = np.abs(s[: within + ahead + 1] - s[0])
    turned = (away >= 0.5 * away[: within + 1].max()) & (away >= running_maximum(away, ahead))
    return min(int(np.argmax(turned)) if turned.any() else within, within, len(s) - 1)


def find_swings(s: Array, least: float) -> list[tuple[int, int]]:
    """Swings of a signal as rows (from, to) of its turning points; a way of less than ``least`` back is no turning.

    The last one goes as far as the signal got.
    """
    found: list[tuple[int, int]] = []
    begin = low = high = way = 0
    for i in range(1, len(s)):
        low, high = (i if s[i] < s[low] else low), (i if s[i] > s[high] else high)
        if way >= 0 and s[high] - s[i] >= least:  # it has come down from its highest
            if way:
                found.append((begin, high))
            begin, low, way = high, i, -1
        elif way <= 0 and s[i] - s[low] >= least:
            if way:
                found.append((begin, low))
            begin, high, way = low, i, 1
    if way:
        found.append((begin, high if way > 0 else low))
    return found


def without_bias(response: Response, smooth: float) -> Array:
    """Lean rate (n,) without the gyro's bias (median where free) and without ringing."""
    y = np.nan_to_num(response.phi_dot)
    free = y if response.free is None or not response.free.any() else y[response.free]
    width = min(row_count(smooth, response.dt) | 1, len(y))  # odd, so that nothing shifts in time
    padded = np.pad(y - np.median(free), width // 2, mode="edge")
    return np.convolve(padded, np.full(width, 1.0 / width), "valid")


def background_amplitude(response: Response, s: Array) -> float:
    """Amplitude of what moves when nothing happens: lowest fifth of the half-second amplitudes."""
    width = min(row_count(0.5, response.dt), len(s))
    usable = np.ones(len(s), bool) if response.free is None or not response.free.any() else response.free
    blocks = np.flatnonzero(usable[: len(s) - width + 1])
    places, views = blocks[:: max(1, width // 4)], sliding_window_view(s, width)
    # some thousands at a time: an hour has 250 MB of them
    std = [views[some].std(axis=1) for some in np.array_split(places, 1 + len(places) // WINDOWS_AT_ONCE)]
    amplitude = np.sqrt(2.0) * np.concatenate(std)
    return float(np.percentile(amplitude, 20.0)) if len(amplitude) else 0.0


def running_maximum(size: Array, width: int) -> Array:
    """Largest value (n,) among this row and the ``width`` rows after it."""
    padded = np.append(size, np.zeros(width))
    return sliding_window_view(padded, width + 1).max(axis=1)


def row_count(seconds: float, dt: float) -> int:
    """Rows in a time, at least one."""
    return max(1, round(seconds / dt))
