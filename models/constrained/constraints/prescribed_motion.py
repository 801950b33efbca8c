"""Constraint to a prescribed motion.

A drive, or a control goal whose reaction is the control (servo constraint).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riderless.models.constrained.constraint import Constraint
from riderless.models.constrained.jets import Jet, Rate


@dataclass(frozen=True)
class PrescribedMotion(Constraint):
    """Make a scalar of the motion follow `target`.

    Parameters
    ----------
    name : str
    quantity : function of the motion
        The jet that is to follow.
    target : function of time
        Its wanted value and first two derivatives, as a tuple.
    by : function of the motion, optional
        Generalised force (n,) per unit of what makes it follow, such as `Torque.per_unit`. Without it the
        force acts along the quantity itself, as an ideal drive does. The reaction is the size of it.
    """

    name: str
    quantity: Callable[[Any], Jet]
    target: Callable[[float], tuple[float, float, float]]
    by: Callable[[Any], NDArray] | None = None

    def residuals(self, motion: Any) -> list[Jet | Rate]:
        value, rate, acceleration = self.target(motion.t)
        f = self.quantity(motion)
        return [Jet(f.value - value, f.rate - rate, f.J, f.bias - acceleration)]

    def actions(self, motion: Any) -> NDArray | None:
        return None if self.by is None else np.asarray(self.by(motion))[:, None]
