"""Surroundings of an emulated bicycle.

Wind, the belt's edge, training wheels, stops, and a mass out of place. Everything here is absent by default. Stops and
training wheels are stiff one-sided springs with a damper (:func:`contact`); they push and never pull. Their stiffness
follows from the bicycle: what moves against them rings at ``CONTACT_RINGING`` rad/s, so that a lean of 2 rad/s goes 0.8
deg too far.
"""

from dataclasses import dataclass

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.models.errors import InputError
from riderless.models.plant import sensors
from riderless.models.plant.scenario import DELTA_MAX, PHI_MAX

TRAINING_WHEEL_LEAN = np.radians(30.0)  # rad, the usual lean at which they touch
CONTACT_RINGING = 150.0  # rad/s, at which a bicycle rings on its training wheels or steer stops
CONTACT_DAMPING = 0.5  # of critical, of every contact
AIR_DENSITY = 1.2  # kg/m^3
CRAWL_SPEED = 0.05  # m/s, below which the rolling resistance fades so that it stops the bicycle and does not reverse it

CONTACT = np.dtype([("limit", "f8"), ("stiffness", "f8"), ("damping", "f8")])  # rad, N m/rad, N m s/rad

SURROUNDINGS = np.dtype(
    [
        ("wheels", CONTACT),
        ("stops", CONTACT),
        ("half_belt", "f8"),  # m
        ("coasting", "i8"),
        ("rolling", "f8"),  # N
        ("rolling_rear", "f8"),  # N m
        ("rolling_front", "f8"),  # N m
        ("rolling_axis", "f8"),
        ("air", "f8"),  # N s^2/m^2
        ("mass", "f8"),  # kg, that a force along the bicycle sets going, rotation of the wheels included
        ("grip", "f8"),
        ("wind", "f8"),  # N
        ("gusts", "f8"),  # N
        ("gust_time", "f8"),  # s
        ("x_wind", "f8"),
        ("z_wind", "f8"),
        ("frame_moment", "f8"),  # N m, weight of the rear frame times its offset
        ("handlebar_moment", "f8"),  # N m, the same of the front frame
    ],
    align=True,
)


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """Surroundings of the bicycle, and what is fixed to it.

    Attributes
    ----------
    belt_width : float or None
        Width of the treadmill, m; the bicycle starts in its middle and has fallen when a wheel leaves it. None:
        endless.
    coasting : bool
        Nobody keeps the speed: from the release on it changes by itself, starting from the first of
        the profile. On the floor only, for a belt does keep it.
    rolling : float
        Rolling resistance of each wheel per load on it, at most 0.1; 0.004 to 0.012 is usual. Also at a speed that is
        kept, by the rear wheel, it changes the balance.
    rolling_axis : float
        Axis of the moments that resist rolling: 1 horizontal, 0 along the leaned axles, or a share between.
    drag_area : float
        Drag coefficient times frontal area, m^2, at most 5; 0.2 to 0.6 is usual. The air acts where the wind does,
        against the motion of that point, on a floor only: beside a treadmill it stands still.
    grip : float
        Coefficient of friction of ground and tyre; where the nonlinear model needs more, its status says so.
    wind : float
        Steady lateral force of the wind on the rear frame, N, positive to the right.
    gusts : float
        Standard deviation of the random part of that force, N, Gaussian and drawn anew at each `advance`.
    gust_time : float
        Time over which gusts forget themselves, s: their correlation is exp(-t / gust_time).
    x_wind, z_wind : float
        Where the wind acts, m forward of the rear contact and m below the ground (negative above).
    training_wheels : float or None
        Lean at which they touch on either side, rad; `TRAINING_WHEEL_LEAN` is usual. None: there are none.
    steer_stops : float or None
        Steer at which the handlebar meets its stops on either side, rad.
    frame_offset, handlebar_offset : float
        Distance of the centre of mass of the rear frame and of the front frame to the right of the middle
        plane, m: the bicycle then pulls to one side. Only their weight is counted out of place, not
        their inertia.

    Raises
    ------
    InputError
        A number without meaning.
    """

    belt_width: float | None = None
    coasting: bool = False
    rolling: float = 0.0
    rolling_axis: float = 1.0
    drag_area: float = 0.0
    grip: float = np.inf
    wind: float = 0.0
    gusts: float = 0.0
    gust_time: float = 1.0
    x_wind: float = 0.4
    z_wind: float = -0.8
    training_wheels: float | None = None
    steer_stops: float | None = None
    frame_offset: float = 0.0
    handlebar_offset: float = 0.0

    def __post_init__(self) -> None:
        for name, unit, most in (
            ("rolling", "", 0.1),
            ("rolling_axis", "", 1.0),
            ("drag_area", " m^2", 5.0),
            ("gusts", " N", 1e4),
        ):
            if not 0.0 <= getattr(self, name) <= most:
                given = f"{getattr(self, name)}{unit}"
                raise InputError(f"{name} must be zero or more, and at most {most:g}{unit}, found {given}; correct it")
        for name, unit, most in (
            ("wind", "N", 1e4),
            ("x_wind", "m", 10.0),
            ("z_wind", "m", 10.0),
            ("frame_offset", "m", 1.0),
            ("handlebar_offset", "m", 1.0),
        ):
            if not abs(getattr(self, name)) <= most:
                given = f"{getattr(self, name)} {unit}"
                raise InputError(f"{name} must be a finite number, at most {most:g} {unit}, found {given}; correct it")
        if not self.grip > 0.0:
            raise InputError(f"grip must be positive, found {self.grip}; dry asphalt has 0.8, and inf never slips")
        if not 0.0 < self.gust_time < np.inf:
            raise InputError(f"gust_time must be positive, found {self.gust_time} s; give what gusts last, about 1 s")
        if self.belt_width is not None and not 0.0 < self.belt_width < np.inf:
            raise InputError(
                f"belt_width must be positive, found {self.belt_width} m; leave it out for an endless belt"
            )
        for name, most in (("training_wheels", PHI_MAX), ("steer_stops", DELTA_MAX)):
            value = getattr(self, name)
            if value is not None and not 0.0 < value < most:
                raise InputError(
                    f"{name} must touch between 0 and {np.degrees(most):.0f} deg ({most:.3g} rad), where the bicycle "
                    f"counts as fallen, found {np.degrees(value):.3g} deg ({value:.3g} rad); Python wants rad"
                )


