"""Adaptive experiment: the next run tells most.

The drive kicks, and the bicycle keeps its lane. What is planned here is the menu: each controller, speed and kick once.
Which of them is run, in which order and how often is decided between runs (`riderless.experiments.campaigns.adaptive`).
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from riderless.experiments.campaigns.protocols.condition import (
    Condition,
    ForwardSpeed,
    belt_instruction,
    drives_its_speed,
)
from riderless.experiments.campaigns.protocols.condition import Settings as Common
from riderless.experiments.campaigns.protocols.plan_inputs import Combination, PlanInputs
from riderless.experiments.emulation.hand import RELEASE_DELAY
from riderless.experiments.experiment_design.paper_windows import PaperKick, kick_amplitude, wheel_excursion
from riderless.experiments.theory.excited_loop import excited_loop
from riderless.hil.loop.excitation import Excitation
from riderless.hil.rig.fitting import with_emulated_place
from riderless.models.errors import InputError
from riderless.models.linear.prescribed_steer import COMMAND_UNITS

FIRST_DRIVE_KICK = 1.5  # s under control before the drive kicks
FIRST_KICK_AT_SPEED = 3.0  # s where the machine keeps its speed: it is released while the last tenths are still to come


class Settings(Common):
    """Quantities to be learnt and how well, the minutes for it, and the menu to choose from."""

    until: str = Field(min_length=1)  # "drive_gain +- 0.01, steer_damping", "weave@5 +- 0.05", "verdict"
    against: tuple[dict[str, float], ...] = ()  # of a verdict: what differs in the other model, or in each, SI
    minutes: float = Field(default=10.0, gt=0.0, le=10_000.0)  # of the machine, as the plan counts them
    speeds_m_s: tuple[ForwardSpeed, ...] = Field(min_length=1)
    kicks_s: tuple[float, ...] = Field(default=(0.2, 0.4), min_length=1)
    kicks: int = Field(default=3, ge=1, le=100)  # in a run, to either side in turn
    spacing_s: float = Field(default=4.0, ge=1.0, le=60.0)
    share_of_limits: float = Field(default=0.3, gt=0.0, lt=1.0)  # that a kick uses of lean, steer and torque
    most_lean_deg: float = Field(default=2.5, gt=0.0, le=20.0)  # by theory, which is linear
    share_of_belt: float = Field(default=0.6, gt=0.0, lt=1.0)  # from the middle to the edge, that a kick may use
    legs: int = Field(default=1, ge=1, le=10)  # one after the other, changed by the machine itself

    @field_validator("against", mode="before")
    @classmethod
    def _as_several(cls, given: object) -> object:
        """Take one other model, a table, as several of one."""
        if isinstance(given, Mapping):
            return (given,)
        if isinstance(given, list | tuple) and all(isinstance(table, Mapping) for table in given):
            return given
        raise PydanticCustomError(
            "other_models", "wanted another model, { drive_gain = 0.9 }, or a list of several tables like it"
        )


def plan(settings: Settings, bench: PlanInputs) -> list[Condition]:
    """Plan the menu: every controller, speed and kick of one bicycle.

    Raises
    ------
    InputError
        There are several bicycles, a controller that keeps no lane, a belt without known edges, or a kick too short.
    """
    if len(bench.bicycles) != 1:
        names = ", ".join(bicycle.name for bicycle in bench.bicycles)
        raise InputError(f"an experiment that runs itself is about one bicycle, found {names}: name one of them")
    if settings.repeats != 1 or settings.lean_rate_rad_s is not None:
        raise InputError(
            "an experiment that runs itself chooses how often a run is made and kicks by the drive: leave repeats and "
            "lean_rate_rad_s out"
        )
    if settings.legs > 1 and bench.machine and not drives_its_speed(bench.machine):
        raise InputError(
            f"legs = {settings.legs} wants a machine that changes its speed by itself, but the rig "
            f"'{bench.machine.name}' has no treadmill or wheel drive: add a [[port]] with carries = [\"speed\"] and a "
            "table [speed_drive] to it, or leave legs out"
        )
    for time in settings.kicks_s:
        if not 0.05 <= time <= 1.0:
            raise InputError(f"a kick by the drive lasts from 0.05 to 1 s, found {time:g} s in kicks_s: change it")
    edge = _edge(bench)
    return [
        _condition(settings, bench, run, time, edge, number)
        for number, (run, time) in enumerate(
            (run, time) for run in bench.runs(settings.speeds_m_s, 1) for time in settings.kicks_s
        )
    ]


def _edge(bench: PlanInputs) -> float:
    """Distance [m] from the middle of the belt to where a wheel may be; refuses a belt that nobody has measured."""
    place = bench.machine.place if bench.machine else None
    width = place.belt_width if place else bench.emulation.surroundings.belt_width
    if bench.machine and place is None:
        raise InputError(
            f"an experiment that runs itself keeps to its belt, but the rig '{bench.machine.name}' has no sensor of "
            'place: add a [[port]] with carries = ["place"] and a table [place] with belt_width_m to it'
        )
    if width is None:
        where = "belt_width_m in [place] of the rig" if bench.machine else "[belt] width_m in the campaign file"
        raise InputError(
            f"an experiment that runs itself must know the edges of its belt, found none: measure it and say {where}"
        )
    return place.edge if place else 0.5 * width


def _condition(
    settings: Settings, bench: PlanInputs, run: Combination, time: float, edge: float, number: int
) -> Condition:
    """Plan one entry of the menu.

    Parameters
    ----------
    settings : Settings
    bench : PlanInputs
    run : Combination
    time : float
        s, of a kick.
    edge : float
        m, from the middle of the belt.
    number : int
        Of the entry, for its noise.
    """
    schedule = bench.schedule(run.bicycle, run.controller, settings.speeds_m_s)
    if "y_P" not in schedule.inputs:
        raise InputError(
            f"an experiment that runs itself keeps its lane, but the controller '{run.controller.name}' does not: "
            'take method = "lane"'
        )
    rig = bench.rig(run.bicycle)
    if bench.machine is None:
        rig = with_emulated_place(rig, 2.0 * edge)
    first = FIRST_KICK_AT_SPEED if drives_its_speed(rig) else FIRST_DRIVE_KICK
    played = Excitation(
        kind="kicks",
        duration=settings.kicks * settings.spacing_s,
        f_low=0.1,
        f_high=0.5 / time,
        delay=first,
        periods=settings.kicks,
    )
    within = kick_amplitude(rig, schedule, run.v, PaperKick("drive", settings.share_of_limits, time))
    unit = replace(played, amplitude=1.0, delay=0.0).samples(rig.rate)
    on_belt = settings.share_of_belt * edge / wheel_excursion(rig, schedule, run.v, unit)
    small = np.radians(settings.most_lean_deg) / excited_loop(rig, schedule, run.v).peaks(unit)["lean"]
    played = replace(played, amplitude=min(within, on_belt, small))
    command = COMMAND_UNITS[rig.drive_kind]
    return bench.condition(
        settings,
        run,
        schedule,
        bench.scenario(run.bicycle, [(0.0, run.v)], [], bench.chance(number)),
        tag=f"kicked {time:g} s",
        excitation=played,
        length=RELEASE_DELAY + first + settings.kicks * settings.spacing_s,
        instruction=belt_instruction(
            run.v, f"; its motor kicks by {played.amplitude:.2g} {command}, stand at the stop and do not touch it", rig
        ),
        remedy="lower share_of_limits or share_of_belt, or leave this speed or kick out",
    )
