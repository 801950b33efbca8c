"""Rolling without slip: planar wheel on a curve."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

from riderless.models.constrained.constraint import Constraint
from riderless.models.constrained.jets import Jet, Rate


@dataclass(frozen=True)
class WheelOnProfile(Constraint):
    """Let the rim of `wheel` roll without slip on the curve y = profile(x), from above.

    The contact point is the point of the curve nearest to the centre, found anew at every moment, so it adds no
    state. The reactions are the force along the normal of the curve and, for slip, along its tangent times
    the square root of 1 + slope^2, N.
    """

    name: str
    wheel: str
    radius: float
    profile: Polynomial

    def residuals(self, motion: Any) -> list[Jet | Rate]:
        centre = motion.point(self.wheel, np.zeros(2))
        s = self.contact(centre)
        F, F1, F2 = self.profile, self.profile.deriv(), self.profile.deriv(2)
        slope = s.apply(F1, F2, F1.deriv(2))
        above = centre[1] - s.apply(F, F1, F2)
        steep = (1.0 + slope * slope).power(-0.5)
        gap = (above - (centre[0] - s) * slope) * steep - self.radius
        # the contact is at -radius times the normal (-slope, 1) * steep from the centre
        x_axis, y_axis = np.eye(2)
        arm = self.radius * steep * (x_axis * slope - y_axis)
        slip = motion.material_velocity(self.wheel, arm)
        return [gap, slip[0] + slip[1] * slope]

    def contact(self, centre: Jet) -> Jet:
        """Place x on the curve nearest to the centre, where g = (centre - curve) . tangent = 0."""
        x, y = centre.value
        line = Polynomial([0.0, 1.0])
        slope = self.profile.deriv()
        stationary = (x - line) + (y - self.profile) * slope
        roots = stationary.roots()
        places = roots.real[np.abs(roots.imag) < 1e-9]
        nearest = places[np.argmin((places - x) ** 2 + (self.profile(places) - y) ** 2)]
        nearest -= stationary(nearest) / stationary.deriv()(nearest)  # a Newton step: polishes the root

        # g(s, centre) = 0 stays true: its derivatives give those of s
        g_s = stationary.deriv()(nearest)
        g_centre = np.array([1.0, slope(nearest)])
        J = -(g_centre @ centre.J) / g_s
        s = Jet(nearest, -(g_centre @ centre.rate) / g_s, J, 0.0)
        g = (
            centre[0]
            - s
            + (centre[1] - s.apply(self.profile, slope, slope.deriv())) * s.apply(slope, slope.deriv(), slope.deriv(2))
        )
        return Jet(s.value, s.rate, J, -g.bias / g_s)
