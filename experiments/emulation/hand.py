"""Hand that kicks an emulated bicycle.

The process that watches the bicycle orders the kick. A few numbers carry the wish to the bicycle, and back when the
kick began. The bicycle may live in a process of its own: the numbers are shared memory, and the time is that of the
monotonic clock that both processes share.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, MutableSequence

import numpy as np

from riderless.firmware_interface.child_processes import QUIET_SPAWN
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.emulation import Emulation, emulated_plant
from riderless.models.linear.whipple import canonical_matrices
from riderless.models.parameters import Bicycle
from riderless.models.plant.plant import Kick, Scenario

# kicks asked for, the newest, kicks answered, when that began, whether its force still acts
_ASKED, _IMPULSE, _DURATION, _X, _Z, _DONE, _BEGAN, _ACTS = range(8)


class Hand:
    """Hand beside an emulated bicycle; `push` asks for a kick, `news` tells what became of it.

    Parameters
    ----------
    draw : callable
        Gives the kick to the right (1) or left (-1); its time is not used.

    Attributes
    ----------
    memory : shared array of doubles
        For the plant that it kicks, in the other process.
    """

    room = 8  # numbers in the memory

    def __init__(self, draw: Callable[[int], Kick]) -> None:
        self.memory = QUIET_SPAWN.RawArray("d", self.room)
        self._draw = draw
        self._told = 0.0

    def push(self, side: int, strength: float = 1.0) -> None:
        """Ask for a kick, ``strength`` times as hard; one that is asked for while another is under way is lost.

        A kick is under way until its force has ended and `news` has told it: another would change what it was.
        """
        if self.memory[_ASKED] > self._told or self.memory[_ACTS]:
            return
        kick = self._draw(side)
        self.memory[_IMPULSE], self.memory[_DURATION] = strength * kick.impulse, kick.duration
        self.memory[_X], self.memory[_Z] = kick.x, kick.z
        self.memory[_ASKED] += 1.0

    def news(self) -> Iterator[tuple[float | None, str]]:
        """Yield when the kick that was asked for began [s, clock of `t_host`], or None if it was lost, and words."""
        if self.memory[_DONE] > self._told:
            self._told = self.memory[_DONE]
            impulse, began = self.memory[_IMPULSE], self.memory[_BEGAN]
            if math.isnan(began):
                yield None, "not kicked: somebody holds the bicycle"
            else:
                yield began, f"kicked to the {'right' if impulse > 0.0 else 'left'}, {abs(impulse):.1f} N s"


class PushedPlant:
    """Emulated bicycle that a `Hand` kicks; a plant as the twins want one.

    Parameters
    ----------
    rig, scenario, emulation
        As for `riderless.hil.runners.emulation.emulated_plant`.
    memory : shared array of doubles
        Of the hand.
    simulated : bool
        Kicks begin at a simulated time, that of the plant.

    Attributes
    ----------
    plant : Plant
        Bicycle that is kicked.
    """

    def __init__(
        self,
        rig: Rig,
        scenario: Scenario,
        emulation: Emulation,
        memory: MutableSequence[float],
        simulated: bool = False,
    ) -> None:
        self.plant, self._memory, self._simulated = emulated_plant(rig, scenario, emulation), memory, simulated
        self._around = self.plant.p["surroundings"]  # its wind is what pushes at a place of our choice
        self._calm = self._around.copy()
        self._gone = math.inf  # s since the kick began
        memory[_ACTS] = 0.0

    def advance(self, T_cmd: float, enabled: bool, dt: float) -> None:
        """Let ``dt`` [s] pass under the drive's torque command [N m], and under the hand's force."""
        if self._memory[_ASKED] > self._memory[_DONE]:
            free = self.plant.released and not self.plant.fallen
            self._gone = 0.0 if free else math.inf
            now = self.plant.t if self._simulated else time.monotonic()
            self._memory[_BEGAN] = now if free else math.nan
            self._memory[_ACTS] = float(free)
            self._memory[_DONE] = self._memory[_ASKED]
        self._push(dt)
        self.plant.advance(T_cmd, enabled, dt)

    def keep_speed(self, v: float, v_dot: float) -> None:
        """Run at ``v`` [m/s] from now on, changing by ``v_dot`` [m/s^2], where the plant has a treadmill."""
        keep = getattr(self.plant, "keep_speed", None)
        if keep is not None:
            keep(v, v_dot)

    @property
    def x_P(self) -> float:
        """True way of the rear contact [m]."""
        return self.plant.x_P

    @property
    def pace(self) -> float:
        """Speed at which a person goes along with it [m/s]."""
        return self.plant.pace

    @property
    def y_P(self) -> float:
        """True place of the rear contact [m], as a sensor of place wants it."""
        return self.plant.y_P

    @property
    def psi(self) -> float:
        """True heading [rad]."""
        return self.plant.psi

    @property
    def phi(self) -> float:
        """True lean [rad]."""
        return self.plant.phi

    def read(self) -> np.void:
        """Take one sample of the instruments."""
        return self.plant.read()

    def _push(self, dt: float) -> None:
        """Set the force of a half sine, its mean over the ``dt`` [s] to come."""
        duration = self._memory[_DURATION]
        if self._gone >= duration:
            self._around[:] = self._calm
            self._memory[_ACTS] = 0.0
            return
        end = min(self._gone + dt, duration)
        share = 0.5 * (math.cos(math.pi * self._gone / duration) - math.cos(math.pi * end / duration))
        self._around["wind"] = self._calm["wind"] + share * self._memory[_IMPULSE] / dt
        self._around["x_wind"], self._around["z_wind"] = self._memory[_X], self._memory[_Z]
        self._gone += dt


# Person beside an emulated bicycle: when it is let go, and how it is kicked now and then.


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
