"""First message to a page.

Machine, limits, and the eigenvalues that theory predicts over speed.
"""

from math import isfinite
from typing import Any

import numpy as np

from riderless.experiments.dynamics import Dynamics
from riderless.experiments.live.schema import BicycleParameters, Branch, LimitValues, LiveHello, TheoryCurves
from riderless.experiments.theory.modes import kicked_modes
from riderless.experiments.theory.run_theory import theory_with
from riderless.hil.controllers.compiled import CompiledController
from riderless.hil.controllers.controller import Controller, NotLinearError
from riderless.hil.logs.header import RunHeader
from riderless.hil.loop.limits import Limits
from riderless.hil.rig.rig import Rig
from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.linear.modes import critical_speeds, named_modes
from riderless.models.linear.prescribed_steer import COMMAND_UNITS
from riderless.models.parameters import PARAMETERS, Bicycle

_STEP = 0.1  # m/s, between two points of a curve
_FASTEST = 10.0  # m/s
_USUAL_NOISE = np.zeros(4)  # noise moves no eigenvalue
_WITH_REASONS = ("lean", "steer", "torque", "speed_min", "speed_max", "bus_min", "bus_max")


def hello_of(header: RunHeader, **about: Any) -> LiveHello:
    """Describe a run of ours for a page.

    Parameters
    ----------
    header : RunHeader
    **about
        Fields of `LiveHello` that the header does not tell: kind, title, run, can, play, replay.
    """
    rig, schedule, off = header.rig, header.schedule, header.controller == "off"
    return LiveHello(
        label=header.label,
        rate=rig.rate,
        limits=limit_values(rig.limits, rig.drive_kind),
        limit_reasons=limit_reasons(rig.limits, rig.drive_kind),
        command_unit=COMMAND_UNITS[rig.drive_kind],
        gain_speeds=[] if off else _speeds_of(schedule),
        controller=header.controller,
        belt_width=rig.place.belt_width if rig.place else None,
        **bicycle_fields(rig.bicycle, None if off else _loop_of(header, rig, schedule)),
        **about,
    )


def law_wanted(header: RunHeader) -> str:
    """Sentence that asks for the file of the law that a run is made with; empty where it is known, or has gains."""
    schedule = header.schedule
    if not isinstance(schedule, CompiledController):
        return ""
    try:
        schedule.known_file  # noqa: B018  (asked for what it raises)
    except InputError as error:
        return f"no kick is fitted: {error}"
    return ""


def bicycle_fields(bicycle: Bicycle, loop: Dynamics | None) -> dict[str, Any]:
    """Fields of the hello that follow from a bicycle, and from the whole loop around it where there is one."""
    speeds = np.arange(0.0, _FASTEST + 0.5 * _STEP, _STEP)
    return {
        "bicycle": BicycleParameters(name=bicycle.name, parameters={n: float(getattr(bicycle, n)) for n in PARAMETERS}),
        "stable_speeds": stable_speeds(bicycle),
        "theory": TheoryCurves(
            uncontrolled=_branches_alone(bicycle, speeds),
            controlled=_branches_of(loop, speeds[speeds >= 0.5]) if loop else [],
        ),
    }


def limit_reasons(limits: Limits, kind: str) -> dict[str, str]:
    """Reasons of the limits, by name; that of the torque where the drive obeys a torque."""
    return {name: getattr(limits, name).reason for name in _WITH_REASONS if name != "torque" or kind == "torque"}


def limit_values(limits: Limits, kind: str) -> LimitValues:
    """Limits that a page draws, SI."""
    named = {name: getattr(limits, name).value for name in _WITH_REASONS}
    return LimitValues(command=float(limits.as_record(kind)["command"]), **named)


def stable_speeds(bicycle: Bicycle) -> list[tuple[float, float]]:
    """Ranges of speed [m/s] in which the bicycle alone is stable."""
    critical = critical_speeds(bicycle)
    if critical.weave is None:
        return []
    return [(critical.weave, critical.capsize or _FASTEST)] if (critical.capsize or 1e9) > critical.weave else []


def _branches_alone(bicycle: Bicycle, speeds: Array) -> list[Branch]:
    """Named modes of the bicycle alone; where weave is two real ones it has a second branch."""
    modes = named_modes(bicycle, speeds)
    second = np.where(modes.weave[:, 0].imag == 0.0, modes.weave[:, 1], np.nan)
    named = {"weave": modes.weave[:, 0], "weave, second": second, "capsize": modes.capsize, "caster": modes.caster}
    return [_branch(name, speeds, values) for name, values in named.items()]


def _branches_of(loop: Dynamics, speeds: Array) -> list[Branch]:
    """Oscillations of the whole loop that a sideways blow shows."""
    try:
        columns = kicked_modes(loop, speeds).T
    except (InputError, NotLinearError, np.linalg.LinAlgError):
        return []
    single = len(columns) == 1
    return [_branch("weave" if single else f"oscillation {i + 1}", speeds, c) for i, c in enumerate(columns)]


def _branch(name: str, speeds: Array, values: Array) -> Branch:
    def part(numbers: Array) -> list[float | None]:
        return [round(float(x), 5) if isfinite(x) else None for x in numbers]

    return Branch(name=name, v=[round(float(v), 3) for v in speeds], re=part(values.real), im=part(np.abs(values.imag)))


def _loop_of(header: RunHeader, rig: Rig, schedule: Controller) -> Dynamics | None:
    """Whole loop of a run; None where its controller has no linearisation."""
    try:
        loop = theory_with(header, rig.bicycle, _USUAL_NOISE, 0.0).dynamics()
        loop.matrix(float(np.mean(_speeds_of(schedule) or [5.0])))
    except (InputError, NotLinearError, np.linalg.LinAlgError):
        return None
    return loop


def _speeds_of(schedule: Controller) -> list[float]:
    return [float(v) for v in getattr(schedule, "v", ())]
