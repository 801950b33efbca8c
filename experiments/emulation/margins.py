"""Margins and measurability of a controller.

For any controller on any rig; measured is the weave after kicks by hand.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from riderless.experiments.analysis.identification.identifiability import WeaveMeasurability, weave_measurability
from riderless.experiments.analysis.identification.loop_margins import LoopMargins, SpeedMargins
from riderless.experiments.emulation.hand import FIRST_KICK, KICK_SPACING, KICKS_PER_RUN, kicks_in_turn
from riderless.hil.controllers.compiled import CompiledController
from riderless.hil.controllers.controller import Controller
from riderless.hil.controllers.law_checks import require_sound
from riderless.hil.design.closed_loop import SampledLoop
from riderless.hil.design.kick_linearity import kick_nonlinearity
from riderless.hil.design.whole_margins import sensitivity_peak, whole_margins
from riderless.hil.rig.fitting import QUICKEST_DRIVE, emulated_rig, require_fitting
from riderless.hil.rig.rig import Rig
from riderless.models.errors import InputError


def margins(
    controller: Controller,
    rig: Rig | None = None,
    speeds: Sequence[float] | None = None,
    *,
    allow_mismatch: bool = False,
) -> LoopMargins:
    """Judge a controller of any kind: eigenvalues, margins in gain, phase and delay, sensitivity, measurability.

    The loop is the whole sampled one, with delay, instruments and observer, broken where the command enters the drive.
    A law in Python is taken by its tangent at rest; how far it leaves that after a kick is told.

    Parameters
    ----------
    controller : Controller
        Gains, a state space, or a law in Python, as `design`, `LTIController.from_statespace` and `read_law` make.
    rig : Rig
        Machine; by default the emulated one that the controller was made for.
    speeds : sequence of float
        [m/s]; by default those of the controller.
    allow_mismatch : bool
        The controller may be for another bicycle, delay or drive lag.

    Raises
    ------
    InputError
        Controller and rig do not fit, the law may not fly, or has no tangent.
    """
    if not hasattr(controller, "linearised"):
        raise InputError(f"margins want a controller, found {controller!r}: make one with design")
    controller, rig = with_tangent(controller, rig, allow_mismatch)
    v = np.atleast_1d(np.asarray(controller.v if speeds is None else speeds, float))
    if not (v.size and np.isfinite(v).all() and (v >= 0.0).all()):
        raise InputError(f"margins want speeds of 0 m/s or more, found {v.tolist()}: correct them")
    loop = SampledLoop.of_rig(replace(rig, drive_lag=max(rig.drive_lag, QUICKEST_DRIVE)), controller)
    return LoopMargins(
        loop,
        tuple(
            SpeedMargins(
                speed,
                loop.eigenvalues(speed),
                whole_margins(loop, speed),
                sensitivity_peak(loop, speed),
                weave,
                kick_nonlinearity(loop, speed),
            )
            for speed, weave in zip(v.tolist(), weave_after_kicks(loop, v.tolist()), strict=True)
        ),
    )


def with_tangent(controller: Controller, rig: Rig | None, allow_mismatch: bool) -> tuple[Controller, Rig]:
    """Take a controller as it is near rest, with the rig that it fits; by default the one it was made for.

    Raises
    ------
    InputError
        Controller and rig do not fit, or the law may not fly.
    """
    rig = emulated_rig(controller.bicycle, controller) if rig is None else rig
    require_fitting(rig, controller, allow_mismatch)
    if isinstance(controller, CompiledController):
        require_sound(controller, rig.limits)
        controller = replace(controller, tangent=True)
    return controller, rig


def weave_after_kicks(loop: SampledLoop, speeds: Sequence[float]) -> list[WeaveMeasurability]:
    """Ask at each speed [m/s] whether the weave is measurable after kicks as `riderless run --emulated` gives them."""
    times = FIRST_KICK + KICK_SPACING * np.arange(KICKS_PER_RUN)
    kicks = kicks_in_turn(loop.bicycle, times, np.random.default_rng(1))
    return [weave_measurability(loop, v, kicks, KICK_SPACING) for v in speeds]
