"""What people do to the parameters of a bicycle: the usual wrong units, signs and angles, one parameter at a time."""

from collections.abc import Iterator
from math import pi

from riderless.models.parameters import PARAMETERS, Bicycle

LENGTHS = {"mm": 1e3, "cm": 1e2, "in": 1 / 0.0254, "ft": 1 / 0.3048, "m from mm twice": 1e-3, "m from cm twice": 1e-2}
MASSES_IN = {"g": 1e3, "lb": 1 / 0.45359237, "N": 9.80665, "kg from g twice": 1e-3}
MOMENTS_IN = {
    "g cm^2": 1e7,
    "kg cm^2": 1e4,
    "kg mm^2": 1e6,
    "g mm^2": 1e9,
    "lb in^2": 1 / (0.45359237 * 0.0254**2),
    "lb ft^2": 1 / (0.45359237 * 0.3048**2),
    "kg m^2 from g cm^2 twice": 1e-7,
    "kg m^2 from kg cm^2 twice": 1e-4,
}
ANGLES = {
    "deg": lambda lam: lam * 180 / pi,
    "head angle": lambda lam: pi / 2 - lam,
    "head angle in deg": lambda lam: 90 - lam * 180 / pi,
    "rad from deg twice": lambda lam: lam * pi / 180,
}


def values_of(bicycle: Bicycle) -> dict[str, float]:
    """Parameters by their names."""
    return {name: getattr(bicycle, name) for name in PARAMETERS}


def spoiled(bicycle: Bicycle) -> Iterator[tuple[str, str, float]]:
    """Parameter, mistake and wrong value: each usual mistake in each parameter that it changes."""
    for name, (unit, _) in PARAMETERS.items():
        if (value := getattr(bicycle, name)) and name not in bicycle.missing:
            factors = {"m": LENGTHS, "kg": MASSES_IN, "kg m^2": MOMENTS_IN, "m/s^2": {"cm/s^2": 1e2, "ft/s^2": 3.2808}}
            for mistake, factor in factors.get(unit, {}).items():
                yield name, mistake, value * factor
            for mistake, change in ANGLES.items() if name == "lam" else ():
                yield name, mistake, change(value)
            if name in ("rR", "rF"):
                yield name, "diameter", 2 * value
            if name[0] == "z":
                yield name, "z up, mm", -1e3 * value
            yield name, "sign", -value
