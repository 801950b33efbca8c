"""Measurability of the weave in closed loop.

The rules that cut and fit windows decide it, before there is a run. A controller that damps the weave well leaves
nothing to measure: the motion after a kick is gone within a cycle. The loop is kicked here as the emulated bicycle is,
in linear simulation with the noise of its instruments, and what it does is given to the same rules and the same fit as
a recording.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from riderless.experiments.analysis.estimators import estimate, single_mode
from riderless.experiments.analysis.estimators.result import MIN_CYCLES
from riderless.experiments.analysis.windows.find import find_windows
from riderless.experiments.datatypes import Response
from riderless.hil.controllers.controller import Controller
from riderless.hil.design.closed_loop import SampledLoop
from riderless.hil.rig.fitting import emulated_rig
from riderless.models.array_types import Array
from riderless.models.coordinates import DELTA_DOT, PHI_DOT
from riderless.models.linear.whipple import canonical_matrices
from riderless.models.parameters import Bicycle
from riderless.models.plant.plant import Instruments, Kick


@dataclass(frozen=True)
class WeaveMeasurability:
    """Cycles of the weave that the windows after kicks hold, and why it cannot be measured.

    Attributes
    ----------
    cycles : float
        Median over the windows that the rules cut; nan where they cut none, or nothing swings.
    reason : str
        Why the weave cannot be measured; empty where it can.
    """

    cycles: float
    reason: str = ""

    @property
    def measurable(self) -> bool:
        """Do half of the kicks or more give a window whose fit may be compared?"""
        return not self.reason

    def __str__(self) -> str:
        if self.measurable or self.cycles < MIN_CYCLES:
            return f"{'yes' if self.measurable else 'no'}, {self.cycles:.2f} cycles"
        return f"no, {self.reason.split(':')[0]}"


def emulated_loop(schedule: Controller) -> SampledLoop:
    """Make the whole sampled loop of the emulated rig, with the bicycle and timing that the gains were designed for."""
    return SampledLoop.of_rig(emulated_rig(schedule.bicycle, schedule), schedule)


def weave_measurability(loop: SampledLoop, v: float, kicks: Sequence[Kick], spacing: float) -> WeaveMeasurability:
    """Kick a closed loop in linear simulation and ask the rules of windows and fits what they make of it.

    Parameters
    ----------
    loop : SampledLoop
        As of `SampledLoop.of_rig`.
    v : float
        Speed [m/s].
    kicks : sequence of Kick
        In order of time [s].
    spacing : float
        Time recorded after the last [s].
    """
    if loop.eigenvalues(v).real.max() >= 0.0:
        return WeaveMeasurability(np.nan, "it falls: the closed loop is not stable")
    response = _kicked(loop, v, kicks, spacing)
    windows, rejected = find_windows(response)
    if not windows:
        return WeaveMeasurability(np.nan, rejected[0].reason)
    fits = [estimate(response.t[w.rows], response.phi_dot[w.rows], single_mode.NAME) for w in windows]
    cycles = [fit.im * w.duration / (2.0 * np.pi) for fit, w in zip(fits, windows, strict=True) if fit.im > 0.0]
    if not cycles:
        return WeaveMeasurability(np.nan, "nothing swings")
    good = sum(fit.ok for fit in fits)
    refused = [fit.status for fit in fits if not fit.ok] + [part.reason for part in rejected]
    return WeaveMeasurability(
        float(np.median(cycles)), "" if 2 * good >= len(kicks) else next(iter(refused), "too few windows")
    )


def _kicked(loop: SampledLoop, v: float, kicks: Sequence[Kick], spacing: float) -> Response:
    """Record the lean rate of the loop, from rest, with the noise of the emulated instruments."""
    quiet, rng = Instruments(), np.random.default_rng(1)
    stds = np.array([quiet.gyro_noise, quiet.gyro_noise, quiet.steer_noise, quiet.accel_noise])
    t: Array = loop.dt * np.arange(round((kicks[-1].t + spacing) / loop.dt), dtype=np.float64)
    F, N = loop.matrix(v), loop.noise(v, stds)
    draws = rng.standard_normal((len(t), len(stds)))
    pushed = kick_rates(loop.bicycle, kicks, t)
    x, lean_rate = np.zeros(len(F)), np.empty(len(t))
    for k in range(len(t)):
        x = F @ x + N @ draws[k]
        x[[PHI_DOT, DELTA_DOT]] += pushed[k]
        lean_rate[k] = loop.output @ x + stds[0] * draws[k, 0]
    return Response("kicked loop", "riderless", t, lean_rate, np.full(len(t), v))


def kick_rates(bicycle: Bicycle, kicks: Sequence[Kick], t: Array) -> Array:
    """Lean and steer rate that the kicks add in each sample [rad/s], (n, 2): M^-1 times the impulse of that sample.

    A lateral force F at (x, z) on the rear frame leans by -z F and steers by x c cos(lam) / w F.
    """
    rates = np.zeros((len(t), 2))
    M_inv = np.linalg.inv(canonical_matrices(bicycle).M)
    for kick in kicks:
        share = np.diff(-0.5 * np.cos(np.pi * np.clip((np.append(t, t[-1]) - kick.t) / kick.duration, 0.0, 1.0)))
        arms = np.array([-kick.z, kick.x * bicycle.c * np.cos(bicycle.lam) / bicycle.w])
        rates += np.outer(share * kick.impulse, M_inv @ arms)
    return rates
