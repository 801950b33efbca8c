"""Stability of a machine with its gains.

It is computed before the drive is switched on. Gains may fit a machine's name, rate and delay and still throw it: a
sign lost in a file, another bicycle's, those of 9 m/s at 3 m/s. The eigenvalues of the sampled loop (bicycle, drive
lag, delay, observer, gains) tell.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from riderless.hil.controllers.controller import Controller
from riderless.hil.design.closed_loop import SampledLoop
from riderless.hil.rig.rig import Rig
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import Variant

FASTEST_GROWTH = 0.1
"""[1/s] A closed loop that grows faster is not ridden. At this rate a lean doubles in 7 s, and one of 1 deg takes 34 s
to reach the limit of 30 deg: a person at the stop key has time. A slow capsize passes: it may be what is measured."""

LOOKS_BETWEEN = 10  # speeds between two neighbours of a controller with states at which its loop is looked at
_SPEED_STEP = 0.25  # m/s between two speeds that are looked at
_LEAST_LAG = 1e-4  # s; the loop has a drive, and this one is as good as none


def require_stable(rig: Rig, schedule: Controller, speeds: Sequence[float] = (), allow_unstable: bool = False) -> None:
    """Refuse gains under which this machine would fall, at the speeds that it will meet.

    Parameters
    ----------
    rig : Rig
    schedule : Controller
        All zero, they are taken: no torque, no danger of it.
    speeds : sequence of float
        Corners of the planned profile of speed [m/s]; by default all of the gains' that the rig allows. Where a
        profile goes on beyond the gains' speeds, as in a start from standstill, it is not judged there.
    allow_unstable : bool
        An unstable loop is wanted.

    Raises
    ------
    InputError
        One sentence: the eigenvalue, the speed, and what to do.
    """
    if allow_unstable or schedule.is_off:
        return
    v, eigenvalue = fastest_growth(rig, schedule, speeds)
    if eigenvalue.real > FASTEST_GROWTH:
        raise InputError(
            f"under these gains ({schedule.method} for {schedule.bicycle.name}) {rig.bicycle.name} falls: at {v:g} m/s "
            f"the closed loop of the rig '{rig.name}' has the eigenvalue {_in_words(eigenvalue)} 1/s, wanted at most "
            f"{FASTEST_GROWTH:g} 1/s; design gains for this rig and this speed, or ride them all the same with "
            "--allow-unstable (allow_unstable = true in Python and campaign files)"
        )


def fastest_growth(rig: Rig, schedule: Controller, speeds: Sequence[float] = ()) -> tuple[float, complex]:
    """Find the speed [m/s] and the eigenvalue [1/s] of the closed loop that grows fastest, as of `require_stable`."""
    real = Variant(rig.bicycle, drive_gain=rig.losses.gain)
    loop = SampledLoop.of_rig(replace(rig, drive_lag=max(rig.drive_lag, _LEAST_LAG)), schedule, real=real)
    growths = [(v, complex(loop.eigenvalues(v)[0])) for v in judged_speeds(rig, schedule, speeds)]
    return max(growths, key=lambda item: item[1].real)


def judged_speeds(rig: Rig, schedule: Controller, speeds: Sequence[float] = ()) -> list[float]:
    """List the speeds [m/s] at which the loop is looked at: ends, those of the gains, and a grid between."""
    first, last, reach = float(schedule.v[0]), float(schedule.v[-1]), rig.limits.gains_reach.value
    if len(speeds):
        lowest, highest = max(min(speeds), first - reach), min(max(speeds), last + reach)
    else:
        lowest, highest = max(first, rig.limits.speed_min.value), min(last, rig.limits.speed_max.value)
    if lowest > highest:
        return [float(np.clip(0.5 * (lowest + highest), first, last))]  # they never meet, which is said elsewhere
    if schedule.states:  # interpolated matrices: the loop between two speeds may be neither's
        between = [np.linspace(a, b, 2 + LOOKS_BETWEEN) for a, b in pairwise(schedule.v)]
    else:
        between = [np.arange(np.ceil(lowest / _SPEED_STEP), np.floor(highest / _SPEED_STEP) + 1) * _SPEED_STEP]
    looked = np.concatenate([*between, schedule.v])
    return sorted({lowest, highest, *looked[(looked >= lowest) & (looked <= highest)].tolist()} - {0.0} or {lowest})


def _in_words(eigenvalue: complex) -> str:
    """Put an eigenvalue down: "+12 1/s", or "+12 +- 93i"."""
    swing = f" +- {abs(eigenvalue.imag):.3g}i" if eigenvalue.imag else ""
    return f"{eigenvalue.real:+.3g}{swing}"
