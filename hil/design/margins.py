"""Stability margins in gain, phase and delay.

The loop is broken at the torque command. The break lies between controller and device. The controller goes on knowing
what it commanded, and so what the drive ought to do: its gains on T_drive and u_prev act on that knowledge. The rest of
the loop, L, is what a wrong torque constant or a late command would change:

    L(z) = K_x X(z) / (1 + K_m Y(z)),   X, Y the bicycle's and the drive's states for a unit command.

The states follow from (z I - F) X = G at each frequency. python-control's ready-made ``stability_margins`` is
not used: it expands L into polynomials, whose coefficients lose their digits when poles crowd around z = 1 as
they do at 200 Hz, and then reports crossings that do not exist; and the library takes a second to load.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import degrees, inf, isfinite, pi
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from riderless.hil.design.sampled_plant import DRIVE_PART, LANE_GAIN_STATES, LOOP_STATES, Z_ROUNDING, SampledModel
from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.tables import html_table

SLOWEST_CROSSING = 1e-3
"""[rad/s] Where the search for crossings starts; slower than any mode of a bicycle that matters."""

CROSSING_POINTS = 400
"""Number of frequencies on which a crossing is looked for, evenly spaced in log(frequency)."""

MARGIN_HEADS = ("gain margin", "phase margin deg", "delay margin ms")


@dataclass(frozen=True)
class Margins:
    """Stability margins of a closed loop at one speed.

    A loop that is unstable to begin with has none: (1, 1), 0 and 0.

    Attributes
    ----------
    gain : (2,) floats
        Factors (down, up) on the loop's gain between which it stays stable: a bicycle that falls without
        control has a lower limit above 0.
    phase : float
        Least angle that reaches instability [rad], infinite where none does.
    delay : float
        Least extra delay that reaches instability [s], infinite where none does.
    """

    gain: tuple[float, float]
    phase: float
    delay: float

    def __repr__(self) -> str:
        gain, phase, delay = self.as_text()
        return f"<Margins: gain {gain}, phase {phase} deg, delay {delay} ms>"

    def _repr_html_(self) -> str:
        return html_table("stability margins", MARGIN_HEADS, [self.as_text()])

    def as_text(self) -> tuple[str, str, str]:
        """Gain margin as an interval, phase [deg] and delay [ms], rounded, under `MARGIN_HEADS`; no limit is a dash."""
        down, up = self.gain
        phase, delay = (f"{v:.0f}" if isfinite(v) else "-" for v in (degrees(self.phase), 1e3 * self.delay))
        return f"{down:.2f} to {up:.1f}", phase, delay


def margins_of_gains(model: SampledModel, K: ArrayLike) -> Margins:
    """Margins of the loop closed by u = -K z, without an observer.

    Parameters
    ----------
    model : SampledModel
    K : (6,) or (8,) array_like
        Gains of a schedule at the speed of the model, eight where it keeps a lane.

    Raises
    ------
    InputError
        Gains of another number, or not finite.
    """
    names = LANE_GAIN_STATES if "y_P" in model.states else LOOP_STATES
    K = np.asarray(K, dtype=float)
    if K.shape != (len(names),) or not np.isfinite(K).all():
        raise InputError(
            f"this model's margins want {len(names)} finite gains, of {', '.join(names)}; found "
            f"{K.tolist() if K.shape == (len(names),) else f'the shape {K.shape}'}: give those of one speed"
        )
    if np.max(np.abs(model.closed_loop(K))) >= 1.0:
        return Margins((1.0, 1.0), 0.0, 0.0)
    if not np.any(K):
        return Margins((0.0, inf), inf, inf)
    # where the model integrates, L is infinite at z = 1 and bounds nothing
    integrates = bool(np.min(np.abs(np.linalg.eigvals(model.F) - 1.0)) < Z_ROUNDING)
    return margins_of(_loop_gain(model, K), model.dt, integrates)


def margins_of(loop: Callable[[ArrayLike], Any], dt: float, integrates: bool, resonances: ArrayLike = ()) -> Margins:
    """Margins of a stable loop from its transfer function, broken at the command.

    Parameters
    ----------
    loop : callable
        L at frequencies (n,) [rad/s], (n,) complex; the closed loop has poles where L = -1.
    dt : float
        Sampling interval [s].
    integrates : bool
        L is infinite at rest.
    resonances : (m,) array_like
        More frequencies [rad/s] at which L is looked at.
    """
    omega = np.union1d(np.geomspace(SLOWEST_CROSSING, pi / dt, CROSSING_POINTS), resonances)
    L = loop(omega)

    # L real and negative: the loop's gain may be divided by |L| before a pole sits on the unit circle.
    real = _crossings(lambda w: loop(w).imag, omega[:-1], L[:-1].imag)
    at_rest = [] if integrates else [0.0]  # z = 1 and z = -1 are always real
    at_real = np.concatenate([loop(np.array([*at_rest, *real])), L[-1:]]).real
    factors = -1.0 / at_real[at_real < 0.0]
    gain = max(factors[factors < 1.0], default=0.0), min(factors[factors > 1.0], default=inf)

    # |L| = 1: only a turn of this angle (a delay of angle / omega) is missing from L = -1.
    unit = _crossings(lambda w: np.log(np.abs(loop(w))), omega, np.log(np.abs(L)))
    angle = np.mod(np.angle(loop(unit)) + pi, 2.0 * pi)
    phase = min(np.minimum(angle, 2.0 * pi - angle), default=inf)
    return Margins((float(gain[0]), float(gain[1])), float(phase), float(min(angle / unit, default=inf)))


def _loop_gain(model: SampledModel, K: Array) -> Callable[[ArrayLike], Any]:
    """Loop transfer function L as a function of frequency [rad/s]."""
    k, n = model.narrow(K), len(model.states)
    split = np.zeros((2, n))
    of_drive = np.isin(model.states, LOOP_STATES[DRIVE_PART])
    split[0, ~of_drive], split[1, of_drive] = k[~of_drive], k[of_drive]

    def L(omega: ArrayLike) -> Any:
        z = np.exp(1j * np.asarray(omega, dtype=float) * model.dt)
        states = np.linalg.solve(z[..., None, None] * np.eye(n) - model.F, model.G.reshape(n, 1))
        bicycle, memory = np.moveaxis((split @ states)[..., 0], -1, 0)
        return bicycle / (1.0 + memory)

    return L


def _crossings(f: Callable[[float], float], omega: Array, values: Array) -> Array:
    """Find zeros of ``f``, one in each interval of ``omega`` over which its ``values`` change sign."""
    from scipy.optimize import brentq  # a run, which only reads margins, should not wait for scipy

    change = np.flatnonzero(np.sign(values[:-1]) != np.sign(values[1:]))
    return np.array([brentq(f, omega[i], omega[i + 1], rtol=1e-12) for i in change])
