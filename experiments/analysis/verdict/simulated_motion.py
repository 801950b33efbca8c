"""Motion of a window's machine with one more part on its steer axis, from the start that then fits best.

The linear dynamics of theory (`experiments.dynamics.Dynamics`: bicycle, drive, sampled observer and gains as flown)
step at the measured speed; the part adds its torque, held over a step. What the part changes is the difference to the
same simulation without it, so that the error of such a step cancels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from experiments.analysis.initial_state import InitialState, estimate_initial_state
from experiments.analysis.verdict.steer_elements import NEEDS_DRIVE, NO_ELEMENT, SteerElement, ride_element
from experiments.datatypes import Dynamics, Response, Window
from experiments.theory.free_response import step_maps
from experiments.theory.theory import theory_for
from hil.design.closed_loop import yaw_rate
from models.array_types import Array
from models.coordinates import DELTA_DOT, PHI_DOT, STATES
from models.linear.perturbed import Variant
from models.linear.whipple import totals
from models.linear.zero_order_hold import zoh

_LONGEST_STEP = 0.005  # s, of continuous dynamics
START_ROUNDS = 3  # times the start is corrected for what the part does to the motion
_N_STATES = len(STATES)


@dataclass(frozen=True)
class MachineSteps:
    """Linear machine of one window, step by step, and what its parts need to know of it."""

    h: float  # s
    every: int  # steps per sample of the recording
    v: Array  # (n,) m/s at each step
    F: Array  # (k, m, m) maps over a step
    left: Array  # (n,)
    weight: Array  # (n,)
    torque: Array  # (m,) change per N m on the steer held over a step
    rows: Array  # (3, m): torque of the drive, curvature of the front wheel's path, side force on it
    embed: Array  # (m, 4 + k) states from starts

    @classmethod
    def of(cls, response: Response, window: Window) -> "MachineSteps | None":
        """Steps of a window's machine; None where theory does not say what a torque on the steer does."""
        theory = theory_for(response)
        dynamics = theory.dynamics()
        if dynamics.steer_torque is None:
            return None
        v0 = max(window.v_mean, 0.1)
        h = dynamics.dt or response.dt / max(1, round(response.dt / _LONGEST_STEP))
        every = max(1, round(response.dt / h))
        n = (window.stop - window.start - 1) * every + 1
        v = np.linspace(window.v_start, window.v_end, n)
        F, left, weight = step_maps(dynamics, v, h)
        m = len(dynamics.states)
        torque = dynamics.steer_torque(v0)
        if dynamics.dt is None:
            torque = np.ascontiguousarray(zoh(dynamics.matrix(v0), torque[:, np.newaxis], h)[1][:, 0])
        rows = np.zeros((3, m))
        if dynamics.drive is not None:
            rows[0] = dynamics.drive(v0)
        rows[1:, :_N_STATES], drive = _tyre_rows(theory.variant({})[0], v0)
        rows[1:] += np.outer(drive, rows[0])
        return cls(h, every, v, F, left, weight, torque, rows, dynamics.starts(float(v[0])))

    @property
    def driven(self) -> bool:
        """Tell whether a drive of known torque turns the steer."""
        return bool(self.rows[0].any())

    def ride(self, start: Array, element: SteerElement | None, size: float) -> Array:
        """Lean rate and steer (n, 2) at the recording's samples.

        Parameters
        ----------
        start : (4 + k,)
            As `InitialState.x`.
        element : SteerElement or None
        size : float
            SI.
        """
        kind = element.kind if element else NO_ELEMENT
        found = ride_element(
            kind,
            size,
            self.h,
            self.v,
            self.F,
            self.left,
            self.weight,
            self.torque,
            self.rows,
            self.embed @ start,
        )
        return np.asarray(found[:: self.every])


def _tyre_rows(real: Variant, v: float) -> tuple[Array, Array]:
    """Curvature of the front wheel's path [1/m] and side force on it [N]: rows (2, 4), and per N m of the drive (2,).

    The side force is that of rolling without slip, from the balance of yaw about the rear contact: Meijaard et al.
    (2007), appendix A.
    """
    b, t = real.bicycle, totals(real.bicycle)
    A, _ = real.system(v)
    axis = np.zeros(_N_STATES)
    axis[[PHI_DOT, DELTA_DOT]] = np.linalg.solve(real.matrices(v)[0], [0.0, 1.0])
    sin_lam, cos_lam = np.sin(b.lam), np.cos(b.lam)
    speed = real.speed_scale * v
    psi_dot, unit = yaw_rate(real, v), np.eye(_N_STATES)
    curvature = (psi_dot + cos_lam * unit[DELTA_DOT]) / speed

    def yaw_moment(rates: Array) -> Array:
        """Moment that accelerations (4, ...) of the states need about the rear contact, without spin."""
        psi_ddot = psi_dot @ rates
        return np.asarray(t.ITxz * rates[PHI_DOT] + t.ITzz * psi_ddot + t.IAlz * rates[DELTA_DOT])

    moment = yaw_moment(A) + t.mT * t.xT * speed * psi_dot
    moment = moment - speed * (t.ST * unit[PHI_DOT] + t.SF * sin_lam * unit[DELTA_DOT])
    side = cos_lam * moment / b.w
    return np.array([curvature, side]), np.array([0.0, cos_lam * float(yaw_moment(axis)) / b.w])


@dataclass(frozen=True)
class RiddenMotion:
    """Window with its machine and the start that explains it by linear theory; rides it with a part on the steer."""

    response: Response
    window: Window
    dynamics: Dynamics
    machine: MachineSteps
    start: InitialState

    @classmethod
    def of(cls, response: Response, window: Window) -> "RiddenMotion | None":
        """Motion of a window, or None where theory does not say what a torque on the steer does."""
        machine = MachineSteps.of(response, window)
        if machine is None:
            return None
        dynamics = theory_for(response).dynamics()
        return cls(response, window, dynamics, machine, estimate_initial_state(response, window, dynamics))

    def suits(self, element: SteerElement) -> bool:
        """Tell whether this machine can have such a part."""
        return self.machine.driven or element.kind not in NEEDS_DRIVE

    @cached_property
    def _influences(self) -> Sequence[Array]:
        steer = self.start.steer_influence
        return [self.start.lean_rate_influence] if steer is None else [self.start.lean_rate_influence, steer]

    @cached_property
    def _unit_motions(self) -> Array:
        """Lean rate and steer (n, 2, 4 + k) without a part, from unit starts: without one the motion is linear."""
        units = np.eye(len(self.start.x))
        return np.stack([self.machine.ride(unit, None, 0.0) for unit in units], axis=-1)

    def lean_rate(self, element: SteerElement, size: float) -> Array:
        """Lean rate (n,) with a part of this size, less its mean, from the start that then fits best."""
        x, linear = self.start.x, self.start.x
        change = np.zeros((self.window.stop - self.window.start, 2))
        for _ in range(START_ROUNDS):
            change = self.machine.ride(x, element, size) - self._unit_motions @ x
            change -= change.mean(axis=0)
            x = linear - sum(K @ change[:, i] for i, K in enumerate(self._influences))
        change = self.machine.ride(x, element, size) - self._unit_motions @ x
        return np.asarray(self.start.unit_responses @ x + change[:, 0] - change[:, 0].mean())
