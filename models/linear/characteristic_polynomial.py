"""Characteristic polynomial in eigenvalue and speed.

Also the polynomials that follow from it.
"""

from functools import lru_cache
from math import fsum

import numpy as np
from numpy.polynomial import Polynomial

from riderless.models.array_types import Array
from riderless.models.linear.whipple import CanonicalMatrices, canonical_matrices
from riderless.models.parameters import Bicycle

# Speed [m/s] where the modes are told apart. A critical speed above it is no speed of a bicycle: it is the
# rounding of a leading coefficient that should be zero, as without spinning wheels.
NAMING_SPEED = 1000.0


@lru_cache(maxsize=256)
def characteristic_coefficients(bicycle: Bicycle) -> Array:
    """Coefficients c (5, 4) of det(M s^2 + v C1 s + g K0 + v^2 K2) = sum of c[i, j] s^i v^j."""
    return determinant_coefficients(canonical_matrices(bicycle), bicycle.g)[:, :4]  # the first column of K2 is zero


def determinant_coefficients(matrices: CanonicalMatrices, g: float) -> Array:
    """Coefficients c (5, 5) as of `characteristic_coefficients`, of any matrices M, C1, K0, K2."""
    M, C1, K0, K2 = matrices
    K0 = g * K0
    c = np.zeros((5, 5))
    c[4, 0] = _mixed(M, M) / 2.0
    c[3, 1] = _mixed(M, C1)
    c[2, 0] = _mixed(M, K0)
    c[2, 2] = _mixed(M, K2) + _mixed(C1, C1) / 2.0
    c[1, 1] = _mixed(C1, K0)
    c[1, 3] = _mixed(C1, K2)
    c[0, 0] = _mixed(K0, K0) / 2.0
    c[0, 2] = _mixed(K0, K2)
    c[0, 4] = _mixed(K2, K2) / 2.0
    return c


def monic_coefficients(bicycle: Bicycle, v: Array) -> Array:
    """Coefficients (4, n) of s^3, s^2, s and 1 where that of s^4 is 1, at speeds (n,) [m/s]."""
    k = characteristic_coefficients(bicycle) / characteristic_coefficients(bicycle)[4, 0]
    square = v * v
    return np.array(
        [k[3, 1] * v, k[2, 0] + k[2, 2] * square, (k[1, 1] + k[1, 3] * square) * v, k[0, 0] + k[0, 2] * square]
    )


def _mixed(A: Array, B: Array) -> float:
    """Mixed term of det(A + B), linear in each matrix; twice the determinant when A is B.

    Zero where the terms cancel to rounding: without spinning wheels det(g K0 + v^2 K2) has no term in
    v^2, and last bits must not be taken for a capsize speed.
    """
    terms = (A[0, 0] * B[1, 1], A[1, 1] * B[0, 0], -A[0, 1] * B[1, 0], -A[1, 0] * B[0, 1])
    total = fsum(terms)
    return total if abs(total) > 1e-14 * max(map(abs, terms)) else 0.0


def _in_square(bicycle: Bicycle) -> tuple[Polynomial, ...]:
    """Polynomials a, b, c, d, e in V = v^2; the characteristic one is a s^4 + b v s^3 + c s^2 + d v s + e."""
    k = characteristic_coefficients(bicycle)
    return (
        Polynomial([k[4, 0]]),
        Polynomial([k[3, 1]]),
        Polynomial([k[2, 0], k[2, 2]]),
        Polynomial([k[1, 1], k[1, 3]]),
        Polynomial([k[0, 0], k[0, 2]]),
    )


def hurwitz_polynomial(bicycle: Bicycle) -> Polynomial:
    """Hurwitz's third determinant over V, a polynomial: zero where two eigenvalues are opposite, so on the axis too."""
    a, b, c, d, e = _in_square(bicycle)
    return d * (b * c - a * d) - b * b * e


def static_polynomial(bicycle: Bicycle) -> Polynomial:
    """Polynomial in V that is zero where an eigenvalue is zero."""
    return _in_square(bicycle)[4]


def discriminant_polynomial(bicycle: Bicycle) -> Polynomial:
    """Discriminant as a polynomial in V, zero where two eigenvalues are equal: 4 I^3 - J^2, by the invariants."""
    a, b, c, d, e = _in_square(bicycle)
    V = Polynomial([0.0, 1.0])
    I = 12.0 * a * e - 3.0 * V * b * d + c * c
    J = 72.0 * a * c * e + 9.0 * V * b * c * d - 27.0 * V * (a * d * d + e * b * b) - 2.0 * c * c * c
    return 4.0 * I**3 - J**2


def positive_roots(p: Polynomial) -> list[float]:
    """Speeds v, 0 < v < `NAMING_SPEED`, at which the polynomial in V = v^2 vanishes, slowest first."""
    V = np.asarray(p.trim().roots(), dtype=complex)
    speeds = np.sqrt(V[(np.abs(V.imag) < 1e-7 * np.abs(V)) & (V.real > 0.0)].real)
    return sorted(speeds[speeds < NAMING_SPEED].tolist())
