"""Several controllers at the same speeds, kicked alike.

One after another in random order. At each speed every controller meets the very same kicks before the next speed comes,
so that what differs between them is the controller and not the hour or the hand.
"""

from dataclasses import replace

from pydantic import Field

from riderless.experiments.campaigns.protocols.condition import Condition
from riderless.experiments.campaigns.protocols.plan_inputs import PlanInputs
from riderless.experiments.campaigns.protocols.treadmill import Settings as Treadmill
from riderless.experiments.campaigns.protocols.treadmill import plan as treadmill_plan
from riderless.models.errors import InputError


class Settings(Treadmill):
    """As the treadmill perturbation, under two controllers or more."""

    repeats: int = Field(default=2, ge=1, le=1000)


def plan(settings: Settings, bench: PlanInputs) -> list[Condition]:
    """Plan blocks of one bicycle and speed in random order, and within each the controllers in random order.

    Raises
    ------
    InputError
        When there is only one controller.
    """
    if len(bench.controllers) < 2:
        raise InputError(
            f"a set of controllers wants two or more, found {', '.join(c.name for c in bench.controllers)}: add "
            "[[controller]] tables, or use the treadmill protocol"
        )
    blocks = []
    one_controller = replace(bench, controllers=bench.controllers[:1])
    for number, (bicycle, _, v, repeat) in enumerate(one_controller.runs(settings.speeds_m_s, settings.repeats)):
        alone = settings.model_copy(update={"speeds_m_s": (v,), "repeats": 1})
        block = replace(bench, bicycles=(bicycle,), seed=(*bench.seed, number))
        alike = block.chance(0)
        made = [replace(c, repeat=repeat, repeats=settings.repeats) for c in treadmill_plan(alone, block)]
        times = [kick.t for kick in made[0].scenario.kicks]
        scenario = block.scenario(bicycle, [(0.0, v)], times, alike, settings.lean_rate_rad_s)
        blocks.append([replace(c, scenario=scenario) for c in made])
    return [condition for block in bench.in_random_order(blocks) for condition in block]
