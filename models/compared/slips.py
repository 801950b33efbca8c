"""Usual mistakes behind wrong entries of the matrices.

Each mistake is made on purpose in M, C1, K0, K2, and its effect compared with the difference found. A slip concerns all
four matrices (a parameter, a convention), one matrix (gravity left in K0), or one entry (a sign, a lost term of the
appendix of Meijaard et al. 2007). Matrices are arrays (4, 2, 2) in the order M, C1, K0, K2.
"""

from collections.abc import Iterator
from math import cos, degrees, isclose, pi, radians, sin
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from riderless.models.array_types import Array
from riderless.models.linear.whipple import CanonicalMatrices, matrices_of, totals_of
from riderless.models.parameter_table import PARAMETERS
from riderless.models.parameters import Bicycle

MATRICES = CanonicalMatrices._fields
COORDINATES = ("phi", "delta")
Entry = tuple[int, int, int]  # matrix, row, column
_SWAPS = (
    *(("rR", "rF"), ("mR", "mF"), ("IRxx", "IRyy"), ("IFxx", "IFyy"), ("IRyy", "IFyy"), ("IRxx", "IFxx")),
    *(("IBxx", "IBzz"), ("IHxx", "IHzz"), ("IBxx", "IHxx"), ("mB", "mH"), ("xB", "xH"), ("zB", "zH")),
)
_TOGETHER = (("zB", "zH"), ("IBxz", "IHxz"), ("IRyy", "IFyy"))  # parameters of one convention
_HALVES = (("double", 2.0), ("half", 0.5))
_ROUNDING = 1e-9  # of the greatest entry, in what is computed of entries that were found


class Slip(NamedTuple):
    """Slip in all matrices: what it is, and whether the motion is right all the same."""

    words: str
    harmless: bool


def agrees(matrix: Array, made: Array, tolerance: Array) -> bool:
    """Tell whether all entries found are those that a slip makes."""
    rounding = _ROUNDING * np.abs(made).max(axis=(-2, -1), keepdims=True)
    return bool(np.all(np.abs(matrix - made) <= tolerance + rounding))


def slip_of_all(matrices: Array, right: Array, tolerance: Array, bicycle: Bicycle) -> Slip | None:
    """One slip that makes all the matrices found, if there is one; the usual one first.

    Parameters
    ----------
    matrices, right, tolerance : (4, 2, 2) arrays
    bicycle : Bicycle
    """
    for words, undone in (("", 1.0), ("gravity is in K0, and ", bicycle.g)):
        now, room = matrices.copy(), tolerance.copy()
        now[2], room[2] = now[2] / undone, room[2] / undone
        for conventions, made in (
            ("lean or steer has the other sign", right * np.array([[1.0, -1.0], [-1.0, 1.0]])),
            ("steer stands first and lean second", right[:, ::-1, ::-1]),
        ):
            if agrees(now, made, room):
                return Slip(words + conventions, True)
        if agrees(now, right.transpose(0, 2, 1), room):
            return Slip(f"{words}all matrices are transposed", False)
        v = float(now[1, 0, 1] / right[1, 0, 1])
        if agrees(now, right * np.array([1.0, v, 1.0, v * v])[:, None, None], 2.0 * room):
            return Slip(
                f"{words}C1 and K2 are multiplied by {v:.4g} and its square: those of a speed of {v:.4g} m/s", False
            )
        named = [name for name, made in _with_other_parameters(bicycle) if agrees(now, made, room)]
        if named:
            return Slip(words + ", or ".join(named[:3]), False)
        combined = _combined(now, right, room)
        if combined:
            return Slip(words + combined, True)
    return None


