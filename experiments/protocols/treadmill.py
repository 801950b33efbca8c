"""The treadmill perturbation: constant speed, kicks by hand, one run per condition.

The emulated campaign: two bicycles, uncontrolled inside their stable range, and under LQR and pole
placement below, inside and above it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hil.design.methods import Loop, design
from hil.design.poles import natural
from hil.design.schedule import GainSchedule
from hil.emulation import Emulation
from hil.rig import Rig
from models import catalogue
from models.parameters import Bicycle
from models.plant import Kick, Scenario
from models.whipple import canonical

KICKS = 3
FIRST_KICK = 0.6  # s after the release
SPACING = 3.2  # s; weave has died and the next kick stands apart
RELEASE = 0.5  # s after the drive was enabled
LEAN_RATE = {  # rad/s that a kick gives: well above the gyro's noise, and small where large angles would show
    "linear": 0.35,
    "nonlinear": 0.15,
}
HEIGHT = -0.8  # m, where the hand pushes the rear frame
AHEAD = 0.3  # m, in front of the rear contact

# Bicycle, method, speeds [m/s]: below, inside and above the uncontrolled bicycle's stable range.
PLAN = (
    ("Benchmark", "off", (5.2,)),
    ("Benchmark", "lqr", (3.8, 5.0, 7.0)),
    ("Benchmark", "poles", (3.0, 5.6, 7.6)),
    ("Silver", "off", (5.5,)),
    ("Silver", "lqr", (3.6, 5.0, 8.5)),
    ("Silver", "poles", (2.8, 6.2, 9.0)),
)
GRID = tuple(2.5 + 0.25 * i for i in range(28))  # m/s, of the gains


@dataclass(frozen=True)
class Condition:
    """One run: a bicycle under a controller at a speed, kicked."""

    bicycle: Bicycle
    method: str
    v: float
    schedule: GainSchedule
    scenario: Scenario
    emulation: Emulation = Emulation()
    machine: Rig | None = None  # its devices, limits and rates; the emulated one's by default

    @property
    def label(self) -> str:
        """For folders, tables and the report."""
        return f"{self.bicycle.name} {self.method} {self.v:.1f} m/s"

    @property
    def rig(self) -> Rig:
        """The machine, with this bicycle."""
        return replace(self.machine, bicycle=self.bicycle) if self.machine else Rig(self.bicycle)

    @property
    def duration(self) -> float:
        """Time to stay RUNNING [s]."""
        return RELEASE + FIRST_KICK + KICKS * SPACING


def hand_kick(bicycle: Bicycle, t: float, side: int, rng: np.random.Generator, model: str = "linear") -> Kick:
    """A push as by hand at ``t`` s after the release, to the right for side = 1, of no exact strength or length."""
    strength = LEAN_RATE[model] * float(canonical(bicycle).M[0, 0]) / abs(HEIGHT)  # N s
    return Kick(
        t=t,
        impulse=float(side * strength * rng.uniform(0.85, 1.15)),
        duration=float(rng.uniform(0.06, 0.12)),
        x=AHEAD,
        z=HEIGHT,
    )


def gentle(bicycle: Bicycle, method: str) -> dict[str, Any]:
    """Options under which the weave lasts long enough to be measured: well damped, it is gone too soon.

    LQR by Bryson's weights, but with torque counted as large from 0.03 N m; poles with a weave that is
    damped by 0.2 and never slower than 4.5 rad/s, a cycle and a half between two kicks.
    """
    if method == "lqr":
        return {"weights": {"T_delta": 0.03}}
    if method == "poles":
        return {"zeta": 0.2, "omega": lambda v: max(4.5, natural(bicycle, v)[0])}
    return {}


def conditions(seed: int, emulation: Emulation = Emulation(), machine: Rig | None = None) -> Iterator[Condition]:
    """All runs of the campaign, in order, on a machine's devices; the seed fixes kicks and noise."""
    timing = machine.timing if machine else Loop()
    streams = iter(np.random.SeedSequence(seed).spawn(sum(len(speeds) for *_, speeds in PLAN)))
    for name, method, speeds in PLAN:
        bicycle = catalogue.load(name)
        schedule = design(bicycle, method, GRID, timing, **gentle(bicycle, method))
        for v in speeds:
            rng = np.random.default_rng(next(streams))
            scenario = Scenario(
                speed=((0.0, v),),
                kicks=tuple(
                    hand_kick(bicycle, FIRST_KICK + i * SPACING, (-1) ** i, rng, emulation.model) for i in range(KICKS)
                ),
                release_after=RELEASE,
                seed=int(rng.integers(2**31)),
            )
            yield Condition(bicycle, method, v, schedule, scenario, emulation, machine)
