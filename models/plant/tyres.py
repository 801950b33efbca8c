"""Front tyre with twisting torque and pneumatic trail.

To first order in lean and steer, for
both models of the bicycle. A tyre that rolls on a curved path twists in its contact; where it carries a side force,
that acts behind the middle of the contact. Both make a torque about the vertical at the contact, and both follow with
the path rolled, as rubber has to be bent first. The steer turns the wheel there by cos(lam), and the frame that it
makes yaw adds mu = c cos(lam) / w: that is the torque's work on it.

The wheel still goes where it points (side slip: `side_slip.py`). Kicks and wind are left out of the side force.
"""

from dataclasses import dataclass

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.models.coordinates import DELTA, DELTA_DOT, PHI, PHI_DOT, STATES
from riderless.models.errors import InputError
from riderless.models.linear.path import heading_rate, lateral_forces
from riderless.models.parameters import Bicycle

REAR, FRONT = 0, 1  # wheels, as `lateral_forces` has them
SLOWEST_ROLL = 0.1  # m/s, below which a path has no curvature that could be told

TYRE_SETTINGS = np.dtype(
    [
        ("active", "i8"),
        ("relaxation", "f8"),  # m
        ("spin_per_delta", "f8"),  # 1/m, spin of the contact per distance rolled, by steer
        ("spin_per_delta_dot", "f8"),  # by steer rate, over the speed
        ("twisting", "f8"),  # N m^2, on the steer axis
        ("trail", "f8"),  # m, on the steer axis
        ("force", "f8", (5,)),  # side force [N] by phi_ddot, delta_ddot, v phi_dot, v delta_dot, v^2 delta
    ],
    align=True,
)


@dataclass(frozen=True, kw_only=True)
class FrontTyre:
    """Torque of the front tyre about the vertical; none by default.

    Attributes
    ----------
    twisting : float
        Torque per curvature of its path, N m^2; bicycle tyres have about 1.
    trail : float
        Pneumatic trail, m: how far behind the middle of the contact its side force acts.
    relaxation : float
        Path over which the torque follows, m.

    Raises
    ------
    InputError
        Negative, or not finite.
    """

    twisting: float = 0.0
    trail: float = 0.0
    relaxation: float = 0.1

    def __post_init__(self) -> None:
        for name, unit, most in (("twisting", "N m^2", 100.0), ("trail", "m", 0.1)):
            if not 0.0 <= getattr(self, name) <= most:
                raise InputError(
                    f"{name} of the front tyre must be zero or more, and at most {most:g} {unit}, found "
                    f"{getattr(self, name)} {unit}; correct it"
                )
        if not 1e-3 <= self.relaxation < 10.0:
            raise InputError(
                f"relaxation of the front tyre must be 0.001 m or more and less than 10 m, found {self.relaxation} m; "
                "a bicycle's tyre has about 0.1 m"
            )


def pack_tyre(p: np.void, tyre: FrontTyre, bicycle: Bicycle) -> None:
    """Write a tyre into a TYRE_SETTINGS record."""
    unit = np.eye(len(STATES))
    of_steer = np.cos(bicycle.lam) * (1.0 + bicycle.c / bicycle.w)  # work of a torque about the vertical
    p["active"] = tyre.twisting > 0.0 or tyre.trail > 0.0
    p["relaxation"] = tyre.relaxation
    p["spin_per_delta"] = heading_rate(bicycle, 1.0, unit[DELTA])
    p["spin_per_delta_dot"] = heading_rate(bicycle, 1.0, unit[DELTA_DOT]) + np.cos(bicycle.lam)
    p["twisting"], p["trail"] = of_steer * tyre.twisting, of_steer * tyre.trail
    p["force"] = force_coefficients(bicycle, FRONT)


def force_coefficients(bicycle: Bicycle, wheel: int) -> list[float]:
    """Side force [N] on a wheel by phi_ddot, delta_ddot, v phi_dot, v delta_dot and v^2 delta, without slip."""
    unit, still = np.eye(len(STATES)), np.zeros(len(STATES))
    return [
        float(lateral_forces(bicycle, v, x, x_dot)[wheel])
        for v, x, x_dot in (
            (0.0, still, unit[PHI_DOT]),
            (0.0, still, unit[DELTA_DOT]),
            (1.0, still, unit[PHI]),
            (1.0, unit[DELTA_DOT], unit[DELTA]),
            (1.0, unit[DELTA], still),
        )
    ]


@njit(cache=True, nogil=True)
def tyre_torque_after(p, before, h, v, x, x_dot):
    """Torque of the front tyre on the steer [N m] after it has rolled on for `h` seconds.

    Parameters
    ----------
    p : TYRE_SETTINGS record
    before : float
        The torque so far, N m.
    h : float
        s.
    v : float
        Speed, m/s.
    x, x_dot : tuples
        Motion and its rate now, in the order of `riderless.models.plant.records.MOTION_STATES`.
    """
    speed = max(v, SLOWEST_ROLL)
    spin = p.spin_per_delta * x[DELTA] + p.spin_per_delta_dot * x[DELTA_DOT] / speed
    force = (
        p.force[0] * x_dot[PHI_DOT]
        + p.force[1] * x_dot[DELTA_DOT]
        + v * (p.force[2] * x[PHI_DOT] + p.force[3] * x[DELTA_DOT] + v * p.force[4] * x[DELTA])
    )
    wanted = -p.twisting * spin - p.trail * force
    return wanted + (before - wanted) * np.exp(-h * speed / p.relaxation)
