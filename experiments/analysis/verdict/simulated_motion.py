"""Simulated motion with parts on the steer axis.

The parts are added to a window's machine, from the start that then fits best. The linear dynamics of theory
(`riderless.experiments.dynamics.Dynamics`: bicycle, drive, sampled observer and gains as flown) step at the measured
speed; the part adds its torque, held over a step. What the part changes is the difference to the same simulation
without it, so that the error of such a step cancels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from riderless.experiments.analysis.identification.initial_state import InitialState, estimate_initial_state
from riderless.experiments.analysis.verdict.steer_elements import (
    ACTING_ORDER,
    NEEDS_DRIVE,
    TYRE_SLIP,
    SteerElement,
    ride_elements,
)
from riderless.experiments.datatypes import Dynamics, Segment
from riderless.experiments.theory.free_response import row_map
from riderless.experiments.theory.machine_steps import Nonlinearities
from riderless.experiments.theory.nonlinear_response import WindowMachine, window_machine
from riderless.experiments.theory.process_noise import torque_map
from riderless.hil.design.closed_loop import yaw_rate
from riderless.models.array_types import Array
from riderless.models.coordinates import DELTA_DOT, PHI, PHI_DOT, STATES
from riderless.models.linear.path import lateral_forces
from riderless.models.linear.perturbed import Variant
from riderless.models.linear.side_slip import slip_balance
from riderless.models.linear.whipple import totals

# Side slip of both tyres, for machines that are ridden step by step: what it does to a linear machine of theory.


_LEAN, _STEER = range(2)


class SlipSteps(NamedTuple):
    """Numbers that a step of a machine with slipping tyres needs; matrices as of `models.linear.side_slip`."""

    P: Array
    R: Array
    admittance: Array
    across: Array
    loads: Array  # (2,) N
    yaw: Array  # (2,) 1/m
    needed: Array  # (2, m) side forces of the machine without slip, rear and front
    lean: Array  # (m,) change per N m on the lean held over a step
    sideways: Array  # (2,) m/s^2 read per N m on lean and steer
    x_imu: float

    @property
    def possible(self) -> bool:
        """Tell whether both wheels carry a load."""
        return bool(self.loads.min() > 0.0)


def _slip_steps(dynamics: Dynamics, real: Variant, v: float, h: float) -> SlipSteps:
    """Steps of a machine of theory at a measured speed.

    Parameters
    ----------
    dynamics : Dynamics
    real : Variant
    v : float
        m/s.
    h : float
        Step [s], of continuous dynamics.
    """
    m, mechanics = len(dynamics.states), dynamics.mechanics
    assert mechanics is not None
    balance, bicycle = slip_balance(real.bicycle), real.bicycle
    A, b = real.system(v)
    b = b / real.drive_gain
    speed, unit = real.speed_scale * v, np.eye(len(STATES))
    nothing = np.zeros(len(STATES))
    needed = np.zeros((2, m))
    needed[:, : len(STATES)] = np.array(lateral_forces(bicycle, speed, unit, A.T))
    if dynamics.drive is not None:
        needed += np.outer(lateral_forces(bicycle, speed, nothing, b), dynamics.drive(v))
    M_inv = np.linalg.inv(real.matrices(v)[0])
    yaw_by_steer = yaw_rate(real, v)[-1]
    sideways = mechanics.x_imu * yaw_by_steer * M_inv[_STEER] - mechanics.z_imu * M_inv[_LEAN]
    lean = np.ascontiguousarray(torque_map(dynamics, v, h)[1][:, PHI])
    return SlipSteps(
        *(balance.P, balance.R, balance.admittance, balance.across, balance.loads, balance.yaw),
        *(needed, lean, sideways, float(mechanics.x_imu)),
    )


START_ROUNDS = 8  # times, at most, that the start is corrected for what the part does to the motion
CORRECTION_SETTLED = 2e-3  # of the motion, by which a correction still moves it
_N_STATES = len(STATES)
Parts = Sequence[tuple[SteerElement, float]]  # on the steer axis, each with its size, SI


@dataclass(frozen=True)
class MachineSteps:
    """Linear machine of one window, step by step, and what its parts need to know of it."""

    window: WindowMachine
    h: float  # s
    torque: Array  # (m,) change per N m on the steer held over a step
    rows: Array  # (3, m): torque of the drive; curvature of the front wheel's path and side force, by work on the steer
    side_per_torque: float  # side force of `rows` per N m on the steer
    slip: SlipSteps  # of the tyres

    @classmethod
    def of(cls, segment: Segment) -> "MachineSteps | None":
        """Steps of a window's machine; None where theory does not say what a torque on the steer does."""
        theory, dynamics, window = segment.theory, segment.dynamics, segment.window
        if dynamics.steer_torque is None:
            return None
        v0 = max(window.v_mean, 0.1)
        v = np.linspace(window.v_start, window.v_end, len(segment))
        machine = window_machine(dynamics, v, segment.dt, nonlinearities=Nonlinearities(bicycle=False))
        h = segment.dt / machine.tables.per_sample
        torque = np.ascontiguousarray(row_map(dynamics, v0, h).on_steer)
        rows = np.zeros((3, len(dynamics.states)))
        if dynamics.drive is not None:
            rows[0] = dynamics.drive(v0)
        real = theory.variant({})[0]
        work = _work_on_steer(real)
        rows[1:, :_N_STATES], on_axis = _tyre_rows(real, v0)
        rows[1:] += np.outer(on_axis, rows[0])
        rows[1:] *= work[:, np.newaxis]
        side_per_torque = float(work[1] * on_axis[1])
        slip = _slip_steps(dynamics, real, v0, h)
        return cls(machine, h, torque, rows, side_per_torque, slip)

    @property
    def driven(self) -> bool:
        """Tell whether a drive of known torque turns the steer."""
        return bool(self.rows[0].any())

    def ride(self, start: Array, parts: Parts = ()) -> Array:
        """Lean rate and steer (n, 2) at the recording's samples.

        Parameters
        ----------
        start : (4 + k,)
            As `InitialState.x`.
        parts : sequence of (SteerElement, float)
            On the steer axis, each with its size, SI.
        """
        acting = sorted(parts, key=lambda part: ACTING_ORDER.index(part[0].kind))
        kinds, sizes = (
            np.array([element.kind for element, _ in acting], np.int64),
            np.array([s for _, s in acting], float),
        )
        own = (self.torque, self.rows, self.side_per_torque, self.slip)
        return np.asarray(ride_elements(kinds, sizes, self.h, self.window.tables, *own, self.window.embed @ start))


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


