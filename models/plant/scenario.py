"""Scenario of an emulated bicycle.

Speed, pushes, and the person who holds, releases and catches it. Times count from the release.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from numbers import Integral

import numpy as np

from riderless.models.bicycle_file import is_number
from riderless.models.errors import InputError
from riderless.models.tables import describe_range, html_table

SURFACES = ("treadmill", "floor")
PHI_MAX, DELTA_MAX = np.radians(45.0), np.radians(60.0)  # beyond these the bicycle has fallen
SPEED_MAX = 50.0  # m/s
INITIAL_RATE_MAX = 100.0  # rad/s, of an initial state
KICK_MIN = 1e-6  # s
PUSH_MAX = 1e4  # N s or N m s, a hundred times what a person can give
MAX_SPEED_CORNERS = 4096  # room in a scenario


@dataclass(frozen=True)
class Kick:
    """Push by hand on the rear frame: a half sine of lateral force.

    Attributes
    ----------
    t : float
        Beginning, s after the release.
    impulse : float
        Integral of the force, N s, positive to the right.
    duration : float
        s.
    x, z : float
        Where the hand is, m forward of the rear contact and m below the ground (negative above).
    """

    t: float
    impulse: float
    duration: float = 0.08
    x: float = 0.3
    z: float = -0.8

    def __post_init__(self) -> None:
        _check_push(self)


@dataclass(frozen=True)
class Knock:
    """Knock on the handlebar: a half sine of steer torque.

    Attributes
    ----------
    t : float
        Beginning, s after the release.
    twist : float
        Integral of the torque, N m s, positive to the right.
    duration : float
        s.
    """

    t: float
    twist: float
    duration: float = 0.05

    def __post_init__(self) -> None:
        _check_push(self)


def _check_push(push: "Kick | Knock") -> None:
    """Check a kick or knock."""
    word = type(push).__name__.lower()
    for name, value in vars(push).items():
        if not is_number(value):
            raise InputError(f"a {word} wants finite numbers, found {name} = {value!r}; correct it")
    size, unit = (push.impulse, "N s") if isinstance(push, Kick) else (push.twist, "N m s")
    if abs(size) > PUSH_MAX:
        raise InputError(f"a {word} has at most {PUSH_MAX:g} {unit}, found {size:g} {unit}; 4 are usual")
    if push.t < 0.0 or push.duration < KICK_MIN:
        raise InputError(
            f"a {word} must begin at 0 s after the release or later and last {KICK_MIN} s or longer, found "
            f"t = {push.t} s and duration = {push.duration} s; correct it"
        )


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Course of a ride: speed, pushes, and the person who holds, releases and catches the bicycle.

    Attributes
    ----------
    speed : sequence of (s, m/s)
        Corners of the forward speed against time since the release; straight lines between them,
        constant before and after. Before the release the speed is that at 0 s.
    kicks : sequence of Kick or Knock
        In order, one at a time, any number of them.
    surface : {"treadmill", "floor"}
        Where it rides; see the module.
    held : bool
        A person keeps it upright and straight until the drive has been enabled for `release_after`
        (s), and catches it again once the drive has been disabled again for `catch_after` (s); a
        fallen one is picked up likewise. Every release starts the profile and the kicks anew.
        False: it is free from the start, but still caught.
    catch : bool
        False: nobody catches it.
    x0 : (4,) sequence of float
        State [phi, delta, phi_dot, delta_dot] at every release, rad and rad/s.
    torque_noise : float
        Standard deviation of a random steer torque, N m, drawn anew at each `advance`.
    seed : int
        Of all noise; the same seed gives the same run.
    """

    speed: Sequence[tuple[float, float]] = ((0.0, 5.0),)
    kicks: Sequence[Kick | Knock] = ()
    surface: str = "treadmill"
    held: bool = True
    release_after: float = 0.5
    catch: bool = True
    catch_after: float = 0.5
    x0: Sequence[float] = (0.0, 0.0, 0.0, 0.0)
    torque_noise: float = 0.0
    seed: int = 0

    def __repr__(self) -> str:
        speeds, kicks = describe_range([v for _, v in self.speed], "m/s"), len(self.kicks)
        person = "held at first" if self.held else "free from the start"
        return f"Scenario({speeds}, {kicks} kick{'s' * (kicks != 1)}, {self.surface}, {person})"

    def _repr_html_(self) -> str:
        speeds = describe_range([v for _, v in self.speed], "m/s")
        rows = [
            (field.name, speeds if field.name == "speed" else str(getattr(self, field.name))) for field in fields(self)
        ]
        return html_table("Scenario", ("setting", "value"), rows)

    def __post_init__(self) -> None:
        speed = np.asarray(self.speed, dtype=float)
        if speed.ndim != 2 or speed.shape[1] != 2 or not 1 <= len(speed) <= MAX_SPEED_CORNERS:
            raise InputError(
                f"the speed profile wants 1 to {MAX_SPEED_CORNERS} pairs (s, m/s), found shape {speed.shape}; "
                "thin it out, or write ((0.0, 5.0),) for a constant speed"
            )
        if not (speed[0, 0] >= 0.0 and np.all(np.diff(speed[:, 0]) > 0.0) and speed[-1, 0] < np.inf):
            raise InputError("the times of the speed profile must start at 0 s or later and increase; sort them")
        wrong = speed[~((speed[:, 1] >= 0.0) & (speed[:, 1] <= SPEED_MAX)), 1]
        if wrong.size:
            raise InputError(f"speeds must lie from 0 to {SPEED_MAX:g} m/s, found {wrong[0]} m/s; check the unit")
        for kick, after in zip(self.kicks, self.kicks[1:], strict=False):
            if after.t < kick.t + kick.duration:
                raise InputError(
                    f"kicks must follow one another, found one at {after.t} s while that of {kick.t} s "
                    f"lasts until {kick.t + kick.duration:g} s; move it"
                )
        if self.surface not in SURFACES:
            raise InputError(f"surface must be one of {', '.join(SURFACES)}, found {self.surface!r}; choose one")
        for name, unit in (("release_after", "s"), ("catch_after", "s"), ("torque_noise", "N m")):
            if not 0.0 <= getattr(self, name) < np.inf:
                raise InputError(f"{name} must be zero or more, found {getattr(self, name)} {unit}; correct it")
        if not isinstance(self.seed, Integral) or self.seed < 0:
            raise InputError(f"seed must be a whole number from 0, found {self.seed!r}; choose another")
        try:
            x0 = np.array(self.x0, dtype=float)
        except (TypeError, ValueError):
            raise InputError(f"x0 wants four numbers, found {self.x0!r}; give phi, delta, phi_dot, delta_dot") from None
        if x0.shape != (4,) or not np.all(np.abs(x0) <= [PHI_MAX, DELTA_MAX, INITIAL_RATE_MAX, INITIAL_RATE_MAX]):
            raise InputError(
                "x0 wants phi, delta (rad, within 45 and 60 deg) and phi_dot, delta_dot (within 100 rad/s), "
                f"found {self.x0}; start nearer upright"
            )
