"""Stabilisability of the bicycle by steer torque.

Speeds at which steer torque cannot move one of the modes. Steer torque reaches the lean only through the lean
equation's coupling terms. With q = q0 exp(s t), that equation (Meijaard et al. 2007, eq. 5.3, first row) reads

    (s^2 M11 + g K0_11) phi + (s^2 M12 + s v C1_12 + g K0_12 + v^2 K2_12) delta = 0,

because C1_11 = K2_11 = 0. A mode is out of reach of the steer torque exactly when both brackets
vanish: the first says that s is that of the inverted pendulum with locked steer, the second gives
the speed, a quadratic for each sign of s.
"""

from dataclasses import dataclass

import numpy as np

from riderless.models.errors import InputError
from riderless.models.linear.whipple import canonical_matrices
from riderless.models.parameters import Bicycle
from riderless.models.tables import html_table

NEAR_UNSTABLE = 1e-3
"""[m/s] A bicycle's speed is not held better than this: nearer to an unstable stuck mode is refused."""


@dataclass(frozen=True)
class StuckMode:
    """Mode that steer torque cannot move.

    Attributes
    ----------
    v : float
        Forward speed [m/s] at which this happens.
    eigenvalue : float
        Of the mode [1/s], real.
    """

    v: float
    eigenvalue: float

    def __repr__(self) -> str:
        return f"<StuckMode: {self._stability} at {self.v:.3f} m/s, {self.eigenvalue:+.2f} 1/s>"

    def _repr_html_(self) -> str:
        heads = ["v m/s", "eigenvalue 1/s", "stability"]
        values = [f"{self.v:.3f}", f"{self.eigenvalue:+.2f}", self._stability]
        return html_table("mode out of reach of the steer torque", heads, [values])

    @property
    def _stability(self) -> str:
        return "stable" if self.stable else "unstable"

    @property
    def stable(self) -> bool:
        """True if the mode decays by itself, so that a controller may leave it alone."""
        return self.eigenvalue < 0.0


def uncontrollable_speeds(bicycle: Bicycle) -> tuple[StuckMode, ...]:
    """Find every speed at which steer torque alone loses controllability, slowest first.

    Returns
    -------
    tuple of StuckMode
        Speeds from 0 m/s up. The benchmark bicycle: 0.025 m/s, where the stuck mode is a fall
        (+3.13 1/s), and 1.411 m/s, where it is stable (-3.13 1/s).
    """
    M, C1, K0, K2 = canonical_matrices(bicycle)
    square = -bicycle.g * K0[0, 0] / M[0, 0]
    if square < 0.0:  # the mass hangs below the ground: no pendulum to fall, no real stuck mode
        return ()
    pendulum = float(np.sqrt(square))
    modes = [
        StuckMode(float(v.real), s)
        for s in (pendulum, -pendulum)
        for v in np.roots([K2[0, 1], s * C1[0, 1], bicycle.g * K0[0, 1] + square * M[0, 1]])
        if v.imag == 0.0 and v.real >= 0.0
    ]
    return tuple(sorted(modes, key=lambda mode: mode.v))


def stabilisable(bicycle: Bicycle, v: float) -> bool:
    """Tell whether steer torque can reach every unstable mode at forward speed ``v`` [m/s].

    Stabilisability, not controllability: a stuck mode that dies out by itself is no obstacle.
    """
    return not any(abs(v - stuck.v) < NEAR_UNSTABLE for stuck in uncontrollable_speeds(bicycle) if not stuck.stable)


def require_stabilisable(bicycle: Bicycle, v: float) -> None:
    """Raise InputError, saying which mode is out of reach, where no feedback can balance the bicycle."""
    if stabilisable(bicycle, v):
        return
    stuck = next(mode for mode in uncontrollable_speeds(bicycle) if not mode.stable and abs(v - mode.v) < NEAR_UNSTABLE)
    raise InputError(
        f"no steer torque can balance {bicycle.name} at {v:g} m/s, because at {stuck.v:.4f} m/s "
        f"its falling mode ({stuck.eigenvalue:+.3f} 1/s) is out of reach of the steer: leave this speed out"
    )
