"""The loop under a torque played on top of the controller's: what theory expects of it, linear and sampled.

With x the states of `hil.sampled_loop` and r the torque played, x[k+1] = W x[k] + B r[k]; the torque commanded is
u[k] = w x[k] + r[k]. The plant alone is x_p[k+1] = F x_p[k] + G u[k], its first states those of the bicycle.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hil.design.loop import sampled_model
from hil.design.schedule import GainSchedule
from hil.excitation import Excitation
from hil.rig import Rig
from hil.sampled_loop import SampledLoop
from models.coordinates import DELTA, PHI, PHI_DOT
from models.errors import InputError

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
OUTPUTS = {"phi_dot": PHI_DOT, "delta": DELTA}


@dataclass(frozen=True, eq=False)
class ExcitedLoop:
    """The matrices of the module at one speed; ``dt`` in s."""

    W: Array  # (13, 13)
    B: Array  # (13,)
    w: Array  # (13,)
    F: Array  # (n, n)
    G: Array  # (n,)
    dt: float

    def loop(self, f: Array, output: str) -> Complex:
        """Frequency response (m,) from the torque played to an output at ``f`` (m,) Hz: "phi_dot", "delta", "T"."""
        if output == "T":
            return transfer(self.W, self.B, self.w, f, self.dt) + 1.0
        return transfer(self.W, self.B, np.eye(len(self.B))[OUTPUTS[output]], f, self.dt)

    def plant(self, f: Array, output: str) -> Complex:
        """Frequency response (m,) of drive and bicycle from the torque commanded to an output."""
        return transfer(self.F, self.G, np.eye(len(self.G))[OUTPUTS[output]], f, self.dt)

    def peaks(self, torque: Sequence[float] | Array) -> dict[str, float]:
        """Largest lean, steer [rad] and torque [N m] while ``torque`` (k,) [N m] is played from rest."""
        x, largest = np.zeros(len(self.B)), np.zeros(3)
        for r in torque:
            u = self.w @ x + r
            largest = np.maximum(largest, np.abs([x[PHI], x[DELTA], u]))
            x = self.W @ x + self.B * r
        return dict(zip(("lean", "steer", "torque"), largest.tolist(), strict=True))


def excited_loop(rig: Rig, schedule: GainSchedule, v: float) -> ExcitedLoop:
    """The loop of a rig under a schedule at speed ``v`` [m/s]."""
    loop = SampledLoop(
        rig.bicycle, schedule, rig.observer, rig.dt, rig.drive_lag, rig.x_imu, rig.z_imu, rig.command_delay
    )
    W, model = loop.matrix(v), sampled_model(rig.bicycle, v, rig.timing)
    B = np.zeros(len(W))
    B[: len(model.G)] = model.G  # the torque played enters where the controller's does
    return ExcitedLoop(W, B, W[5].copy(), model.F, model.G, rig.dt)


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
    if np.abs(np.linalg.eigvals(loop.W)).max() >= 1.0:
        raise InputError(
            f"the controller {schedule.method} does not balance {rig.bicycle.name} at {v:g} m/s, so nothing can be "
            "played there: choose another speed or controller"
        )
    unit = Excitation(signal.kind, 1.0, signal.duration, signal.f_low, signal.f_high, signal.seed)
    limits = {"lean": rig.limits.lean.value, "steer": rig.limits.steer.value, "torque": rig.limits.torque.value}
    peaks = loop.peaks(unit.samples(rig.rate))
    return share * min(limits[name] / peaks[name] for name in limits)


def crest_factor(torque: Array) -> float:
    """Largest value over root mean square; 1.41 for a sine, and the less the better for a given limit."""
    return float(np.abs(torque).max() / np.sqrt(np.mean(np.square(torque))))
