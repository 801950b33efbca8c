"""Traits of bicycles with their plausible ranges.

Ranges are those of the catalogue, with margins around them. A bicycle that can exist (`riderless.models.parameters`)
need not be one that anybody has: a wheelbase of 1020 m is most likely in mm. Each quantity below has its usual range,
that of the measured bicycles of the catalogue, and a wider plausible one, with room for children's, cargo, recumbent
and robot bicycles, with and without a rider. Bodies are judged by their radii of gyration against their own lengths, so
that a moment of inertia has a range whatever the size.

A mass, moment of inertia or wheel radius that is exactly zero stands for a part that is left out, a point mass or a
skate: no wrong unit makes a zero.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import cos, log, sin, sqrt
from typing import TypeAlias

from riderless.models.parameter_table import MASSES, PARAMETERS

Values: TypeAlias = Mapping[str, float]  # parameters by their names, SI

FARTHEST = 20.0  # beyond it one quantity is as odd as another


@dataclass(frozen=True)
class _Trait:
    """Trait of a bicycle with its usual and its plausible range.

    Parameters
    ----------
    words : str
        What it is.
    of : function
        From the parameters; nan where a part is left out.
    usual, plausible : (float, float)
        Ranges: of the catalogue, and with its margin.
    unit : str
    logarithmic : bool
        Distances are ratios (of what must be positive) rather than differences.
    """

    words: str
    of: Callable[[Values], float]
    usual: tuple[float, float]
    plausible: tuple[float, float]
    unit: str = ""
    logarithmic: bool = True

    def oddness(self, values: Values) -> float:
        """Distance from the usual range: 0 inside, 1 at the end of the plausible range, above 1 outside of it."""
        value = self.of(values)
        if value != value:
            return 0.0
        if self.logarithmic and value <= 0.0:
            return FARTHEST
        scale = log if self.logarithmic else float
        q, low, high = scale(value), scale(self.usual[0]), scale(self.usual[1])
        least, most = (scale(bound) for bound in self.plausible)
        return min(max((q - high) / (most - high), (low - q) / (low - least), 0.0), FARTHEST)

    def phrase(self, values: Values) -> str:
        """Say what was found, and what is plausible."""
        unit = f" {self.unit}" if self.unit else ""
        low, high = self.plausible
        return f"{self.words} = {self.of(values):.4g}{unit}, plausible are {low:.3g} to {high:.3g}{unit}"


def odd_traits(values: Values) -> Iterator[_Trait]:
    """Quantities outside their plausible ranges."""
    return (quantity for quantity in TRAITS if quantity.oddness(values) > 1.0)


def _ratio(a: float, b: float) -> float:
    """Ratio, or nan when a part is left out."""
    return a / b if a and b else float("nan")


def _root(x: float) -> float:
    """Square root with the sign of ``x``: what is negative must look odd, not fail."""
    return sqrt(x) if x >= 0.0 else -sqrt(-x)


def _with_mass(v: Values, body: str, quantity: float) -> float:
    return quantity if v[f"m{body}"] else float("nan")


def _own(name: str, usual: tuple[float, float], plausible: tuple[float, float]) -> _Trait:
    """Parameter itself; zero is a part left out."""
    return _Trait(name, lambda v: v[name] or float("nan"), usual, plausible, PARAMETERS[name][0])


def _place(name: str, sign: float, usual: tuple[float, float], plausible: tuple[float, float]) -> _Trait:
    """Coordinate of a frame's centre of mass against the wheelbase."""
    return _Trait(
        f"{'-' if sign < 0 else ''}{name} / w",
        lambda v: _with_mass(v, name[1], sign * v[name] / v["w"] if v["w"] else float("nan")),
        usual,
        plausible,
    )


def _share(name: str, usual: tuple[float, float], plausible: tuple[float, float]) -> _Trait:
    """Mass of a body against that of the bicycle, if it has all four."""

    def of(v: Values) -> float:
        whole = v["mR"] + v["mB"] + v["mH"] + v["mF"]
        return v[name] / whole if all(v[each] for each in MASSES) and whole else float("nan")

    return _Trait(f"{name} / whole mass", of, usual, plausible)


def _gyration(name: str, length: str, usual: tuple[float, float], plausible: tuple[float, float]) -> _Trait:
    """Radius of gyration of a body against a length of it."""
    mass = f"m{name[1]}"

    def of(v: Values) -> float:
        return _root(_ratio(v[name], v[mass])) / abs(v[length]) if v[length] else float("nan")

    return _Trait(f"sqrt({name} / {mass}) / {length}", of, usual, plausible)


def _moments(name: str, other: str, usual: tuple[float, float], plausible: tuple[float, float]) -> _Trait:
    """Moment of inertia against another of the same body."""
    return _Trait(f"{name} / {other}", lambda v: _ratio(v[name], v[other]), usual, plausible)


