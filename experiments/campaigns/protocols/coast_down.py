"""Coast-down on a floor.

The bicycle is pushed to speed and left to roll; the speed falls during every window.
"""

from pydantic import Field

from riderless.experiments.campaigns.protocols.condition import Condition, ForwardSpeed, kick_cues
from riderless.experiments.campaigns.protocols.condition import Settings as Common
from riderless.experiments.campaigns.protocols.plan_inputs import PlanInputs
from riderless.experiments.emulation.hand import FIRST_KICK, KICK_SPACING, RELEASE_DELAY
from riderless.models.errors import InputError


class Settings(Common):
    """Speeds at the start and the end, deceleration, and the kicks on the way."""

    speeds_m_s: tuple[ForwardSpeed, ...] = Field(min_length=1)  # at which it is let go
    down_to_m_s: float = Field(gt=0.0)
    deceleration_m_s2: float = Field(default=0.23, gt=0.0, le=3.0)  # Kooijman's run 52
    spacing_s: float = Field(default=KICK_SPACING, ge=1.0, le=60.0)


def plan(settings: Settings, bench: PlanInputs) -> list[Condition]:
    """Plan every bicycle, controller and first speed, repeated, in random order.

    Raises
    ------
    InputError
        When a run would be over before the first kick has been answered.
    """
    conditions = []
    for number, run in enumerate(bench.runs(settings.speeds_m_s, settings.repeats)):
        v = run.v
        rolling = (v - settings.down_to_m_s) / settings.deceleration_m_s2
        kicks = int((rolling - FIRST_KICK) / settings.spacing_s)
        if kicks < 1:
            raise InputError(
                f"coasting from {v:g} to {settings.down_to_m_s:g} m/s at {settings.deceleration_m_s2:g} m/s^2 takes "
                f"{rolling:.1f} s, too short for a kick and {settings.spacing_s:g} s of answer: begin faster "
                "or end slower"
            )
        times = [FIRST_KICK + i * settings.spacing_s for i in range(kicks)]
        trace = [(0.0, v), (rolling, settings.down_to_m_s)]
        conditions.append(
            bench.condition(
                settings,
                run,
                bench.schedule(run.bicycle, run.controller, [*settings.speeds_m_s, settings.down_to_m_s]),
                bench.scenario(
                    run.bicycle, trace, times, bench.chance(number), settings.lean_rate_rad_s, surface="floor"
                ),
                tag="coasting",
                length=RELEASE_DELAY + FIRST_KICK + kicks * settings.spacing_s,
                instruction=f"push the bicycle along the floor to {v:g} m/s, let it roll and run beside it",
                cues=kick_cues(times),
                remedy="lower lean_rate_rad_s, raise down_to_m_s, or choose another controller",
            )
        )
    return bench.in_random_order(conditions)
