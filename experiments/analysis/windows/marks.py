"""Marks of kicks, set during a run.

Each says "a kick near here", and is moved to the rise that it must mean. A person sees the kick, decides and presses a
key: the mark comes 0.3 to 1.2 s late, and seldom early. What kicked the bicycle itself, an emulated hand, knows the
time. A list of times (somebody else's log, a mapping) names all kicks and is taken as it is, see `kicks.find_kicks`.
"""

from dataclasses import dataclass, replace

import numpy as np

from riderless.experiments.analysis.windows.free_motion import KICK_MEMORY
from riderless.experiments.analysis.windows.kicks import (
    DetectedKick,
    KickRules,
    SeparatedMotion,
    row_count,
    row_of_rise,
)
from riderless.experiments.datatypes import Marker, Rejected, Response

BY_KEY = "by key"  # begins the text of a mark that a person set


@dataclass(frozen=True)
class _MarkRules:
    """Rules by which a mark is moved to its kick; each number with its reason."""

    late: float = 1.2  # s that a mark comes after the kick began: three slow reactions of a person
    early: float = 0.3  # s before it, by the one who counts down to the kick
    known: float = 0.15  # s about a time that is known: within it a rise is found
    peak: float = 4.0  # times the background that a rise must reach to be one


def snap_marks(
    response: Response,
    motion: SeparatedMotion,
    detected: list[DetectedKick],
    kicks: KickRules,
) -> tuple[list[DetectedKick], list[Rejected]]:
    """Mark the kicks that were meant, leave the others as they are, and tell of marks near which nothing rises.

    Parameters
    ----------
    response : Response
    motion : SeparatedMotion
    detected : list of DetectedKick
        Those that the signal shows, in order of time.
    kicks : KickRules
    """
    rules, snapped, rejected = _MarkRules(), list(detected), []
    for t, before, after in sorted(_reach(m, rules) for m in response.markers if m.kind == "kick" and m.text):
        begin, end = np.searchsorted(response.t, [t - before, t + after])
        near = [kick for kick in snapped if begin <= kick.onset <= end]
        if near:
            meant = max(near, key=lambda kick: kick.size)
            snapped[snapped.index(meant)] = replace(meant, marked=True)
            continue
        rise = _largest_rise(response, motion, snapped, slice(int(begin), int(end)), kicks)
        needed = rules.peak * motion.background
        if rise is not None and rise.size >= needed:
            snapped = sorted([*snapped, rise], key=lambda kick: kick.onset)
            continue
        size, unit = (rise.size if rise else 0.0), response.phi_dot_unit
        reason = (
            f"mark of {t:.2f} s: nothing rises near it, from {before:g} s before to {after:g} s after; "
            f"the largest is {size:.2g} {unit}, wanted {needed:.2g}"
        )
        rejected.append(Rejected(response.source, t, t, reason))
    return snapped, rejected


def _reach(marker: Marker, rules: _MarkRules) -> tuple[float, float, float]:
    """Time of a mark, and how long before and after it its kick may begin [s]."""
    by_hand = marker.text.startswith(BY_KEY)
    return marker.t, (rules.late if by_hand else rules.known), (rules.early if by_hand else rules.known)


def _largest_rise(
    response: Response, motion: SeparatedMotion, kicks: list[DetectedKick], where: slice, rules: KickRules
) -> DetectedKick | None:
    """Largest rise that begins in some rows and is no remainder of a kick already found; None without rows.

    Parameters
    ----------
    response : Response
    motion : SeparatedMotion
    kicks : list of DetectedKick
    where : slice
        Rows.
    rules : KickRules
    """
    dt, first = response.dt, where.start
    size = np.abs(motion.rest[first : where.stop + row_count(rules.rise, dt)])
    for kick in kicks:
        begin, end = kick.onset - row_count(rules.calm, dt), kick.end + row_count(KICK_MEMORY, dt)
        size[max(0, begin - first) : max(0, end - first)] = -1.0
    if not (size >= 0.0).any():
        return None
    end = first + int(np.argmax(size))
    onset = row_of_rise(motion.rest, max(0, end - row_count(rules.rise, dt)), end, rules)
    return DetectedKick(onset, end, marked=True, size=float(size[end - first]), swinging=True)
