"""Linear Whipple bicycle (Meijaard et al. 2007).

Canonical matrices, A(v), B, named systems.

``M q'' + v C1 q' + (g K0 + v^2 K2) q = f`` with q = (phi, delta) and f = (T_phi, T_delta); their eq. 5.3,
the coefficients from their appendix A, in their symbols. Torques in N m, q in rad, v in m/s.
"""

from collections.abc import Iterator
from math import cos, sin
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from riderless.models.array_types import Array
from riderless.models.bicycle_file import shortened
from riderless.models.coordinates import ANGLE_STATES, DELTA, INPUTS, PHI, RATE_STATES, STATES
from riderless.models.errors import InputError
from riderless.models.parameters import Bicycle, require_bicycle
from riderless.models.tables import html_table

if TYPE_CHECKING:
    import control


LINEAR_SPEED_MAX = 1e4  # m/s; no bicycle's, and the matrices keep their digits


class CanonicalMatrices(NamedTuple):
    """Matrices (2, 2) of the linear bicycle, SI; gravity is not in K0. Two are equal where they are the same object."""

    M: Array  # kg m^2
    C1: Array  # kg m
    K0: Array  # kg m
    K2: Array  # kg

    # a tuple of arrays that asks them for equality is told that their truth is ambiguous
    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        shown = (f"{name}={[[float(f'{x:.4g}') for x in row] for row in matrix]}" for name, matrix in self._named())
        return f"CanonicalMatrices({', '.join(shown)})"

    def _repr_html_(self) -> str:
        rows = ((name, *matrix[PHI], *matrix[DELTA]) for name, matrix in self._named())
        heads = ("matrix", "phi phi", "phi delta", "delta phi", "delta delta")
        return html_table("Canonical matrices, SI", heads, rows)

    def _named(self) -> Iterator[tuple[str, Array]]:
        return zip(self._fields, self, strict=True)


class _Totals(NamedTuple):
    """Quantities of the whole bicycle (T) and of its front assembly (A), from appendix A.

    The inertia of the whole is about the rear contact point; that of the front assembly about its centre of
    mass, or, with ``l``, about the steer axis; ``IAlx`` and ``IAlz`` couple the steer axis with the x and z
    axes through the rear contact point.
    """

    mT: float  # kg
    xT: float  # m
    zT: float
    ITxx: float  # kg m^2
    ITxz: float
    ITzz: float
    mA: float  # kg
    uA: float  # m, distance of the front centre of mass ahead of the steer axis
    IAll: float  # kg m^2
    IAlx: float
    IAlz: float
    mu: float  # yaw per steer at rest, c cos(lam) / w
    SF: float  # kg m, spin momentum per speed of the front wheel
    ST: float  # of both wheels
    SA: float  # kg m, static moment of the front assembly


def totals(bicycle: Bicycle) -> _Totals:
    """Intermediate quantities of Meijaard et al. (2007), appendix A."""
    require_bicycle(bicycle)
    return totals_of(bicycle)


