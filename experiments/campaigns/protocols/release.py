"""The release: below the weave speed the torque goes off for a moment while the controller balances.

A push by the drive sets the bicycle going, then the torque is off: it weaves wider and wider, and that growth is what
is measured. The controller has it back after `free_s`, or as soon as lean or steer passes `catch` of its limit.
"""

from dataclasses import replace

from pydantic import Field

from experiments.campaigns.protocols.condition import RELEASE, Condition, belt
from experiments.campaigns.protocols.condition import Settings as Common
from experiments.campaigns.protocols.plan_inputs import PlanInputs
from experiments.theory.excited_loop import amplitude_within_limits
from hil.loop.excitation import Excitation
from hil.rig.rig import Rig
from models.errors import InputError
from models.linear.modes import critical_speeds
from models.parameters import Bicycle

FIRST = 1.5  # s after the hands are off: the controller has settled
PUSH = 0.15  # s, of the push before it goes off
BELOW = (0.2, 0.5)  # m/s below the weave speed, where a cycle grows by less than three times
SHARE = 0.05  # of the limits that the push alone may use: the motion has to grow before it meets one


class Settings(Common):
    """Speeds, by default a little below the weave speed of each bicycle; releases in each run."""

    speeds_m_s: tuple[float, ...] = ()
    releases: int = Field(default=3, ge=1, le=100)
    free_s: float = Field(default=3.5, ge=0.5, le=30.0)
    rest_s: float = Field(default=3.0, ge=1.0, le=60.0)  # under control between two
    push_Nm: float | None = Field(default=None, gt=0.0)  # designed to be small, if not given
    catch: float = Field(default=0.6, gt=0.0, lt=1.0)


def plan(settings: Settings, bench: PlanInputs) -> list[Condition]:
    """Every bicycle, controller and speed, so many times, in random order.

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
    begins = [RELEASE + FIRST + i * (settings.free_s + settings.rest_s) for i in range(settings.releases)]
    moments = tuple((begin, settings.free_s) for begin in begins)
    conditions = []
    for b, bicycle in enumerate(bench.bicycles):
        speeds = settings.speeds_m_s or below_weave(bicycle)
        rig = replace(bench.machine, bicycle=bicycle) if bench.machine else Rig(bicycle)
        of_one = PlanInputs((bicycle,), bench.controllers)
        for number, (_, controller, v, repeat) in enumerate(of_one.runs(speeds, settings.repeats)):
            schedule = bench.schedule(bicycle, controller, speeds)
            push = Excitation("push", 0.0, PUSH)
            strength = settings.push_Nm or amplitude_within_limits(rig, schedule, v, push, SHARE)
            conditions.append(
                Condition(
                    bicycle=bicycle,
                    method=controller.method,
                    v=v,
                    schedule=schedule,
                    scenario=bench.scenario(bicycle, [(0.0, v)], [], bench.chance(b, number)),
                    emulation=bench.emulation,
                    machine=bench.machine,
                    controller=controller.name,
                    protocol=settings.kind,
                    tag="released",
                    repeat=repeat,
                    repeats=settings.repeats,
                    excitation=replace(push, amplitude=strength, releases=moments, catch=settings.catch),
                    length=begins[-1] + settings.free_s + settings.rest_s,
                    instruction=belt(v, "; its torque will go off now and then, stand ready to catch it"),
                    cues=tuple((begin, "torque off: hands ready, do not touch it") for begin in begins),
                    remedy="shorten free_s, lower push_Nm or catch, or go nearer to the weave speed",
                )
            )
    return bench.in_random_order(conditions)


def below_weave(bicycle: Bicycle) -> tuple[float, ...]:
    """Speeds [m/s], in steps of 0.05, a little below the weave speed; raises InputError."""
    weave = critical_speeds(bicycle).weave
    if weave is None or weave <= max(BELOW):
        raise InputError(
            f"the bicycle {bicycle.name} has no weave speed to go below: give the release its speeds_m_s yourself"
        )
    return tuple(round(20.0 * (weave - less)) / 20.0 for less in BELOW)
