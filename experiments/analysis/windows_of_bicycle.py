"""Windows of one bicycle, each with the recording that it was cut from: what a verdict is given on."""

from collections.abc import Sequence
from typing import TypeAlias

from experiments.datatypes import Comparison, Response

WindowsOfBicycle: TypeAlias = Sequence[tuple[Response, Comparison]]


def comparable_windows(group: WindowsOfBicycle) -> list[tuple[Response, Comparison]]:
    """Windows of a bicycle that tell how far they are from what is predicted."""
    return [(r, c) for r, c in group if c.comparable]
