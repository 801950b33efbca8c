"""Protocols that play a command during control.

It is the common part of the sine sweep and the designed input.
"""

from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, Field

from riderless.experiments.campaigns.protocols.condition import Condition, ForwardSpeed, belt_instruction
from riderless.experiments.campaigns.protocols.condition import Settings as Common
from riderless.experiments.campaigns.protocols.plan_inputs import PlanInputs
from riderless.experiments.emulation.hand import RELEASE_DELAY
from riderless.experiments.theory.excited_loop import amplitude_within_limits, crest_factor, require_played_whole
from riderless.hil.loop.excitation import Excitation
from riderless.hil.rig.rig import Rig
from riderless.models.errors import InputError
from riderless.models.linear.prescribed_steer import COMMAND_UNITS

PLAY_LEAD = 1.5  # s under control before the signal begins to play
PLAY_TAIL = 2.0  # s after it, in which the answer dies away
KEY_UNITS = {"torque": "Nm", "rate": "rad_s", "angle": "rad"}  # of each kind of drive's command, as keys end
_COMMAND_WORDS = {"torque": "torque", "rate": "steer rate", "angle": "steer angle"}


class Settings(Common):
    """Speeds, the band, and how strong: an amplitude, or a share of the limits that it is designed to keep to."""

    speeds_m_s: tuple[ForwardSpeed, ...] = Field(min_length=1)
    duration_s: float = Field(default=40.0, ge=2.0, le=600.0)
    f_low_Hz: float = Field(default=0.2, gt=0.0)
    f_high_Hz: float = Field(default=5.0, gt=0.0)
    amplitude_Nm: float | None = Field(default=None, gt=0.0)
    amplitude_rad_s: float | None = Field(default=None, gt=0.0)
    amplitude_rad: float | None = Field(default=None, gt=0.0)
    share_of_limits: float = Field(default=0.2, gt=0.0, lt=1.0)


def plan_played(
    settings: Settings, bench: PlanInputs, signal: Literal["sweep", "multisine", "steps"], tag: str, periods: int = 1
) -> list[Condition]:
    """Plan every bicycle, controller and speed, repeated, in random order; one signal, as strong as is allowed.

    Parameters
    ----------
    settings : Settings
    bench : PlanInputs
    signal : {"sweep", "multisine", "steps"}
    tag : str
        What the signal is called in a run's name.
    periods : int
        How often a multisine repeats itself within its duration.
    """
    conditions = []
    for number, run in enumerate(bench.runs(settings.speeds_m_s, settings.repeats)):
        schedule = bench.schedule(run.bicycle, run.controller, settings.speeds_m_s)
        rig, rng = bench.rig(run.bicycle), bench.chance(number)
        played = Excitation(
            kind=signal,
            duration=settings.duration_s,
            f_low=settings.f_low_Hz,
            f_high=settings.f_high_Hz,
            seed=int(rng.integers(2**31)),
            delay=PLAY_LEAD,
            periods=periods,
        )
        key = amplitude_key(settings, rig, "amplitude")
        given = getattr(settings, key)
        amplitude = given or amplitude_within_limits(rig, schedule, run.v, played, settings.share_of_limits)
        played = replace(played, amplitude=amplitude)
        if given:
            require_played_whole(rig, schedule, run.v, played)
        crest = crest_factor(played.samples(rig.rate))
        unit = COMMAND_UNITS[rig.drive_kind]
        warning = f"; its motor will play {amplitude:.2g} {unit} at most for {settings.duration_s:g} s, do not touch it"
        conditions.append(
            bench.condition(
                settings,
                run,
                schedule,
                bench.scenario(run.bicycle, [(0.0, run.v)], [], rng),
                tag=tag,
                excitation=played,
                length=RELEASE_DELAY + PLAY_LEAD + settings.duration_s + PLAY_TAIL,
                instruction=belt_instruction(run.v, warning, bench.machine),
                remedy=f"lower {key} or share_of_limits; the crest factor of this input is {crest:.2f}",
            )
        )
    return bench.in_random_order(conditions)


def amplitude_key(settings: BaseModel, rig: Rig, what: str) -> str:
    """Key of a strength in the unit that the rig's drive obeys: "amplitude_rad_s"; refuses one of another unit.

    Parameters
    ----------
    settings : BaseModel
        With a key of each unit.
    rig : Rig
    what : str
        First part of the keys, "amplitude" or "push".

    Raises
    ------
    InputError
    """
    key = f"{what}_{KEY_UNITS[rig.drive_kind]}"
    for kind, unit in KEY_UNITS.items():
        other = f"{what}_{unit}"
        if other != key and getattr(settings, other) is not None:
            raise InputError(
                f"{other} is a {_COMMAND_WORDS[kind]}, but the drive of the rig '{rig.name}' obeys a "
                f"{_COMMAND_WORDS[rig.drive_kind]} [{COMMAND_UNITS[rig.drive_kind]}]: give {key}, or leave it out"
            )
    return key
