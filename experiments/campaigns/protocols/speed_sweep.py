"""Speed sweep through the weave speed, with kicks.

One run, in steps or along a slow ramp, a kick at each speed.
"""

from typing import Literal

from pydantic import Field

from riderless.experiments.campaigns.protocols.condition import Condition, belt_instruction, drives_its_speed, kick_cues
from riderless.experiments.campaigns.protocols.condition import Settings as Common
from riderless.experiments.campaigns.protocols.plan_inputs import PlanInputs
from riderless.experiments.emulation.hand import RELEASE_DELAY
from riderless.models.errors import InputError
from riderless.models.linear.modes import critical_speeds
from riderless.models.parameters import Bicycle

SWEEP_HALF_RANGE = 0.8  # m/s to either side of the weave speed
BELT_CHANGE_TIME = 1.0  # s that the belt takes from one step to the next
SETTLING_TIME = 0.6  # s at a new speed before the kick
TIME_AFTER_KICK = 4.6  # s after the kick at the same speed: as long as a window can be
MAX_RAMP = 0.1  # m/s^2: a belt that speeds up more looks like a push


class Settings(Common):
    """Speed range, by default through the weave speed of each bicycle, and how it is gone through."""

    from_m_s: float | None = Field(default=None, gt=0.0)
    to_m_s: float | None = Field(default=None, gt=0.0)
    by: Literal["steps", "ramp"] = "steps"
    kicks: int = Field(default=5, ge=2, le=100)  # as many speeds

    def range_of(self, bicycle: Bicycle) -> tuple[float, float]:
        """Choose first and last speed [m/s] for a bicycle; raises InputError."""
        if self.from_m_s is not None and self.to_m_s is not None:
            return self.from_m_s, self.to_m_s
        weave = critical_speeds(bicycle).weave
        if weave is None or weave <= SWEEP_HALF_RANGE:
            raise InputError(
                f"the bicycle {bicycle.name} has no weave speed to sweep through: give from_m_s and to_m_s yourself"
            )
        return self.from_m_s or weave - SWEEP_HALF_RANGE, self.to_m_s or weave + SWEEP_HALF_RANGE


def plan(settings: Settings, bench: PlanInputs) -> list[Condition]:
    """Plan every bicycle and controller, repeated, in random order.

    Raises
    ------
    InputError
        When there is no weave speed and no range is given, or the ramp is too steep.
    """
    conditions = []
    driven = drives_its_speed(bench.machine)
    for number, run in enumerate(bench.runs([0.0], settings.repeats)):
        first, last = settings.range_of(run.bicycle)
        profile, times, length = _speed_steps(first, last, settings.kicks)
        if settings.by == "ramp":
            profile = [(0.0, first), (length, last)]
            steep = abs(last - first) / length
            if steep > MAX_RAMP:
                raise InputError(
                    f"a ramp from {first:.2f} to {last:.2f} m/s in {length:g} s changes by {steep:.2f} m/s^2, wanted "
                    f"at most {MAX_RAMP:g}: ask for more kicks or a narrower range"
                )
        conditions.append(
            bench.condition(
                settings,
                run._replace(v=round(0.5 * (first + last), 2)),
                bench.schedule(run.bicycle, run.controller, [first, last]),
                bench.scenario(run.bicycle, profile, times, bench.chance(number), settings.lean_rate_rad_s),
                tag=f"swept by {settings.by}",
                length=RELEASE_DELAY + length,
                instruction=belt_instruction(
                    first, f", then {'on' if driven else 'take the belt'} to {last:.2f} m/s as told", bench.machine
                ),
                cues=_sweep_cues("ramp" if driven else settings.by, profile, times),
                remedy="lower lean_rate_rad_s, narrow the range, or choose another controller",
            )
        )
    return bench.in_random_order(conditions)


def _speed_steps(first: float, last: float, n: int) -> tuple[list[tuple[float, float]], list[float], float]:
    """Lay out ``n`` steps: profile (s, m/s), times of the kicks [s after the release] and length [s]."""
    profile, times, t = [], [], 0.0
    for i in range(n):
        v = first + (last - first) * i / (n - 1)
        profile += [(t, v), (t + SETTLING_TIME + TIME_AFTER_KICK, v)]
        times.append(t + SETTLING_TIME)
        t += SETTLING_TIME + TIME_AFTER_KICK + BELT_CHANGE_TIME
    return profile, times, t - BELT_CHANGE_TIME


def _sweep_cues(by: str, profile: list[tuple[float, float]], times: list[float]) -> tuple[tuple[float, str], ...]:
    """List what to tell the person at the belt and the one who kicks, and when."""
    cues = list(kick_cues(times))
    if by == "steps":
        changes = zip(profile[1:-1:2], profile[2::2], strict=True)  # from the end of a step to the next one
        cues += [(RELEASE_DELAY + t, f"belt to {v:.2f} m/s") for (t, _), (_, v) in changes]
    return tuple(sorted(cues))