def _work_on_steer(real: Variant) -> Array:
    """Steer torques that do the work of a torque about the vertical at the front contact, and of one about its axis.

    A steer turns the wheel about the vertical by cos(lam), and by mu = c cos(lam) / w with the frame that it makes yaw.
    The rows of `_tyre_rows` have the curvature about the vertical, and the side force already times cos(lam).
    """
    yaws_with = 1.0 + real.bicycle.c / real.bicycle.w
    return np.array([np.cos(real.bicycle.lam) * yaws_with, yaws_with])


@dataclass(frozen=True)
class RiddenMotion:
    """Window with its machine and the start that explains it by linear theory; rides it with a part on the steer."""

    segment: Segment
    machine: MachineSteps
    start: InitialState

    @classmethod
    def of(cls, segment: Segment) -> "RiddenMotion | None":
        """Motion of a window, or None where theory does not say what a torque on the steer does."""
        machine = MachineSteps.of(segment)
        if machine is None:
            return None
        return cls(segment, machine, estimate_initial_state(segment, segment.dynamics))

    def suits(self, element: SteerElement) -> bool:
        """Tell whether this machine can have such a part."""
        if element.kind == TYRE_SLIP:
            return self.machine.slip.possible
        return self.machine.driven or element.kind not in NEEDS_DRIVE

    @cached_property
    def _influences(self) -> Sequence[Array]:
        steer = self.start.steer_influence
        return [self.start.lean_rate_influence] if steer is None else [self.start.lean_rate_influence, steer]

    @cached_property
    def _unit_motions(self) -> Array:
        """Lean rate and steer (n, 2, 4 + k) without a part, from unit starts: without one the motion is linear."""
        units = np.eye(len(self.start.x))
        return np.stack([self.machine.ride(unit) for unit in units], axis=-1)

    @cached_property
    def _unit_sizes(self) -> Array:
        """Sizes (4 + k,) of these motions."""
        return np.asarray(np.linalg.norm(self._unit_motions.reshape(-1, len(self.start.x)), axis=0))

    def lean_rate(self, parts: Parts) -> Array:
        """Lean rate (n,) with parts of these sizes, less its mean, from the start that then fits best."""
        x, change = self._start_with(parts)
        return np.asarray(self.start.unit_responses @ x + change[:, 0])

    def _start_with(self, parts: Parts) -> tuple[Array, Array]:
        """Start (4 + k,) that fits best with some parts, and what they then change (n, 2), less its mean.

        The start is corrected by what linear theory would make of that change, again and again. Where a part
        changes much in a short window such corrections overshoot or run away: each is mixed with those before it
        (Anderson 1965), and the start that was corrected least is taken.
        """
        scale = self._unit_sizes
        x, starts, corrections = self.start.x, [], []
        best = (np.inf, x, np.zeros((len(self.segment), 2)))
        for _ in range(START_ROUNDS):
            change = self.machine.ride(x, parts) - self._unit_motions @ x
            change -= change.mean(axis=0)
            wanted = self.start.x - sum(K @ change[:, i] for i, K in enumerate(self._influences))
            starts.append(x)
            corrections.append(wanted - x)
            discrepancy = float(np.linalg.norm(scale * corrections[-1]))
            if not np.isfinite(discrepancy):
                break
            if discrepancy < best[0]:
                best = discrepancy, x, change
            if discrepancy < CORRECTION_SETTLED * np.linalg.norm(scale * x):
                break
            x = _mixed(starts, corrections, scale)
        return best[1], best[2]


def _mixed(starts: Sequence[Array], corrections: Sequence[Array], scale: Array) -> Array:
    """Next start (m,) from those so far and their corrections, as if these were linear in them (Anderson 1965).

    Parameters
    ----------
    starts, corrections : sequences of (m,)
    scale : (m,)
        What a unit of each number of a start moves, to measure corrections by.
    """
    following = starts[-1] + corrections[-1]
    if len(starts) == 1:
        return following
    of_starts, of_corrections = np.diff(starts, axis=0).T, np.diff(corrections, axis=0).T
    weights = np.linalg.lstsq(scale[:, np.newaxis] * of_corrections, scale * corrections[-1], rcond=1e-6)[0]
    return np.asarray(following - (of_starts + of_corrections) @ weights)
