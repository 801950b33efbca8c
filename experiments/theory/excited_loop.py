"""The loop under a torque played on top of the controller's: what theory expects of it, linear and sampled.

With x the states of `hil.design.closed_loop` and r the torque played, x[k+1] = W x[k] + B r[k]; the torque commanded is
u[k] = w x[k] + r[k], and the instruments show H x[k]. Without feedback, W - B w, the answer to u is that of the plant:
drive and bicycle.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from experiments.dynamics import Array, Complex
from hil.design.closed_loop import MEASURED_CHANNELS, SampledLoop, instrument_map
from hil.design.schedule import GainSchedule
from hil.loop.excitation import Excitation
from hil.rig.rig import Rig
from models.coordinates import DELTA, PHI
from models.errors import InputError
from models.linear.perturbed import Variant

OUTPUTS = {"phi_dot": MEASURED_CHANNELS.index("phi_dot_meas"), "delta": MEASURED_CHANNELS.index("delta_meas")}


@dataclass(frozen=True, eq=False)
class ExcitedLoop:
    """The matrices of the module at one speed; ``dt`` in s."""

    W: Array  # (m, m)
    B: Array  # (m,)
    w: Array  # (m,)
    H: Array  # (4, m), rows as `hil.design.closed_loop.MEASURED_CHANNELS`
    dt: float

    @property
    def stable(self) -> bool:
        """Does what is played die away again?"""
        return bool(np.abs(np.linalg.eigvals(self.W)).max() < 1.0)

    def loop(self, f: Array, output: str) -> Complex:
        """Frequency response (m,) from the torque played to an output at ``f`` (m,) Hz: "phi_dot", "delta", "T"."""
        if output == "T":
            return transfer(self.W, self.B, self.w, f, self.dt) + 1.0
        return transfer(self.W, self.B, self.H[OUTPUTS[output]], f, self.dt)

    def plant(self, f: Array, output: str) -> Complex:
        """Frequency response (m,) of drive and bicycle from the torque commanded to an output."""
        return transfer(self.W - np.outer(self.B, self.w), self.B, self.H[OUTPUTS[output]], f, self.dt)

    def answer(self, torque: Sequence[float] | Array) -> dict[str, Array]:
        """What is seen while ``torque`` (k,) [N m] is played from rest.

        Returns
        -------
        dict of (k,)
            Lean rate "phi_dot" [rad/s] and steer "delta" [rad] as measured, torque commanded "T" [N m]; the states
            "phi" and "delta_true" [rad].
        """
        r = np.asarray(torque, float)
        x, states = np.zeros(len(self.B)), np.empty((len(r), len(self.B)))
        for k, now in enumerate(r):
            states[k] = x
            x = self.W @ x + self.B * now
        seen = {name: states @ self.H[row] for name, row in OUTPUTS.items()}
        return {**seen, "T": states @ self.w + r, "phi": states[:, PHI], "delta_true": states[:, DELTA]}

    def peaks(self, torque: Sequence[float] | Array) -> dict[str, float]:
        """Largest lean, steer [rad] and torque [N m] while ``torque`` (k,) [N m] is played from rest."""
        seen = self.answer(torque)
        largest = {"lean": seen["phi"], "steer": seen["delta_true"], "torque": seen["T"]}
        return {name: float(np.abs(y).max(initial=0.0)) for name, y in largest.items()}


def excited_loop(
    rig: Rig,
    schedule: GainSchedule,
    v: float,
    steer_age: float = 0.0,
    real: Variant | None = None,
    more_delay: float = 0.0,
) -> ExcitedLoop:
    """The loop of a rig under a schedule at speed ``v`` [m/s].

    Parameters
    ----------
    steer_age : float
        s, how much older the steer angle is than the inertial readings.
    real : Variant
        The machine that the loop really moves; by default it is as designed.
    more_delay : float
        s, of the drive beyond the one known.
    """
    places = (rig.x_imu, rig.z_imu)
    loop = SampledLoop(
        rig.bicycle,
        schedule,
        rig.observer,
        rig.dt,
        rig.drive_lag,
        *places,
        rig.command_delay,
        steer_age,
        real,
        more_delay,
    )
    W = loop.matrix(v)
    H = np.zeros((len(MEASURED_CHANNELS), len(W)))
    H[:, :6] = instrument_map(loop.real, v, *places, steer_age)
    return ExcitedLoop(W, loop.played(v), W[5].copy(), H, rig.dt)


def transfer(A: Array, b: Array, c: Array, f: Array, dt: float) -> Complex:
    """c (z I - A)^-1 b at z = exp(2 pi i f dt), (m,)."""
    z = np.exp(2j * np.pi * np.asarray(f, float) * dt)
    states = np.linalg.solve(z[:, None, None] * np.eye(len(b)) - A, np.broadcast_to(b, (len(z), len(b)))[..., None])
    return np.asarray(states[..., 0] @ c, complex)


def within_limits(rig: Rig, schedule: GainSchedule, v: float, signal: Excitation, share: float) -> float:
    """Amplitude [N m] at which lean, steer and torque stay within ``share`` of the rig's limits, after theory.

    Raises
    ------
    InputError
        When the loop is not stable at ``v``, so that no amplitude is small enough.
    """
    loop = excited_loop(rig, schedule, v)
    if not loop.stable:
        raise InputError(
            f"the controller {schedule.method} does not balance {rig.bicycle.name} at {v:g} m/s, so nothing can be "
            "played there: choose another speed or controller"
        )
    unit = replace(signal, amplitude=1.0, delay=0.0)
    limits = {"lean": rig.limits.lean.value, "steer": rig.limits.steer.value, "torque": rig.limits.torque.value}
    peaks = loop.peaks(unit.samples(rig.rate))
    return share * min(limits[name] / peaks[name] for name in limits)


def crest_factor(torque: Array) -> float:
    """Largest value over root mean square; 1.41 for a sine, and the less the better for a given limit."""
    return float(np.abs(torque).max() / np.sqrt(np.mean(np.square(torque))))
