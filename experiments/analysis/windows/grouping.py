"""Grouping of windows into conditions.

A verdict is given on the conditions of one bicycle. A condition is bicycle, controller and speed. Bicycles are told
apart by their names, bicycle and controller together by the label of the recording: recordings of one name but of
different parameters or controllers get names of their own before they are analysed. Speed is that of the windows: those
of one label are parted by it afterwards.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from riderless.experiments.datatypes import Comparison, Response, Window
from riderless.models.linear.resistance import Resistance
from riderless.models.parameters import PARAMETERS, Bicycle

CONDITION_WIDTH = 0.15  # m/s, by which the speeds of one condition's windows differ at most, but for their own noise
SPEED_DEVIATIONS = 2.0  # standard deviations within which two speeds are one
LINE_ENDS = 12**0.5  # times the standard deviation of a line's mean, that of the difference of its ends
ROWS_LOOKED_AT = 2000  # of a recording, which tell it from others


def comparable_windows(group: Sequence[Comparison]) -> list[Comparison]:
    """Windows of a bicycle that tell how far they are from what is predicted."""
    return [c for c in group if c.comparable]


def in_turn(group: Sequence[Comparison]) -> Iterator[Comparison]:
    """Windows one after the other; behind each the memory of a long recording's signals is given back."""
    for c in group:
        yield c
        c.segment.response.release_memory()


def with_unknown_resistance(response: Response, windows: Sequence[Window]) -> Response:
    """Response with what resists the bicycle in its theory, where its speed falls over a window on a floor.

    Where nobody states it, it is uncertain: `riderless.experiments.dynamics.ROAD_QUANTITIES`.
    """
    theory = response.own_theory
    falls = any(changes_speed(window) and window.v_start > window.v_end for window in windows)
    if theory.resistance is not None or theory.on_belt or not falls:
        return response
    return replace(response, theory=replace(theory, resistance=Resistance()))


def in_conditions(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Windows with the names of their conditions."""
    names = condition_names([c.label for c in comparisons], [c.window for c in comparisons])
    return [c if c.label == name else replace(c, at_speed=name) for c, name in zip(comparisons, names, strict=True)]


def condition_names(labels: Sequence[str], windows: Sequence[Window]) -> list[str]:
    """Name of each window's condition: its label, and its speed where windows of one label are parted by that.

    Windows over which the speed changes are of no one speed, and neither are the others of a recording that coasts,
    in which half of them are so: those of one label stay one condition, whose residuals are pooled, and every window is
    shown at its own speed.
    """
    names, changes = list(labels), [changes_speed(window) for window in windows]
    of_source: dict[str, list[bool]] = {}
    for window, change in zip(windows, changes, strict=True):
        of_source.setdefault(window.source, []).append(change)
    coasts = {source for source, own in of_source.items() if 2 * sum(own) >= len(own)}
    for label in dict.fromkeys(labels):
        own = [i for i, name in enumerate(labels) if name == label]
        changing = [i for i in own if changes[i] or windows[i].source in coasts]
        steady = sorted(set(own) - set(changing))
        v = [windows[i].v_mean for i in steady]
        parts = same_speeds(v, [windows[i].v_std for i in steady])
        if len(parts) + bool(changing) < 2:
            continue
        for i in changing:
            names[i] = f"{label} at changing speed"
        for part in parts:
            for k in part:
                names[steady[k]] = f"{label} at {np.mean([v[j] for j in part]):.2f} m/s"
    return names


def changes_speed(window: Window) -> bool:
    """Does the speed change over a window by more than a condition is wide?"""
    return abs(window.v_end - window.v_start) > max(CONDITION_WIDTH, SPEED_DEVIATIONS * LINE_ENDS * window.v_std)


def at_one_speed(windows: Iterable[Window]) -> bool:
    """Are these windows of a condition at one speed, whose eigenvalues have a mean?"""
    return not any(changes_speed(window) for window in windows)


def same_speeds(v: Sequence[float], v_std: Sequence[float] = ()) -> list[list[int]]:
    """Numbers of the speeds [m/s] that are one, parted at the widest gaps as long as a part is too wide."""
    std = v_std or [0.0] * len(v)
    waiting, groups = [sorted(range(len(v)), key=lambda i: v[i])] if len(v) else [], []
    while waiting:
        part = waiting.pop()
        low, high = part[0], part[-1]
        if not v[high] - v[low] > max(CONDITION_WIDTH, SPEED_DEVIATIONS * float(np.hypot(std[low], std[high]))):
            groups.append(sorted(part))
            continue
        at = 1 + int(np.argmax(np.diff([v[i] for i in part])))
        waiting += [part[:at], part[at:]]
    return sorted(groups)


def by_condition(group: Sequence[Comparison]) -> dict[str, list[Comparison]]:
    """Windows of each condition by its name, in order of appearance."""
    conditions: dict[str, list[Comparison]] = {}
    for c in group:
        conditions.setdefault(c.condition, []).append(c)
    return conditions


def speed_range(comparisons: Sequence[Comparison]) -> float:
    """Width of a condition [m/s]: from its slowest window to its fastest."""
    return float(np.ptp([c.window.v_mean for c in comparisons]))


def tell_apart(responses: Sequence[Response], controllers: Sequence[str]) -> list[Response]:
    """Give bicycles and controllers that share a name, and nothing else, names of their own.

    Parameters
    ----------
    responses : sequence of Response
    controllers : sequence of str
        What each was controlled by, in any words that are the same for the same controller.
    """
    named = _own_bicycles(responses)
    labelled: dict[str, list[tuple[Bicycle | None, str]]] = {}
    labelled_responses = []
    for response, controller in zip(named, controllers, strict=True):
        name = response.label or response.source
        known = labelled.setdefault(name, [])
        alike = (i for i, (b, other) in enumerate(known) if _same_machine(b, response.bicycle) and other == controller)
        at = next(alike, len(known))
        if at == len(known):
            known.append((response.bicycle, controller))
        labelled_responses.append(replace(response, label=f"{name} ({at + 1})") if at else response)
    return labelled_responses


def own_sources(responses: Sequence[Response]) -> list[Response]:
    """Recordings of one name and label, as of files in two folders, with names by which their windows find them."""
    seen: dict[tuple[str, str], int] = {}
    named = []
    for response in responses:
        number = seen[response.key] = seen.get(response.key, 0) + 1
        named.append(replace(response, source=f"{response.source} ({number})") if number > 1 else response)
    return named


def _own_bicycles(responses: Sequence[Response]) -> list[Response]:
    """Responses whose bicycles have different names where they have different parameters."""
    by_name: dict[str, list[Bicycle]] = {}
    renamed_responses = []
    for response in responses:
        bicycle = response.bicycle
        if bicycle is None:
            renamed_responses.append(response)
            continue
        known = by_name.setdefault(bicycle.name, [])
        at = next((i for i, machine in enumerate(known) if _same_machine(machine, bicycle)), len(known))
        if at == len(known):
            known.append(bicycle)
        renamed = replace(bicycle, name=f"{bicycle.name} ({at + 1})") if at else bicycle
        theory = replace(response.theory, bicycle=renamed) if at and response.theory is not None else response.theory
        renamed_responses.append(replace(response, bicycle=renamed, theory=theory) if at else response)
    return renamed_responses


def _same_machine(machine: Bicycle | None, other: Bicycle | None) -> bool:
    """Have two bicycles the same parameters?"""
    if machine is None or other is None:
        return machine is other
    return all(getattr(machine, name) == getattr(other, name) for name in PARAMETERS)
