"""Roots of many real quartic polynomials.

Ferrari's way: the largest root of the resolvent cubic splits the quartic into two quadratics, of real coefficients
because complex roots come in pairs. The closed form loses digits to cancellation; Newton's method on the factors gives
them back. So a complex pair is exactly conjugate and a real root exactly real, as those of LAPACK's `eigvals` are, at
a quarter of its time for many small matrices.
"""

import numpy as np

from riderless.models.array_types import Array, ComplexArray

MOST_STEPS = 3
ROUNDING = 4e-16  # error of a coefficient, of the size of its terms, that no step makes smaller
LARGEST_FACTOR_ERROR = 1e-13  # with more the factors are not taken


def quartic_roots(coefficients: Array) -> ComplexArray:
    """Roots (n, 4) of s^4 + b s^3 + c s^2 + d s + e for ``coefficients`` (4, n): b, c, d, e.

    The first two and the last two are roots of one quadratic factor each: both real, or conjugate, positive imaginary
    part first. Where Newton's method does not converge, as where the factors share a root, `eigvals` gives the roots.
    """
    with np.errstate(all="ignore"):  # what fails is found by its residual
        factors = _closed_form(*coefficients)
        error = _error(factors, coefficients)
        for _ in range(MOST_STEPS):
            if np.all(error < ROUNDING):
                break
            stepped = factors + _newton_step(factors, coefficients)
            after = _error(stepped, coefficients)
            better = (after < error) & (error >= ROUNDING)  # each row on its own, whatever stands beside it
            factors, error = np.where(better, stepped, factors), np.where(better, after, error)
        roots = np.concatenate([_quadratic_roots(*factors[:2]), _quadratic_roots(*factors[2:])]).T
        bad = ~(error < LARGEST_FACTOR_ERROR)
    if np.any(bad):
        roots[bad] = _companion_roots(coefficients[:, bad])
    return roots


def _closed_form(b: Array, c: Array, d: Array, e: Array) -> Array:
    """Factors (4, n): beta and gamma of s^2 + beta s + gamma, twice."""
    h = b / 4.0  # s = y - h leaves y^4 + p y^2 + q y + r
    p, q, r = c - 6.0 * h**2, d - 2.0 * h * c + 8.0 * h**3, e - h * d + h**2 * c - 3.0 * h**4
    z = np.maximum(_largest_root(2.0 * p, p**2 - 4.0 * r, -(q**2)), 0.0)
    alpha = np.sqrt(z)
    apart = np.copysign(np.sqrt(np.maximum((p + z) ** 2 - 4.0 * r, 0.0)), q)  # of the two constant terms
    low, high = (p + z - apart) / 2.0, (p + z + apart) / 2.0
    # y^2 + alpha y + low and y^2 - alpha y + high, with y = s + h
    return np.array([2.0 * h + alpha, h**2 + alpha * h + low, 2.0 * h - alpha, h**2 - alpha * h + high])


def _largest_root(a: Array, b: Array, c: Array) -> Array:
    """Largest real root (n,) of z^3 + a z^2 + b z + c."""
    p, q = b - a**2 / 3.0, 2.0 * a**3 / 27.0 - a * b / 3.0 + c
    size = np.sqrt(np.maximum(-p / 3.0, 0.0))
    angle = np.arccos(np.clip(-q / (2.0 * np.where(size > 0.0, size, 1.0) ** 3), -1.0, 1.0))
    several = 2.0 * size * np.cos(angle / 3.0)
    radicand = q**2 / 4.0 + p**3 / 27.0
    w = np.cbrt(-q / 2.0 - np.copysign(np.sqrt(np.maximum(radicand, 0.0)), q))
    single = w - p / (3.0 * np.where(w == 0.0, 1.0, w))
    return np.where(radicand > 0.0, single, several) - a / 3.0


def _residuals(factors: Array, coefficients: Array) -> Array:
    """Coefficients (4, n) less those of the product of the factors."""
    (b1, g1, b2, g2), (b, c, d, e) = factors, coefficients
    return np.array([b - (b1 + b2), c - (g1 + g2 + b1 * b2), d - (b1 * g2 + b2 * g1), e - g1 * g2])


def _newton_step(factors: Array, coefficients: Array) -> Array:
    """Change (4, n) of the factors by which their product comes to have the coefficients, to first order."""
    b1, g1, b2, g2 = factors
    rb, rc, rd, re = _residuals(factors, coefficients)
    # With db2 = rb - db1 and dg2 = rc - b2 db1 - b1 db2 - dg1 two equations are left, for db1 and dg1.
    k, m = rc - b1 * rb, b1 - b2
    A, B, f = g2 - g1 + b1 * m, -m, rd - g1 * rb - b1 * k
    C, D, h = g1 * m, g2 - g1, re - g1 * k
    determinant = A * D - B * C
    db1, dg1 = (f * D - B * h) / determinant, (A * h - C * f) / determinant
    return np.array([db1, dg1, rb - db1, k + m * db1 - dg1])


def _error(factors: Array, coefficients: Array) -> Array:
    """Largest residual (n,), each of the size of the terms it is the difference of."""
    b1, g1, b2, g2 = np.abs(factors)
    sizes = np.array([b1 + b2, g1 + g2 + b1 * b2, b1 * g2 + b2 * g1, g1 * g2]) + np.abs(coefficients)
    return np.max(np.abs(_residuals(factors, coefficients)) / np.where(sizes == 0.0, 1.0, sizes), axis=0)


def _quadratic_roots(beta: Array, gamma: Array) -> ComplexArray:
    """Both roots (2, n) of s^2 + beta s + gamma, without cancellation."""
    half = -beta / 2.0
    discriminant = half**2 - gamma
    root = np.sqrt(np.abs(discriminant))
    far = half + np.copysign(root, half)
    near = np.where(far == 0.0, 0.0, gamma / np.where(far == 0.0, 1.0, far))
    real = discriminant >= 0.0
    roots = np.empty((2, beta.size), complex)
    roots.real = np.where(real, [far, near], half)
    roots.imag = np.where(real, 0.0, [root, -root])
    return roots


def _companion_roots(coefficients: Array) -> ComplexArray:
    """Roots (n, 4) as eigenvalues of companion matrices."""
    companion = np.zeros((coefficients.shape[1], 4, 4))
    companion[:, 1:, :3] = np.eye(3)
    companion[:, 0, :] = -coefficients.T
    return np.linalg.eigvals(companion).astype(complex)
