"""Bicycle on a stand, moved by a person.

For checks and calibrations; the front wheel is lifted. The person takes the posture that is asked for (lean, steer,
rate of the rear wheel, push to the side) smoothly; where no steer is asked for, the bars are free and obey drive,
friction and their own weight::

    I delta_ddot = T - c delta_dot - k delta - friction

A drive that obeys a steer rate or angle makes T from the steer's error, as in
`riderless.models.linear.prescribed_steer`.
"""

import math
from collections.abc import MutableSequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riderless.models.linear.prescribed_steer import InnerLoop

FREE_STEER = math.nan  # as a steer angle: let the bars go
_INNER_STEP = 0.001  # s, in which the inner loop of a drive is followed
_HASTE = 4.0  # rad/s, how quickly a person moves: the bandwidth of a critically damped second-order system


@dataclass(frozen=True, kw_only=True)
class Bars:
    """Steer with the front wheel lifted, and its drive."""

    inertia: float = 0.25  # kg m^2, about the steer axis
    damping: float = 0.05  # N m s/rad
    stiffness: float = 0.0  # N m/rad, of cables and weight
    friction: float = 0.05  # N m
    stop: float = 0.6  # rad, where it hits
    gain: float = 1.0  # torque made per torque asked for
    lag: float = 0.005  # s, of the drive


class ByHand:
    """Plant of a virtual machine; see `riderless.firmware_interface.twins.virtual_node.PlantLike`.

    Parameters
    ----------
    posture : sequence of 4 floats
        What the person is asked to do: lean [rad], steer [rad] or `FREE_STEER`, rate of the rear wheel [rad/s], push to
        the right [m]; memory shared with the asking process.
    bars : Bars
    seed : int
        Of the sensors' noise.
    mark : float
        rad that the rear wheel turns from where it begins to roll until the person stops it, gently: the mark
        on the floor of a roll-out. By default it goes on.
    drive : InnerLoop or None
        Of a drive that obeys a steer rate or angle.
    torque_max : float
        Greatest torque of such a drive [N m].

    Attributes
    ----------
    y_P : float
        m to the right, as a sensor of place wants it.
    """

    def __init__(
        self,
        posture: MutableSequence[float],
        bars: Bars = Bars(),
        seed: int = 0,
        mark: float = math.inf,
        drive: InnerLoop | None = None,
        torque_max: float = 7.0,
    ) -> None:
        self._posture, self._bars, self._mark = posture, bars, mark
        self._drive, self._torque_max, self._integral = drive, torque_max, 0.0
        self._rolled = 0.0  # rad, since it began to roll
        self._rng = np.random.default_rng(seed)
        self.y_P = self._y_rate = 0.0  # m and m/s, to the right
        self._lean = self._lean_rate = self._steer = self._steer_rate = self._wheel = self._T = 0.0

    def advance(self, command: float, enabled: bool, dt: float) -> None:
        """Let ``dt`` [s] pass under the drive's command [N m, rad/s or rad]."""
        steps = 1 if self._drive is None else math.ceil(dt / _INNER_STEP)
        for _ in range(steps):
            self._advance(command, enabled, dt / steps)

    def _advance(self, command: float, enabled: bool, dt: float) -> None:
        lean, steer, wheel, sideways = self._posture
        self.y_P, self._y_rate = _approach(self.y_P, self._y_rate, sideways, dt)
        self._lean, self._lean_rate = _approach(self._lean, self._lean_rate, lean, dt)
        self._wheel += min(1.0, _HASTE * dt) * (min(wheel, 0.25 * _HASTE * (self._mark - self._rolled)) - self._wheel)
        self._rolled = self._rolled + dt * self._wheel if wheel != 0.0 else 0.0
        wanted = self._bars.gain * self._asked(command, enabled, dt)
        self._T += (1.0 - math.exp(-dt / self._bars.lag)) * (wanted - self._T)
        if math.isnan(steer):
            self._let_go(dt)
        else:
            self._steer, self._steer_rate = _approach(self._steer, self._steer_rate, steer, dt)
        if abs(self._steer) > self._bars.stop:
            self._steer, self._steer_rate = math.copysign(self._bars.stop, self._steer), 0.0

    def read(self) -> NDArray[np.float64]:
        """Take the nine readings, with noise; gravity as an accelerometer near the ground line feels it."""
        g, noise = 9.81, self._rng.normal(size=9)
        truth = np.array(
            [
                self._lean_rate,
                0.0,
                0.0,
                0.0,
                -g * math.sin(self._lean),
                -g * math.cos(self._lean),
                self._steer,
                self._wheel,
                self._T,
            ]
        )
        readings: NDArray[np.float64] = truth + noise * _NOISE
        return readings

    def _asked(self, command: float, enabled: bool, dt: float) -> float:
        """Torque [N m] that the drive asks of its motor."""
        loop = self._drive
        if loop is None or not enabled:
            self._integral = 0.0
            return command if enabled else 0.0
        error = command - (self._steer if loop.kind == "angle" else self._steer_rate)
        if loop.integrates:
            self._integral += dt * error
            error = self._integral
        per_error, per_rate = loop.error_gains
        torque = self._bars.inertia * (per_error * error - per_rate * self._steer_rate)
        return min(max(torque, -self._torque_max), self._torque_max)

    def _let_go(self, dt: float) -> None:
        b, rest = self._bars, self._T - self._bars.stiffness * self._steer
        if self._steer_rate == 0.0 and abs(rest) <= b.friction:
            return  # it sticks
        side = math.copysign(1.0, self._steer_rate or rest)
        change = dt * (rest - b.damping * self._steer_rate - side * b.friction) / b.inertia
        rate = self._steer_rate + change
        self._steer_rate = rate if rate * side > 0.0 else 0.0
        self._steer += dt * self._steer_rate


_NOISE = np.array([0.002, 0.002, 0.002, 0.02, 0.02, 0.02, 2e-5, 1e-3, 0.005])  # of the readings, in their units


def _approach(x: float, v: float, target: float, dt: float) -> tuple[float, float]:
    """Take a critically damped step towards the target."""
    a = _HASTE * _HASTE * (target - x) - 2.0 * _HASTE * v
    v += dt * a
    return x + dt * v, v
