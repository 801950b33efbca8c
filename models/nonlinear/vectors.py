"""Vectors and tensors as tuples for compiled kernels.

Vectors of three floats, tensors of six, and sine and cosine, inlined by the compiler. Tuples of fixed length live in
registers; nothing here calls, branches or allocates, so that a loop over many bicycles can do several of them at once.
"""

import math

import numpy as np

from riderless.firmware_interface.kernels import njit

# No reassociation (it would undo the exact reduction in `sincos`), and NaN stays NaN.
FASTMATH = {"contract", "nsz", "arcp"}
compiled = njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH)
inlined = njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH, forceinline=True)

_TWO_OVER_PI = 2.0 / math.pi
# pi/2 in three parts: 33 bits, 33 bits and the rest, so that small multiples of the first two are exact.
_HALF_PI = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
_SIN = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(10))
_COS = tuple((-1.0) ** k / math.factorial(2 * k) for k in range(11))


@inlined
def sincos(x):
    """Sine and cosine [1] of any angle x [rad] below 1e5 in size, to 5e-16."""
    k = np.floor(x * _TWO_OVER_PI + 0.5)
    r = ((x - k * _HALF_PI[0]) - k * _HALF_PI[1]) - k * _HALF_PI[2]
    y = r * r
    s = _SIN[3] + y * (_SIN[4] + y * (_SIN[5] + y * (_SIN[6] + y * _SIN[7])))
    s = r + r * (y * (_SIN[1] + y * (_SIN[2] + y * s)))
    c = _COS[4] + y * (_COS[5] + y * (_COS[6] + y * (_COS[7] + y * _COS[8])))
    c = 1.0 + y * (_COS[1] + y * (_COS[2] + y * (_COS[3] + y * c)))
    quarter = k - 4.0 * np.floor(0.25 * k)  # 0, 1, 2 or 3
    odd = quarter == 1.0 or quarter == 3.0
    sine = c if odd else s
    cosine = s if odd else c
    return (-sine if quarter > 1.5 else sine, -cosine if (quarter == 1.0 or quarter == 2.0) else cosine)


@inlined
def sincos_tilt(x):
    """Sine and cosine [1] of an angle below 3 rad in size, to 1e-15: the series at half of it."""
    r = 0.5 * x
    y = r * r
    s = _SIN[4] + y * (_SIN[5] + y * (_SIN[6] + y * (_SIN[7] + y * (_SIN[8] + y * _SIN[9]))))
    s = r + r * (y * (_SIN[1] + y * (_SIN[2] + y * (_SIN[3] + y * s))))
    c = _COS[5] + y * (_COS[6] + y * (_COS[7] + y * (_COS[8] + y * (_COS[9] + y * _COS[10]))))
    c = 1.0 + y * (_COS[1] + y * (_COS[2] + y * (_COS[3] + y * (_COS[4] + y * c))))
    return 2.0 * s * c, 1.0 - 2.0 * s * s


@inlined
def dot3(a, b):
    """Scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross3(a, b):
    """Vector product."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@inlined
def mix(h, a, k, b):
    """Vector h a + k b.

    Parameters
    ----------
    h : float
    a : (3,) tuple
    k : float
    b : (3,) tuple
    """
    return (h * a[0] + k * b[0], h * a[1] + k * b[1], h * a[2] + k * b[2])


@inlined
def add(a, b):
    """Vector sum."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@inlined
def apply(J, a):
    """Symmetric tensor (xx, yy, zz, xy, xz, yz) times vector."""
    return (
        J[0] * a[0] + J[3] * a[1] + J[4] * a[2],
        J[3] * a[0] + J[1] * a[1] + J[5] * a[2],
        J[4] * a[0] + J[5] * a[1] + J[2] * a[2],
    )


@inlined
def tensor(I11, I13, I22, I33, e1, e2, e3):
    """Tensor (xx, yy, zz, xy, xz, yz) of a body with plane of symmetry (e1, e3), given in its axes.

    Parameters
    ----------
    I11, I13, I22, I33 : float
        Elements in the body's axes, kg m^2.
    e1, e2, e3 : (3,) tuples
        Those axes, unit vectors.
    """
    h1, h3 = mix(I11, e1, I13, e3), mix(I13, e1, I33, e3)
    h2 = (I22 * e2[0], I22 * e2[1], I22 * e2[2])
    return (
        h1[0] * e1[0] + h2[0] * e2[0] + h3[0] * e3[0],
        h1[1] * e1[1] + h2[1] * e2[1] + h3[1] * e3[1],
        h1[2] * e1[2] + h2[2] * e2[2] + h3[2] * e3[2],
        h1[0] * e1[1] + h2[0] * e2[1] + h3[0] * e3[1],
        h1[0] * e1[2] + h2[0] * e2[2] + h3[0] * e3[2],
        h1[1] * e1[2] + h2[1] * e2[2] + h3[1] * e3[2],
    )


@inlined
def tensor_rolled(I11, I13, I22, I33, s4, c4, s5, c5):
    """Tensor as of `tensor`, for a body that was only pitched about y and then rolled about x.

    Parameters
    ----------
    I11, I13, I22, I33 : float
        Elements in the body's axes, kg m^2.
    s4, c4 : float
        Sine and cosine of the roll.
    s5, c5 : float
        Sine and cosine of the pitch.
    """
    h1, h3 = I11 * c5 + I13 * s5, I13 * c5 + I33 * s5
    xx, xz = c5 * h1 + s5 * h3, c5 * h3 - s5 * h1
    zz = I11 + I33 - xx
    yy = I22 * c4 * c4 + zz * s4 * s4
    return (xx, yy, I22 + zz - yy, -s4 * xz, c4 * xz, (I22 - zz) * s4 * c4)