def totals_of(bicycle: Any) -> _Totals:
    """Quantities of `totals`, of whatever has the parameters: a bicycle with a mistake in it too."""
    b = bicycle
    sin_lam, cos_lam = sin(b.lam), cos(b.lam)

    mT = b.mR + b.mB + b.mH + b.mF
    xT = (b.xB * b.mB + b.xH * b.mH + b.w * b.mF) / mT
    zT = (-b.rR * b.mR + b.zB * b.mB + b.zH * b.mH - b.rF * b.mF) / mT
    ITxx = b.IRxx + b.IBxx + b.IHxx + b.IFxx + b.mR * b.rR**2 + b.mB * b.zB**2 + b.mH * b.zH**2 + b.mF * b.rF**2
    ITxz = b.IBxz + b.IHxz - b.mB * b.xB * b.zB - b.mH * b.xH * b.zH + b.mF * b.w * b.rF
    ITzz = b.IRxx + b.IBzz + b.IHzz + b.IFxx + b.mB * b.xB**2 + b.mH * b.xH**2 + b.mF * b.w**2

    mA = b.mH + b.mF
    # A front assembly without mass has no centre of mass; any point serves, for it is multiplied by mA.
    xA = (b.xH * b.mH + b.w * b.mF) / mA if mA else b.w
    zA = (b.zH * b.mH - b.rF * b.mF) / mA if mA else 0.0
    IAxx = b.IHxx + b.IFxx + b.mH * (b.zH - zA) ** 2 + b.mF * (b.rF + zA) ** 2
    IAxz = b.IHxz - b.mH * (b.xH - xA) * (b.zH - zA) + b.mF * (b.w - xA) * (b.rF + zA)
    IAzz = b.IHzz + b.IFxx + b.mH * (b.xH - xA) ** 2 + b.mF * (b.w - xA) ** 2
    uA = (xA - b.w - b.c) * cos_lam - zA * sin_lam
    mu = b.c / b.w * cos_lam
    # A wheel of zero radius has no inertia (`Bicycle` sees to it): it is a skate, without spin.
    SR = b.IRyy / b.rR if b.rR else 0.0
    SF = b.IFyy / b.rF if b.rF else 0.0

    return _Totals(
        mT=mT,
        xT=xT,
        zT=zT,
        ITxx=ITxx,
        ITxz=ITxz,
        ITzz=ITzz,
        mA=mA,
        uA=uA,
        IAll=mA * uA**2 + IAxx * sin_lam**2 + 2.0 * IAxz * sin_lam * cos_lam + IAzz * cos_lam**2,
        IAlx=-mA * uA * zA + IAxx * sin_lam + IAxz * cos_lam,
        IAlz=mA * uA * xA + IAxz * sin_lam + IAzz * cos_lam,
        mu=mu,
        SF=SF,
        ST=SR + SF,
        SA=mA * uA + mu * mT * xT,
    )


def canonical_matrices(bicycle: Bicycle) -> CanonicalMatrices:
    """Matrices M, C1, K0, K2 of Meijaard et al. (2007), eq. 5.3 and appendix A."""
    require_bicycle(bicycle)
    return matrices_of(bicycle)


def matrices_of(bicycle: Any) -> CanonicalMatrices:
    """Matrices of `canonical_matrices`, of whatever has the parameters: a bicycle with a mistake in it too."""
    b, t = bicycle, totals_of(bicycle)
    sin_lam, cos_lam = sin(b.lam), cos(b.lam)
    yaw = cos_lam / b.w  # yaw rate per steer angle and speed

    M_phi_delta = t.IAlx + t.mu * t.ITxz
    spin = t.mu * t.ST + t.SF * cos_lam
    return CanonicalMatrices(
        M=np.array([[t.ITxx, M_phi_delta], [M_phi_delta, t.IAll + 2.0 * t.mu * t.IAlz + t.mu**2 * t.ITzz]]),
        C1=np.array(
            [[0.0, spin + t.ITxz * yaw - t.mu * t.mT * t.zT], [-spin, t.IAlz * yaw + t.mu * (t.SA + t.ITzz * yaw)]]
        ),
        K0=np.array([[t.mT * t.zT, -t.SA], [-t.SA, -t.SA * sin_lam]]),
        K2=np.array([[0.0, (t.ST - t.mT * t.zT) * yaw], [0.0, (t.SA + t.SF * sin_lam) * yaw]]),
    )


def system_matrix(bicycle: Bicycle, v: ArrayLike) -> Array:
    """Matrix A(v) [1/s] of x' = A x + B u; shape of ``v`` [m/s] plus (4, 4).

    Raises
    ------
    InputError
        As of `finite_speeds`, or when the mass matrix is singular.
    """
    return system_matrix_at(bicycle, finite_speeds(v))


