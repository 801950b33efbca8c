"""Protocols that play a torque on top of the controller: common part of the sine sweep and the designed input."""

from dataclasses import replace
from typing import Literal

from pydantic import Field

from experiments.campaigns.protocols.condition import RELEASE_DELAY, Condition, ForwardSpeed, belt_instruction
from experiments.campaigns.protocols.condition import Settings as Common
from experiments.campaigns.protocols.plan_inputs import PlanInputs
from experiments.theory.excited_loop import amplitude_within_limits, crest_factor
from hil.loop.excitation import Excitation
from hil.rig.fitting import require_playable_on
from models.errors import InputError
from models.linear.prescribed_steer import COMMAND_UNITS

PLAY_LEAD = 1.5  # s under control before the torque begins to play
PLAY_TAIL = 2.0  # s after it, in which the answer dies away


class Settings(Common):
    """Speeds, the band, and how strong: an amplitude, or a share of the limits that it is designed to keep to."""

    speeds_m_s: tuple[ForwardSpeed, ...] = Field(min_length=1)
    duration_s: float = Field(default=40.0, ge=2.0, le=600.0)
    f_low_Hz: float = Field(default=0.2, gt=0.0)
    f_high_Hz: float = Field(default=5.0, gt=0.0)
    amplitude_Nm: float | None = Field(default=None, gt=0.0)
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
        if rig.drive is not None and settings.amplitude_Nm is not None:
            raise InputError(
                f"amplitude_Nm is a torque, but the drive of the rig '{rig.name}' obeys a steer {rig.drive_kind} "
                f"[{rig.drive.unit}]: give share_of_limits instead"
            )
        require_playable_on(rig, played)
        amplitude = settings.amplitude_Nm or amplitude_within_limits(
            rig, schedule, run.v, played, settings.share_of_limits
        )
        played = replace(played, amplitude=amplitude)
        crest = crest_factor(played.samples(rig.rate))
        unit = COMMAND_UNITS[rig.drive_kind]
        warning = f"; its motor will play {amplitude:.2f} {unit} at most for {settings.duration_s:g} s, do not touch it"
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
                remedy=f"lower amplitude_Nm or share_of_limits; the crest factor of this input is {crest:.2f}",
            )
        )
    return bench.in_random_order(conditions)
