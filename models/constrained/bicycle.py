"""Bicycle from the equations of Newton and Euler.

Four bodies, three hinges, two rolling knife edges. Nothing here is shared with the Kane derivation of
`riderless.models.nonlinear.equations` but the names of the coordinates, so that each checks the other. Body axes are
parallel to x forward, y right, z down when the bicycle stands upright and straight; the bodies are R rear wheel, B rear
frame, H front frame and F front wheel (Meijaard et al. 2007).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riderless.models.constrained.constraint import Constraint
from riderless.models.constrained.constraints import Revolute, RollingKnifeEdge
from riderless.models.constrained.jets import Jet
from riderless.models.constrained.loads import Gravity, Load, Torque
from riderless.models.constrained.motion import Bodies
from riderless.models.constrained.spatial import Body
from riderless.models.constrained.system import Solution, System
from riderless.models.coordinates import Q_DELTA, Q_PHI, Q_PSI, Q_THETA, Q_THETA_F, Q_THETA_R, Q_X, Q_Y
from riderless.models.parameters import Bicycle

FORWARD, DOWN = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
UP = (0.0, 0.0, -1.0)
AXLE = np.array([0.0, 1.0, 0.0])
REAR_WHEEL, REAR_FRAME, FRONT_FRAME, FRONT_WHEEL = "R", "B", "H", "F"
REAR_CONTACT, FRONT_CONTACT = "rear contact", "front contact"


@dataclass(frozen=True)
class ConstrainedBicycle:
    """Bicycle as a `System`, and the way between its bodies and the coordinates of `models.nonlinear.equations`.

    Parameters
    ----------
    bicycle : Bicycle
    steer_torque, drive_torque, roll_torque : float or function of time
        T_delta between the frames about the steer axis; on the rear wheel against the rear frame about the axle
        (negative drives forward); of the ground on the rear frame about its heading. N m.
    lam : float
        Decay rate of the constraints, 1/s.
    extra : sequence of Constraint
        More of them, such as a servo.
    """

    bicycle: Bicycle
    steer_torque: float | Callable[[float], float] = 0.0
    drive_torque: float | Callable[[float], float] = 0.0
    roll_torque: float | Callable[[float], float] = 0.0
    lam: float = 10.0
    extra: Sequence[Constraint] = ()

    @cached_property
    def centres(self) -> dict[str, NDArray]:
        """Centres of mass of the upright bicycle, from its rear contact, m."""
        b = self.bicycle
        return {
            REAR_WHEEL: np.array([0.0, 0.0, -b.rR]),
            REAR_FRAME: np.array([b.xB, 0.0, b.zB]),
            FRONT_FRAME: np.array([b.xH, 0.0, b.zH]),
            FRONT_WHEEL: np.array([b.w, 0.0, -b.rF]),
        }

    @cached_property
    def steer_axis(self) -> NDArray:
        """Unit vector down the steering head of the upright bicycle."""
        return np.array([np.sin(self.bicycle.lam), 0.0, np.cos(self.bicycle.lam)])

    @cached_property
    def contacts(self) -> tuple[RollingKnifeEdge, RollingKnifeEdge]:
        b = self.bicycle
        return (
            RollingKnifeEdge(REAR_CONTACT, REAR_WHEEL, AXLE, b.rR, UP),
            RollingKnifeEdge(FRONT_CONTACT, FRONT_WHEEL, AXLE, b.rF, UP),
        )

    @cached_property
    def system(self) -> System:
        """Bodies, hinges, contacts and loads."""
        b = self.bicycle
        bodies = [
            Body(REAR_WHEEL, b.mR, np.diag([b.IRxx, b.IRyy, b.IRxx])),
            Body(REAR_FRAME, b.mB, _symmetric(b.IBxx, b.IByy, b.IBzz, b.IBxz)),
            Body(FRONT_FRAME, b.mH, _symmetric(b.IHxx, b.IHyy, b.IHzz, b.IHxz)),
            Body(FRONT_WHEEL, b.mF, np.diag([b.IFxx, b.IFyy, b.IFxx])),
        ]
        head = np.array([b.w + b.c, 0.0, 0.0])  # where the steer axis meets the ground
        hinges = [
            self._hinge("rear axle", REAR_WHEEL, REAR_FRAME, self.centres[REAR_WHEEL], AXLE),
            self._hinge("steering head", FRONT_FRAME, REAR_FRAME, head, self.steer_axis),
            self._hinge("front axle", FRONT_WHEEL, FRONT_FRAME, self.centres[FRONT_WHEEL], AXLE),
        ]
        loads: list[Load] = [
            Gravity((0.0, 0.0, b.g)),
            self.steer_motor(self.steer_torque),
            Torque(REAR_WHEEL, self.drive_torque, REAR_FRAME, (0.0, 1.0, 0.0)),
            _RollTorque(self.roll_torque),
        ]
        return System(bodies, [*hinges, *self.contacts, *self.extra], loads, self.lam)

    def steer_motor(self, torque: float | Callable[[float], float]) -> Torque:
        """Torque [N m] between the frames about the steer axis."""
        s = self.steer_axis
        return Torque(FRONT_FRAME, torque, REAR_FRAME, (float(s[0]), float(s[1]), float(s[2])))

    def state(self, q: ArrayLike, u: ArrayLike) -> NDArray:
        """State of the bodies from coordinates and speeds (8,).

        Of `u` all but the path speeds X and Y are used; those follow from a rear wheel that does not slip.
        """
        q, u = np.asarray(q, float), np.asarray(u, float)
        b, axes, spins = self.bicycle, self._axes(q), {}
        heading, lateral = axes["yaw"][:, 0], axes[REAR_FRAME][:, 1]
        spins[REAR_FRAME] = u[Q_PSI] * DOWN + u[Q_PHI] * heading + u[Q_THETA] * lateral
        spins[REAR_WHEEL] = spins[REAR_FRAME] + u[Q_THETA_R] * lateral
        spins[FRONT_FRAME] = spins[REAR_FRAME] + u[Q_DELTA] * (axes[REAR_FRAME] @ self.steer_axis)
        spins[FRONT_WHEEL] = spins[FRONT_FRAME] + u[Q_THETA_F] * axes[FRONT_FRAME][:, 1]

        up_the_wheel = -b.rR * axes["roll"][:, 2]
        places = {REAR_WHEEL: np.array([q[Q_X], q[Q_Y], 0.0]) + up_the_wheel}
        moves = {REAR_WHEEL: np.cross(spins[REAR_WHEEL], up_the_wheel)}
        head = np.array([b.w + b.c, 0.0, 0.0])
        for body, base, joint in (
            (REAR_FRAME, REAR_WHEEL, self.centres[REAR_WHEEL]),
            (FRONT_FRAME, REAR_FRAME, head),
            (FRONT_WHEEL, FRONT_FRAME, self.centres[FRONT_WHEEL]),
        ):
            to_joint = axes[base] @ (joint - self.centres[base])
            from_joint = axes[body] @ (self.centres[body] - joint)
            places[body] = places[base] + to_joint + from_joint
            moves[body] = moves[base] + np.cross(spins[base], to_joint) + np.cross(spins[body], from_joint)
        order = (REAR_WHEEL, REAR_FRAME, FRONT_FRAME, FRONT_WHEEL)
        return self.system.state(
            [Body.place(places[each], axes[each]) for each in order],
            [Body.move(moves[each], spins[each]) for each in order],
        )

    def coordinates(self, x: NDArray, near: ArrayLike | None = None) -> NDArray:
        """Coordinates q (8,) of a state; yaw and wheel angles to the turn nearest to those of `near`."""
        motion = self.system.motion(0.0, x)
        R = {name: frame.R for name, frame in motion.frames.items()}
        B = R[REAR_FRAME]
        q = np.empty(8)
        q[Q_X], q[Q_Y] = self.contact_point(motion).value[:2]
        q[Q_PSI] = np.arctan2(-B[0, 1], B[1, 1])
        q[Q_PHI] = np.arcsin(B[2, 1])
        q[Q_THETA] = np.arctan2(-B[2, 0], B[2, 2]) + self.bicycle.lam
        q[Q_THETA_R] = _turn(B.T @ R[REAR_WHEEL], AXLE)
        q[Q_DELTA] = _turn(B.T @ R[FRONT_FRAME], self.steer_axis)
        q[Q_THETA_F] = _turn(R[FRONT_FRAME].T @ R[FRONT_WHEEL], AXLE)
        if near is not None:
            turns = [Q_PSI, Q_THETA_R, Q_THETA_F]
            q[turns] += 2.0 * np.pi * np.round((np.asarray(near, float)[turns] - q[turns]) / (2.0 * np.pi))
        return q

    def speeds(self, x: NDArray) -> NDArray:
        """Speeds u (8,) of a state."""
        motion = self.system.motion(0.0, x)
        spins = {name: frame.omega for name, frame in motion.frames.items()}
        return self._rates(motion, self.contact_point(motion).rate, spins, np.zeros(3))

    def accelerations(self, x: NDArray, t: float = 0.0) -> tuple[NDArray, Solution]:
        """Second derivatives (8,) of the coordinates, and the accelerations and reactions of the bodies."""
        motion = self.system.motion(t, x)
        solution = self.system.solve(t, x)
        spins = {name: solution.acceleration[frame.spin] for name, frame in motion.frames.items()}
        u, B = self.speeds(x), motion.frames[REAR_FRAME].R
        yawing = u[Q_PSI] * DOWN
        rolling = u[Q_PHI] * _heading(B)
        carried = np.cross(yawing, rolling) + np.cross(yawing + rolling, u[Q_THETA] * B[:, 1])
        contact = self.contact_point(motion)
        return self._rates(motion, contact.J @ solution.acceleration + contact.bias, spins, carried), solution

    def contact_forces(self, x: NDArray, t: float = 0.0) -> NDArray:
        """Forces of the ground on rear then front wheel (6,): along the wheel's heading, to its right, upwards; N."""
        motion = self.system.motion(t, x)
        reactions = self.system.solve(t, x).reactions
        forces = []
        for contact in self.contacts:
            force = contact.force(reactions[contact.name])
            ahead = _heading(motion.frames[contact.wheel].R)
            right = np.array([-ahead[1], ahead[0], 0.0])
            forces += [force @ ahead, force @ right, -force[2]]
        return np.array(forces)

    def lean(self, motion: Any) -> Jet:
        """Lean angle of the rear frame as a jet: the sine of it is the fall of its axle, per length."""
        return motion.direction(REAR_FRAME, AXLE)[2].apply(
            np.arcsin, lambda s: 1.0 / np.sqrt(1.0 - s * s), lambda s: s * (1.0 - s * s) ** -1.5
        )

    def contact_point(self, motion: Bodies) -> Jet:
        """Contact point of the rear wheel, as a jet."""
        return motion.point(REAR_WHEEL, np.zeros(3)) + self.contacts[0].arm(motion)

    def _hinge(self, name: str, body: str, base: str, joint: NDArray, axis: NDArray) -> Revolute:
        return Revolute(name, body, joint - self.centres[body], axis, joint - self.centres[base], axis, base)

    def _axes(self, q: NDArray) -> dict[str, NDArray]:
        """Axes of every body as columns: yaw, roll, pitch, then steer and wheels."""
        axes = {"yaw": _rotation(q[Q_PSI], DOWN)}
        axes["roll"] = axes["yaw"] @ _rotation(q[Q_PHI], FORWARD)
        axes[REAR_FRAME] = axes["roll"] @ _rotation(q[Q_THETA] - self.bicycle.lam, AXLE)
        axes[REAR_WHEEL] = axes[REAR_FRAME] @ _rotation(q[Q_THETA_R], AXLE)
        axes[FRONT_FRAME] = axes[REAR_FRAME] @ _rotation(q[Q_DELTA], self.steer_axis)
        axes[FRONT_WHEEL] = axes[FRONT_FRAME] @ _rotation(q[Q_THETA_F], AXLE)
        return axes

    def _rates(self, motion: Bodies, contact: NDArray, spins: dict[str, NDArray], carried: NDArray) -> NDArray:
        """Rates (8,) of the coordinates from what the contact point and the bodies' rotations do.

        `carried` is the part of the rear frame's rotation that no rate makes: for accelerations, its axes being
        turned by one another. The other axes are turned by bodies they belong to, which changes nothing along them.
        """
        B, H = motion.frames[REAR_FRAME].R, motion.frames[FRONT_FRAME].R
        u = np.empty(8)
        u[Q_X], u[Q_Y] = contact[:2]
        axes = np.column_stack([DOWN, _heading(B), B[:, 1]])
        u[Q_PSI], u[Q_PHI], u[Q_THETA] = np.linalg.solve(axes, spins[REAR_FRAME] - carried)
        u[Q_THETA_R] = (spins[REAR_WHEEL] - spins[REAR_FRAME]) @ B[:, 1]
        u[Q_DELTA] = (spins[FRONT_FRAME] - spins[REAR_FRAME]) @ (B @ self.steer_axis)
        u[Q_THETA_F] = (spins[FRONT_WHEEL] - spins[FRONT_FRAME]) @ H[:, 1]
        return u


@dataclass(frozen=True)
class _RollTorque(Load):
    """Torque of the ground on the rear frame about its heading."""

    torque: float | Callable[[float], float]

    def force(self, motion: Bodies) -> NDArray:
        torque = self.torque(motion.t) if callable(self.torque) else self.torque
        return motion.couple(REAR_FRAME, torque * _heading(motion.frames[REAR_FRAME].R))


def _heading(R: NDArray) -> NDArray:
    """Level direction ahead of a body with its axle along its y axis."""
    across = R[:, 1]
    return np.array([across[1], -across[0], 0.0]) / np.hypot(across[0], across[1])


def _rotation(angle: float, axis: NDArray) -> NDArray:
    """Rotation matrix about a unit axis (Rodrigues)."""
    K = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K)


def _turn(R: NDArray, axis: NDArray) -> float:
    """Angle of a rotation about a known axis."""
    sine = 0.5 * axis @ np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return float(np.arctan2(sine, 0.5 * (np.trace(R) - 1.0)))


def _symmetric(xx: float, yy: float, zz: float, xz: float) -> NDArray:
    return np.array([[xx, 0.0, xz], [0.0, yy, 0.0], [xz, 0.0, zz]])