def _flatness(body: str, usual: tuple[float, float], plausible: tuple[float, float]) -> _Trait:
    """Moment about y against the sum of the other two: 1 for a body flat in its plane of symmetry."""
    xx, yy, zz = (f"I{body}{axes}" for axes in ("xx", "yy", "zz"))
    return _Trait(f"{yy} / ({xx} + {zz})", lambda v: _ratio(v[yy], v[xx] + v[zz]), usual, plausible)


def _product(body: str, usual: tuple[float, float]) -> _Trait:
    """Tensor element xz against what a positive tensor allows."""
    xx, xz, zz = (f"I{body}{axes}" for axes in ("xx", "xz", "zz"))
    return _Trait(
        f"{xz} / sqrt({xx} {zz})",
        lambda v: _ratio(v[xz], sqrt(abs(v[xx] * v[zz]))),
        usual,
        (-1.02, 1.02),
        logarithmic=False,
    )


def _ahead_of_axis(v: Values) -> float:
    """Front frame's centre of mass ahead of the steer axis, square to it, against the wheelbase."""
    if not v["mH"] or not v["w"]:
        return float("nan")
    return ((v["xH"] - v["w"] - v["c"]) * cos(v["lam"]) - v["zH"] * sin(v["lam"])) / v["w"]


def _fork_offset(v: Values) -> float:
    """Front axle ahead of the steer axis, square to it, against the front wheel's radius."""
    return sin(v["lam"]) - v["c"] * cos(v["lam"]) / v["rF"] if v["rF"] else float("nan")


TRAITS: tuple[_Trait, ...] = (
    _own("w", (0.54, 1.13), (0.27, 2.3)),
    _own("c", (0.042, 0.19), (0.01, 0.4)),
    _own("lam", (0.25, 0.401), (0.04, 0.75)),
    _own("g", (9.78, 9.835), (9.5, 10.1)),
    _own("rR", (0.147, 0.353), (0.06, 0.5)),
    _own("rF", (0.146, 0.353), (0.06, 0.5)),
    _Trait("(rR + rF) / w", lambda v: _ratio(v["rR"] + v["rF"], v["w"]), (0.54, 0.7), (0.2, 1.0)),
    _Trait("rF / rR", lambda v: _ratio(v["rF"], v["rR"]), (0.97, 1.17), (0.55, 1.8)),
    _Trait("fork offset / rF", _fork_offset, (-0.17, 0.21), (-0.5, 0.5), logarithmic=False),
    _own("mR", (1.3, 10.2), (0.15, 30.0)),
    _own("mB", (3.0, 85.1), (0.8, 400.0)),
    _own("mH", (0.6, 5.5), (0.1, 40.0)),
    _own("mF", (1.4, 3.6), (0.15, 30.0)),
    _share("mR", (0.02, 0.31), (0.003, 0.6)),
    _share("mB", (0.32, 0.91), (0.1, 0.98)),
    _share("mH", (0.017, 0.25), (0.003, 0.5)),
    _share("mF", (0.03, 0.2), (0.003, 0.45)),
    _place("xB", 1.0, (0.19, 0.47), (0.08, 1.4)),
    _place("xH", 1.0, (0.76, 0.94), (0.4, 1.5)),
    _place("zB", -1.0, (0.46, 0.89), (0.1, 1.45)),
    _place("zH", -1.0, (0.57, 0.93), (0.1, 1.6)),
    _Trait(
        "front frame's centre of mass ahead of the steer axis / w",
        _ahead_of_axis,
        (-0.01, 0.062),
        (-0.25, 0.35),
        logarithmic=False,
    ),
    _gyration("IRyy", "rR", (0.36, 0.82), (0.25, 1.02)),
    _gyration("IFyy", "rF", (0.62, 0.88), (0.25, 1.02)),
    _moments("IRxx", "IRyy", (0.499, 0.725), (0.4, 1.2)),
    _moments("IFxx", "IFyy", (0.499, 0.64), (0.4, 1.2)),
    _gyration("IBxx", "zB", (0.36, 0.54), (0.18, 1.0)),
    _gyration("IByy", "w", (0.26, 0.41), (0.1, 0.85)),
    _gyration("IBzz", "w", (0.17, 0.32), (0.07, 0.65)),
    _moments("IBzz", "IBxx", (0.3, 1.9), (0.06, 12.0)),
    _flatness("B", (0.63, 1.03), (0.35, 1.1)),
    _product("B", (-0.2, 0.48)),
    _gyration("IHxx", "zH", (0.17, 0.43), (0.07, 0.85)),
    _gyration("IHyy", "zH", (0.17, 0.41), (0.07, 0.85)),
    _gyration("IHzz", "w", (0.04, 0.191), (0.02, 0.45)),
    _moments("IHzz", "IHxx", (0.12, 0.44), (0.02, 1.5)),
    _flatness("H", (0.5, 1.01), (0.3, 1.1)),
    _product("H", (-0.82, -0.07)),
)
