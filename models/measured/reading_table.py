"""Table of readings: symbol, unit, range, meaning.

Symbols are those of Moore (2012).

Bodies: B rear frame, H front frame, or S fork and G handlebar apart, R and F wheels, P the calibration rod. Readings of
an orientation end in its number: ``aB1``, ``alphaB1``, ``TtB1``.
"""

import re
from math import pi, radians
from typing import NamedTuple

from riderless.models.plausibility.parameter_units import UNITS

READING_UNITS = {
    **{unit: UNITS[unit] for unit in ("m", "rad", "kg", "m/s^2")},
    "s": {"s": (1.0, "seconds"), "ms": (1e3, "milliseconds"), "min": (1.0 / 60.0, "minutes")},
    "": {},
}
"""Of each SI unit, what may stand behind a reading: how many of them make one of SI, and in words."""

PARTS = {
    "B": "rear frame",
    "H": "front frame",
    "S": "fork",
    "G": "handlebar",
    "R": "rear wheel",
    "F": "front wheel",
    "P": "calibration rod",
}


class ReadingKind(NamedTuple):
    """Kind of reading: SI unit, what a bicycle has at least and at most, and its meaning."""

    pattern: str
    unit: str
    least: float
    most: float
    meaning: str


READING_KINDS = (
    ReadingKind("w", "m", 0.4, 3.5, "wheelbase"),
    ReadingKind("gamma", "rad", radians(30.0), radians(110.0), "head angle, from the ground behind to the steer axis"),
    ReadingKind("f", "m", -0.2, 0.4, "offset of the fork: distance of the front axle from the steer axis"),
    ReadingKind("g", "m/s^2", 1.0, 30.0, "gravity of your place"),
    ReadingKind("n[RF]", "", 0.5, 1000.0, "turns of the {part} in the roll-out"),
    ReadingKind("d[RF]", "m", 0.3, 3000.0, "distance that the {part} rolled in those turns"),
    ReadingKind("h[1-7]", "m", 0.0, 2.5, "height above the table"),
    ReadingKind("d[1-6]", "m", 0.002, 0.2, "diameter"),
    ReadingKind("d", "m", 0.2, 3.0, "distance between the axles, inside"),
    ReadingKind("l", "m", 0.1, 2.5, "distance of front axle and stem bolt, outside"),
    ReadingKind("m[BHSG]", "kg", 0.1, 300.0, "mass of the {part}"),
    ReadingKind("m[RF]", "kg", 0.05, 60.0, "mass of the {part}"),
    ReadingKind("mP", "kg", 0.05, 60.0, "mass of the {part}"),
    ReadingKind("l[RF]", "m", 0.03, 0.6, "inner radius of the rim of the {part}"),
    ReadingKind("lP", "m", 0.1, 3.0, "length of the {part}"),
    ReadingKind("dP", "m", 0.002, 0.2, "diameter of the {part}"),
    ReadingKind("a[BHSG]\\d+", "m", -2.5, 2.5, "plumb line to the reference point of the {part}"),
    ReadingKind("alpha[BHSG]\\d+", "rad", -2.0 * pi, 4.0 * pi, "angle of the steer axis as the {part} hangs"),
    ReadingKind("Tc[BHSGRF]\\d+", "s", 0.15, 6.0, "period of the {part} as a pendulum"),
    ReadingKind("Tt[BHSGRFP]\\d+", "s", 0.1, 30.0, "period of the {part} on the torsion rod"),
)
_FULL = [(re.compile(kind.pattern), kind) for kind in READING_KINDS]
RIDER_READINGS = frozenset(
    ("lcs", "hbb", "lsp", "lst", "lamst", "whb", "LhbF", "LhbR", "xcl", "zcl", "ds1", "ds2", "ds3")
)  # of a rider's seat and handlebar, in files of BicycleParameters: no parameter of the bicycle hangs on them


def kind_of(symbol: str) -> ReadingKind | None:
    """Kind of a reading by its symbol; None where there is no such reading."""
    return next((kind for pattern, kind in _FULL if pattern.fullmatch(symbol)), None)


def _part_of(symbol: str) -> str:
    """Body that a reading belongs to, as a letter; "" for one of the whole bicycle."""
    letter = symbol.rstrip("0123456789")[-1:]
    return letter if letter in PARTS and symbol[0] in "amTlnd" and len(symbol) > 1 else ""


def _number_of(symbol: str) -> int:
    """Number of the orientation that a reading belongs to; 0 without one."""
    digits = symbol[len(symbol.rstrip("0123456789")) :]
    return int(digits) if digits else 0


def words_for(symbol: str) -> str:
    """Put a reading into words: "swing 1 of the rear frame on the torsion rod"."""
    part, number = PARTS.get(_part_of(symbol), ""), _number_of(symbol)
    if symbol.startswith("Tt"):
        return f"torsional swing {number} of the {part}"
    if symbol.startswith("Tc"):
        return f"pendulum swing {number} of the {part}"
    if symbol.startswith("alpha"):
        return f"angle {number} of the {part}"
    if symbol.startswith("a") and part:
        return f"hanging line {number} of the {part}"
    kind = kind_of(symbol)
    return kind.meaning.format(part=part) if kind else symbol


def groups_of(symbol: str) -> tuple[str, ...]:
    """Names by which a deviation or a tool may speak of a reading, the closest first: TtB1, TtB, Tt, T."""
    plain = symbol.rstrip("0123456789")
    names = [symbol, plain]
    if _part_of(symbol):
        names.append(plain[:-1])
    if symbol.startswith(("Tc", "Tt")):
        names.append("T")
    return tuple(dict.fromkeys(names))


READING_GROUPS = frozenset(("alpha", "a", "m", "n", "d", "h", "l", "Tc", "Tt", "T")) | {
    f"{kind}{part}" for kind in ("a", "alpha", "Tc", "Tt") for part in PARTS
}
