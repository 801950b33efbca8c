"""Four-bar linkage, a closed loop: three bars in a row, the last pinned to the ground (Yudintsev 2008, cut joints).

As a tree the loop is cut at that pin: three angles, two equations of constraint, one degree of freedom.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from riderless.models.constrained.constraints import Spherical
from riderless.models.constrained.planar import PlanarBody
from riderless.models.constrained.tree import Tree


@dataclass(frozen=True)
class FourBar:
    """Bars of the given lengths [m] and masses [kg], uniform; the ground pins lie at the origin and (span, 0)."""

    lengths: tuple[float, float, float] = (1.0, 2.0, 1.5)
    masses: tuple[float, float, float] = (1.0, 2.0, 1.5)
    span: float = 2.2

    names: ClassVar[tuple[str, ...]] = ("crank", "coupler", "rocker")

    def tree(self) -> Tree:
        """Chain with the last pin cut."""
        bars = tuple(
            PlanarBody(name, m, m * l**2 / 12.0)
            for name, m, l in zip(self.names, self.masses, self.lengths, strict=True)
        )
        half = np.array(self.lengths) / 2.0
        inner = np.column_stack([-half, np.zeros(3)])
        outer = np.column_stack([[0.0, half[0], half[1]], np.zeros(3)])
        return Tree(bars, (-1, 0, 1), inner, outer)

    def cut(self) -> Spherical:
        """Joint that was cut, which the tree lacks."""
        return Spherical("ground pin", "rocker", [self.lengths[2] / 2.0, 0.0], [self.span, 0.0])

    def angles(self, crank: float) -> NDArray:
        """Absolute angles (3,) of the bars, the coupler above, with the crank at the given angle."""
        a, b, c = self.lengths
        to_pin = np.array([self.span - a * np.cos(crank), -a * np.sin(crank)])
        reach, towards = np.hypot(*to_pin), np.arctan2(to_pin[1], to_pin[0])
        lift = np.arccos((b**2 + reach**2 - c**2) / (2.0 * b * reach))
        elbow = np.arccos((c**2 + reach**2 - b**2) / (2.0 * c * reach))
        return np.array([crank, towards + lift, towards - elbow])

    def rates(self, angles: NDArray, crank: float) -> NDArray:
        """Angular rates (3,) of the bars, rad/s, with the crank turning at the given one."""
        a, b, c = self.lengths
        e = np.array([-np.sin(angles), np.cos(angles)])
        others = np.linalg.solve(np.column_stack([b * e[:, 1], c * e[:, 2]]), -a * crank * e[:, 0])
        return np.array([crank, *others])
