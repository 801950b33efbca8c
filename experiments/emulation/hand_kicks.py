"""Person beside an emulated bicycle: when it is let go, and how it is kicked now and then."""

from collections.abc import Iterable

import numpy as np

from riderless.models.linear.whipple import canonical_matrices
from riderless.models.parameters import Bicycle
from riderless.models.plant.plant import Kick

KICKS_PER_RUN = 3
FIRST_KICK = 0.6  # s after the release
KICK_SPACING = 3.2  # s; weave has died and the next kick stands apart
RELEASE_DELAY = 0.5  # s after the drive was enabled
KICK_LEAN_RATE = {  # rad/s that a kick gives: well above the gyro's noise, and small where large angles would show
    "linear": 0.35,
    "nonlinear": 0.15,
}
KICK_HEIGHT = -0.8  # m, where the hand pushes the rear frame
KICK_AHEAD = 0.3  # m, in front of the rear contact
HAND_KICK_LENGTHS = 0.06, 0.12  # s, shortest and longest


def hand_kick(
    bicycle: Bicycle,
    t: float,
    side: int,
    rng: np.random.Generator,
    model: str = "linear",
    lean_rate: float | None = None,
    lengths: tuple[float, float] = HAND_KICK_LENGTHS,
) -> Kick:
    """Draw a push as by hand, of no exact strength or length.

    Parameters
    ----------
    bicycle : Bicycle
    t : float
        s after the release.
    side : int
        1 to the right, -1 to the left.
    rng : Generator
    model : {"linear", "nonlinear"}
        Equations of motion.
    lean_rate : float or None
        That the push gives, about [rad/s]; by default what suits the equations of motion.
    lengths : (2,) tuple of float
        Shortest and longest that it may last [s].
    """
    rate = KICK_LEAN_RATE[model] if lean_rate is None else lean_rate
    strength = rate * float(canonical_matrices(bicycle).M[0, 0]) / abs(KICK_HEIGHT)  # N s
    return Kick(
        t=t,
        impulse=float(side * strength * rng.uniform(0.85, 1.15)),
        duration=float(rng.uniform(*lengths)),
        x=KICK_AHEAD,
        z=KICK_HEIGHT,
    )


def kicks_in_turn(
    bicycle: Bicycle,
    times: Iterable[float],
    rng: np.random.Generator,
    model: str = "linear",
    lean_rate: float | None = None,
    lengths: tuple[float, float] = HAND_KICK_LENGTHS,
) -> tuple[Kick, ...]:
    """Draw pushes as by hand, the first to the right, the next to the left, and so on.

    Parameters
    ----------
    bicycle : Bicycle
    times : iterable of float
        s after the release.
    rng, model, lean_rate, lengths
        As of `hand_kick`.
    """
    return tuple(hand_kick(bicycle, float(t), (-1) ** i, rng, model, lean_rate, lengths) for i, t in enumerate(times))