def _combined(matrices: Array, right: Array, tolerance: Array) -> str:
    """Words for equations that are those wanted, multiplied or added to one another; else nothing."""
    P = matrices[0] @ np.linalg.inv(right[0])
    if not np.linalg.det(P) or not agrees(matrices, P @ right, 10.0 * tolerance):
        return ""
    size = np.abs(P).max()
    if max(abs(P[0, 1]), abs(P[1, 0])) > 1e-6 * size:
        solved = np.allclose(matrices[0], np.eye(2), rtol=0.0, atol=1e-6)
        return "the equations are solved for the accelerations" if solved else "the two equations are added together"
    if isclose(P[0, 0], P[1, 1], rel_tol=1e-4):
        return f"all entries are {_factor_words(P[0, 0])}"
    rows = [f"the {name} equation is {_factor_words(k)}" for name, k in zip(("lean", "steer"), np.diag(P), strict=True)]
    return " and ".join(row for row, k in zip(rows, np.diag(P), strict=True) if not isclose(k, 1.0, rel_tol=1e-4))


def _factor_words(k: float) -> str:
    for words, factor in (
        ("multiplied by pi/180: an angle in degrees", pi / 180.0),
        ("multiplied by 180/pi: an angle in degrees", 180.0 / pi),
        ("of the other sign", -1.0),
        ("half", 0.5),
        ("double", 2.0),
    ):
        if isclose(k, factor, rel_tol=1e-4):
            return words
    return f"multiplied by {k:.6g}"


def _with_other_parameters(bicycle: Bicycle) -> Iterator[tuple[str, Array]]:
    """Matrices of the bicycle with each usual mistake in its parameters."""
    values = {name: float(getattr(bicycle, name)) for name in PARAMETERS}
    lam = values["lam"]
    changes = [
        (f"lam is taken as {degrees(lam):.6g} rad: degrees", {"lam": degrees(lam)}),
        ("lam is the head angle: the tilt is 90 deg less it", {"lam": pi / 2.0 - lam}),
        ("lam is taken in radians and converted again", {"lam": radians(lam)}),
    ]
    for names in (*((name,) for name in PARAMETERS if name != "g" and values[name]), *_TOGETHER):
        verb = "have" if len(names) > 1 else "has"
        changes += [
            (f"{' and '.join(names)} {verb} the other sign", {name: -values[name] for name in names}),
            (f"{' and '.join(names)} {'are' if len(names) > 1 else 'is'} left out", dict.fromkeys(names, 0.0)),
        ]
        changes += [(f"{names[0]} is {words}", {names[0]: values[names[0]] * k}) for words, k in _HALVES]
    changes += [(f"{a} and {b} are exchanged", {a: values[b], b: values[a]}) for a, b in _SWAPS]
    for words, change in changes:
        changed = SimpleNamespace(**(values | change))
        if changed.w:
            yield words, np.array(matrices_of(changed))


def slip_of_matrix(k: int, matrix: Array, right: Array, tolerance: Array, g: float) -> str:
    """Words for one slip that makes a whole matrix; "" where there is none.

    Parameters
    ----------
    k : int
        Which matrix.
    matrix, right, tolerance : (2, 2) arrays
    g : float
        m/s^2.
    """
    if np.allclose(right, right.T):
        pass
    elif agrees(matrix, right.T, tolerance):
        return f"{MATRICES[k]} is transposed"
    elif agrees(matrix, -right.T, tolerance):
        return f"{MATRICES[k]} is transposed and of the other sign"
    elif agrees(matrix, (right + right.T) / 2.0, tolerance):
        return f"{MATRICES[k]} is made symmetric"
    largest = np.unravel_index(np.argmax(np.abs(right)), right.shape)  # written with the most digits
    factor = float(matrix[largest] / right[largest])
    if not factor or not agrees(matrix, factor * right, 2.0 * tolerance):
        return ""
    if k == 2 and isclose(abs(factor), g, rel_tol=1e-4):
        return f"gravity is in K0{', with the other sign' if factor < 0.0 else ''}: ours is to be multiplied by g"
    if k == 2 and isclose(abs(factor), 1.0 / g, rel_tol=1e-4):
        return "K0 is divided by g"
    return f"{MATRICES[k]} is {_factor_words(factor)}"


