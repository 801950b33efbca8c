"""Treadmill at constant speed, kicks by hand.

Speeds times repeats in random order. Also the emulated campaign that runs when no file says otherwise: two bicycles,
uncontrolled inside their stable range, and under LQR and pole placement below, inside and above it.
"""

from collections.abc import Iterator

import numpy as np
from pydantic import Field

from riderless.experiments.campaigns.protocols.condition import Condition, ForwardSpeed, belt_instruction, kick_cues
from riderless.experiments.campaigns.protocols.condition import Settings as Common
from riderless.experiments.campaigns.protocols.plan_inputs import PlanInputs, gentle_options
from riderless.experiments.emulation.hand import FIRST_KICK, KICK_SPACING, KICKS_PER_RUN, RELEASE_DELAY
from riderless.hil.controllers.timing import LoopTiming
from riderless.hil.design.methods import design
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.emulation import Emulation
from riderless.models import catalogue

# Bicycle, method, speeds [m/s]: below, inside and above the uncontrolled bicycle's stable range.
TREADMILL_PLAN = (
    ("Benchmark", "off", (5.2,)),
    ("Benchmark", "lqr", (3.8, 5.0, 7.0)),
    ("Benchmark", "poles", (3.0, 5.6, 7.6)),
    ("Silver", "off", (5.5,)),
    ("Silver", "lqr", (3.6, 5.0, 8.5)),
    ("Silver", "poles", (2.8, 6.2, 9.0)),
)
GAIN_SPEEDS = tuple(2.5 + 0.25 * i for i in range(28))  # m/s, of the gains


class Settings(Common):
    """Speeds times repeats, so many kicks in each run."""

    speeds_m_s: tuple[ForwardSpeed, ...] = Field(min_length=1)
    kicks: int = Field(default=KICKS_PER_RUN, ge=1, le=100)
    spacing_s: float = Field(default=KICK_SPACING, ge=1.0, le=60.0)


def plan(settings: Settings, bench: PlanInputs) -> list[Condition]:
    """Plan every bicycle, controller and speed, repeated, in random order."""
    times = [FIRST_KICK + i * settings.spacing_s for i in range(settings.kicks)]
    conditions = [
        bench.condition(
            settings,
            run,
            bench.schedule(run.bicycle, run.controller, settings.speeds_m_s),
            bench.scenario(run.bicycle, [(0.0, run.v)], times, bench.chance(number), settings.lean_rate_rad_s),
            length=RELEASE_DELAY + FIRST_KICK + settings.kicks * settings.spacing_s,
            instruction=belt_instruction(run.v, rig=bench.machine),
            cues=kick_cues(times),
            remedy="lower lean_rate_rad_s, or choose another speed or controller",
        )
        for number, run in enumerate(bench.runs(settings.speeds_m_s, settings.repeats))
    ]
    return bench.in_random_order(conditions)


def treadmill_conditions(
    seed: int, emulation: Emulation = Emulation(), machine: Rig | None = None
) -> Iterator[Condition]:
    """Plan the usual emulated campaign, in order, on a machine's devices; the seed fixes kicks and noise."""
    timing = machine.timing if machine else LoopTiming()
    streams = iter(np.random.SeedSequence(seed).spawn(sum(len(speeds) for *_, speeds in TREADMILL_PLAN)))
    times = [FIRST_KICK + i * KICK_SPACING for i in range(KICKS_PER_RUN)]
    bench = PlanInputs(bicycles=(), controllers=(), emulation=emulation, machine=machine)
    for name, method, speeds in TREADMILL_PLAN:
        bicycle = catalogue.load_bicycle(name)
        schedule = design(bicycle, method, GAIN_SPEEDS, timing, **gentle_options(bicycle, method))
        for v in speeds:
            yield Condition(
                bicycle=bicycle,
                method=method,
                v=v,
                schedule=schedule,
                scenario=bench.scenario(bicycle, [(0.0, v)], times, np.random.default_rng(next(streams))),
                emulation=emulation,
                machine=machine,
            )
