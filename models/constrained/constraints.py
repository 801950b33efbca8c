"""Constraints of the bodies.

A class more, made of jets, is all it takes to add one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike, NDArray

from riderless.models.constrained.constraint import Constraint, normals, unit_vector
from riderless.models.constrained.jets import Jet, Rate, scalar_product
from riderless.models.constrained.loads import Load
from riderless.models.constrained.motion import GROUND, Motion


@dataclass(frozen=True)
class PointOnPlane(Constraint):
    """Keep `point` of `body` in the plane through `origin` of `base` with the given normal (in the plane: a line).

    The reaction is the force along the normal, N.
    """

    name: str
    body: str
    point: ArrayLike
    origin: ArrayLike
    normal: ArrayLike
    base: str = GROUND

    def residuals(self, motion: Motion) -> list[Jet | Rate]:
        normal = motion.direction(self.base, unit_vector(self.normal, f"the normal of {self.name!r}"))
        return [scalar_product(_reach(self, motion), normal)]


@dataclass(frozen=True)
class PointOnLine(Constraint):
    """Keep `point` of `body` on the line through `origin` of `base` along `axis`: in as many planes as that takes.

    The reactions are the forces along the normals of the line, N.
    """

    name: str
    body: str
    point: ArrayLike
    origin: ArrayLike
    axis: ArrayLike
    base: str = GROUND

    def residuals(self, motion: Motion) -> list[Jet | Rate]:
        axis = unit_vector(self.axis, f"the axis of {self.name!r}")
        reach = _reach(self, motion)
        return [scalar_product(reach, motion.direction(self.base, normal)) for normal in normals(axis)]


@dataclass(frozen=True)
class Spherical(Constraint):
    """Keep `point` of `body` at `origin` of `base`. The reactions are the force on `body` along the fixed axes, N."""

    name: str
    body: str
    point: ArrayLike
    origin: ArrayLike
    base: str = GROUND

    def residuals(self, motion: Motion) -> list[Jet | Rate]:
        return [_reach(self, motion)]


@dataclass(frozen=True)
class Revolute(Constraint):
    """Keep `point` and `axis` of `body` at `origin` and along `base_axis` of `base`.

    In the plane a `Spherical` joint is the hinge. The reactions are the force on `body` along the fixed axes [N] and
    the torques that hold the axes together [N m].
    """

    name: str
    body: str
    point: ArrayLike
    axis: ArrayLike
    origin: ArrayLike
    base_axis: ArrayLike
    base: str = GROUND

    def residuals(self, motion: Motion) -> list[Jet | Rate]:
        axis = motion.direction(self.body, unit_vector(self.axis, f"the axis of {self.name!r}"))
        across = normals(unit_vector(self.base_axis, f"the base axis of {self.name!r}"))
        return [_reach(self, motion), *(scalar_product(axis, motion.direction(self.base, normal)) for normal in across)]


@dataclass(frozen=True)
class Universal(Revolute):
    """Keep `point` of `body` at `origin` of `base`, and the arms of the cross, `axis` and `base_axis`, perpendicular.

    The reactions are the force on `body` along the fixed axes [N] and the torque about the common normal of the arms
    [N m], which the joint transmits.
    """

    def residuals(self, motion: Motion) -> list[Jet | Rate]:
        axis = motion.direction(self.body, unit_vector(self.axis, f"the axis of {self.name!r}"))
        base_axis = motion.direction(self.base, unit_vector(self.base_axis, f"the base axis of {self.name!r}"))
        return [_reach(self, motion), scalar_product(axis, base_axis)]


@dataclass(frozen=True)
class Slider(PointOnLine):
    """Keep `point` of `body` on the line through `origin` of `base` along `axis`, and the axes of both parallel.

    The reactions are the forces across the line [N] and the torques that keep the body from turning [N m].
    """

    def residuals(self, motion: Motion) -> list[Jet | Rate]:
        axis = unit_vector(self.axis, f"the axis of {self.name!r}")
        across = normals(axis)
        pairs = [(axis, across[0])] if len(across) == 1 else [(axis, across[0]), (axis, across[1]), tuple(across)]
        turned = (scalar_product(motion.direction(self.body, a), motion.direction(self.base, b)) for a, b in pairs)
        return [*super().residuals(motion), *turned]


@dataclass(frozen=True)
class LockedRotation(Constraint):
    """Keep `direction` of `body` perpendicular to `reference` of `base`.

    This locks the relative rotation about their common normal. The reaction is the torque about it, N m.
    """

    name: str
    body: str
    direction: ArrayLike
    reference: ArrayLike
    base: str = GROUND

    def residuals(self, motion: Motion) -> list[Jet | Rate]:
        direction = motion.direction(self.body, unit_vector(self.direction, f"the direction of {self.name!r}"))
        reference = motion.direction(self.base, unit_vector(self.reference, f"the reference of {self.name!r}"))
        return [scalar_product(direction, reference)]


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


@dataclass(frozen=True)
class RollingKnifeEdge(Constraint):
    """Let the rim of `wheel` roll without slip on the plane through the origin with normal `up`.

    One constraint on position (the lowest point of the rim is in the plane) and two on velocity (the material point
    there stands still). The reactions are the contact force along `up` and along the two `normals` of it, N.
    """

    name: str
    wheel: str
    axle: ArrayLike
    radius: float
    up: ArrayLike

    def residuals(self, motion: Any) -> list[Jet | Rate]:
        up = unit_vector(self.up, f"the normal of {self.name!r}")
        height = motion.point(self.wheel, np.zeros(3)).dot(up)
        arm = self.arm(motion)
        slip = motion.material_velocity(self.wheel, arm)
        return [height + arm.dot(up), *(slip.dot(along) for along in normals(up))]

    def arm(self, motion: Any) -> Jet:
        """From the centre of the wheel to its contact point: down the plane of the wheel."""
        up = unit_vector(self.up, f"the normal of {self.name!r}")
        axle = motion.direction(self.wheel, unit_vector(self.axle, f"the axle of {self.name!r}"))
        tilt = axle.dot(up)
        steepest = (1.0 - tilt * tilt).power(-0.5)
        return self.radius * ((axle * tilt - up) * steepest)

    def force(self, reactions: NDArray) -> NDArray:
        """Contact force on the wheel along the fixed axes, N, from the three reactions."""
        up = unit_vector(self.up, f"the normal of {self.name!r}")
        return np.asarray(reactions) @ np.array([up, *normals(up)])


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


@dataclass(frozen=True)
class Energy(Constraint):
    """Keep the kinetic energy and the potential energy of `loads` at `level` [J].

    `by` is the generalised force (n,) per unit of the reaction, such as `Torque.per_unit`: ideal reactions do no
    work and cannot keep it. Where nothing moves the energy cannot be influenced, which is reported as dependence.
    """

    name: str
    level: float
    loads: Sequence[Load]
    by: Callable[[Any], NDArray]

    def residuals(self, motion: Any) -> list[Jet | Rate]:
        energy = motion.kinetic_energy() + sum(load.potential(motion) for load in self.loads)
        conservative = sum((load.force(motion) for load in self.loads), np.zeros(motion.n))
        return [Rate(energy - self.level, motion.w @ motion.mass_matrix(), -float(motion.w @ conservative))]

    def actions(self, motion: Any) -> NDArray | None:
        return np.asarray(self.by(motion))[:, None]


def _reach(joint: Any, motion: Motion) -> Jet:
    """Way from `origin` of `base` to `point` of `body`."""
    return motion.point(joint.body, joint.point) - motion.point(joint.base, np.asarray(joint.origin, float))
