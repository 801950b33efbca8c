"""Inputs of the protocols.

Bicycles, controllers, a machine, and a seed for everything left to chance.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from riderless.experiments.campaigns.protocols.condition import Condition, Settings, rig_with
from riderless.experiments.emulation.hand import RELEASE_DELAY, kicks_in_turn
from riderless.hil.controllers.controller import Controller
from riderless.hil.controllers.registry import read_controller
from riderless.hil.controllers.timing import LoopTiming
from riderless.hil.design.compensators.methods import design_compensator
from riderless.hil.design.compensators.registry import COMPENSATORS
from riderless.hil.design.methods import design
from riderless.hil.design.poles import natural
from riderless.hil.design.schedule import require_same_kind
from riderless.hil.rig.fitting import describe_mismatch
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.emulation import Emulation
from riderless.models.errors import InputError
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.parameters import Bicycle
from riderless.models.plant.plant import Scenario

GENTLE_COMMAND = {"rate": 0.05, "angle": 0.009}  # rad/s, rad: large for gains under which the weave lasts
GAIN_SPEED_STEP = 0.25  # m/s, from one set of gains to the next
_ORDER = 2**31 - 1  # number of the chance that the order of the runs is, which no run has
_Planned = TypeVar("_Planned")


@dataclass(frozen=True)
class NamedController:
    """Controller by name: a method with its options, one made before, or a person's law.

    Without options a method's gains are gentle, so that the weave lasts long enough to be measured.
    """

    name: str
    method: str
    options: dict[str, Any] | None = None
    made: Controller | None = None
    law: Path | None = None  # Python file of a law, read for each bicycle
    allow_mismatch: bool = False  # what was made before may be for another bicycle, delay or drive lag
    allow_unstable: bool = False  # under them a bicycle may fall by itself

    def __repr__(self) -> str:
        return f"<NamedController '{self.name}': {self.method}{', of a file' if self.made or self.law else ''}>"

    def schedule(
        self, bicycle: Bicycle, speeds: Sequence[float], timing: LoopTiming, drive: InnerLoop | None = None
    ) -> Controller:
        """Design the controller, or give the one made before; raises InputError.

        Parameters
        ----------
        bicycle : Bicycle
        speeds : sequence of float
            Of the grid [m/s].
        timing : LoopTiming
        drive : InnerLoop or None
            Of the rig's drive; None: it obeys a torque.
        """
        made = read_controller(self.law, bicycle, timing, drive) if self.law else self.made
        if made is None:
            options = gentle_options(bicycle, self.method, drive) if self.options is None else self.options
            # a condition under which the bicycle falls is refused by its rehearsal, with what to change
            make = design_compensator if self.method in COMPENSATORS else design
            return make(bicycle, self.method, speeds, timing, allow_unstable=True, drive=drive, **options)
        require_same_kind(made, drive)
        mismatch = describe_mismatch(made, bicycle, timing, drive)
        if mismatch and not self.allow_mismatch:
            raise InputError(
                f"the gains of controller '{self.name}' {mismatch}, or name the bicycles each protocol is for; "
                "allow_mismatch = true in its [[controller]] runs them all the same"
            )
        return made


class Combination(NamedTuple):
    """Bicycle, controller, speed [m/s] and repeat of one run of a protocol."""

    bicycle: Bicycle
    controller: NamedController
    v: float
    repeat: int  # from 1


@dataclass(frozen=True)
class PlanInputs:
    """Bicycles, controllers and machine that a protocol plans with, and the seed of its chances.

    Attributes
    ----------
    bicycles, controllers : tuple
        Each bicycle is run under each controller.
    emulation : Emulation
        What an emulated bicycle is.
    machine : Rig or None
        Devices, limits and rates; the emulated ones by default.
    seed : tuple of int
        Of kicks, noise and order.
    designed : dict
        Gains designed so far, so that runs share them.
    """

    bicycles: tuple[Bicycle, ...]
    controllers: tuple[NamedController, ...]
    emulation: Emulation = Emulation()
    machine: Rig | None = None
    seed: tuple[int, ...] = (1,)
    designed: dict[tuple, Controller] = field(default_factory=dict)

    def __repr__(self) -> str:
        names = (", ".join(item.name for item in items) for items in (self.bicycles, self.controllers))
        return f"<PlanInputs: {' under '.join(names)}, seed {' '.join(map(str, self.seed))}>"

    def schedule(self, bicycle: Bicycle, controller: NamedController, speeds: Sequence[float]) -> Controller:
        """Design the controller's gains over a grid that reaches over all ``speeds`` [m/s]; raises InputError."""
        grid = grid_over(speeds)
        key = (bicycle.name, controller.name, grid)
        if key not in self.designed:
            timing, drive = (self.machine.timing, self.machine.drive) if self.machine else (LoopTiming(), None)
            self.designed[key] = controller.schedule(bicycle, grid, timing, drive)
        return self.designed[key]

    def chance(self, *which: int) -> np.random.Generator:
        """Open a random stream for the run that these numbers tell, whatever the order of the runs."""
        return np.random.default_rng(np.random.SeedSequence((*self.seed, *which)))

    def in_random_order(self, planned: Sequence[_Planned]) -> list[_Planned]:
        """Shuffle conditions, or blocks of them, as the seed says: what drifts over a day must not look like speed."""
        order = self.chance(_ORDER).permutation(len(planned))
        return [planned[i] for i in order]

    def rig(self, bicycle: Bicycle) -> Rig:
        """Put a bicycle on the machine, or on the emulated rig."""
        return rig_with(self.machine, bicycle)

    def runs(self, speeds: Sequence[float], repeats: int) -> Iterator[Combination]:
        """List every combination, sorted by bicycle, controller, speed [m/s] and repeat."""
        for bicycle in self.bicycles:
            for controller in self.controllers:
                for v in speeds:
                    for repeat in range(1, repeats + 1):
                        yield Combination(bicycle, controller, v, repeat)

    def condition(
        self, settings: Settings, run: Combination, schedule: Controller, scenario: Scenario, **particulars: Any
    ) -> Condition:
        """Make the condition of one run from what all protocols share and the particulars of this one.

        Parameters
        ----------
        settings : Settings
            Of the protocol.
        run : Combination
        schedule : Controller
        scenario : Scenario
        **particulars
            Further attributes of `Condition`, and those that differ.
        """
        shared: dict[str, Any] = {
            "bicycle": run.bicycle,
            "method": run.controller.method,
            "v": run.v,
            "schedule": schedule,
            "scenario": scenario,
            "emulation": self.emulation,
            "machine": self.machine,
            "allow_mismatch": run.controller.allow_mismatch,
            "allow_unstable": run.controller.allow_unstable,
            "controller": run.controller.name,
            "protocol": settings.kind,
            "repeat": run.repeat,
            "repeats": settings.repeats,
            "resistance": settings.resistance.model_dump(exclude_none=True) if settings.resistance else {},
        }
        return Condition(**{**shared, **particulars})

    def scenario(
        self,
        bicycle: Bicycle,
        speed: Sequence[tuple[float, float]],
        times: Sequence[float],
        rng: np.random.Generator,
        lean_rate: float | None = None,
        surface: str = "treadmill",
    ) -> Scenario:
        """Set up a speed profile and kicks by hand to either side in turn.

        Parameters
        ----------
        bicycle : Bicycle
        speed : sequence of (s, m/s)
            Profile after power-up, linear in between.
        times : sequence of float
            Of the kicks [s after the release].
        rng : Generator
            Of strength and length of the kicks, and of the noise.
        lean_rate : float or None
            That a kick gives [rad/s]; what suits the equations of motion by default.
        surface : {"treadmill", "floor"}
        """
        kicks = kicks_in_turn(bicycle, times, rng, self.emulation.model, lean_rate)
        return Scenario(
            speed=tuple((float(t), float(v)) for t, v in speed),
            kicks=kicks,
            surface=surface,
            release_after=RELEASE_DELAY,
            seed=int(rng.integers(2**31)),
        )


