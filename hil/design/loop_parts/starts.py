"""Initial states of a window, whole loop.

They follow from those of the bicycle.
"""

from typing import Protocol

import numpy as np

from riderless.hil.controllers.controller import Controller, LinearLaw
from riderless.hil.design.loop_parts.driven_steer import settled_drive
from riderless.hil.design.loop_parts.instruments import MEASURED_CHANNELS, gyro_readings
from riderless.hil.design.loop_parts.lane_part import USUAL_STARTS
from riderless.hil.design.loop_parts.state_layout import (
    DRIVE_SIGNALS,
    ESTIMATE_PART,
    PHI_DOT_EST,
    PSI_DOT_EST,
    WHOLE_LOOP_STATES,
    StateLayout,
)
from riderless.hil.design.sampled_plant import BICYCLE_PART, T_DRIVE
from riderless.models.array_types import Array
from riderless.models.coordinates import PHI_DOT
from riderless.models.coordinates import STATES as BICYCLE_STATES
from riderless.models.linear.perturbed import Variant
from riderless.models.linear.prescribed_steer import InnerLoop

SINCE_KICK = 0.1  # s, from a kick to the beginning of a window, which opens as the kick ends
USUAL_KICK, AFTER_KICK = 0.3, 0.5  # rad/s of lean rate, and s in which it tells on a law
RATE_SIZE = 4.0  # 1/s, usual rate per usual angle of a bicycle in free motion
LEAST_KICK = 0.02  # of the largest effect, below which a start is not put down to a kick
SLOW_ERRORS = {"phi": 0.01, "gyro_bias": 0.003, "yaw_bias": 0.003}  # rad, rad/s; usual ones, which outlast a kick


class _StartedLoop(Protocol):
    """Loop whose starts are asked for; `riderless.hil.design.closed_loop.SampledLoop` is one."""

    schedule: Controller
    drive: InnerLoop | None
    real: Variant
    dt: float
    layout: StateLayout

    def matrix(self, v: float) -> Array:
        """Matrix of the map over one sample at measured speed ``v`` [m/s], (m, m)."""

    def instruments(self, v: float) -> Array:
        """Output matrix to the instruments at measured speed ``v`` [m/s], (4, m)."""


def start_in_motion(loop: _StartedLoop, v: float) -> Array:
    """Matrix (m, 4) from a bicycle in motion to the whole state at ``v`` [m/s], as `SampledLoop.embed` says."""
    X = _settled_start(loop, v)
    return X if not loop.schedule.states and loop.drive is None else _moved_start(loop, v, X)


def hidden_starts(loop: _StartedLoop, v: float) -> Array:
    """States (m, k) at ``v`` [m/s] which no reading shows, as `SampledLoop.hidden_starts` says."""
    layout = loop.layout
    X = np.column_stack([_slow_errors(layout), *_off_lane(layout)])
    hidden = [*range(len(layout.states))[layout.law], *(layout.drive if loop.drive is not None else [])]
    if not hidden:
        return X
    x = np.zeros(len(layout.states))
    x[PHI_DOT] = USUAL_KICK
    step, reached = loop.matrix(v), np.zeros(len(hidden))
    for _ in range(round(AFTER_KICK / loop.dt)):
        x = step @ x
        reached = np.maximum(reached, np.abs(x[hidden]))
    own = np.zeros((len(layout.states), len(reached)))
    own[hidden] = np.diag(reached)
    return np.column_stack([X, own])


def _moved_start(loop: _StartedLoop, v: float, X: Array) -> Array:
    """Start (m, 4) of a loop that was kicked from rest a moment ago, so that its law remembers the motion since.

    What no kick makes in that time starts as in ``X``, at rest.
    """
    rest = X.copy()
    rest[loop.layout.law] = 0.0
    moved = np.linalg.matrix_power(loop.matrix(v), round(SINCE_KICK / loop.dt)) @ rest
    sizes = np.array([1.0, 1.0, RATE_SIZE, RATE_SIZE])  # of angles and rates in a usual motion
    kick = np.linalg.pinv(moved[BICYCLE_PART] / sizes[:, None] * sizes, rcond=LEAST_KICK)
    kick = sizes[:, None] * kick / sizes
    return moved @ kick + X @ (np.eye(len(sizes)) - moved[BICYCLE_PART] @ kick)


def _settled_start(loop: _StartedLoop, v: float) -> Array:
    """Start (m, 4) with true estimates, and drive and law settled as in a motion that is slow against both."""
    layout, A, n = loop.layout, loop.real.system(v)[0], len(BICYCLE_STATES)
    before = np.eye(n) - loop.dt * A  # the estimates are of the previous sample
    X = np.zeros((len(layout.states), n))
    X[BICYCLE_PART] = np.eye(n)
    X[ESTIMATE_PART] = before
    X[[PHI_DOT_EST, PSI_DOT_EST]] = gyro_readings(loop.real, v) @ before
    X[layout.law], command = _settled_law(loop, loop.schedule.linearised(v), v)
    X[[T_DRIVE, *layout.commands]] = command
    if loop.drive is not None:
        X[layout.drive] = settled_drive(loop.real, v, loop.drive, command)
    return X


def _settled_law(loop: _StartedLoop, law: LinearLaw, v: float) -> tuple[Array, Array]:
    """State (m, 4) and command (4,) of a law that has settled in each unit state of the bicycle."""
    m, n = len(law.A), len(BICYCLE_STATES)
    rows = {
        **dict(zip(BICYCLE_STATES, np.eye(n), strict=True)),
        **dict(zip(("phi_dot", "psi_dot"), gyro_readings(loop.real, v), strict=True)),
        **dict(zip(MEASURED_CHANNELS, loop.instruments(v)[:, BICYCLE_PART], strict=True)),
    }
    inputs = np.array([rows.get(name, np.zeros(n)) for name in law.inputs])
    by_torque = np.array([float(name in DRIVE_SIGNALS) for name in law.inputs])
    own = np.vstack([np.column_stack([law.A, law.B @ by_torque]), np.append(law.C, law.D @ by_torque)])
    map_of_inputs = np.linalg.lstsq(np.eye(m + 1) - own, np.vstack([law.B, law.D]) @ inputs, rcond=None)[0]
    return map_of_inputs[:m], map_of_inputs[m]


def _off_lane(layout: StateLayout) -> list[Array]:
    """Heading and place off the lane, as known to the tracker, one standard deviation each, (m,)."""
    starts = []
    for values in USUAL_STARTS if layout.keeps_lane else ():
        starts.append(np.zeros(len(layout.states)))
        starts[-1][layout.lane] = values
    return starts


def _slow_errors(layout: StateLayout) -> Array:
    """Errors of the observer that outlast a kick, at their usual size: lean, roll and yaw bias; (m, 3)."""
    X = np.zeros((len(layout.states), len(SLOW_ERRORS)))
    for column, (name, size) in enumerate(SLOW_ERRORS.items()):
        X[WHOLE_LOOP_STATES.index(f"{name}_est"), column] = size
    return X
