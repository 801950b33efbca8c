"""Units in which parameters of a bicycle come.

Examples: ``lam_deg``, ``w_mm``, ``IFxx_g_cm2``.

One rule: a parameter may carry its unit behind an underscore, ``^`` left out and a space written ``_``. Without one it
is in SI. The same table says what a value in the wrong unit looks like
(`riderless.models.plausibility.likely_mistakes`).
"""

from collections.abc import Iterator, Mapping
from math import pi
from numbers import Real
from typing import Any

from riderless.models.parameter_table import PARAMETERS

POUND, INCH, FOOT = 0.45359237, 0.0254, 0.3048  # kg, m, m

UNITS: Mapping[str, Mapping[str, tuple[float, str]]] = {
    "m": {
        "m": (1.0, "metres"),
        "mm": (1e3, "millimetres"),
        "cm": (1e2, "centimetres"),
        "in": (1.0 / INCH, "inches"),
        "ft": (1.0 / FOOT, "feet"),
    },
    "rad": {"rad": (1.0, "radians"), "deg": (180.0 / pi, "degrees")},
    "kg": {"kg": (1.0, "kilograms"), "g": (1e3, "grams"), "lb": (1.0 / POUND, "pounds")},
    "kg m^2": {
        "kg_m2": (1.0, "kg m^2"),
        "g_cm2": (1e7, "g cm^2"),
        "kg_cm2": (1e4, "kg cm^2"),
        "kg_mm2": (1e6, "kg mm^2"),
        "g_mm2": (1e9, "g mm^2"),
        "g_m2": (1e3, "g m^2"),
        "lb_in2": (1.0 / (POUND * INCH**2), "lb in^2"),
        "lb_ft2": (1.0 / (POUND * FOOT**2), "lb ft^2"),
    },
    "m/s^2": {"m_s2": (1.0, "m/s^2"), "cm_s2": (1e2, "cm/s^2"), "ft_s2": (1.0 / FOOT, "ft/s^2")},
}
"""Of each SI unit, what may stand behind a parameter: how many of them make one of SI, and in words."""


def si_parameters(table: Mapping[str, Any], faults: list[str]) -> dict[str, Any]:
    """Parameters by their names, in SI, of keys that may carry a unit; what is wrong is added to ``faults``.

    A key that is no parameter, and a value that is no number, stay as they are.
    """
    entries: dict[str, tuple[str, Any]] = {}
    for key, value in table.items():
        name, _, suffix = key.partition("_")
        if name not in PARAMETERS or not suffix:
            name, factor = key, 1.0
        elif suffix in (known := UNITS[PARAMETERS[name][0]]):
            factor = known[suffix][0]
        else:
            faults.append(
                f"{key} has the unknown unit {suffix!r}: write {', '.join(f'{name}_{each}' for each in known)}, "
                f"or {name} in {PARAMETERS[name][0]}"
            )
            factor = 1.0
        if name in entries:
            faults.append(f"{name} is given twice, as {entries[name][0]} and {key}: keep one of them")
        number = isinstance(value, Real) and not isinstance(value, bool)
        entries[name] = key, value / factor if number and factor != 1.0 else value
    return {name: value for name, (_, value) in entries.items()}


def units_of(name: str) -> Iterator[tuple[str, float, str]]:
    """Units other than SI in which a parameter may be written: suffix, how many make one of SI, in words."""
    for suffix, (factor, words) in UNITS[PARAMETERS[name][0]].items():
        if factor != 1.0:
            yield suffix, factor, words
