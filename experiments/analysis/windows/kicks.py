"""Kicks in a recording: beginnings and ends.

Markers of kind "kick" without a text are a list of all kicks, each with its time: no other is sought. Those set while
a run went on say "a kick here", or near here, and no more (`marks.py`). Without a list a kick is a sudden rise: the
lean rate soon reaches several times what it was just before. A decaying motion never does that, and an unstable one
grows slower.
Where the bicycle still swings from the last kick, the rise is sought in what its swinging does not explain.
In the bends of a path nothing is sought: the path asks for lean there.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from riderless.experiments.analysis.windows.free_motion import KICK_MEMORY, PREDICTION_HORIZON, unexplained_motion
from riderless.experiments.datatypes import Response
from riderless.models.array_types import Array, row_parts, true_spans

LET_GO = "let go"  # kind of marker: here the bicycle was let go at a state that is not upright rest
WINDOWS_AT_ONCE = 4_096


@dataclass(frozen=True)
class KickRules:
    """Rules of what counts as a kick; each number with its reason."""

    smooth: float = 0.05  # s, averaging that takes the ringing of a struck frame (10-30 Hz) away
    rise: float = 0.4  # s, a push by hand lasts 0.1 to 0.3 s
    calm: float = 0.5  # s before it, over which "just before" is meant: half a cycle of weave
    ratio: float = 2.5  # times the lean rate just before; growth of 2 1/s over rise + calm/2 makes 3.3
    above_noise: float = 5.0  # times the background motion
    stands_out: float = 10.0  # times what no motion before explains: of gusts and road over an hour the largest is 9.4
    by_itself: float = 0.25  # of a motion at the start, that may stay unexplained where nobody touches it
    never_explained: float = 0.02  # of the background motion: a log without noise is explained to the last digit
    moved: float = 0.05  # of the whole rise: less is the drift that a push sets out from
    outdoes: float = 5.0  # times a rise just before it: a kick after something small, not what a kick leaves behind
    turned: float = 0.1  # s without a higher value: the push is over where the lean rate turns back


@dataclass(frozen=True)
class DetectedKick:
    """Rows of one kick: the first it moved, and the one where the lean rate turned back; and how large it was."""

    onset: int
    end: int
    marked: bool = False
    listed: bool = False  # marked in a list of all kicks of the recording
    size: float = 0.0  # of the lean rate at its end, in the unit of the recording; of what it added, if swinging
    swinging: bool = False  # it came into a motion still going on
    released: bool = False  # no kick: here the bicycle was let go, and moved


@dataclass(frozen=True)
class SeparatedMotion:
    """Lean rate of a recording, told apart: arrays are (n,), all in the unit of the recording."""

    s: Array  # without bias and ringing
    rest: Array  # of it, what the motion just before does not explain
    background: float  # amplitude of what moves when nothing happens: lowest fifth of the half-second amplitudes
    unrest: float  # amplitude of the rest between kicks: lowest two fifths, for kicks take up to half of the time


def separate_motion(response: Response, smooth: float = KickRules.smooth) -> SeparatedMotion:
    """Separate what a bicycle left alone would do from the rest; a slow decay is no part of the background.

    Parameters
    ----------
    response : Response
    smooth : float
        Averaging [s], see `KickRules`.
    """
    s = without_bias(response, smooth)
    rest, never = unexplained_motion(s, response.dt), KickRules.never_explained
    moves = background_amplitude(response, s)
    background, unrest = (max(background_amplitude(response, rest, p), never * moves) for p in (20.0, 40.0))
    return SeparatedMotion(s, rest, min(moves, background), unrest)


def find_kicks(response: Response, rules: KickRules, motion: SeparatedMotion | None = None) -> list[DetectedKick]:
    """Find the kicks in order of time: those of a list if there is one, else those the signal shows."""
    motion = motion or separate_motion(response, rules.smooth)
    s, dt = motion.s, response.dt
    marks = [marker.t for marker in response.markers if marker.kind == "kick" and not marker.text]
    if marks:
        onsets = np.clip(np.searchsorted(response.t, sorted(marks)), 0, len(s) - 2)
        ends = [_end_of_kick(s, int(i), dt, rules) for i in onsets]
        return [DetectedKick(int(i), e, True, True, float(abs(s[e]))) for i, e in zip(onsets, ends, strict=True)]
    kicks = _sudden_rises(s, rules.above_noise * motion.background, dt, rules)
    apart = row_count(rules.calm, dt)
    for kick in _sudden_rises(motion.rest, rules.stands_out * motion.unrest, dt, rules, row_count(KICK_MEMORY, dt)):
        # what it is foretold from included
        around = slice(max(0, kick.onset - row_count(PREDICTION_HORIZON, dt)), kick.end + 1)
        free = response.free is None or bool(response.free[around].all())
        if free and kick.end + row_count(rules.turned, dt) < len(s):
            near = slice(_first_from(kicks, kick.onset - apart), _first_from(kicks, kick.end + apart + 1))
            kicks[near] = _with_swinging(kicks[near], kick, dt, rules)
    return [kick for kick in kicks if not is_led(response, kick.onset, kick.end)]


def _first_from(kicks: list[DetectedKick], row: int) -> int:
    """Place of the first kick, of those in order of time, that begins at a row or later."""
    return bisect_left(kicks, row, key=lambda kick: kick.onset)


def is_led(response: Response, first: int, last: int) -> bool:
    """Tell whether rows from first to last meet a bend of a path, where the lean rate is what the path asks for."""
    begin, end = float(response.t[first]), float(response.t[last])
    return any(begin <= b and end >= a for a, b in response.bends)


def _with_swinging(kicks: list[DetectedKick], added: DetectedKick, dt: float, rules: KickRules) -> list[DetectedKick]:
    """Add a kick into a motion still going on, unless it is one of those known or something small beside it.

    Parameters
    ----------
    kicks : list of DetectedKick
        Those of the lean rate itself from `KickRules.calm` before it to as long after it, in order of time.
    added : DetectedKick
        Of what free motion does not explain.
    dt : float
        Sampling interval [s].
    rules : KickRules
    """
    apart = row_count(rules.calm, dt)
    known = [k for k in kicks if abs(added.onset - k.onset) <= apart and k.onset <= added.end]
    after = [other for other in kicks if added.onset < other.onset <= added.end + apart]
    if known:  # the swinging may hide how it begins
        early = known[0].onset - added.onset > row_count(rules.smooth, dt)
        seen = replace(known[0], onset=added.onset, swinging=True) if early else known[0]
        return [seen if k is known[0] else k for k in kicks]
    if any(other.size > rules.outdoes * added.size for other in after):
        return kicks
    # what looked sudden soon after it was its own swing
    kept = [other for other in kicks if other not in after]
    return sorted([*kept, replace(added, swinging=True)], key=lambda kick: kick.onset)


def find_release(
    response: Response, motion: SeparatedMotion, kicks: list[DetectedKick], rules: KickRules
) -> DetectedKick | None:
    """Find the beginning of a motion that was there when the recording, or its first free part, began.

    A marker of kind "let go" says that it is free from there. Without one it must be as large as a kick, and go on by
    itself: a hand still there shows in what free motion does not explain.

    Parameters
    ----------
    response : Response
    motion : SeparatedMotion
    kicks : list of DetectedKick
        One that begins at once explains the motion.
    rules : KickRules
    """
    dt, free = response.dt, response.free
    first = 0 if free is None else int(np.argmax(free))
    if free is not None and not free.any():
        return None
    rise = row_count(rules.rise, dt)
    end = first + int(np.argmax(np.abs(motion.s[first : first + rise])))
    kick = DetectedKick(first, end, size=float(abs(motion.s[end])), released=True)
    if any(first < other.onset <= first + rise for other in kicks):
        return None
    if any(marker.kind == LET_GO for marker in response.markers):
        return replace(kick, marked=True)
    later = slice(first + row_count(KICK_MEMORY, dt), first + row_count(KICK_MEMORY + rules.calm, dt))
    by_itself = np.abs(motion.rest[later]).max(initial=0.0) < rules.by_itself * kick.size
    large = kick.size > max(rules.stands_out * motion.unrest, rules.above_noise * motion.background)
    return kick if large and by_itself else None


def _sudden_rises(s: Array, least: float, dt: float, rules: KickRules, memory: int = 0) -> list[DetectedKick]:
    """Find where a signal soon reaches several times what it was just before, in order of time.

    Parameters
    ----------
    s : (n,)
        Lean rate without bias, or what free motion does not explain of it.
    least : float
        What it must reach.
    dt : float
        Sampling interval [s].
    rules : KickRules
    memory : int
        Rows after each kick in which none is sought.
    """
    kicks: list[DetectedKick] = []
    for first, stop in true_spans(_sudden_rows(s, least, dt, rules)):
        onset, end = _rise_within(s, max(first - 1, 0), stop - 1, dt, rules)
        kick = DetectedKick(row_of_rise(s, onset, end, rules), end, size=float(abs(s[end])))
        if kicks and kick.onset <= kicks[-1].end + memory:
            if not memory or kick.size < rules.outdoes * kicks[-1].size:
                continue
            kicks.pop()
        kicks.append(kick)
    return kicks


def _sudden_rows(s: Array, least: float, dt: float, rules: KickRules) -> np.ndarray:
    """Rows (n,), bool, soon after which a signal is several times what it was just before, and ``least`` or more.

    Parameters
    ----------
    s : (n,)
    least : float
    dt : float
        Sampling interval [s].
    rules : KickRules
    """
    rise, calm = row_count(rules.rise, dt), row_count(rules.calm, dt)
    sudden = np.zeros(len(s), bool)
    for part in row_parts(len(s)):
        begin, end, before = part.start, part.stop, max(0, part.start - calm)
        ahead = _running_maximum(np.abs(s[begin : end + rise]), rise)[: end - begin]
        behind = _running_maximum(np.abs(s[before:end])[::-1], calm)[::-1][begin - before :]
        sudden[part] = (ahead > rules.ratio * behind) & (ahead > least)
    return sudden


def _rise_within(s: Array, first: int, last: int, dt: float, rules: KickRules) -> tuple[int, int]:
    """Rows where the rise that makes some rows sudden begins and ends; a small stir just before it is not the rise.

    Parameters
    ----------
    s : (n,)
        Signal.
    first, last : int
        The rows, with the one before them.
    dt : float
        Sampling interval [s].
    rules : KickRules
    """
    calm, rise = row_count(rules.calm, dt), row_count(rules.rise, dt)
    largest = np.abs(s[first : last + rise + 1]).max()  # the last row is sudden for what comes after it
    while True:
        # it begins where the signal last was as small as before
        before = np.abs(s[max(0, first - calm) : first + 1]).max()
        quiet = np.flatnonzero(np.abs(s[first : last + 1]) <= before)
        onset = first + (int(quiet[-1]) if len(quiet) else 0)
        end = _end_of_kick(s, onset, dt, rules)
        if end >= last or rules.outdoes * abs(s[end]) >= largest:
            return onset, end
        first = max(end, first + 1)


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


def _end_of_kick(s: Array, onset: int, dt: float, rules: KickRules) -> int:
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
    turned = (away >= 0.5 * away[: within + 1].max()) & (away >= _running_maximum(away, ahead))
    return min(int(np.argmax(turned)) if turned.any() else within, within, len(s) - 1)


def find_swings(s: Array, least: float) -> list[tuple[int, int]]:
    """Swings of a signal as rows (from, to) of its turning points; a way of less than ``least`` back is no turning.

    The last one goes as far as the signal got.
    """
    swings: list[tuple[int, int]] = []
    begin = low = high = way = 0
    y = s.tolist()  # one by one, a list is read three times as fast
    for i in range(1, len(y)):
        low, high = (i if y[i] < y[low] else low), (i if y[i] > y[high] else high)
        if way >= 0 and y[high] - y[i] >= least:  # it has come down from its highest
            if way:
                swings.append((begin, high))
            begin, low, way = high, i, -1
        elif way <= 0 and y[i] - y[low] >= least:
            if way:
                swings.append((begin, low))
            begin, high, way = low, i, 1
    if way:
        swings.append((begin, high if way > 0 else low))
    return swings


def without_bias(response: Response, smooth: float) -> Array:
    """Lean rate (n,) without the gyro's bias (median where free) and without ringing."""
    y, n = response.phi_dot, len(response.phi_dot)
    free = y[slice(None) if response.free is None or not response.free.any() else response.free]
    bias = np.median(np.nan_to_num(free), overwrite_input=True)
    half = min(row_count(smooth, response.dt) | 1, n) // 2  # an odd width, so that nothing shifts in time
    weights, out = np.full(2 * half + 1, 1.0 / (2 * half + 1)), np.empty(n)
    for part in row_parts(n):
        rows = np.clip(np.arange(part.start - half, part.stop + half), 0, n - 1)
        out[part] = np.convolve(np.nan_to_num(y[rows]) - bias, weights, "valid")
    return out


def background_amplitude(response: Response, s: Array, percent: float = 20.0) -> float:
    """Amplitude of what moves when nothing happens: lowest fifth of the half-second amplitudes, or as many percent."""
    width = min(row_count(0.5, response.dt), len(s))
    usable = np.ones(len(s), bool) if response.free is None or not response.free.any() else response.free
    places = np.flatnonzero(usable[: len(s) - width + 1])[:: max(1, width // 4)].copy()  # not all of them are kept
    views = sliding_window_view(s, width)
    # some thousands at a time: an hour has 250 MB of them
    std = [views[some].std(axis=1) for some in np.array_split(places, 1 + len(places) // WINDOWS_AT_ONCE)]
    amplitude = np.sqrt(2.0) * np.concatenate(std)
    return float(np.percentile(amplitude, percent)) if len(amplitude) else 0.0


def _running_maximum(size: Array, width: int) -> Array:
    """Largest value (n,) among this row and the ``width`` rows after it."""
    padded = np.append(size, np.zeros(width))
    return sliding_window_view(padded, width + 1).max(axis=1)


def row_count(seconds: float, dt: float) -> int:
    """Rows in a time, at least one."""
    return max(1, round(seconds / dt))
