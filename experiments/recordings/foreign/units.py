"""Units of others' files, as factors to SI."""

import re
from math import pi

from riderless.models.bicycle_file import shortened
from riderless.models.errors import InputError, did_you_mean

ANGLE_UNITS = {"rad": 1.0, "mrad": 1e-3, "deg": pi / 180}
RATE_UNITS = {"rad/s": 1.0, "mrad/s": 1e-3, "deg/s": pi / 180, "rpm": pi / 30}
SPEED_UNITS = {"m/s": 1.0, "km/h": 1 / 3.6, "mph": 0.44704, "cm/s": 0.01, "mm/s": 1e-3}
TORQUE_UNITS = {"N m": 1.0, "N mm": 1e-3, "N cm": 1e-2, "kN m": 1e3}
ACCELERATION_UNITS = {"m/s^2": 1.0, "g": 9.80665}
TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "days": 86400.0}
UNSCALED_UNITS = ("V", "mV", "counts")  # mean nothing without a scale
UNIT_ALIASES = {
    "°": "deg", "degrees": "deg", "radians": "rad", "°/s": "deg/s", "dps": "deg/s", "1/s": "rad/s", "kph": "km/h",
    "kmh": "km/h", "Nm": "N m", "N*m": "N m", "N.m": "N m", "N·m": "N m", "Nmm": "N mm", "m/s2": "m/s^2",
    "m/s²": "m/s^2", "G": "g", "µs": "us", "sec": "s", "seconds": "s", "count": "counts", "volt": "V",
}  # fmt: skip


def unit_factor(unit: str, known: dict[str, float], where: str) -> float:
    """SI per ``unit``, out of the units ``known`` for this quantity.

    Raises
    ------
    InputError
        The quantity cannot have that unit; ``where`` begins the sentence.
    """
    name = UNIT_ALIASES.get(unit.strip(), unit.strip())
    if name in known:
        return known[name]
    if name in UNSCALED_UNITS:
        raise InputError(f"{where}: a reading in {name} needs scale (what one of them is, such as '50 deg/s') and zero")
    hint = did_you_mean(name, known, "give one of those")
    raise InputError(f"{where}: wanted a unit out of {', '.join(known)}, found {shortened(unit)}; {hint}")


def parse_quantity(text: str, known: dict[str, float], where: str) -> float:
    """Read a number with its unit, such as ``50 deg/s``, in SI. Raises InputError as `unit_factor` does."""
    match = re.fullmatch(r"\s*([-+]?[0-9.]+(?:[eE][-+]?\d+)?)\s*(\S.*)", text)
    if match is None:
        raise InputError(
            f"{where}: wanted a number and a unit, such as '50 {next(iter(known))}', found {shortened(text)}"
        )
    try:
        value = float(match[1])
    except ValueError:
        raise InputError(f"{where}: wanted a number before the unit, found {shortened(text)}; correct it") from None
    return value * unit_factor(match[2], known, where)
