"""Windows of one bicycle, each with the recording that it was cut from: what a verdict is given on.

Bicycles are told apart by their names, conditions by their labels. So recordings of one name but of different
parameters, controllers or speeds get names of their own before they are analysed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from riderless.experiments.datatypes import Comparison, Response
from riderless.models.parameters import PARAMETERS, Bicycle

WindowsOfBicycle: TypeAlias = Sequence[tuple[Response, Comparison]]
CONDITION_SPEEDS = 0.5  # m/s, by which those of one condition may differ at most
ROWS_LOOKED_AT = 2000  # of a recording, which tell its speed, and it from others


def comparable_windows(group: WindowsOfBicycle) -> list[tuple[Response, Comparison]]:
    """Windows of a bicycle that tell how far they are from what is predicted."""
    return [(r, c) for r, c in group if c.comparable]


def in_turn(group: WindowsOfBicycle) -> Iterator[tuple[Response, Comparison]]:
    """Windows one after the other; behind each the memory of a long recording's signals is given back."""
    for response, c in group:
        yield response, c
        response.forget()


def tell_apart(responses: Sequence[Response], controllers: Sequence[str]) -> list[Response]:
    """Give bicycles and conditions that share a name, and nothing else, names of their own.

    Parameters
    ----------
    responses : sequence of Response
    controllers : sequence of str
        What each was controlled by, in any words that are the same for the same controller.
    """
    named = _own_bicycles(responses)
    labelled: dict[str, list[tuple[Bicycle | None, str, float]]] = {}
    found = []
    for response, controller in zip(named, controllers, strict=True):
        name, v = response.label or response.source, _free_speed(response)
        known = labelled.setdefault(name, [])
        at = next((i for i, one in enumerate(known) if _is_condition(one, response, controller, v)), len(known))
        if at == len(known):
            known.append((response.bicycle, controller, v))
        found.append(replace(response, label=f"{name} ({at + 1})") if at else response)
    return found


def _own_bicycles(responses: Sequence[Response]) -> list[Response]:
    """Responses whose bicycles have different names where they have different parameters."""
    by_name: dict[str, list[Bicycle]] = {}
    found = []
    for response in responses:
        bicycle = response.bicycle
        if bicycle is None:
            found.append(response)
            continue
        known = by_name.setdefault(bicycle.name, [])
        at = next((i for i, one in enumerate(known) if _same_machine(one, bicycle)), len(known))
        if at == len(known):
            known.append(bicycle)
        renamed = replace(bicycle, name=f"{bicycle.name} ({at + 1})") if at else bicycle
        theory = replace(response.theory, bicycle=renamed) if at and response.theory is not None else response.theory
        found.append(replace(response, bicycle=renamed, theory=theory) if at else response)
    return found


def _same_machine(one: Bicycle | None, other: Bicycle | None) -> bool:
    """Have two bicycles the same parameters?"""
    if one is None or other is None:
        return one is other
    return all(getattr(one, name) == getattr(other, name) for name in PARAMETERS)


def _free_speed(response: Response) -> float:
    """Speed at which a recording was free [m/s]; nan where it never was."""
    every = max(1, len(response.v) // ROWS_LOOKED_AT)
    free = np.ones(len(response.v), bool) if response.free is None else response.free
    v = response.v[::every][free[::every]]
    return float(np.nanmedian(v)) if np.isfinite(v).any() else float("nan")


def _is_condition(known: tuple[Bicycle | None, str, float], response: Response, controller: str, v: float) -> bool:
    """Is a recording of a condition that is known by its bicycle, controller and speed [m/s]?"""
    bicycle, other, speed = known
    return _same_machine(bicycle, response.bicycle) and other == controller and not abs(v - speed) > CONDITION_SPEEDS