def gentle_options(bicycle: Bicycle, method: str, drive: InnerLoop | None = None) -> dict[str, Any]:
    """Options of a method under which the weave lasts long enough to be measured: well damped, it is gone too soon.

    LQR by Bryson's weights, but with torque counted as large from 0.03 N m, in a lane from 0.05 N m; poles with a
    weave that is damped by 0.2 and never slower than 4.5 rad/s, a cycle and a half between two kicks. Of a drive that
    obeys a steer rate or angle the command counts as large from a tenth of the usual on.
    """
    if method == "yaw_rate":
        return {"options": gentle_options(bicycle, "lqr", drive)}
    if drive is not None:
        gentle = {"command": GENTLE_COMMAND[drive.kind]}
        return {"weights": gentle} if method in ("lqg", "lane") else gentle
    if method in ("lqr", "lqg"):
        return {"weights": {"T_delta": 0.03}}
    if method == "lane":
        return {"weights": {"T_delta": 0.05}}
    if method == "poles":
        return {"zeta": 0.2, "omega": lambda v: max(4.5, natural(bicycle, v)[0])}
    return {}


def grid_over(speeds: Sequence[float]) -> tuple[float, ...]:
    """Speeds [m/s] for gains in steps of `GAIN_SPEED_STEP`, one step and more beyond ``speeds`` on either side."""
    first, last = int(np.floor(min(speeds) / GAIN_SPEED_STEP)) - 1, int(np.ceil(max(speeds) / GAIN_SPEED_STEP)) + 1
    return tuple(GAIN_SPEED_STEP * i for i in range(max(first, 1), last + 1))
