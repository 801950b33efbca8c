"""Design of controllers with states.

At the loop's own rate and with its own delay, into an `LTIController`. Each method is one file and a line in
`riderless.hil.design.compensators.registry`: a frozen dataclass whose fields are its options.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from riderless.hil.controllers.controller import LinearLaw
from riderless.hil.controllers.lti import TORQUE_INPUTS, LTIController
from riderless.hil.design.compensators.registry import COMPENSATORS, STEER_COMPENSATORS
from riderless.hil.design.compensators.yaw_rate import YAW_INTEGRAL, YawRate, closed_design
from riderless.hil.design.methods import DESIGN_SPEEDS, METHODS, checked_speeds, method_of, plain_options
from riderless.hil.design.sampled_plant import LoopTiming, SampledModel, continuous, sampled_model
from riderless.hil.design.schedule import GAIN_INPUTS
from riderless.hil.design.steered.methods import STEER_METHODS
from riderless.hil.design.steered.sampled_steer import SteerModel, sampled_steer
from riderless.models.errors import InputError
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.parameters import Bicycle

NO_INNER_LOOP = {
    "yaw_rate": "yaw_rate, another PI on it",
    "lane": "lane, which holds the heading that a yaw rate turns",
}  # of a PI on the yaw rate, and what stands against each


def design_compensator(
    bicycle: Bicycle,
    method: str = "lqg",
    speeds: Sequence[float] = DESIGN_SPEEDS,
    timing: LoopTiming = LoopTiming(),
    *,
    allow_unstable: bool = False,
    drive: InnerLoop | None = None,
    **options: Any,
) -> LTIController:
    """Design a controller with states for every speed of a grid.

    Parameters
    ----------
    bicycle : Bicycle
    method : str
        "lqg" or "yaw_rate", the names of ``COMPENSATORS``.
    speeds : sequence of float
        Forward speeds [m/s], strictly increasing.
    timing : LoopTiming
        Rate, delay and drive lag of the loop, such as ``rig.timing``.
    allow_unstable : bool
        Keep a controller under which the bicycle falls instead of refusing it.
    drive : InnerLoop or None
        Of a drive that is commanded a steer rate or angle; the lag of ``timing`` is then not used. None: a torque.
    **options
        Of the method, see `riderless.hil.design.compensators.lqg.LQG`,
        `riderless.hil.design.compensators.yaw_rate.YawRate` and `riderless.hil.design.compensators.steered_lqg`.

    Raises
    ------
    InputError
        The bicycle, method, an option or a speed is not possible, or the closed loop is not stable.
    """
    made, v = method_of(_compensators(drive), method, **options), checked_speeds(speeds)
    if drive is not None:
        timing = replace(timing, drive_lag=0.0)
    models = [_model(bicycle, speed, timing, drive) for speed in v.tolist()]
    laws = [_law(made, bicycle, speed, model) for speed, model in zip(v.tolist(), models, strict=True)]
    for speed, model, (law, _) in zip(v.tolist(), models, laws, strict=True):
        slowest = continuous(np.linalg.eigvals(closed_design(law, bicycle, speed, model)[0]), timing.dt)[0]
        if slowest.real >= 0.0 and not allow_unstable:
            raise InputError(
                f"{method} does not balance {bicycle.name} at {speed:g} m/s, where the closed loop has the eigenvalue "
                f"{slowest:.3f} 1/s: leave this speed out or change the method's options"
            )
    first, names = laws[0]
    A, B, C, D = (np.array([getattr(law, each) for law, _ in laws]) for each in "ABCD")
    return LTIController(
        method=f"{method} around {made.inner}" if isinstance(made, YawRate) else method,
        bicycle=bicycle,
        loop=timing,
        v=v,
        A=A,
        B=B,
        C=C,
        D=D,
        inputs=first.inputs,
        states=names,
        waits=tuple(name for name in names if name == YAW_INTEGRAL),
        options=plain_options(made),
        drive=drive,
    )


def _compensators(drive: InnerLoop | None) -> dict[str, Any]:
    """Methods for a kind of drive."""
    return COMPENSATORS if drive is None else STEER_COMPENSATORS[drive.kind]


def _model(bicycle: Bicycle, v: float, timing: LoopTiming, drive: InnerLoop | None) -> SampledModel:
    """Whole bicycle under its drive, from sample to sample."""
    if drive is None:
        return sampled_model(bicycle, v, timing)
    return sampled_steer(bicycle, v, timing, drive, stiff=True)


def _law(made: Any, bicycle: Bicycle, v: float, model: SampledModel) -> tuple[LinearLaw, tuple[str, ...]]:
    """Law and names of its states at one speed."""
    if isinstance(made, YawRate):
        inner, names = _inner(made, bicycle, v, model)
        design: tuple[LinearLaw, tuple[str, ...]] = made.around(inner, names, bicycle, v, model)
        return design
    law: tuple[LinearLaw, tuple[str, ...]] = made.compensator(bicycle, v, model)
    return law


def _inner(outer: YawRate, bicycle: Bicycle, v: float, model: SampledModel) -> tuple[LinearLaw, tuple[str, ...]]:
    """Law inside a PI: gains over the estimates, or another compensator."""
    if outer.inner in NO_INNER_LOOP:
        raise InputError(
            f"a PI on the yaw rate wants an inner loop that balances, found {NO_INNER_LOOP[outer.inner]}: take lqr"
        )
    drive = model.loop if isinstance(model, SteerModel) else None
    if outer.inner in COMPENSATORS:
        return _law(method_of(_compensators(drive), outer.inner, **outer.options), bicycle, v, model)
    methods: Any = STEER_METHODS[drive.kind] if drive else METHODS
    inner_model = model.prescribed() if isinstance(model, SteerModel) else model
    K, _ = method_of(methods, outer.inner, **outer.options).gains(bicycle, v, inner_model)
    used = [i for i, name in enumerate(GAIN_INPUTS) if drive is None or name not in TORQUE_INPUTS]
    inputs, p = tuple(GAIN_INPUTS[i] for i in used), len(used)
    return LinearLaw(inputs, np.zeros((0, 0)), np.zeros((0, p)), np.zeros(0), -K[used]), ()
