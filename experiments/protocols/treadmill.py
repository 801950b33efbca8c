"""The treadmill perturbation: constant speed, kicks by hand, one run per condition.

The emulated campaign: two bicycles, uncontrolled inside their stable range, and under LQR and pole
placement below, inside and above it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hil.design import Loop, design
from hil.design.schedule import GainSchedule
from hil.rig import Rig
from models import catalogue
from models.parameters import Bicycle
from models.plant import Kick, Scenario
from models.whipple import canonical

KICKS = 3
FIRST_KICK = 0.8  # s after the release
SPACING = 3.3  # s; weave has died and the next kick stands apart
RELEASE = 0.5  # s after the drive was enabled
LEAN_RATE = 0.35  # rad/s that a kick gives; well above the gyro's noise, small enough to stay linear
HEIGHT = -0.8  # m, where the hand pushes the rear frame
AHEAD = 0.3  # m, in front of the rear contact

# A weave that is well damped is gone before it can be measured, so the campaign controls gently:
# Bryson's weights but torque counted as large from 0.03 N m, poles with a damping ratio of 0.2.
GENTLE = {"weights": {"T_delta": 0.03}}
PLAN = (  # bicycle, method, its options, speed in m/s: below, inside and above the stable range
    ("Benchmark", "off", {}, 5.2),
    ("Benchmark", "lqr", GENTLE, 3.8),
    ("Benchmark", "lqr", GENTLE, 5.0),
    ("Benchmark", "lqr", GENTLE, 7.0),
    ("Benchmark", "poles", {"zeta": 0.2, "omega": 4.5}, 3.0),
    ("Benchmark", "poles", {"zeta": 0.2}, 5.6),
    ("Benchmark", "poles", {"zeta": 0.2}, 7.6),
    ("Silver", "off", {}, 5.5),
    ("Silver", "lqr", GENTLE, 3.6),
    ("Silver", "lqr", GENTLE, 5.0),
    ("Silver", "lqr", GENTLE, 8.5),
    ("Silver", "poles", {"zeta": 0.2, "omega": 5.0}, 2.8),
    ("Silver", "poles", {"zeta": 0.2}, 6.2),
    ("Silver", "poles", {"zeta": 0.2}, 9.0),
)
AROUND = 0.25  # m/s, to either side of the speed for which gains are made too


@dataclass(frozen=True)
class Condition:
    """One run: a bicycle under a controller at a speed, kicked."""

    bicycle: Bicycle
    method: str
    v: float
    schedule: GainSchedule
    scenario: Scenario

    @property
    def label(self) -> str:
        """For folders, tables and the report."""
        return f"{self.bicycle.name} {self.method} {self.v:.1f} m/s"

    @property
    def rig(self) -> Rig:
        """The emulated machine."""
        return Rig(self.bicycle)

    @property
    def duration(self) -> float:
        """Time to stay RUNNING [s]."""
        return RELEASE + FIRST_KICK + KICKS * SPACING


def hand_kick(bicycle: Bicycle, t: float, side: int, rng: np.random.Generator) -> Kick:
    """A push as by hand at ``t`` s after the release, to the right for side = 1, of no exact strength or length."""
    strength = LEAN_RATE * float(canonical(bicycle).M[0, 0]) / abs(HEIGHT)  # N s
    return Kick(
        t=t,
        impulse=float(side * strength * rng.uniform(0.85, 1.15)),
        duration=float(rng.uniform(0.06, 0.12)),
        x=AHEAD,
        z=HEIGHT,
    )


def conditions(seed: int) -> Iterator[Condition]:
    """All runs of the campaign, in order; the seed fixes kicks and noise."""
    streams = np.random.SeedSequence(seed).spawn(len(PLAN))
    for (name, method, options, v), stream in zip(PLAN, streams, strict=True):
        bicycle, rng = catalogue.load(name), np.random.default_rng(stream)
        scenario = Scenario(
            speed=((0.0, v),),
            kicks=tuple(hand_kick(bicycle, FIRST_KICK + i * SPACING, (-1) ** i, rng) for i in range(KICKS)),
            release_after=RELEASE,
            seed=int(rng.integers(2**31)),
        )
        schedule = design(bicycle, method, (v - AROUND, v, v + AROUND), Loop(), **options)
        yield Condition(bicycle, method, v, schedule, scenario)