def system_matrix_at(bicycle: Bicycle, v: ArrayLike) -> Array:
    """Matrix of `system_matrix` at speeds that nobody asked for, such as roots far above those of a bicycle."""
    M, C1, K0, K2 = canonical_matrices(bicycle)
    inverse = _inverse(bicycle, M)
    speed = np.asarray(v, dtype=float)[..., np.newaxis, np.newaxis]
    A = np.zeros((*speed.shape[:-2], 4, 4))
    A[..., ANGLE_STATES, RATE_STATES] = np.eye(2)
    A[..., RATE_STATES, ANGLE_STATES] = -inverse @ (bicycle.g * K0 + speed**2 * K2)
    A[..., RATE_STATES, RATE_STATES] = -inverse @ (speed * C1)
    return A


def input_matrix(bicycle: Bicycle) -> Array:
    """Matrix B (4, 2) of x' = A x + B u, for u = (T_phi, T_delta) in N m."""
    return np.vstack([np.zeros((2, 2)), _inverse(bicycle, canonical_matrices(bicycle).M)])


def state_space(bicycle: Bicycle, v: float) -> "control.StateSpace":
    """Linear bicycle at speed ``v`` [m/s] as a python-control system.

    States and outputs phi, delta, phi_dot, delta_dot; inputs T_phi, T_delta. Its name has the speed in mm/s, as
    python-control takes no points in names.

    Raises
    ------
    InputError
        As of `one_speed`, or when the mass matrix is singular.
    """
    import control

    v = one_speed(v)
    A, B = system_matrix(bicycle, v), input_matrix(bicycle)
    name = f"{bicycle.name} at {1000.0 * v:.0f} mm/s".replace(".", "_")
    names: dict[str, Any] = {"states": list(STATES), "inputs": list(INPUTS), "outputs": list(STATES)}
    return control.ss(A, B, np.eye(4), np.zeros((4, 2)), name=name, **names)


def finite_speeds(v: ArrayLike) -> Array:
    """Check speeds [m/s] of any shape and copy them into an array.

    Raises
    ------
    InputError
        What is no number, not finite, or beyond `LINEAR_SPEED_MAX`.
    """
    wanted = f"a speed must be a finite number in m/s, at most {LINEAR_SPEED_MAX:g}"
    try:
        speeds = np.array(v)
    except ValueError:  # rows of unequal length
        raise InputError(f"{wanted}; found {shortened(v)}: give one, or an array of them") from None
    if speeds.dtype.kind not in "iuf":
        raise InputError(f"{wanted}; found {shortened(v)}: give one, or an array of them")
    speeds = speeds.astype(float, copy=False)
    fits = np.abs(speeds) <= LINEAR_SPEED_MAX
    if not fits.all():
        raise InputError(f"{wanted}; found {speeds[~fits][0]:g} m/s: give the speed of a bicycle")
    return speeds


def one_speed(v: ArrayLike) -> float:
    """Check a speed [m/s] as `finite_speeds` does, of which one is wanted.

    Raises
    ------
    InputError
        As of `finite_speeds`, or several speeds.
    """
    speeds = finite_speeds(v)
    if speeds.ndim:
        raise InputError(f"wanted one speed in m/s, found {shortened(v)}: give them one by one")
    return float(speeds)


def _inverse(bicycle: Bicycle, M: Array) -> Array:
    """Inverse of the mass matrix, which must be well above singular."""
    determinant = M[0, 0] * M[1, 1] - M[0, 1] * M[1, 0]
    if determinant <= 1e-12 * M[0, 0] * M[1, 1]:
        raise InputError(
            f"bicycle {bicycle.name!r} has a singular mass matrix (determinant {determinant:.3g} kg^2 m^4): "
            "lean and steer must each move some mass; give both frames a mass off the steer axis, or inertia"
        )
    return np.array([[M[1, 1], -M[0, 1]], [-M[1, 0], M[0, 0]]]) / determinant
