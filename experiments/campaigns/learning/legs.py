"""Runs at several speeds: entries of a menu one after the other, the speed changed under way by the machine itself.

The bicycle keeps its lane all the time, so nobody has to hold it between one speed and the next. After the kicks at one
speed nothing is played until the next one is reached and the bicycle has settled there.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from riderless.experiments.analysis.windows.rules import WindowRules
from riderless.experiments.campaigns.protocols.auto import Settings
from riderless.experiments.campaigns.protocols.condition import Condition
from riderless.experiments.emulation.hand_kicks import RELEASE_DELAY
from riderless.experiments.experiment_design.choice import TimeCosts

_THEN = re.compile(r"(?P<first>.*?) m/s(?P<then>( then [\d.e+-]+ m/s)+) (?P<tag>kicked .*)")
_SAME = 1e-9  # m/s


def join_legs(entries: Sequence[Condition], settings: Settings, costs: TimeCosts = TimeCosts()) -> Condition:
    """Make one run of entries of a menu, in their order; of a single one it is that entry.

    Parameters
    ----------
    entries : sequence of Condition
        Of one controller and one length of the kicks.
    settings : Settings
    costs : TimeCosts
        How fast the speed is changed at most, and how long the bicycle then settles.
    """
    first = entries[0]
    if len(entries) == 1:
        return first
    played = first.excitation
    most = max(one.excitation.amplitude for one in entries)
    speeds, shares = [(0.0, first.v)], [first.excitation.amplitude / most] * settings.kicks
    change = min(costs.speed_change, first.rig.speed_drive.ramp if first.rig.speed_drive else np.inf)
    beyond = max(WindowRules().longest - settings.spacing_s, 0.0)  # s of the last kick's window after its turn
    for before, after in pairwise(entries):
        if abs(after.v - before.v) > _SAME:
            takes = abs(after.v - before.v) / change
            begins = played.delay + len(shares) * settings.spacing_s + beyond
            speeds += [(begins - RELEASE_DELAY, before.v), (begins + takes - RELEASE_DELAY, after.v)]
            shares += [0.0] * int(np.ceil((beyond + takes + costs.settling) / settings.spacing_s))
        shares += [after.excitation.amplitude / most] * settings.kicks
    length = len(shares) * settings.spacing_s
    return replace(
        first,
        tag=" ".join([*(f"then {one.v:g} m/s" for one in entries[1:]), first.tag]),
        scenario=replace(first.scenario, speed=tuple(speeds)),
        excitation=replace(
            played, amplitude=most, duration=length, periods=len(shares), shares=tuple(map(float, shares))
        ),
        length=RELEASE_DELAY + played.delay + length,
        instruction=f"{first.instruction}{_changes(speeds)}",
    )


def legs_named(label: str, menu: Sequence[Condition]) -> list[Condition]:
    """Find the entries that a run was made of, by its label; none where the menu does not have them."""
    found = _THEN.fullmatch(label)
    if found is None:
        return [one for one in menu if one.label == label][:1]
    first = [one for one in menu if one.label == f"{found['first']} m/s {found['tag']}"][:1]
    entries = list(first)
    for speed in re.findall(r"then ([\d.e+-]+) m/s", found["then"]):
        entries += [one for one in menu if first and may_follow(first[0], one) and f"{one.v:g}" == speed][:1]
    return entries if len(entries) == 1 + found["then"].count("then") else []


def may_follow(first: Condition, other: Condition) -> bool:
    """Can an entry come after another in one run: the same law, and kicks as long?"""
    return first.controller == other.controller and first.tag == other.tag


def _changes(speeds: Sequence[tuple[float, float]]) -> str:
    """Say which speeds [m/s] follow, of a profile; nothing where the first is kept."""
    later = [f"{v:g}" for _, v in speeds[2::2]]
    return f"; it changes its speed by itself to {', then '.join(later)} m/s" if later else ""
