"""Refusals before a run.

They rest on what can be known beforehand to keep a machine from ever being armed. What cannot be known (a hand that is
not steady, an empty battery) is waited for, and said while it is waited for.
"""

from riderless.hil.controllers.compiled import CompiledController
from riderless.hil.controllers.controller import Controller
from riderless.hil.loop.limits import WATCHDOG_RANGE
from riderless.hil.rig.rig import Rig
from riderless.models.errors import InputError

LEAST_PERIODS = 2.0  # periods of silence that a time-out must survive: one sample may be lost
_ROOM_TO_ARM = (("bus_min", "bus_max"), ("check", "check_timeout"))  # limits between which there must be some


def require_armable(rig: Rig, schedule: Controller, speed: float | None = None) -> None:
    """Refuse a rig, gains and speed with which the machine could never be armed or balanced.

    Parameters
    ----------
    rig : Rig
    schedule : Controller
    speed : float or None
        Forward speed at which it is to run [m/s], where it is known: of an emulated bicycle.

    Raises
    ------
    InputError
        One sentence: what is in the way, and what to change.
    """
    rig.limits.require_order(_ROOM_TO_ARM)
    require_time_outs(rig)
    first, last = _speeds(schedule)
    slowest, fastest = rig.limits.speed_min.value, rig.limits.speed_max.value
    if last < slowest or fastest < first:
        raise InputError(
            f"the gains are of {_range(schedule)}, but the rig '{rig.name}' lets the drive on from {slowest:g} to "
            f"{fastest:g} m/s only: design them for speeds within, or change speed_min or speed_max in the rig"
        )
    if speed is not None:
        _require_speed(rig, schedule, speed)
    if isinstance(schedule, CompiledController):
        from riderless.hil.controllers.law_checks import require_sound  # the compiler; other kinds need not wait for it

        require_sound(schedule, rig.limits)


def require_time_outs(rig: Rig) -> None:
    """Refuse time-outs that pass between two samples, and a watchdog that is none; raises InputError."""
    shortest, longest, reason = WATCHDOG_RANGE
    if not shortest <= rig.watchdog <= longest:
        raise InputError(
            f"watchdog_s of the rig '{rig.name}' must lie between {shortest:g} and {longest:g} s, found "
            f"{rig.watchdog:g} s ({reason}): set the drive's time-out to 3 to 5 periods of the loop, and the rig's to "
            "the same"
        )
    least = LEAST_PERIODS * rig.dt
    for name, value, why in (
        ("watchdog_s", rig.watchdog, "the drive would switch itself off between two commands"),
        ("the limit 'stale'", rig.limits.stale.value, "every sample would be too old"),
    ):
        if value < least * (1.0 - 1e-9):
            raise InputError(
                f"{name} of the rig '{rig.name}' is {1e3 * value:g} ms, less than two periods at {rig.rate:g} Hz "
                f"({1e3 * least:g} ms): {why}, and nothing could be armed; raise it in the rig, or the rate"
            )


def _require_speed(rig: Rig, schedule: Controller, speed: float) -> None:
    """Refuse a speed outside the rig's limits, or far from those of the gains."""
    slowest, fastest = rig.limits.speed_min.value, rig.limits.speed_max.value
    if not slowest <= speed <= fastest:
        raise InputError(
            f"at {speed:g} m/s the bicycle cannot be armed: the rig '{rig.name}' lets the drive on from {slowest:g} to "
            f"{fastest:g} m/s only; choose a speed within, or change speed_min or speed_max in the rig"
        )
    first, last = _speeds(schedule)
    reach = rig.limits.gains_reach.value
    if not first - reach <= speed <= last + reach:
        raise InputError(
            f"the gains are of {_range(schedule)}, found a speed of {speed:g} m/s: choose a speed within, or design "
            f"gains for it with `riderless design {rig.bicycle.name} --speeds "
            f"{min(first, speed):g}:{max(last, speed):g}:0.5`"
        )


def _speeds(schedule: Controller) -> tuple[float, float]:
    """Lowest and highest speed [m/s] at which gains may be used; any where there is no torque."""
    if schedule.is_off:
        return 0.0, float("inf")
    return float(schedule.v[0]), float(schedule.v[-1])


def _range(schedule: Controller) -> str:
    first, last = float(schedule.v[0]), float(schedule.v[-1])
    return f"{first:g} to {last:g} m/s" if last > first else f"{first:g} m/s"
