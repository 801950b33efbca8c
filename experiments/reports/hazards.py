"""Hazards of the machine, causes and guards.

From `hazards.toml`, with the limits of a rig in the words. Laid out after ISO 12100 (hazard, harm, measure, what is
left) and, row by row, as a failure mode and effects analysis (cause, guard, proof).
"""

import tomllib
from dataclasses import dataclass
from importlib import resources

import numpy as np

from riderless.hil.loop.limits import Limit
from riderless.hil.rig.guard import NO_GUARD, end_of_old_commands, has_guard
from riderless.hil.rig.rig import Rig

MEASURES = {
    "design": "design: the danger is not there",
    "safeguard": "safeguard: something holds it off",
    "information": "information: a person is told what to do",
}
SEVERITIES = {
    "serious": "a doctor is wanted",
    "slight": "first aid is enough",
    "machine": "only things break",
    "record": "only knowledge is lost",
}


_NODE_GUARD = (
    "the node disarms by itself, whatever it is told: steer and lean a little beyond the rig's limits, torque that "
    "keeps changing too fast, 0.1 s of torque while the bars stand still"
)


@dataclass(frozen=True)
class HazardRow:
    """One cause of a hazard: what guards against it, what proves the guard, and what is left.

    Attributes
    ----------
    number : str
        Of hazard and row, as 3.2.
    cause, guard, left : str
    measure : str
        Key of `MEASURES`.
    proof : tuple of str
        Tests that show the guard at work, ``file::function``.
    by_hand : str
        What a person does to show it on the machine; empty where nothing can be shown.
    """

    number: str
    cause: str
    measure: str
    guard: str
    proof: tuple[str, ...]
    left: str
    by_hand: str = ""


@dataclass(frozen=True)
class Hazard:
    """Hazard with the worst harm to be expected, and its causes."""

    number: int
    name: str
    harm: str
    severity: str
    rows: tuple[HazardRow, ...]


def hazards_of(rig: Rig) -> list[Hazard]:
    """Read the hazards, with the limits of this rig put into their words."""
    text = resources.files("riderless.experiments.reports").joinpath("hazards.toml").read_text(encoding="utf-8")
    values = limits_in_words(rig)
    return [
        Hazard(
            number,
            entry["name"],
            entry["harm"],
            entry["severity"],
            tuple(_row(f"{number}.{n}", row, values) for n, row in enumerate(entry["row"], 1)),
        )
        for number, entry in enumerate(tomllib.loads(text)["hazard"], 1)
    ]


def checks_by_hand(hazards: list[Hazard]) -> list[tuple[str, str]]:
    """List what a person shows on the machine before a session, with the number of the row it proves."""
    return [(row.number, row.by_hand) for hazard in hazards for row in hazard.rows if row.by_hand]


def proof_in_words(proof: str) -> str:
    """Name of a test as the sentence that it is, with its file: for who does not read programs."""
    file, _, function = proof.partition("::")
    return f"{function.removeprefix('test_').replace('_', ' ')} ({file.removeprefix('tests/')})"


def _row(number: str, row: dict[str, object], values: dict[str, str]) -> HazardRow:
    words = {key: text.format(**values) for key, text in row.items() if isinstance(text, str)}
    proof = row["proof"]
    return HazardRow(number=number, proof=tuple(proof) if isinstance(proof, list) else (), **words)


def limits_in_words(rig: Rig) -> dict[str, str]:
    """Value and unit of every limit, and of what the drive guards itself; angles in degrees, which everybody reads."""
    limits = vars(rig.limits)
    return {name: _in_words(limit) for name, limit in limits.items()} | {
        "watchdog": f"{1e3 * rig.watchdog:g} ms",
        "guard": _NODE_GUARD if has_guard(rig) else NO_GUARD,
        "stop_time": f"{1e3 * rig.stop_time:.0f} ms",
        "heartbeat": end_of_old_commands(rig),
    }


def _in_words(limit: Limit) -> str:
    if limit.unit == "rad":
        return f"{np.degrees(limit.value):.2g} deg"
    return f"{limit.value:g}" if limit.unit == "1" else f"{limit.value:g} {limit.unit}"
