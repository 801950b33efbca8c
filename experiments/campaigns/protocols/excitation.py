"""What the protocols share that play a torque: the sine sweep and the designed input."""

from dataclasses import replace
from typing import Literal

from pydantic import Field

from experiments.campaigns.protocols.condition import RELEASE, Condition, belt
from experiments.campaigns.protocols.condition import Settings as Common
from experiments.campaigns.protocols.plan_inputs import PlanInputs
from experiments.theory.excited_loop import amplitude_within_limits, crest_factor
from hil.loop.excitation import Excitation
from hil.rig.rig import Rig

LEAD = 1.5  # s under control before the torque begins to play
TAIL = 2.0  # s after it, in which the answer dies away


class Settings(Common):
    """Speeds, the band, and how strong: an amplitude, or a share of the limits that it is designed to keep to."""

    speeds_m_s: tuple[float, ...] = Field(min_length=1)
    duration_s: float = Field(default=40.0, ge=2.0, le=600.0)
    f_low_Hz: float = Field(default=0.2, gt=0.0)
    f_high_Hz: float = Field(default=5.0, gt=0.0)
    amplitude_Nm: float | None = Field(default=None, gt=0.0)
    share_of_limits: float = Field(default=0.2, gt=0.0, lt=1.0)


def plan_played(
    settings: Settings, bench: PlanInputs, signal: Literal["sweep", "multisine", "steps"], tag: str, periods: int = 1
) -> list[Condition]:
    """Every bicycle, controller and speed, so many times, in random order; one signal, as strong as is allowed."""
    conditions = []
    for number, (bicycle, controller, v, repeat) in enumerate(bench.runs(settings.speeds_m_s, settings.repeats)):
        schedule = bench.schedule(bicycle, controller, settings.speeds_m_s)
        rig = replace(bench.machine, bicycle=bicycle) if bench.machine else Rig(bicycle)
        rng = bench.chance(number)
        played = Excitation(
            signal,
            0.0,
            settings.duration_s,
            settings.f_low_Hz,
            settings.f_high_Hz,
            int(rng.integers(2**31)),
            delay=LEAD,
            periods=periods,
        )
        amplitude = settings.amplitude_Nm or amplitude_within_limits(rig, schedule, v, played, settings.share_of_limits)
        played = replace(played, amplitude=amplitude)
        crest = crest_factor(played.samples(rig.rate))
        conditions.append(
            Condition(
                bicycle=bicycle,
                method=controller.method,
                v=v,
                schedule=schedule,
                scenario=bench.scenario(bicycle, [(0.0, v)], [], rng),
                emulation=bench.emulation,
                machine=bench.machine,
                controller=controller.name,
                protocol=settings.kind,
                tag=tag,
                repeat=repeat,
                repeats=settings.repeats,
                excitation=played,
                length=RELEASE + LEAD + settings.duration_s + TAIL,
                instruction=belt(
                    v,
                    f"; its motor will play {amplitude:.2f} N m at most for {settings.duration_s:g} s, do not touch it",
                ),
                remedy=f"lower amplitude_Nm or share_of_limits; the crest factor of this input is {crest:.2f}",
            )
        )
    return bench.in_random_order(conditions)
