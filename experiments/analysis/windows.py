"""Windows: cut a recording into free responses by rules, with the reason for every part that was refused.

A window begins after a kick is over and ends before the motion sinks into the background, before the next
kick, where the recording stops being free, or at a greatest length. Everything that looked like a window
and was refused is returned as well, with the reason: a choice that is not reported cannot be checked.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from experiments.analysis.onsets.kicks import (
    DetectedKick,
    KickRules,
    SeparatedMotion,
    find_kicks,
    find_release,
    find_swings,
    row_count,
    separate_motion,
    turning_row,
    without_bias,
)
from experiments.analysis.onsets.marks import snap_marks
from experiments.datatypes import Rejected, Response, Window
from models.array_types import Array, true_spans


@dataclass(frozen=True)
class WindowRules:
    """Rules by which windows are cut; each number with its reason."""

    kicks: KickRules = field(default_factory=KickRules)
    settle: float = 0.3  # s left out after a kick: caster dies within it, and it biases d by 0.1 1/s
    settle_needs: float = 1.5  # s of response after an unmarked kick, without which 0.3 s is too dear
    margin: float = 0.05  # s kept away from the next kick: half the time the smoothing spreads it
    margin_swinging: float = 0.15  # ... from one into a swinging: it begins softly, up to 0.12 s before it is seen
    longest: float = 4.0  # s; later the speed, the slow modes and the drift of the bias rule
    slowest: float = 1.6  # s, half a cycle of 2 rad/s, within which the swing back is sought
    least_cycles: float = 1.5  # from turning points, which a kick and damping draw together by a quarter
    least_marked: float = 2.0  # ... after a listed kick, whose recording is quiet enough to afford more
    faded: float = 0.08  # of the peak: 2.5 time constants, after which nothing is learnt
    weak: float = 0.25  # of the peak, under which a response that ...
    steady: float = 0.8  # ... keeps this much of its size over one more cycle has sunk into other motion
    peak_marked: float = 4.0  # times the background that a marked kick must reach
    peak_unmarked: float = 8.0  # ... and one known from the signal alone, where bumps are common
    alike: float = 0.4  # of the largest kick: one person kicks alike, and a bump under this is none
    rest: float = 3.0  # s since the last push, if unmarked: sooner it is a hand that brings it back
    stirred: float = 0.33  # of the peak: a push that counts here, be it too small for a window of its own
    unrest: float = 0.1  # of the peak, and ...
    unrest_noise: float = 4.0  # ... times the background: a way back smaller than both is no turning point
    again: float = 1.25  # times the smallest swing before, and by ...
    pushed: float = 0.25  # ... this share of the first: what decays and then grows so has been pushed again
    push: float = 0.15  # s, a push by hand; a drive that turns the steer against it turns the motion while it lasts
    begun: float = 0.15  # s that a push may have lasted when the motion turns: half the longest push by hand
    speed_change: float = 0.2  # of the mean speed, over which one eigenvalue means nothing
    speed_rise: float = 0.15  # m/s^2; a free bicycle slows down: somebody pushes
    stuck: float = 0.1  # s of the very same value while the bicycle moves: a signal lost
    clipped: int = 3  # rows in a row at the greatest value of the recording: a range exceeded


def find_windows(response: Response, rules: WindowRules | None = None) -> tuple[list[Window], list[Rejected]]:
    """Find the free responses in a recording, and the parts refused with the reason.

    Parameters
    ----------
    response : Response
        Evenly sampled lean rate and speed; ``free`` and kick markers are obeyed where present.
    rules : WindowRules, optional
        By default those of the lab.
    """
    rules = rules or WindowRules()
    if any(marker.kind == "release" for marker in response.markers):
        return released_windows(response, rules)
    motion = separate_motion(response, rules.kicks.smooth)
    s, noise = motion.s, motion.background
    found, rejected = possible_kicks(response, motion, rules)
    largest = max((kick.size for kick in found), default=0.0)
    windows: list[Window] = []
    kicks: dict[int, DetectedKick] = {}  # by their places in ``found``
    for place, kick in enumerate(found):
        needed = rules.peak_marked * noise
        if not kick.marked:
            needed = max(rules.peak_unmarked * noise, rules.kicks.stands_out * motion.unrest, rules.alike * largest)
        if kick.size >= needed:
            kicks[place] = kick
        else:
            rejected.append(too_small(response, kick, needed))
    for place, kick in kicks.items():
        before = push_before(found, kick, rules)
        later = enumerate(found[place + 1 :], place + 1)
        # a push that counts ends the motion before it, be it too small for a window of its own
        counts = (k for i, k in later if i in kicks or k.size >= rules.stirred * kick.size)
        following = next((k for k in counts if k.onset > kick.onset), None)
        start, stop, rule = cut_window(response, s, noise, kick, following, rules)
        window = make_window(response, start, stop, rule)
        reason = refusal_reason(response, s, before, kick, window, rules)
        if reason:
            rejected.append(Rejected(response.source, float(response.t[kick.onset]), window.t_end, reason))
        else:
            windows.append(window)
    if not kicks:
        reason = f"no kick: no sudden rise above the background of {noise:.2g} {response.phi_dot_unit}"
        rejected.append(Rejected(response.source, float(response.t[0]), float(response.t[-1]), reason))
    return windows, sorted(rejected, key=lambda r: r.t_start)


def possible_kicks(
    response: Response, motion: SeparatedMotion, rules: WindowRules
) -> tuple[list[DetectedKick], list[Rejected]]:
    """Find what may begin a window, kicks and a release, in order of time; and what is refused before that."""
    rejected = rejected_not_free(response)
    found, unmet = snap_marks(response, motion, find_kicks(response, rules.kicks, motion), rules.kicks)
    release = find_release(response, motion, found, rules.kicks)
    if release is not None:  # the jump of letting go itself is no kick
        jump = release.onset - row_count(rules.kicks.calm, response.dt)
        found = [release, *(kick for kick in found if not jump <= kick.onset <= release.onset)]
    return sorted(found, key=lambda kick: kick.onset), [*rejected, *unmet]


def push_before(found: list[DetectedKick], kick: DetectedKick, rules: WindowRules) -> DetectedKick | None:
    """Last push before a kick that counts beside it, be it too small to make a window of its own.

    Parameters
    ----------
    found : list of DetectedKick
        In order of time.
    kick : DetectedKick
    rules : WindowRules
    """
    least = rules.stirred * kick.size
    return next((k for k in reversed(found) if k.end <= kick.onset and k.size >= least and not k.released), None)


def released_windows(response: Response, rules: WindowRules) -> tuple[list[Window], list[Rejected]]:
    """Cut the windows of a recording in which the torque went off now and then: its free parts, less the caster's time.

    What grows from a release needs no kick, and begins too small to look like one.
    """
    windows: list[Window] = []
    rejected = rejected_not_free(response)
    s, dt = without_bias(response, rules.kicks.smooth), response.dt
    for a, b in [] if response.free is None else true_spans(response.free):
        start, stop = a + round(rules.settle / dt), b
        end = "the torque came back"
        if stop - start > row_count(rules.longest, dt):
            stop, end = start + row_count(rules.longest, dt), "greatest length"
        length = (stop - start) * dt
        cycle = cycle_rows(s, DetectedKick(start, start), dt, rules) * dt if length > 0.0 else np.inf
        t_start, t_end = float(response.t[a]), float(response.t[b - 1])
        if length < cycle:
            reason = f"too short: {max(length, 0.0):.2f} s of torque off, wanted one cycle, {cycle:.2f} s"
            rejected.append(Rejected(response.source, t_start, t_end, reason))
        elif lost := lost_signal(response.phi_dot, slice(start, stop), dt, rules):
            rejected.append(Rejected(response.source, t_start, t_end, lost))
        else:
            rule = f"{rules.settle:g} s after the torque went off at {t_start:.2f} s, until {end}"
            windows.append(make_window(response, start, stop, rule))
    return windows, sorted(rejected, key=lambda r: r.t_start)


def too_small(response: Response, kick: DetectedKick, needed: float) -> Rejected:
    """Refusal of a bump no higher than the unrest of the recording explains.

    Parameters
    ----------
    response : Response
    kick : DetectedKick
    needed : float
        Least peak, in the unit of the lean rate.
    """
    peak, unit = kick.size, response.phi_dot_unit
    return Rejected(
        response.source,
        float(response.t[kick.onset]),
        float(response.t[kick.end]),
        f"too small: {peak:.2g} {unit} at its peak, wanted {needed:.2g} in this recording",
    )


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
    )


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
    faded = kick.end + row_of_fading(s[kick.end : last], cycle, rules)
    affordable = kick.listed or (faded - kick.end) * dt >= rules.settle_needs
    settle = rules.settle if affordable else 0.0
    start = kick.end + round(settle / dt)
    if response.steer_late > 0.0:  # that drive turns the motion back while the push goes on
        start = max(start, kick.onset + row_count(rules.push + response.steer_late, dt))
        settle = max(settle, round((start - kick.end) * dt, 3))
    least = rules.least_marked if kick.listed else rules.least_cycles
    if faded < last:
        ends["it fades"] = max(faded, start + round(least * cycle))
    ends["greatest length"] = start + row_count(rules.longest, dt)
    why = min(ends, key=lambda name: ends[name])
    origin = "release" if kick.released else "marked kick" if kick.marked else "kick"
    rule = f"{settle:g} s after the {origin} of {t[kick.onset]:.2f}-{t[kick.end]:.2f} s, until {why}"
    return start, ends[why], rule


def row_of_next_push(s: Array, noise: float, rules: WindowRules) -> int | None:
    """Row of a response, begun at its peak, where a swing begins that grows after swings had shrunk; None without.

    One mode never does that, and of several only where a small growing one is left when the others have died: such
    a recording wants marks. A push into a motion still going on is no sudden rise above what was just before, so
    the rule that finds kicks misses it.
    """
    found = find_swings(s, max(rules.unrest * abs(s[0]), rules.unrest_noise * noise)) if len(s) else []
    size = [abs(s[b] - s[a]) for a, b in found]
    for i in range(1, len(found)):
        smallest = min(size[:i])
        if smallest < size[0] and size[i] > rules.again * smallest and size[i] - smallest > rules.pushed * size[0]:
            return found[i][0]
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


def row_of_fading(s: Array, cycle: int, rules: WindowRules) -> int:
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


def refusal_reason(
    response: Response, s: Array, before: DetectedKick | None, kick: DetectedKick, window: Window, rules: WindowRules
) -> str:
    """Reason why a window is refused; empty when it is not.

    Parameters
    ----------
    response : Response
    s : (n,)
        Lean rate without bias.
    before : DetectedKick or None
        The push before that counts.
    kick : DetectedKick
        The one that begins the window.
    window : Window
    rules : WindowRules
    """
    part = window.rows
    length = window.duration
    change = window.v_end - window.v_start
    speeds = f"from {window.v_start:.2f} to {window.v_end:.2f} m/s"
    if response.free is not None and not response.free[kick.onset : window.stop].all():
        return "not free: the recording says so for a part of it"
    if not (np.isfinite(response.phi_dot[part]).all() and np.isfinite(response.v[part]).all()):
        return "values are missing in the lean rate or the speed"
    if before is not None and not (kick.marked or kick.released):
        last = response.t[before.onset]
        since = response.t[kick.onset] - last
        if since < rules.rest:
            size = before.size / kick.size
            return (
                f"overlaps: {since:.1f} s after the push of {last:.2f} s, {size:.2g} times as hard; "
                f"wanted {rules.rest:g} s after one of {rules.stirred:g} times or more"
            )
    if change > rules.speed_rise * length:
        return f"not free: the speed rises {speeds}, somebody pushes"
    if abs(change) > rules.speed_change * abs(window.v_mean):
        return f"the speed changes too much, {speeds}"
    cycle = cycle_rows(s, kick, response.dt, rules) * response.dt
    if length < cycle:
        return f"too short: {length:.2f} s ({window.rule}), wanted one cycle, {cycle:.2f} s"
    return lost_signal(response.phi_dot, part, response.dt, rules)


def lost_signal(y: Array, part: slice, dt: float, rules: WindowRules) -> str:
    """Sentence about a clipped or stuck lean rate; empty when there is none.

    Parameters
    ----------
    y : (n,)
        Lean rate.
    part : slice
        Rows that matter.
    dt : float
        Sampling interval [s].
    rules : WindowRules
    """
    same = np.diff(y[part]) == 0.0
    for first, last in true_spans(same):
        value, count = y[part][first], last - first + 1
        if count >= rules.clipped and value in (np.nanmin(y), np.nanmax(y)):
            return f"clipped: {count} rows in a row at {value:.4g}, the limit of the recording"
        if count * dt >= rules.stuck:
            return f"drop-out: the very same lean rate for {count * dt:.2f} s"
    return ""


def rejected_not_free(response: Response) -> list[Rejected]:
    """Stretches that the recording itself marks as not free."""
    if response.free is None:
        return []
    return [
        Rejected(
            response.source,
            float(response.t[a]),
            float(response.t[b - 1]),
            f"{_why_not_free(response, a, b)}; speed {response.v[a]:.2f} to {response.v[b - 1]:.2f} m/s",
        )
        for a, b in true_spans(~response.free)
    ]


def _why_not_free(response: Response, first: int, last: int) -> str:
    """Say why the rows from first to last, excluded, are not free."""
    begin, end = float(response.t[first]), float(response.t[last - 1])
    led = any(begin <= b and end >= a for a, b in response.bends)
    return "in a bend of its path" if led else "not free, says the recording"
