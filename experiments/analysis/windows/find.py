"""Search for free responses in a recording.

They come after its kicks or where its torque went off.
"""

import numpy as np

from riderless.experiments.analysis.windows.cut import cut_window, cycle_rows, make_window
from riderless.experiments.analysis.windows.kicks import (
    DetectedKick,
    SeparatedMotion,
    find_kicks,
    find_release,
    row_count,
    separate_motion,
    without_bias,
)
from riderless.experiments.analysis.windows.marks import snap_marks
from riderless.experiments.analysis.windows.refuse import lost_signal, refusal_reason, rejected_not_free, too_small
from riderless.experiments.analysis.windows.rules import WindowRules
from riderless.experiments.datatypes import Rejected, Response, Window
from riderless.models.array_types import true_spans


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
        return _released_windows(response, rules)
    motion = separate_motion(response, rules.kicks.smooth)
    s, noise = motion.s, motion.background
    detected, rejected = _possible_kicks(response, motion, rules)
    largest = max((kick.size for kick in detected), default=0.0)
    windows: list[Window] = []
    kicks: dict[int, DetectedKick] = {}  # by their places in ``detected``
    for place, kick in enumerate(detected):
        needed = rules.peak_marked * noise
        if not kick.marked:
            needed = max(rules.peak_unmarked * noise, rules.kicks.stands_out * motion.unrest, rules.alike * largest)
        if kick.size >= needed:
            kicks[place] = kick
        else:
            rejected.append(too_small(response, kick, needed))
    for place, kick in kicks.items():
        before = _push_before(detected, kick, response.dt, rules)
        later = enumerate(detected[place + 1 :], place + 1)
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
        response.release_memory()  # of a long recording no more than a window at a time
    if not kicks:
        reason = f"no kick: no sudden rise above the background of {noise:.2g} {response.phi_dot_unit}"
        rejected.append(Rejected(response.source, float(response.t[0]), float(response.t[-1]), reason))
    return windows, sorted(rejected, key=lambda r: r.t_start)


def _possible_kicks(
    response: Response, motion: SeparatedMotion, rules: WindowRules
) -> tuple[list[DetectedKick], list[Rejected]]:
    """Find what may begin a window, kicks and a release, in order of time; and what is refused before that."""
    rejected = rejected_not_free(response)
    kicks, unmet = snap_marks(response, motion, find_kicks(response, rules.kicks, motion), rules.kicks)
    release = find_release(response, motion, kicks, rules.kicks)
    if release is not None:  # the jump of letting go itself is no kick
        jump = release.onset - row_count(rules.kicks.calm, response.dt)
        kicks = [release, *(kick for kick in kicks if not jump <= kick.onset <= release.onset)]
    return sorted(kicks, key=lambda kick: kick.onset), [*rejected, *unmet]


def _push_before(kicks: list[DetectedKick], kick: DetectedKick, dt: float, rules: WindowRules) -> DetectedKick | None:
    """Last push before a kick that still counts beside it, be it too small to make a window of its own.

    Parameters
    ----------
    kicks : list of DetectedKick
        In order of time.
    kick : DetectedKick
    dt : float
        Sampling interval [s].
    rules : WindowRules
    """

    def counts(push: DetectedKick) -> bool:
        since, share = (kick.onset - push.onset) * dt, push.size / kick.size
        soon = since < (rules.rest if share > rules.soft else rules.calmed)
        return soon and share >= rules.stirred and push.end <= kick.onset and not push.released

    return next(filter(counts, reversed(kicks)), None)


def _released_windows(response: Response, rules: WindowRules) -> tuple[list[Window], list[Rejected]]:
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
        response.release_memory()  # as behind each kick
    return windows, sorted(rejected, key=lambda r: r.t_start)
