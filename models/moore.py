"""Constants of Moore's bicycle (2012, ch. 3).

The nonlinear equations and SymBRiM use them; they are computed from the 25 parameters and back.

Distances are along and across the steer axis, in a frame that leans back with it by ``lam``: a vector (x, z) of the
upright bicycle is (x cos lam - z sin lam, x sin lam + z cos lam) there. From the rear wheel's centre, ``d1`` across the
axis (forward) and ``d2`` along it (down) lead to the axis, and ``d3`` across it to the front wheel's centre; ``l1, l2``
lead from the rear wheel's centre to the rear frame's centre of mass, ``l3, l4`` from the front wheel's to the front
frame's. Bodies: c rear frame, d rear wheel, e front frame, f front wheel; ``11, 22, 33, 31`` are the elements xx, yy,
zz, zx of their inertia in that frame.
"""

from collections.abc import Mapping
from math import acos, atan2, cos, hypot, inf, sin
from typing import Any

import numpy as np

from riderless.models.array_types import Array
from riderless.models.bicycle_file import is_number, shortened
from riderless.models.errors import InputError
from riderless.models.parameters import Bicycle, require_bicycle

# of a turned tensor (2, 0) may differ from (0, 2) in the last bit: what the nonlinear runs have always had is this one
_TENSOR = {"11": (0, 0), "22": (1, 1), "33": (2, 2), "31": (0, 2)}
_FRAMES = {"c": "B", "e": "H"}
_WHEELS = {"d": "R", "f": "F"}
MOORE_CONSTANTS = (
    *("rr", "rf", "d1", "d2", "d3", "l1", "l2", "l3", "l4", "g", "mc", "md", "me", "mf"),
    *("id11", "id22", "if11", "if22"),
    *(f"i{body}{element}" for body in _FRAMES for element in _TENSOR),
)


def moore_constants(bicycle: Bicycle) -> dict[str, float]:
    """Constants of Moore's Whipple bicycle by name (`MOORE_CONSTANTS`): m, kg, kg m^2, m/s^2."""
    require_bicycle(bicycle)
    b = bicycle
    axis, _ = _across_and_along(b.lam, b.w + b.c, 0.0)
    rear, front = _across_and_along(b.lam, 0.0, -b.rR), _across_and_along(b.lam, b.w, -b.rF)
    l1, l2 = _across_and_along(b.lam, b.xB, b.zB + b.rR)
    l3, l4 = _across_and_along(b.lam, b.xH - b.w, b.zH + b.rF)
    constants = {"rr": b.rR, "rf": b.rF, "d1": axis - rear[0], "d2": front[1] - rear[1], "d3": front[0] - axis}
    constants |= {"l1": l1, "l2": l2, "l3": l3, "l4": l4}
    constants |= {"g": b.g, "mc": b.mB, "md": b.mR, "me": b.mH, "mf": b.mF}
    for body, ours in _WHEELS.items():
        constants |= {f"i{body}11": getattr(b, f"I{ours}xx"), f"i{body}22": getattr(b, f"I{ours}yy")}
    for body, ours in _FRAMES.items():
        tensor = _turned(b.lam, *(getattr(b, f"I{ours}{axes}") for axes in ("xx", "xz", "yy", "zz")))
        constants |= {f"i{body}{element}": tensor[at] for element, at in _TENSOR.items()}
    return {name: float(constants[name]) for name in MOORE_CONSTANTS}


def bicycle_from_moore(constants: Mapping[str, float], name: str, source: str = "") -> Bicycle:
    """Bicycle of these constants, whose names are `MOORE_CONSTANTS`; what else is there is left out.

    The steer axis tilt is not among them: it is the pitch at which both wheels of the upright bicycle touch the ground.

    Raises
    ------
    InputError
        A constant is absent or no finite number, or no bicycle has them.
    """
    absent = [key for key in MOORE_CONSTANTS if key not in constants]
    if absent:
        raise InputError(
            f"Moore's bicycle has the constants {', '.join(MOORE_CONSTANTS)}, found no {', '.join(absent)}"
        )
    wrong = next((key for key in MOORE_CONSTANTS if not is_number(constants[key])), "")
    if wrong:
        raise InputError(f"Moore's constants are finite numbers, found {wrong} = {shortened(constants[wrong])}")
    k = {key: float(constants[key]) for key in MOORE_CONSTANTS}
    across, along = k["d1"] + k["d3"], k["d2"]
    apart = hypot(across, along)
    if not abs(k["rr"] - k["rf"]) < apart < inf:
        raise InputError(
            f"wheels of radius {k['rr']:g} and {k['rf']:g} m cannot stand on one ground with their centres {apart:g} m "
            "apart (d1 + d3 across, d2 along the steer axis): correct one of rr, rf, d1, d2, d3"
        )
    # the ground is level: rr - rf = d2 cos lam - (d1 + d3) sin lam
    lam = acos((k["rr"] - k["rf"]) / apart) - atan2(across, along)
    w, _ = _across_and_along(-lam, across, along)
    c = (k["rf"] * sin(lam) - k["d3"]) / cos(lam)
    xB, zB = _across_and_along(-lam, k["l1"], k["l2"])
    xH, zH = _across_and_along(-lam, k["l3"], k["l4"])
    values = {"w": w, "c": c, "lam": lam, "xB": xB, "zB": zB - k["rr"], "xH": w + xH, "zH": zH - k["rf"]}
    values |= {"g": k["g"], "rR": k["rr"], "rF": k["rf"], "mB": k["mc"], "mR": k["md"], "mH": k["me"], "mF": k["mf"]}
    for body, ours in _WHEELS.items():
        values |= {f"I{ours}xx": k[f"i{body}11"], f"I{ours}yy": k[f"i{body}22"]}
    for body, ours in _FRAMES.items():
        upright = _turned(-lam, *(k[f"i{body}{element}"] for element in ("11", "31", "22", "33")))
        values |= {f"I{ours}xx": upright[0, 0], f"I{ours}xz": upright[0, 2]}
        values |= {f"I{ours}yy": upright[1, 1], f"I{ours}zz": upright[2, 2]}
    fields: dict[str, Any] = {key: float(value) for key, value in values.items()}
    return Bicycle(name=name, source=source, **fields)


def _across_and_along(lam: float, x: float, z: float) -> tuple[float, float]:
    """Vector (x forward, z down) across and along a steer axis of tilt ``lam``; with ``-lam``, back again."""
    return x * cos(lam) - z * sin(lam), x * sin(lam) + z * cos(lam)


def _turned(lam: float, Ixx: float, Ixz: float, Iyy: float, Izz: float) -> Array:
    """Inertia tensor (3, 3) of a frame across and along the steer axis; with ``-lam``, back again."""
    R = np.array([[cos(lam), 0.0, -sin(lam)], [0.0, 1.0, 0.0], [sin(lam), 0.0, cos(lam)]])
    return R @ np.array([[Ixx, 0.0, Ixz], [0.0, Iyy, 0.0], [Ixz, 0.0, Izz]]) @ R.T
