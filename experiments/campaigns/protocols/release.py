"""Torque off for a moment below weave speed.

The controller balances before and after it. A push by the drive sets the bicycle going, then the torque is off: it
weaves wider and wider, and that growth is what is measured. The controller has it back after `free_s`, or as soon as
lean or steer passes `catch` of its limit.

With `hold_back = "lane"` the rest of a law that keeps a lane goes on balancing, and only heading and place are left to
themselves: the bicycle wanders, and is brought back after `free_s`, or as soon as a wheel is `bring_back` of the way to
the edge. How far that is from the edge the rehearsal tells.
"""

from dataclasses import replace
from typing import Literal

from pydantic import Field

from riderless.experiments.campaigns.protocols.condition import Condition, ForwardSpeed, belt_instruction
from riderless.experiments.campaigns.protocols.condition import Settings as Common
from riderless.experiments.campaigns.protocols.excitation import amplitude_key
from riderless.experiments.campaigns.protocols.plan_inputs import PlanInputs
from riderless.experiments.emulation.hand import RELEASE_DELAY
from riderless.experiments.theory.excited_loop import amplitude_within_limits
from riderless.hil.controllers.controller import Controller
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.loop.excitation import Excitation
from riderless.hil.rig.fitting import require_playable_on
from riderless.models.errors import InputError
from riderless.models.linear.modes import critical_speeds
from riderless.models.parameters import Bicycle

FIRST_RELEASE = 1.5  # s after the hands are off: the controller has settled
PUSH_DURATION = 0.15  # s, of the push before it goes off
PUSH_SHARE = 0.05  # of the limits that the push alone may use: the motion has to grow before it meets one
BELOW_WEAVE_SPEED = (0.2, 0.5)  # m/s below the weave speed, where a cycle grows by less than three times
_WARNING = {"torque": "its torque will go off", "lane": "it will be left to wander"}
_CUE = {"torque": "torque off", "lane": "lane held back"}
_REMEDY = {
    "torque": "shorten free_s, lower {push} or catch, or go nearer to the weave speed",
    "lane": "shorten free_s, lower {push} or bring_back, or take a wider belt",
}


class Settings(Common):
    """Speeds, by default a little below the weave speed of each bicycle; releases in each run."""

    speeds_m_s: tuple[ForwardSpeed, ...] = ()
    releases: int = Field(default=3, ge=1, le=100)
    free_s: float = Field(default=3.5, ge=0.5, le=30.0)
    rest_s: float = Field(default=3.0, ge=1.0, le=60.0)  # under control between two
    push_Nm: float | None = Field(default=None, gt=0.0)  # designed to be small, if not given
    push_rad_s: float | None = Field(default=None, gt=0.0)  # of a drive that obeys a steer rate
    push_rad: float | None = Field(default=None, gt=0.0)  # of a drive that obeys a steer angle
    catch: float = Field(default=0.6, gt=0.0, lt=1.0)
    hold_back: Literal["torque", "lane"] = "torque"
    bring_back: float = Field(default=0.6, gt=0.0, lt=1.0)


def plan(settings: Settings, bench: PlanInputs) -> list[Condition]:
    """Plan every bicycle, controller and speed, repeated, in random order.

    Raises
    ------
    InputError
        When a bicycle has no weave speed and no speeds are given, or a controller does not balance.
    """
    for controller in bench.controllers:
        if controller.method == "off":
            raise InputError(
                f"a release wants a controller that balances before and after it, found '{controller.name}', which is "
                "off: name another one in its 'controllers'"
            )
    begins = [RELEASE_DELAY + FIRST_RELEASE + i * (settings.free_s + settings.rest_s) for i in range(settings.releases)]
    moments = tuple((begin, settings.free_s) for begin in begins)
    lane = settings.hold_back == "lane"
    if bench.machine is not None:
        require_playable_on(bench.machine, Excitation(releases=() if lane else moments))
    conditions = []
    for b, bicycle in enumerate(bench.bicycles):
        speeds = settings.speeds_m_s or _below_weave(bicycle)
        for number, run in enumerate(replace(bench, bicycles=(bicycle,)).runs(speeds, settings.repeats)):
            schedule = bench.schedule(bicycle, run.controller, speeds)
            if lane:
                _require_lane(run.controller.name, schedule)
            push, rig = Excitation(kind="push", duration=PUSH_DURATION), bench.rig(bicycle)
            key = amplitude_key(settings, rig, "push")
            strength = getattr(settings, key) or amplitude_within_limits(rig, schedule, run.v, push, PUSH_SHARE)
            conditions.append(
                bench.condition(
                    settings,
                    run,
                    schedule,
                    bench.scenario(bicycle, [(0.0, run.v)], [], bench.chance(b, number)),
                    tag="lane held back" if lane else "released",
                    excitation=replace(
                        push,
                        amplitude=strength,
                        releases=() if lane else moments,
                        held_back=moments if lane else (),
                        catch=settings.catch,
                        bring_back=settings.bring_back,
                    ),
                    length=begins[-1] + settings.free_s + settings.rest_s,
                    instruction=belt_instruction(
                        run.v, f"; {_WARNING[settings.hold_back]} now and then, stand ready to catch it", bench.machine
                    ),
                    cues=tuple(
                        (begin, f"{_CUE[settings.hold_back]}: hands ready, do not touch it") for begin in begins
                    ),
                    remedy=_REMEDY[settings.hold_back].format(push=key),
                )
            )
    return bench.in_random_order(conditions)


def _require_lane(name: str, schedule: Controller) -> None:
    """Refuse a controller that has no lane to hold back; raises InputError."""
    if not (isinstance(schedule, GainSchedule) and schedule.keeps_lane):
        raise InputError(
            f"hold_back = \"lane\" wants gains that keep a lane, found the controller '{name}': take the method lane, "
            "or leave hold_back out"
        )


def _below_weave(bicycle: Bicycle) -> tuple[float, ...]:
    """Choose speeds [m/s], in steps of 0.05, a little below the weave speed; raises InputError."""
    weave = critical_speeds(bicycle).weave
    if weave is None or weave <= max(BELOW_WEAVE_SPEED):
        raise InputError(
            f"the bicycle {bicycle.name} has no weave speed to go below: give the release its speeds_m_s yourself"
        )
    return tuple(round(20.0 * (weave - less)) / 20.0 for less in BELOW_WEAVE_SPEED)
