"""Registry of designed controllers with states.

By the names that a person types; a new one is a line here.
"""

from typing import Any

from riderless.hil.design.compensators.lqg import LQG
from riderless.hil.design.compensators.steered_lqg import SteerAngleLQG, SteerRateLQG
from riderless.hil.design.compensators.yaw_rate import YawRate

COMPENSATORS: dict[str, Any] = {"lqg": LQG, "yaw_rate": YawRate}
STEER_COMPENSATORS: dict[str, dict[str, Any]] = {
    "rate": {"lqg": SteerRateLQG, "yaw_rate": YawRate},
    "angle": {"lqg": SteerAngleLQG, "yaw_rate": YawRate},
}
