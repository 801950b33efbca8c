"""Slider-crank of the textbook (Yudintsev 2008, section 2.6): nine accelerations, eight constraints.

The crank turns about the origin, the rod leads from its pin to the block, the block slides along the x axis.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riderless.models.constrained.constraints import Slider, Spherical
from riderless.models.constrained.loads import Gravity, Load
from riderless.models.constrained.planar import PlanarBody
from riderless.models.constrained.system import System


@dataclass(frozen=True)
class SliderCrank:
    """Lengths [m], masses [kg], inertias about the centres [kg m^2] and gravity [m/s^2] along -y."""

    crank: float = 0.1
    rod: float = 0.3
    masses: tuple[float, float, float] = (0.5, 0.8, 0.4)
    inertias: tuple[float, float, float] = (1e-3, 6e-3, 1e-4)
    g: float = 9.81

    def system(self, loads: tuple[Load, ...] = (), lam: float = 100.0) -> System:
        """Mechanism with its own weight and further loads."""
        names = ("crank", "rod", "block")
        bodies = [PlanarBody(*each) for each in zip(names, self.masses, self.inertias, strict=True)]
        a, l = self.crank / 2.0, self.rod / 2.0
        joints = [
            Spherical("bearing", "crank", [-a, 0.0], [0.0, 0.0]),
            Spherical("crank pin", "rod", [-l, 0.0], [a, 0.0], "crank"),
            Spherical("block pin", "rod", [l, 0.0], [0.0, 0.0], "block"),
            Slider("guide", "block", [0.0, 0.0], [0.0, 0.0], [1.0, 0.0]),
        ]
        return System(bodies, joints, [Gravity((0.0, -self.g)), *loads], lam)

    def state(self, theta: float, rate: float) -> NDArray:
        """State with the crank at the angle `theta` [rad] turning at `rate` [rad/s]."""
        r, l = self.crank, self.rod
        beta = -np.arcsin(r * np.sin(theta) / l)  # of the rod
        beta_dot = -r * np.cos(theta) * rate / (l * np.cos(beta))
        pin, pin_dot = r * _e(theta), r * rate * _n(theta)
        block = pin + l * _e(beta)
        block_dot = pin_dot + l * beta_dot * _n(beta)
        return self.system().state(
            [
                PlanarBody.place(pin / 2.0, theta),
                PlanarBody.place(pin + l / 2.0 * _e(beta), float(beta)),
                PlanarBody.place(block),
            ],
            [
                PlanarBody.move(pin_dot / 2.0, rate),
                PlanarBody.move(pin_dot + l / 2.0 * beta_dot * _n(beta), float(beta_dot)),
                PlanarBody.move(block_dot),
            ],
        )


def _e(angle: float) -> NDArray:
    return np.array([np.cos(angle), np.sin(angle)])


def _n(angle: float) -> NDArray:
    return np.array([-np.sin(angle), np.cos(angle)])
