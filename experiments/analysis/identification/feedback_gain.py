"""Feedback gain that explains measured eigenvalues.

The law steers into the lean: T = kappa (v0 - v) phi_dot. The gain has no prior. The bicycle's parameters have: their
published standard deviations. All are searched together, so what they leave open is in the interval of the gain, by
linear propagation about the best values. A table states no errors of its own; its scatter about the best curve gives
them: one standard deviation for the real parts, one for the imaginary parts, the same at every speed.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.special import stdtrit

from riderless.experiments.recordings.foreign.formats.registry import read_table
from riderless.experiments.theories import lean_feedback, open_loop
from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.parameters import Bicycle

GAIN_START = 5.0  # N s^2, of the search
LEAST_SCATTER = 0.01  # 1/s and rad/s: nobody reads an eigenvalue better
SCATTER_ROUNDS = 5  # times at most that the scatter is found anew
IMPOSSIBLE = 1e3  # residual of a bicycle that cannot be


@dataclass(frozen=True)
class GainEstimate:
    """Gain with its interval, and how well the law explains the table."""

    gain: float  # N s^2
    std: float
    interval: tuple[float, float]  # of 95 %, by Student's t
    scatter: tuple[float, float]  # 1/s and rad/s, of one point about the best curve
    pulls: dict[str, float]  # parameters that had to move, in their standard deviations, the most moved first
    fitted: NDArray[np.complex128]  # (n,) 1/s, at the speeds of the table
    speeds: Array  # (n,) m/s, of the points used
    left_out: Array  # m/s: above v0, where the gain does nothing


def _weave_of(bicycle: Bicycle, gain: float, v0: float, v: float, near: complex) -> complex:
    """Eigenvalue of the closed loop nearest to a measured one [1/s].

    Parameters
    ----------
    bicycle : Bicycle
    gain : float
        N s^2, of T = gain (v0 - v) phi_dot.
    v0, v : float
        Speed above which the law does nothing, and that of the bicycle [m/s].
    near : complex
        1/s, the measured one.
    """
    values = lean_feedback(bicycle, gain, v0).dynamics().eigenvalues(v)
    return complex(values[np.argmin(np.abs(values - near))])


def estimate_gain(
    bicycle: Bicycle, v0: float, speeds: Array, re: Array, im: Array, uncertain: bool = True
) -> GainEstimate:
    """Estimate the gain kappa of T = kappa (v0 - v) phi_dot from n measured eigenvalues.

    Parameters
    ----------
    bicycle : Bicycle
        With the standard deviations of its parameters.
    v0 : float
        Speed above which the law does nothing [m/s].
    speeds, re, im : (n,)
        m/s, 1/s and rad/s.
    uncertain : bool
        The bicycle's parameters move within their standard deviations; else they are taken as known.

    Raises
    ------
    InputError
        Too few points below v0.
    """
    below = speeds < v0
    v, measured = speeds[below], re[below] + 1j * np.abs(im[below])
    if len(v) < 2:
        raise InputError(
            f"wanted at least 2 eigenvalues below v0 = {v0:g} m/s, where the law does something, found {len(v)}; "
            "give more, or the right v0"
        )
    names = [name for name, std in bicycle.std.items() if std > 0.0] if uncertain else []
    own = np.array([getattr(bicycle, name) for name in names])
    spread = open_loop(bicycle).spread if names else np.zeros((0, 0))

    def curve(x: Array) -> NDArray[np.complex128]:
        changes: dict[str, Any] = dict(zip(names, map(float, own + spread @ x[1:]), strict=True))
        moved = replace(bicycle, **changes)
        return np.array([_weave_of(moved, x[0], v0, float(at), near) for at, near in zip(v, measured, strict=True)])

    scatter, x = np.array([1.0, 1.0]), np.append(GAIN_START, np.zeros(len(names)))
    for _ in range(SCATTER_ROUNDS):

        def residual(x: Array, scatter: Array = scatter) -> Array:
            try:
                off = curve(x) - measured
            except InputError:
                return np.full(2 * len(v) + len(names), IMPOSSIBLE)
            return np.concatenate([off.real / scatter[0], off.imag / scatter[1], x[1:]])

        optimum = least_squares(residual, x, x_scale="jac", diff_step=1e-5)
        off, before, x = curve(optimum.x) - measured, scatter, optimum.x
        dof = max(len(v) - 0.5, 1.0)  # the gain takes one of 2 n
        scatter = np.maximum(np.sqrt([np.sum(off.real**2) / dof, np.sum(off.imag**2) / dof]), LEAST_SCATTER)
        if np.allclose(scatter, before, rtol=0.02):
            break
    covariance = np.linalg.inv(optimum.jac.T @ optimum.jac)
    deviation = float(np.sqrt(covariance[0, 0]))
    half = float(stdtrit(2 * len(v) - 1, 0.975)) * deviation
    pulls = spread @ x[1:] / np.array([bicycle.std[name] for name in names])
    order = sorted(zip(names, pulls, strict=True), key=lambda pair: -abs(pair[1]))
    return GainEstimate(
        gain=float(x[0]),
        std=deviation,
        interval=(float(x[0]) - half, float(x[0]) + half),
        scatter=(float(scatter[0]), float(scatter[1])),
        pulls={name: float(pull) for name, pull in order},
        fitted=curve(x),
        speeds=v,
        left_out=speeds[~below],
    )


# Tables of measured eigenvalues: a speed, a real and an imaginary part in each row, under any names that say so.


HEADINGS = {"speed": r"^(v|speed)\b", "real part": r"\bre(al)?\b", "imaginary part": r"\bim(ag(inary)?)?\b"}
KMH = r"km/?h|kph"


class EigenvalueTable(NamedTuple):
    """Measured eigenvalues; (n,) each."""

    v: Array  # m/s
    re: Array  # 1/s
    im: Array  # rad/s


def read_eigenvalues(path: str | Path) -> EigenvalueTable:
    """Read a table of measured eigenvalues; speeds in m/s, or in km/h where the heading says so.

    Raises
    ------
    InputError
        A column is missing, there twice, or holds something that is no number.
    """
    table, columns = read_table(path), []
    for wanted, pattern in HEADINGS.items():
        names = [name for name in table.columns if re.search(pattern, name.replace("_", " "), re.IGNORECASE)]
        if len(names) != 1:
            raise InputError(
                f"wanted one column of the {wanted} in {path} (such as speed, re, im), found "
                f"{', '.join(names) or 'none'} among {', '.join(table.columns)[:80]}; correct its first line"
            )
        values = table.numbers(names[0])
        if len(values) == 0 or not np.isfinite(values).all():
            raise InputError(f"wanted a number in every row of column {names[0]} of {path}; delete those without")
        columns.append(values / 3.6 if wanted == "speed" and re.search(KMH, names[0], re.IGNORECASE) else values)
    return EigenvalueTable(*columns)