def stiff(limit: float | None, mobility: float, rate: float = CONTACT_RINGING) -> tuple[float, float, float]:
    """Numbers of a ``CONTACT`` that begins at `limit` (rad), against which something rings at `rate` (rad/s).

    `mobility` (1/(kg m^2)) is the inverse of that thing's inertia.
    """
    if limit is None:
        return np.inf, 0.0, 0.0
    return limit, rate**2 / mobility, 2.0 * CONTACT_DAMPING * rate / mobility


@njit(cache=True, nogil=True)
def contact(c, angle, rate):
    """Torque (N m) of a one-sided ``CONTACT`` on either side, against `angle` (rad) turning at `rate` (rad/s)."""
    beyond = abs(angle) - c.limit
    if beyond <= 0.0:
        return 0.0
    side = 1.0 if angle > 0.0 else -1.0
    return -side * max(0.0, c.stiffness * beyond + c.damping * side * rate)


@njit(cache=True, nogil=True)
def rolling_share(v):
    """Share of the rolling resistance that acts at `v` (m/s), negative when rolling backward."""
    return min(1.0, max(-1.0, v / CRAWL_SPEED))


@njit(cache=True, nogil=True)
def weight_out_of_place(p, phi, delta, sin_tilt):
    """Lean and steer torque (N m) of the offsets' weight.

    A point at the distance y to the right of the middle plane lies deeper by y sin(phi) on the rear frame and by
    y (cos(delta) sin(phi) + sin(delta) sin(lam) cos(phi)) on the front; the torques are the weight times
    the derivatives of that. The pitch, which changes with the square of the angles only, is left out.

    Parameters
    ----------
    p : SURROUNDINGS record
    phi, delta : float
        Lean and steer, rad.
    sin_tilt : float
        Sine of the steer axis tilt.
    """
    front = p.handlebar_moment
    lean = (p.frame_moment + front * np.cos(delta)) * np.cos(phi) - front * np.sin(delta) * sin_tilt * np.sin(phi)
    steer = front * (np.cos(delta) * sin_tilt * np.cos(phi) - np.sin(delta) * np.sin(phi))
    return lean, steer


@njit(cache=True, nogil=True)
def next_gust(p, gust, noise, dt):
    """Draw the random part of the wind, N.

    Parameters
    ----------
    p : SURROUNDINGS record
    gust : float
        Random part so far, N.
    noise : NOISE record
        Its state moves on.
    dt : float
        Time since `gust`, s.
    """
    kept = np.exp(-dt / p.gust_time)
    return kept * gust + p.gusts * np.sqrt(1.0 - kept * kept) * sensors.next_normal(noise)
