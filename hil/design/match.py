"""Gains that match another bicycle.

Its eigenvalues, or its response from a hand at the bars. One torque can give all four eigenvalues, wherever it can
steer, but moves no zero: in the response from a torque on the steer axis to the lean rate the roots of M12 s^2 + v
C1_12 s + g K0_12 + v^2 K2_12, and the factor -M12 / det M of its quick end, stay this bicycle's own. A light bicycle
answers a hand more strongly than a heavy one whatever the gains; so responses are compared apart from a factor. What
then differs is told for each speed (Pasma 2024 met it at Delft).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from riderless.hil.design.poles import place_poles, predictor
from riderless.hil.design.sampled_plant import BICYCLE_PART, SampledModel, continuous
from riderless.models import catalogue
from riderless.models.array_types import Array, ComplexArray
from riderless.models.coordinates import PHI_DOT, T_DELTA
from riderless.models.errors import InputError
from riderless.models.linear.whipple import canonical_matrices, input_matrix, system_matrix
from riderless.models.linear.zero_order_hold import zoh
from riderless.models.parameters import Bicycle

MATCHED = ("eigenvalues", "response")
LOWEST_MATCHED, HIGHEST_MATCHED, POINTS = 0.2, 4.0, 60  # Hz, where riders steer and weaves turn
_KEPT = 1e-3  # weight of staying near the gains of the eigenvalues, where the response does not care
_SLOWER = 100.0  # s, weight of a motion that is slower than the other bicycle's


class _MatchResidual(NamedTuple):
    """Difference that is left between this bicycle under its gains and the other one."""

    eigenvalue: float  # 1/s, of the worst of the four
    factor: float  # of the response from steer torque to lean rate to the other's, its geometric mean
    decibel: float  # rms of what is left apart from it, LOWEST_MATCHED to HIGHEST_MATCHED
    degree: float
    zeros: ComplexArray  # (2,) 1/s, of this bicycle, beside the one at 0
    wanted_zeros: ComplexArray  # (2,) 1/s, of the other


@dataclass(frozen=True)
class Match:
    """Gains that make one bicycle move like another.

    Parameters
    ----------
    like : str or Bicycle
        The other bicycle: a name of the catalogue or a file.
    what : str
        "eigenvalues", or "response" for the best fit of the response from steer torque to lean rate, 0.2 to 4 Hz.

    Raises
    ------
    InputError
    """

    like: str | Bicycle = ""
    what: str = "eigenvalues"

    def __post_init__(self) -> None:
        if self.what not in MATCHED:
            raise InputError(f"what is matched must be one of {', '.join(MATCHED)}, found {self.what!r}")
        if not self.like:
            raise InputError(
                "a match wants the bicycle that this one is to move like: give like (--set like=Benchmark)"
            )

    def gains(self, bicycle: Bicycle, v: float, model: SampledModel) -> tuple[Array, str]:
        """Six gains at speed ``v`` [m/s], and a note with the residual.

        Raises
        ------
        InputError
            No such bicycle, or the steer torque cannot place its eigenvalues at this speed.
        """
        other = self.like if isinstance(self.like, Bicycle) else catalogue.load_bicycle(self.like)
        wanted = np.linalg.eigvals(system_matrix(other, v)).astype(complex)
        K, note = place_poles(bicycle, v, model, wanted)
        if self.what == "response":
            K = _nearest_response(bicycle, other, v, model, K)
        residual = match_residual(bicycle, other, v, model, K)
        comparison = (
            f"eigenvalues to {residual.eigenvalue:.2g} 1/s, response {residual.factor:.2g} times as strong, else to "
            f"{residual.decibel:.2g} dB and {residual.degree:.2g} deg; "
            f"zeros stay {_in_words(residual.zeros)}, not {_in_words(residual.wanted_zeros)} 1/s"
        )
        return K, f"{note}; {comparison}" if note else comparison


def match_residual(bicycle: Bicycle, like: Bicycle, v: float, model: SampledModel, K: Array) -> _MatchResidual:
    """Residual of gains against another bicycle.

    Parameters
    ----------
    bicycle, like : Bicycle
    v : float
        Speed [m/s].
    model : SampledModel
        Of ``bicycle``.
    K : (6,) array
    """
    wanted = np.linalg.eigvals(system_matrix(like, v)).astype(complex)
    eigenvalues = continuous(model.closed_loop(K), model.dt)
    ratio = np.log(_response(bicycle, v, model, model.narrow(K)) / _own_response(like, v, model.dt))
    return _MatchResidual(
        max(float(np.abs(eigenvalues - each).min()) for each in wanted),
        float(np.exp(ratio.real.mean())),
        float(ratio.real.std()) * 20.0 / np.log(10.0),
        float(np.degrees(np.sqrt(np.mean(ratio.imag**2)))),
        steer_zeros(bicycle, v),
        steer_zeros(like, v),
    )


def steer_zeros(bicycle: Bicycle, v: float) -> ComplexArray:
    """Zeros (2,) [1/s] of the response from steer torque to lean angle, which no feedback moves."""
    m = canonical_matrices(bicycle)
    return np.roots([m.M[0, 1], v * m.C1[0, 1], bicycle.g * m.K0[0, 1] + v**2 * m.K2[0, 1]]).astype(complex)


def _nearest_response(bicycle: Bicycle, like: Bicycle, v: float, model: SampledModel, K: Array) -> Array:
    """Gains whose response is nearest to the other bicycle's in the logarithm, beginning with K (6,).

    Four gains, on the bicycle's state beyond drive and delay, whose own poles stay where they are; and among them those
    under which nothing grows faster, or decays more slowly, than the other bicycle's slowest motion: a slow fall costs
    the response little, and nobody wants it.
    """
    slowest = float(np.linalg.eigvals(system_matrix(like, v)).real.max())
    predict = predictor(model)[2]
    start, wanted = model.narrow(K)[BICYCLE_PART], _own_response(like, v, model.dt)
    scale = np.maximum(np.abs(start), 1e-2)

    def off(x: Array, bound: float = _SLOWER) -> Array:
        ratio = np.log(_response(bicycle, v, model, x * scale @ predict) / wanted)
        z = np.linalg.eigvals(model.F - np.outer(model.G, x * scale @ predict))
        slower = max(float(np.log(np.abs(z).max())) / model.dt - slowest, 0.0)
        kept = _KEPT * (x - start / scale)
        return np.concatenate([ratio.real - ratio.real.mean(), ratio.imag, kept, [bound * slower]])

    free = least_squares(off, start / scale, x_scale="jac", args=(0.0,)).x  # the bound has valleys to be caught in
    fits = [least_squares(off, begun, x_scale="jac") for begun in (start / scale, free)]
    return model.widen(min(fits, key=lambda each: each.cost).x * scale @ predict)


def _response(bicycle: Bicycle, v: float, model: SampledModel, K: Array) -> ComplexArray:
    """Response (POINTS,) from a torque on the steer axis, held for a sample, to the lean rate under gains K (n,)."""
    n = len(model.F)
    b = np.zeros(n)
    b[BICYCLE_PART] = _steer_input(bicycle, v, model.dt)[1]
    moved = _z(model.dt) * np.eye(n) - model.F + np.outer(model.G, K)
    return np.asarray(np.linalg.solve(moved, _column(b))[:, PHI_DOT, 0], complex)


def _own_response(bicycle: Bicycle, v: float, dt: float) -> ComplexArray:
    """Response (POINTS,) of a bicycle without gains or drive."""
    A, b = _steer_input(bicycle, v, dt)
    return np.asarray(np.linalg.solve(_z(dt) * np.eye(len(A)) - A, _column(b))[:, PHI_DOT, 0], complex)


def _steer_input(bicycle: Bicycle, v: float, dt: float) -> tuple[Array, Array]:
    """Motion over one sample, (4, 4), and what a torque on the steer axis adds, (4,)."""
    A, B = zoh(system_matrix(bicycle, v), input_matrix(bicycle)[:, [T_DELTA]], dt)
    return A, B[:, 0]


def _z(dt: float) -> ComplexArray:
    """Points of the unit circle, (POINTS, 1, 1)."""
    f = np.geomspace(LOWEST_MATCHED, HIGHEST_MATCHED, POINTS)
    return np.asarray(np.exp(2j * np.pi * f * dt)[:, None, None], complex)


def _column(b: Array) -> ComplexArray:
    return np.broadcast_to(b.astype(complex)[:, None], (POINTS, len(b), 1))


def _in_words(zeros: ComplexArray) -> str:
    return " and ".join(f"{z.real:.3g}{f'{z.imag:+.3g}i' if z.imag else ''}" for z in zeros)
