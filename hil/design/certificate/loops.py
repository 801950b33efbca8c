"""Loop matrices over speed, at the corners of a box of acceleration and deviations.

Each axis of deviations has a corner in its middle too: half as long, a cell bends a quarter as much.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np

from riderless.hil.controllers.controller import Controller
from riderless.hil.design.closed_loop import LoopHardware, SampledLoop
from riderless.models.array_types import Array
from riderless.models.linear.perturbed import Variant

Machine = Callable[[Array], tuple[Variant, float]]
"""Machine at a point (q,) of the box, each coordinate from -1 to 1: its variant, and the delay [s] beyond the rig's."""


class LoopBox:
    """Sampled loops of all machines of a box, at an acceleration of either sign.

    Parameters
    ----------
    rig : Rig
    controller : Controller
    machine : callable
        See `Machine`.
    directions : int
        q, axes of the box beside acceleration.
    acceleration : float
        Largest [m/s^2].
    """

    def __init__(
        self, rig: LoopHardware, controller: Controller, machine: Machine, directions: int, acceleration: float
    ) -> None:
        self.dt, self.acceleration, self.directions = rig.dt, acceleration, directions

        def loop(point: Array) -> SampledLoop:
            variant, more_delay = machine(point[:directions])
            a = acceleration * point[directions] if acceleration else 0.0
            real = replace(variant, acceleration=float(a)) if a else variant
            return SampledLoop.of_rig(rig, controller, real=real, more_delay=more_delay)

        axes = directions + (acceleration > 0.0)
        sides = [(-1.0, 0.0, 1.0)] * directions + [(-1.0, 1.0)] * (axes - directions)
        self.points = np.array(list(product(*sides)))
        self.outer = np.all(np.abs(self.points) == 1.0, axis=1)
        self._share = np.where(np.arange(axes) < directions, 0.25, 1.0)  # of the bend of an axis, in one of its cells
        self._corners = [loop(point) for point in self.points]
        self._centre = loop(np.zeros(max(axes, directions + 1)))
        self._ends = [(loop(-row), loop(row)) for row in np.eye(axes)]

    @property
    def states(self) -> tuple[str, ...]:
        """States of the loop."""
        return self._centre.states

    def centre(self, v: float) -> Array:
        """Loop matrix (m, m) of the machine as it is thought to be, at a kept speed ``v`` [m/s]."""
        return self._centre.matrix(v)

    def corners(self, v: float) -> Array:
        """Loop matrices (k, m, m) at the corners of all cells at speed ``v`` [m/s]; the `outer` ones are the box's."""
        return np.array([loop.matrix(v) for loop in self._corners])

    def bends(self, v: float) -> Array:
        """Departure of a cell's middle from the mean of its ends, along each axis; (axes, m, m)."""
        centre = self.centre(v)
        bends = [(low.matrix(v) + high.matrix(v)) / 2.0 - centre for low, high in self._ends]
        return self._share[:, np.newaxis, np.newaxis] * np.array(bends).reshape(-1, *centre.shape)