def slips_of_entry(entry: Entry, given: float, tolerance: float, right: Array, bicycle: Bicycle) -> list[str]:
    """Words for the slips that make one entry; at most three.

    Parameters
    ----------
    entry : Entry
    given, tolerance : float
    right : (4, 2, 2) array
    bicycle : Bicycle
    """
    value, mirrored = right[entry], right[entry[0], entry[2], entry[1]]
    made = []
    if entry[1] != entry[2] and mirrored != value:
        made += [("that of the mirrored entry: transposed", mirrored)]
        made += [("that of the mirrored entry with the other sign", -mirrored)]
    if value:
        made += [("left out", 0.0), ("the other sign", -value), ("half", value / 2.0), ("double", value * 2.0)]
        made += [("pi/180 of it: degrees", radians(value)), ("180/pi of it: degrees", degrees(value))]
        for sign, words in ((1.0, ""), (-1.0, ", and the other sign")):
            made += [(f"g times it{words}", sign * value * bicycle.g)]
            made += [(f"it divided by g{words}", sign * value / bicycle.g)]
    for name, term in _terms(bicycle)[entry].items():
        made += [(f"{name} left out", value - term), (f"{name} with the other sign", value - 2.0 * term)]
        made += [(f"{name} twice", value + term), (f"{name} half", value - term / 2.0)]
    close = [words for words, x in made if abs(given - x) <= tolerance + _ROUNDING * abs(x)]
    return list(dict.fromkeys(close))[:3]


def _terms(bicycle: Bicycle) -> dict[Entry, dict[str, float]]:
    """Summands of every entry, by the symbols of the appendix."""
    b, t = bicycle, totals_of(bicycle)
    s, c, yaw = sin(b.lam), cos(b.lam), cos(b.lam) / b.w
    front = {"mA uA": t.mA * t.uA, "mu mT xT": t.mu * t.mT * t.xT}
    spin = {"mu ST": t.mu * t.ST, "SF cos(lam)": t.SF * c}
    return {
        (0, 0, 0): {
            **{name: getattr(b, name) for name in ("IRxx", "IBxx", "IHxx", "IFxx")},
            **{
                "mR rR^2": b.mR * b.rR**2,
                "mB zB^2": b.mB * b.zB**2,
                "mH zH^2": b.mH * b.zH**2,
                "mF rF^2": b.mF * b.rF**2,
            },
        },
        (0, 0, 1): (coupling := {"IAlx": t.IAlx, "mu ITxz": t.mu * t.ITxz}),
        (0, 1, 0): coupling,
        (0, 1, 1): {"IAll": t.IAll, "2 mu IAlz": 2.0 * t.mu * t.IAlz, "mu^2 ITzz": t.mu**2 * t.ITzz},
        (1, 0, 0): {},
        (1, 0, 1): {**spin, "ITxz cos(lam)/w": t.ITxz * yaw, "mu mT zT": -t.mu * t.mT * t.zT},
        (1, 1, 0): {name: -value for name, value in spin.items()},
        (1, 1, 1): {"IAlz cos(lam)/w": t.IAlz * yaw, "mu SA": t.mu * t.SA, "mu ITzz cos(lam)/w": t.mu * t.ITzz * yaw},
        (2, 0, 0): {"mR rR": -b.mR * b.rR, "mB zB": b.mB * b.zB, "mH zH": b.mH * b.zH, "mF rF": -b.mF * b.rF},
        (2, 0, 1): {name: -value for name, value in front.items()},
        (2, 1, 0): {name: -value for name, value in front.items()},
        (2, 1, 1): {f"{name} sin(lam)": -value * s for name, value in front.items()},
        (3, 0, 0): {},
        (3, 1, 0): {},
        (3, 0, 1): {"ST cos(lam)/w": t.ST * yaw, "mT zT cos(lam)/w": -t.mT * t.zT * yaw},
        (3, 1, 1): {
            **{f"{name} cos(lam)/w": value * yaw for name, value in front.items()},
            "SF sin(lam) cos(lam)/w": t.SF * s * yaw,
        },
    }
