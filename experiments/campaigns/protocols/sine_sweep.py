"""Sine sweep of the steer torque.

It gives the frequency response of the loop and of the plant (`frequency_response.response`).
"""

from pydantic import Field

from riderless.experiments.campaigns.protocols.condition import Condition
from riderless.experiments.campaigns.protocols.excitation import Settings as Played
from riderless.experiments.campaigns.protocols.excitation import plan_played
from riderless.experiments.campaigns.protocols.plan_inputs import PlanInputs


class Settings(Played):
    """As any torque that is played, but long enough for a frequency response."""

    duration_s: float = Field(default=60.0, ge=30.0, le=600.0)


def plan(settings: Settings, bench: PlanInputs) -> list[Condition]:
    """Plan a sine whose frequency grows exponentially, on top of the controller, at every speed."""
    return plan_played(settings, bench, "sweep", "sine sweep")
