"""Reduction of readings to the 25 parameters.

Geometry, hanging lines, pendulums and torsional swings. Moore (2012), "Physical Parameters", in the axes of Meijaard et
al. (2007). With b = lam - alpha, the tilt of a hanging part, and (X, Z) its centre of mass from the reference point in
the upright bicycle's axes:

    line      sin b X + cos b Z + a = 0
    torsion   cos^2 b Ixx - 2 sin b cos b Ixz + sin^2 b Izz = k T^2 / (4 pi^2)
    pendulum  I = m l (g T^2 / (4 pi^2) - l)

Everything is smooth in the readings, so that a complex step through it gives their derivatives to the last digit.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.measured.reading_table import PARTS, words_for

FOUR_PI_2 = 4.0 * np.pi**2
LEAST_SPREAD = 1e-3  # smallest singular value, per the largest, of orientations that determine a centre or a tensor
SMALLEST_WHEEL, LARGEST_WHEEL = 0.05, 0.9  # m, of a radius
FEWEST_ORIENTATIONS = {"line": 2, "swing": 3}
TABLE = ("h1", "h2", "h3", "h4", "h5", "d1", "d2", "d3", "d4", "d")

ReadingValues = Mapping[str, Any]
SetWeights = Mapping[str, Array]


@dataclass(frozen=True)
class OrientationSet:
    """Lines or torsional swings of one part, which together determine its centre of mass or its tensor.

    ``of`` is "line" or "swing"; ``numbers`` those of its orientations.
    """

    part: str
    of: str
    numbers: tuple[int, ...]

    @property
    def symbols(self) -> tuple[str, ...]:
        """Reading of each orientation: ``aB1`` or ``TtB1``."""
        head = "a" if self.of == "line" else "Tt"
        return tuple(f"{head}{self.part}{number}" for number in self.numbers)

    @property
    def angles(self) -> tuple[str, ...]:
        """Angle of each orientation: ``alphaB1``."""
        return tuple(f"alpha{self.part}{number}" for number in self.numbers)

    @property
    def freedom(self) -> int:
        """Number of orientations beyond those that are needed."""
        return len(self.numbers) - FEWEST_ORIENTATIONS[self.of]

    @property
    def words(self) -> str:
        """Name of the set: "hanging lines of the rear frame"."""
        return f"{'hanging lines' if self.of == 'line' else 'torsional swings'} of the {PARTS[self.part]}"

    @property
    def key(self) -> str:
        """Short name: B_line."""
        return f"{self.part}_{self.of}"


@dataclass(frozen=True)
class Plan:
    """Way from the readings that are there to the parameters."""

    table: bool  # geometry from heights and diameters, not from wheelbase, head angle and offset
    frames: tuple[str, ...]  # parts hung and swung: B and H, or B, S and G
    sets: tuple[OrientationSet, ...]
    compound: Mapping[str, tuple[str, ...]]  # pendulum swings by part
    torsion: Mapping[str, tuple[str, ...]]  # torsional swings of wheels and rod
    missing: tuple[str, ...]  # IByy, IHyy where no pendulum swing was made


def plan_of(symbols: Sequence[str]) -> Plan:
    """Choose the way from the readings that are there.

    Raises
    ------
    InputError
        Readings are absent; each is named.
    """
    there = set(symbols)
    faults: list[str] = []

    def require(*names: str) -> None:
        faults.extend(f"{name} ({words_for(name)})" for name in names if name not in there)

    direct = [name for name in ("w", "gamma", "f") if name in there]
    table = [name for name in TABLE if name in there]
    if direct and table and len(direct) == 3 and len(table) == len(TABLE):
        raise InputError(
            "the geometry is measured twice, by w, gamma, f and by heights on a table: leave one of them out, or "
            "compare them with --without"
        )
    by_table = len(table) == len(TABLE) or (len(direct) < 3 and len(table) > len(direct))
    require(*(TABLE if by_table else ("w", "gamma", "f")))
    require("g", "nR", "dR", "nF", "dF", "mR", "mF", "mB")
    apart = "mH" not in there and bool({"mS", "mG"} & there)
    if apart:
        require("mS", "mG", "d5", "d6", "h6", "h7", "l")
    elif "mH" in there and {"mS", "mG"} & there:
        raise InputError("the front frame is weighed twice, as mH and as mS and mG: leave one of them out")
    else:
        require("mH")
    frames = ("B", "S", "G") if apart else ("B", "H")
    sets = []
    for part in frames:
        for kind, head in (("line", "a"), ("swing", "Tt")):
            numbers = sorted(int(s[len(head) + 1 :]) for s in there if s.startswith(head + part) and s[-1].isdigit())
            require(*(f"alpha{part}{number}" for number in numbers if kind == "line"))
            lacking = [number for number in numbers if f"alpha{part}{number}" not in there]
            require(*(f"alpha{part}{number}" for number in lacking if kind == "swing"))
            orientations = OrientationSet(part, kind, tuple(numbers))
            if len(numbers) < FEWEST_ORIENTATIONS[kind]:
                what = "centre of mass wants 2 hanging lines" if kind == "line" else "tensor wants 3 torsional swings"
                present = ", ".join(orientations.symbols) or "none"
                faults.append(f"{head}{part}1 ...: the {PARTS[part]}'s {what} or more, found {present}")
            sets.append(orientations)

    def swings(head: str, part: str) -> tuple[str, ...]:
        return tuple(sorted(s for s in there if s.startswith(head + part) and s[-1].isdigit()))

    compound = {part: swings("Tc", part) for part in ("R", "F", *frames)}
    torsion = {part: swings("Tt", part) for part in ("R", "F", "P")}
    for part in ("R", "F"):
        require(f"l{part}")
        if not compound[part]:
            require(f"Tc{part}1")
    for part in ("R", "F", "P"):
        if not torsion[part]:
            require(f"Tt{part}1")
    require("mP", "lP", "dP")
    if faults:
        more = f" and {len(faults) - 6} more" if len(faults) > 6 else ""
        raise InputError(f"the readings lack {'; '.join(dict.fromkeys(faults[:6]))}{more}")
    missing = [name for name, parts in (("IByy", "B"), ("IHyy", frames[1:])) if not all(compound[p] for p in parts)]
    return Plan(by_table, frames, tuple(sets), compound, torsion, tuple(missing))


@dataclass(frozen=True)
class Reduction:
    """Parameters of readings, with what stands behind them; complex where a reading was."""

    parameters: dict[str, Any]
    centres: dict[str, tuple[Any, Any]]  # by part, from its reference point
    tensors: dict[str, tuple[Any, Any, Any]]  # by part: Ixx, Ixz, Izz
    moments: dict[str, Any]  # by set and orientation: k T^2 / (4 pi^2), kg m^2
    residuals: dict[str, Any]  # by set (n,): of the lines in m, of the moments in kg m^2
    rod_stiffness: Any  # N m/rad
    designs: dict[str, Array]  # by set (n, 2 or 3): how the lines or moments hang on the centre or the tensor


def reduce_readings(x: ReadingValues, plan: Plan, weights: SetWeights | None = None) -> Reduction:
    """Compute the parameters of readings ``x``, SI.

    Parameters
    ----------
    x : mapping of str to float or complex
    plan : Plan
    weights : mapping, optional
        Of the orientations of each set, by its key; without them all count alike.

    Raises
    ------
    InputError
        The orientations do not determine a centre or a tensor, or a root has no solution.
    """
    weights = weights or {}
    rR, rF = (x[f"d{wheel}"] / (2.0 * np.pi * x[f"n{wheel}"]) for wheel in "RF")
    for wheel, radius in (("R", rR), ("F", rF)):
        if not SMALLEST_WHEEL <= np.real(radius) <= LARGEST_WHEEL:
            raise InputError(
                f"the roll-out gives the {PARTS[wheel]} a radius of {np.real(radius):.3g} m: d{wheel} is the distance "
                f"of n{wheel} turns, a circumference each; correct one of them"
            )
    w, c, lam = _geometry(x, plan, rR, rF)
    rod = x["mP"] * (3.0 * (x["dP"] / 2.0) ** 2 + x["lP"] ** 2) / 12.0
    k = FOUR_PI_2 * rod / _mean(x, plan.torsion["P"]) ** 2
    g = x["g"]
    p: dict[str, Any] = {"w": w, "c": c, "lam": lam, "g": g, "rR": rR, "rF": rF}
    for wheel in "RF":
        m, length = x[f"m{wheel}"], x[f"l{wheel}"]
        p[f"m{wheel}"] = m
        p[f"I{wheel}xx"] = k * _mean(x, plan.torsion[wheel]) ** 2 / FOUR_PI_2
        p[f"I{wheel}yy"] = _pendulum(m, length, g, _mean(x, plan.compound[wheel]))
    centres: dict[str, tuple[Any, Any]] = {}
    tensors: dict[str, tuple[Any, Any, Any]] = {}
    moments: dict[str, Any] = {}
    residuals: dict[str, Any] = {}
    designs: dict[str, Array] = {}
    for each in plan.sets:
        beta = lam - np.array([x[name] for name in each.angles])
        weight = weights.get(each.key, np.ones(len(beta)))
        if each.of == "line":
            A = np.column_stack([np.sin(beta), np.cos(beta)])
            y = -np.array([x[name] for name in each.symbols])
            solution = _least_squares(A, y, weight, each)
            centres[each.part] = (solution[0], solution[1])
            residuals[each.key] = A @ solution - y
        else:
            A = np.column_stack([np.cos(beta) ** 2, -2.0 * np.sin(beta) * np.cos(beta), np.sin(beta) ** 2])
            y = k * np.array([x[name] for name in each.symbols]) ** 2 / FOUR_PI_2
            solution = _least_squares(A, y, weight, each)
            tensors[each.part] = (solution[0], solution[1], solution[2])
            moments |= dict(zip(each.symbols, y, strict=True))
            residuals[each.key] = A @ solution - y
        designs[each.key] = np.real(A)
    about = {part: _about_centre(x, plan, part, centres[part], g) for part in plan.frames}
    p |= {"mB": x["mB"], "xB": centres["B"][0], "zB": -rR + centres["B"][1], "IByy": about["B"]}
    p |= dict(zip(("IBxx", "IBxz", "IBzz"), tensors["B"], strict=True))
    if plan.frames == ("B", "H"):
        p |= {"mH": x["mH"], "xH": w + centres["H"][0], "zH": -rF + centres["H"][1], "IHyy": about["H"]}
        p |= dict(zip(("IHxx", "IHxz", "IHzz"), tensors["H"], strict=True))
    else:
        p |= _front_frame(x, lam, w, rF, centres, tensors, about)
    for name in plan.missing:
        p[name] = p[name[:2] + "xx"] + p[name[:2] + "zz"]  # of a flat frame
    return Reduction(p, centres, tensors, moments, residuals, k, designs)


def _geometry(x: ReadingValues, plan: Plan, rR: Any, rF: Any) -> tuple[Any, Any, Any]:
    """Wheelbase, trail, tilt."""
    if not plan.table:
        lam, w, offset = np.pi / 2.0 - x["gamma"], x["w"], x["f"]
    else:
        a = x["h1"] + x["h2"] - x["h3"] + (x["d1"] - x["d2"]) / 2.0
        offset = x["h4"] - x["h5"] + (x["d4"] - x["d3"]) / 2.0
        apart = x["d"] + (x["d2"] + x["d3"]) / 2.0
        across = apart**2 - (a - offset) ** 2
        if np.real(across) <= 0.0:
            raise InputError(
                f"the axles are {np.real(apart):.4g} m apart, less than their distance across the steer axis "
                f"({np.real(a):.4g} - {np.real(offset):.4g} m): correct d, or h1 ... h5"
            )
        e, both = np.sqrt(across), a + offset
        lean = np.sqrt(both**2 + e**2)
        if np.real(both) <= 0.0:
            raise InputError(f"h1 ... h5 put the axles {np.real(both):.4g} m across the steer axis: correct them")
        if abs(np.real((rF - rR) / lean)) >= 1.0:
            raise InputError("wheels so large do not stand on one ground, their axles so near: correct d, dF or dR")
        lam = np.arctan(e / both) + np.arcsin((rF - rR) / lean)
        w = both * np.cos(lam) + e * np.sin(lam)
    c = (rF * np.sin(lam) - offset) / np.cos(lam)
    return w, c, lam


def _mean(x: ReadingValues, symbols: Sequence[str]) -> Any:
    return sum(x[name] for name in symbols) / len(symbols)


def _pendulum(m: Any, length: Any, g: Any, T: Any) -> Any:
    """Moment [kg m^2] about the centre of mass of a pendulum of this length [m] and period [s]."""
    return m * length * (g * T**2 / FOUR_PI_2 - length)


def _about_centre(x: ReadingValues, plan: Plan, part: str, centre: tuple[Any, Any], g: Any) -> Any:
    """Moment about y [kg m^2] of a part about its centre of mass; nan where it was not swung."""
    if not plan.compound[part]:
        return np.nan
    length = np.sqrt(centre[0] ** 2 + centre[1] ** 2)
    return _pendulum(x[f"m{part}"], length, g, _mean(x, plan.compound[part]))


def _front_frame(
    x: ReadingValues,
    lam: Any,
    w: Any,
    rF: Any,
    centres: Mapping[str, tuple[Any, Any]],
    tensors: Mapping[str, tuple[Any, Any, Any]],
    about: Mapping[str, Any],
) -> dict[str, Any]:
    """Front frame of fork and handlebar, by parallel axes."""
    forward = x["h7"] - x["h6"] + (x["d5"] - x["d6"]) / 2.0
    up = np.sqrt((x["l"] - (x["d5"] + x["d6"]) / 2.0) ** 2 - forward**2)
    bolt = forward * np.cos(lam) - up * np.sin(lam), -forward * np.sin(lam) - up * np.cos(lam)
    places = {
        "S": (w + centres["S"][0], -rF + centres["S"][1]),
        "G": (w + bolt[0] + centres["G"][0], -rF + bolt[1] + centres["G"][1]),
    }
    m = {part: x[f"m{part}"] for part in "SG"}
    mH = m["S"] + m["G"]
    xH, zH = (sum(m[part] * places[part][i] for part in "SG") / mH for i in (0, 1))
    p: dict[str, Any] = {"mH": mH, "xH": xH, "zH": zH, "IHxx": 0.0, "IHxz": 0.0, "IHyy": 0.0, "IHzz": 0.0}
    for part in "SG":
        dx, dz = places[part][0] - xH, places[part][1] - zH
        Ixx, Ixz, Izz = tensors[part]
        p["IHxx"] += Ixx + m[part] * dz**2
        p["IHxz"] += Ixz - m[part] * dx * dz
        p["IHzz"] += Izz + m[part] * dx**2
        p["IHyy"] += about[part] + m[part] * (dx**2 + dz**2)
    return p


def _least_squares(A: Any, y: Any, weight: Array, each: OrientationSet) -> Any:
    """Solve A q = y in the weighted mean square, complex step and all (no conjugates)."""
    sizes = np.linalg.svd(np.real(A), compute_uv=False)
    if sizes[-1] < LEAST_SPREAD * sizes[0]:
        what = "two or more that are no parallels" if each.of == "line" else "three or more that differ"
        raise InputError(
            f"the orientations {', '.join(each.symbols)} of the {PARTS[each.part]} are too few that differ, for half a "
            f"turn gives the same {'line' if each.of == 'line' else 'moment'} again: hang it in {what}"
        )
    weight = weight / weight.mean()
    return np.linalg.solve((A.T * weight) @ A, (A.T * weight) @ y)


def complex_step_jacobian(function: Callable[[Any], Any], x: Array, step: float = 1e-30) -> Array:
    """Derivatives (m, n) of m smooth functions of x (n,), exact to rounding."""
    columns = []
    for i in range(len(x)):
        moved = x.astype(complex)
        moved[i] += 1j * step
        columns.append(np.imag(function(moved)) / step)
    return np.array(columns).T
