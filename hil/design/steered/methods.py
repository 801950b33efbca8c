"""Design methods of rate and angle drives.

A new one is a line here.
"""

from collections.abc import Callable
from typing import Any

from riderless.hil.design.steered.cascade import LeanCascade, LeanToAngle
from riderless.hil.design.steered.lane import SteerAngleLane, SteerRateLane
from riderless.hil.design.steered.quadratic import SteerAngleLQR, SteerRateLQR

STEER_METHODS: dict[str, dict[str, Callable[..., Any]]] = {
    "rate": {"lqr": SteerRateLQR, "cascade": LeanCascade, "lane": SteerRateLane},
    "angle": {"lqr": SteerAngleLQR, "cascade": LeanToAngle, "lane": SteerAngleLane},
}
