"""Designed input for identification of the parameters.

It is played on top of the controller, within the limits. A multisine plays every harmonic of the band at once, with
phases that keep its peak low, and as strong as lean, steer and torque may become after theory.
"""

from typing import Literal

from pydantic import Field

from riderless.experiments.campaigns.protocols.condition import Condition
from riderless.experiments.campaigns.protocols.excitation import Settings as Played
from riderless.experiments.campaigns.protocols.excitation import plan_played
from riderless.experiments.campaigns.protocols.plan_inputs import PlanInputs


class Settings(Played):
    """Kind of input: a multisine, or random steps (richer in high frequencies, harder on the drive)."""

    signal: Literal["multisine", "steps"] = "multisine"
    periods: int = Field(default=1, ge=1, le=100)  # of the multisine, within its duration


def plan(settings: Settings, bench: PlanInputs) -> list[Condition]:
    """Plan the designed input at every speed."""
    return plan_played(settings, bench, settings.signal, settings.signal, settings.periods)
