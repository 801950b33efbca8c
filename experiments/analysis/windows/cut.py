"""Beginning, end and speed line of windows.

The speed line is the straight line through a window's speeds.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import fdtrc

from riderless.experiments.analysis.windows.kicks import DetectedKick, find_swings, row_count, turning_row
from riderless.experiments.analysis.windows.rules import WindowRules
from riderless.experiments.datatypes import Response, Segment, Window
from riderless.models.array_types import Array

CUT_BY_AUTHORS = ("kooijman", "delft-sbw")  # kinds of recordings whose authors have cut windows


def make_window(response: Response, start: int, stop: int, rule: str = "given") -> Window:
    """Make the window of rows start to stop, with the straight line through its speeds.

    Parameters
    ----------
    response : Response
    start : int
        First row.
    stop : int
        One past the last row.
    rule : str
        Sentence that says why it was cut so.
    """
    start = min(start, len(response.t) - 2)
    stop = max(stop, start + 2)
    t, v = response.t[start:stop], response.v[start:stop]
    middle = 0.5 * (t[0] + t[-1])
    slope, v_mean = np.polyfit(t - middle, v, 1)
    half = slope * (t[-1] - middle)
    residual = v - (v_mean + slope * (t - middle))
    return Window(
        source=response.source,
        start=start,
        stop=stop,
        t_start=float(t[0]),
        t_end=float(t[-1]),
        v_mean=float(v_mean),
        v_start=float(v_mean - half),
        v_end=float(v_mean + half),
        rule=rule,
        v_std=_std_of_mean(residual),
    )


def _std_of_mean(residual: Array) -> float:
    """Standard deviation of a mean by what is left (n,) about it, whose rows may hang together (first-order)."""
    square = float(residual @ residual)
    if not square > 0.0:
        return 0.0
    n, r = len(residual), max(float(residual[1:] @ residual[:-1]) / square, 0.0)
    return float(np.sqrt(square / n / max(n * (1.0 - r) / (1.0 + r), 1.0)))


def cut_window(
    response: Response, s: Array, noise: float, kick: DetectedKick, following: DetectedKick | None, rules: WindowRules
) -> tuple[int, int, str]:
    """Cut the window of one kick: first row, row past the last, and the rule that gave them.

    Parameters
    ----------
    response : Response
    s : (n,)
        Lean rate without bias.
    noise : float
        Amplitude of the background, in the unit of the lean rate.
    kick : DetectedKick
    following : DetectedKick or None
        The next one.
    rules : WindowRules
    """
    t, dt, n = response.t, response.dt, len(s)
    ends = {"end of recording": n}
    if following is not None:
        margin = rules.margin_swinging if following.swinging else rules.margin
        ends["next kick"] = following.onset - row_count(margin, dt)
    until = min(ends.values())  # what is not free later ends no window of this kick
    if response.free is not None and not (free := response.free[kick.end : until]).all():
        ends["end of the free part"] = kick.end + int(np.argmin(free))
    last = min(ends.values())
    seen = min(last, kick.end + row_count(rules.longest + rules.slowest, dt))
    again = None if kick.listed else row_of_next_push(s[kick.end : seen], noise, rules)
    if again is not None:
        ends["it is pushed again"] = kick.end + again - row_count(rules.begun, dt)
        last = ends["it is pushed again"]
    cycle = cycle_rows(s, kick, dt, rules)
    faded = kick.end + _row_of_fading(s[kick.end : last], cycle, rules)
    affordable = kick.listed or (faded - kick.end) * dt >= rules.settle_needs
    settle = rules.settle if affordable else 0.0
    start = kick.end + round(settle / dt)
    if pushing := _time_of_pushing(response, kick, cycle, rules):
        start = max(start, kick.onset + row_count(pushing, dt))
        settle = max(settle, round((start - kick.end) * dt, 3))
    least = rules.least_marked if kick.listed else rules.least_cycles
    if faded < last:
        ends["it fades"] = max(faded, start + round(least * cycle))
    ends["greatest length"] = start + row_count(rules.longest, dt)
    why = min(ends, key=lambda name: ends[name])
    origin = "release" if kick.released else "marked kick" if kick.marked else "kick"
    rule = f"{settle:g} s after the {origin} of {t[kick.onset]:.2f}-{t[kick.end]:.2f} s, until {why}"
    return start, ends[why], rule


def _time_of_pushing(response: Response, kick: DetectedKick, cycle: int, rules: WindowRules) -> float:
    """Time [s] from a kick's onset in which the hand may still push though the motion has turned back; 0 for none.

    Windows of published recordings begin where the motion turns, as their authors' do.

    Parameters
    ----------
    response : Response
    kick : DetectedKick
    cycle : int
        Rows of one cycle of the motion.
    rules : WindowRules
    """
    if response.kind in CUT_BY_AUTHORS or kick.released:
        return 0.0
    rise = kick.end - kick.onset
    if response.steer_late > 0.0 or rise > rules.swift * cycle:  # drive or weave turns it back while the push goes on
        return rules.longest_push + response.steer_late
    return 0.0


def row_of_next_push(s: Array, noise: float, rules: WindowRules) -> int | None:
    """Row of a response, begun at its peak, where a swing begins that grows after swings had shrunk; None without.

    One mode never does that, and of several only where a small growing one is left when the others have died: such
    a recording wants marks. A push into a motion still going on is no sudden rise above what was just before, so
    the rule that finds kicks misses it.
    """
    swings = find_swings(s, max(rules.unrest * abs(s[0]), rules.unrest_noise * noise)) if len(s) else []
    size = [abs(s[b] - s[a]) for a, b in swings]
    for i in range(1, len(swings)):
        smallest = min(size[:i])
        if smallest < size[0] and size[i] > rules.again * smallest and size[i] - smallest > rules.pushed * size[0]:
            return swings[i][0]
    return None


def cycle_rows(s: Array, kick: DetectedKick, dt: float, rules: WindowRules) -> int:
    """Rows of one cycle: turning points of a mode lie half a cycle apart, however damped it is.

    Parameters
    ----------
    s : (n,)
        Lean rate without bias.
    kick : DetectedKick
    dt : float
        Sampling interval [s].
    rules : WindowRules
    """
    slowest, ahead = row_count(rules.slowest, dt), row_count(rules.kicks.turned, dt)
    # into a motion still going on: the kick need not end where the whole turns
    begin = kick.end + (turning_row(s[kick.end :], slowest, ahead) if kick.swinging else 0)
    return 2 * (turning_row(s[begin:], slowest, ahead) or 1)


def _row_of_fading(s: Array, cycle: int, rules: WindowRules) -> int:
    """Row of a response, begun at its peak, from which the kick no longer shows; its length if never."""
    half = cycle // 2
    if len(s) <= half:
        return len(s)
    parts = sliding_window_view(np.pad(s, (0, half), mode="edge"), 2 * half)
    # half the range of the cycle after each row, whatever the offset; at the end of half a cycle at least
    size = 0.5 * (parts.max(axis=1) - parts.min(axis=1))
    then = np.append(size[2 * half :], np.zeros(min(2 * half, len(size))))
    gone = size < rules.faded * abs(s[0])
    gone |= (size < rules.weak * abs(s[0])) & (then > rules.steady * size)
    return int(np.argmax(gone)) if gone.any() else len(s)


# Speed over a window: the straight line through it, or the smoothed speed where a line leaves more than noise.
#
# A bicycle that coasts and leans does not slow down evenly: at a lean of 0.15 rad its speed waves by 0.02 m/s and more
# about the line, and an eigenvalue moves by about 1 1/s per m/s.


SMOOTHED = 0.3  # s, over which a parabola is fitted about each sample (Savitzky and Golay 1964)
PARABOLA_SHARE = 2.25  # coefficients that such a fit takes for each of its lengths
SPEED_ROUNDING = 1e-9  # of a speed: what interpolation makes of numbers on a line
NO_CHANCE = 1e-6  # probability of what a line leaves of a speed that is one, below which it is none


def measured_speed(segment: Segment) -> tuple[Array, Array | None]:
    """Speed over a window (n,) [m/s], and by how much the controller misread it."""
    response, window = segment.response, segment.window
    v = np.linspace(window.v_start, window.v_end, len(segment))
    smooth = _smoothed(response, window)
    if smooth is not None and _leaves_more_than_noise(segment.v, v, smooth, segment.dt):
        v = smooth
    return v, None if segment.v_read is None else segment.v_read - v


def _smoothed(response: Response, window: Window) -> Array | None:
    """Smoothed speed (n,) of a window, by what is around it too; None where it is short, or a reading is missing."""
    half = round(0.5 * SMOOTHED / response.dt)
    begin, end = max(0, window.start - half), min(len(response.v), window.stop + half)
    around = np.asarray(response.v[begin:end], float)
    if half < 2 or window.stop - window.start < 4 * half or not np.isfinite(around).all():
        return None
    weights = 1.0 - 5.0 * np.arange(-half, half + 1) ** 2 / (3.0 * half * (half + 1) - 1.0)
    ends = (half - (window.start - begin), half - (end - window.stop))  # where the recording ends
    if any(ends):
        around = np.pad(around, ends, mode="reflect", reflect_type="odd")
    return np.convolve(around, weights / weights.sum(), mode="valid")


def _leaves_more_than_noise(measured: Array, line: Array, smooth: Array, dt: float) -> bool:
    """Is a speed (n,) no line? A sensor that tells one in some rows only shows no noise from row to row: never so."""
    if np.median(np.abs(np.diff(measured, 3))) <= SPEED_ROUNDING * np.abs(measured).max():
        return False
    n, parameters = len(measured), PARABOLA_SHARE * len(measured) * dt / SMOOTHED
    rest, less = float(np.sum((measured - line) ** 2)), float(np.sum((measured - smooth) ** 2))
    if not 0.0 < less < rest:
        return False
    F = (rest - less) / (parameters - 2.0) / (less / (n - parameters))
    return bool(fdtrc(parameters - 2.0, n - parameters, F) < NO_CHANCE)
