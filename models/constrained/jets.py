"""Quantities with their derivatives, for constraints.

Let w be the velocities of all bodies. A `Jet` is a quantity of position f (a distance, a direction cosine) with

    f,    f' = J w + (explicit change with time),    f'' = J w' + bias

and a `Rate` is a quantity of velocity f (a slip speed, an energy) with

    f,    f' = J w' + bias.

Sums, products and smooth functions of jets are jets again (the chain and product rules, to second order), so a
constraint states f and its acceleration follows. Values are scalars () or vectors (d,); J then is (n,) or (d, n).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Rate:
    """Quantity of velocity, f' = J w' + bias."""

    value: Any
    J: NDArray
    bias: Any

    __array_ufunc__ = None  # numpy leaves `array @ rate` and the like to the operators below

    def __add__(self, other: Rate) -> Rate:
        return Rate(self.value + other.value, self.J + other.J, self.bias + other.bias)

    def __mul__(self, factor: Jet) -> Rate:
        """Multiply by a scalar jet."""
        bias = self.bias * factor.value + self.value * factor.rate
        return Rate(self.value * factor.value, self.J * factor.value, bias)

    def __getitem__(self, i: Any) -> Rate:
        return Rate(self.value[i], self.J[i], self.bias[i])

    def dot(self, other: NDArray) -> Rate:
        """Scalar product with a constant vector."""
        return Rate(self.value @ other, other @ self.J, self.bias @ other)


@dataclass(frozen=True, slots=True)
class Jet:
    """Quantity of position, f'' = J w' + bias."""

    value: Any
    rate: Any
    J: NDArray
    bias: Any

    __array_ufunc__ = None

    def __add__(self, other: Any) -> Jet:
        if isinstance(other, Jet):
            return Jet(self.value + other.value, self.rate + other.rate, self.J + other.J, self.bias + other.bias)
        return Jet(self.value + other, self.rate, self.J, self.bias)

    __radd__ = __add__

    def __neg__(self) -> Jet:
        return Jet(-self.value, -self.rate, -self.J, -self.bias)

    def __sub__(self, other: Any) -> Jet:
        return self + (-other)

    def __rsub__(self, other: Any) -> Jet:
        return -self + other

    def __mul__(self, s: Any) -> Jet:
        """Multiply by a number or a scalar jet; a scalar jet also times a constant vector."""
        if isinstance(s, Jet):
            if np.ndim(s.value):  # a vector: let the scalar be the factor
                return s * self
            return Jet(
                self.value * s.value,
                self.rate * s.value + self.value * s.rate,
                self.J * s.value + np.multiply.outer(self.value, s.J),
                self.bias * s.value + self.value * s.bias + 2.0 * self.rate * s.rate,
            )
        return Jet(self.value * s, self.rate * s, np.multiply.outer(s, self.J), self.bias * s)

    __rmul__ = __mul__

    def __getitem__(self, i: Any) -> Jet:
        return Jet(self.value[i], self.rate[i], self.J[i], self.bias[i])

    def dot(self, other: Any) -> Jet:
        """Scalar product with a constant vector or a vector jet."""
        if isinstance(other, Jet):
            return Jet(
                self.value @ other.value,
                self.rate @ other.value + self.value @ other.rate,
                other.value @ self.J + self.value @ other.J,
                self.bias @ other.value + self.value @ other.bias + 2.0 * (self.rate @ other.rate),
            )
        return Jet(self.value @ other, self.rate @ other, other @ self.J, self.bias @ other)

    def apply(self, f: Callable, f1: Callable, f2: Callable) -> Jet:
        """f of a scalar jet, given f and its first two derivatives."""
        value, slope, curvature = f(self.value), f1(self.value), f2(self.value)
        bias = slope * self.bias + curvature * self.rate**2
        return Jet(value, slope * self.rate, slope * self.J, bias)

    def power(self, p: float) -> Jet:
        """Power p of a positive scalar jet."""
        return self.apply(lambda x: x**p, lambda x: p * x ** (p - 1.0), lambda x: p * (p - 1.0) * x ** (p - 2.0))


def scalar_product(a: Any, b: Any) -> Any:
    """Scalar product of two vectors, either of which may be a jet."""
    if isinstance(a, Jet):
        return a.dot(b)
    return b.dot(a) if isinstance(b, Jet) else a @ b


def skew(a: NDArray) -> NDArray:
    """Matrix of the cross product: skew(a) @ b = a x b."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])
