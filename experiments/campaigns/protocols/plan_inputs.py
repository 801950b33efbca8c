"""What protocols plan with: bicycles, controllers, a machine, and a seed for everything left to chance."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from experiments.campaigns.protocols.condition import RELEASE_DELAY, Condition, hand_kick
from hil.design.methods import GainSchedule, LoopTiming, design
from hil.design.poles import natural
from hil.rig.rig import Rig
from hil.runners.emulation import Emulation
from models.errors import InputError
from models.parameters import Bicycle
from models.plant.plant import Scenario

GAIN_SPEED_STEP = 0.25  # m/s, from one set of gains to the next


@dataclass(frozen=True)
class NamedController:
    """Gains by name: a method with its options, or a schedule made before.

    Without options the gains are gentle, so that the weave lasts long enough to be measured.
    """

    name: str
    method: str
    options: dict[str, Any] | None = None
    gains: GainSchedule | None = None

    def schedule(self, bicycle: Bicycle, speeds: Sequence[float], timing: LoopTiming) -> GainSchedule:
        """Gains for a bicycle over the speeds [m/s]; raises InputError."""
        if self.gains is None:
            options = gentle_options(bicycle, self.method) if self.options is None else self.options
            # a condition under which the bicycle falls is refused by its rehearsal, with what to change
            return design(bicycle, self.method, speeds, timing, allow_unstable=True, **options)
        if self.gains.bicycle.name != bicycle.name:
            raise InputError(
                f"the gains of controller '{self.name}' were designed for {self.gains.bicycle.name}, not for "
                f"{bicycle.name}: design them for it, or name the bicycles each protocol is for"
            )
        return self.gains


@dataclass(frozen=True)
class PlanInputs:
    """What a protocol plans with: bicycles, controllers, machine and the seed of its chances."""

    bicycles: tuple[Bicycle, ...]
    controllers: tuple[NamedController, ...]
    emulation: Emulation = Emulation()
    machine: Rig | None = None
    seed: tuple[int, ...] = (1,)
    designed: dict[tuple, GainSchedule] = field(default_factory=dict)

    def schedule(self, bicycle: Bicycle, controller: NamedController, speeds: Sequence[float]) -> GainSchedule:
        """The controller's gains over a grid that reaches over all ``speeds`` [m/s]; raises InputError."""
        grid = grid_over(speeds)
        key = (bicycle.name, controller.name, grid)
        if key not in self.designed:
            timing = self.machine.timing if self.machine else LoopTiming()
            self.designed[key] = controller.schedule(bicycle, grid, timing)
        return self.designed[key]

    def chance(self, *which: int) -> np.random.Generator:
        """A stream of its own for the run that these numbers tell, whatever the order of the runs."""
        return np.random.default_rng(np.random.SeedSequence((*self.seed, *which)))

    def in_random_order(self, conditions: Sequence[Condition]) -> list[Condition]:
        """The conditions in an order that the seed fixes: what drifts over a day must not look like speed."""
        order = self.chance(2**31 - 1).permutation(len(conditions))
        return [conditions[i] for i in order]

    def runs(self, speeds: Sequence[float], repeats: int) -> Iterator[tuple[Bicycle, NamedController, float, int]]:
        """Every combination, sorted."""
        for bicycle in self.bicycles:
            for controller in self.controllers:
                for v in speeds:
                    for repeat in range(1, repeats + 1):
                        yield bicycle, controller, v, repeat

    def scenario(
        self,
        bicycle: Bicycle,
        speed: Sequence[tuple[float, float]],
        times: Sequence[float],
        rng: np.random.Generator,
        lean_rate: float | None = None,
        surface: str = "treadmill",
    ) -> Scenario:
        """A speed profile and kicks by hand to either side in turn, at times [s] after the release."""
        kicks = [
            hand_kick(bicycle, t, (-1) ** i, rng, self.emulation.model, lean_rate)
            for i, t in enumerate(map(float, times))
        ]
        return Scenario(
            speed=tuple((float(t), float(v)) for t, v in speed),
            kicks=tuple(kicks),
            surface=surface,
            release_after=RELEASE_DELAY,
            seed=int(rng.integers(2**31)),
        )


def gentle_options(bicycle: Bicycle, method: str) -> dict[str, Any]:
    """Options under which the weave lasts long enough to be measured: well damped, it is gone too soon.

    LQR by Bryson's weights, but with torque counted as large from 0.03 N m; poles with a weave that is
    damped by 0.2 and never slower than 4.5 rad/s, a cycle and a half between two kicks.
    """
    if method == "lqr":
        return {"weights": {"T_delta": 0.03}}
    if method == "poles":
        return {"zeta": 0.2, "omega": lambda v: max(4.5, natural(bicycle, v)[0])}
    return {}


def grid_over(speeds: Sequence[float]) -> tuple[float, ...]:
    """Speeds [m/s] for gains in steps of `GAIN_SPEED_STEP`, one step and more beyond ``speeds`` on either side."""
    first, last = int(np.floor(min(speeds) / GAIN_SPEED_STEP)) - 1, int(np.ceil(max(speeds) / GAIN_SPEED_STEP)) + 1
    return tuple(GAIN_SPEED_STEP * i for i in range(max(first, 1), last + 1))
