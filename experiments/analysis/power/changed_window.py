"""Window of a machine with an error.

The motion since the kick, and what an error of the machine changes in what is measured. The machine with the error is
simulated from the kick on, where everything in its loop was at rest: an observer that goes by a wrong machine has then
settled to its wrong estimates as it has in the measurement. A sensor of the steer that is off changes the loop too (the
controller steers by it); dry friction is ridden (`simulated_motion.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from riderless.experiments.analysis.comparison.noise_covariance import difference_influence
from riderless.experiments.analysis.comparison.prediction import like_for_like
from riderless.experiments.analysis.estimators import estimate_alike
from riderless.experiments.analysis.identification.initial_state import InitialState, estimate_initial_state
from riderless.experiments.analysis.verdict.simulated_motion import MachineSteps
from riderless.experiments.analysis.verdict.steer_elements import DRY_FRICTION
from riderless.experiments.analysis.windows.cut import measured_speed
from riderless.experiments.datatypes import Comparison, Dynamics, Segment
from riderless.experiments.theory.free_response import BICYCLE_STARTS, free_response
from riderless.hil.design.closed_loop import MEASURED_CHANNELS
from riderless.models.array_types import Array
from riderless.models.coordinates import DELTA, DELTA_DOT
from riderless.models.errors import InputError

STEER_SENSOR = ("steer_scale", "steer_lag")
FORESEEN_ERRORS = (  # that a lab makes
    *("drive_gain", "more_delay", "steer_damping", DRY_FRICTION.name),
    *("mH", "fork_inertia", "mB", "frame_inertia", "speed_scale", "imu_pitch", *STEER_SENSOR),
)
KICK_TO_WINDOW = 0.4  # s, from a kick to the beginning of its window
_ENCODER = MEASURED_CHANNELS.index("delta_meas")


@dataclass(frozen=True)
class KickedWindow:
    """Window with the motion of its machine since the kick; the changes (n, 2) are of lean rate and steer in it."""

    segment: Segment
    since: Segment  # the window, and what comes before it since the kick
    rows: slice  # of the window in that
    x: Array  # (4,) at the kick
    states: Array  # (m, M) that follow

    @classmethod
    def of(cls, segment: Segment) -> "KickedWindow":
        """Find the state at the kick that explains lean rate and steer in the window."""
        window, dynamics = segment.window, segment.dynamics
        before = min(round(KICK_TO_WINDOW / segment.dt), window.start)
        since = replace(segment, window=replace(window, start=window.start - before))
        rows = slice(before, None)
        states = free_response(dynamics, *_speeds(since))[..., BICYCLE_STARTS]
        read = dynamics.lean_rate_read(window.v_mean)
        signals = [(np.einsum("m,nmj->nj", read, states)[rows], segment.phi_dot)]
        if segment.delta is not None:
            signals.append((states[rows, DELTA], segment.delta))
        weighed = [
            ((G - G.mean(axis=0)) / np.std(y), (y - y.mean()) / np.std(y)) for G, y in signals if np.ptp(y) > 0.0
        ]
        x = np.linalg.lstsq(np.vstack([G for G, _ in weighed]), np.concatenate([y for _, y in weighed]), rcond=None)[0]
        return cls(segment, since, rows, x, states @ x)

    def change(self, name: str, size: float) -> Array | None:
        """Change (n, 2) by an error; None where no machine can have that.

        Parameters
        ----------
        name : str
            Quantity of `riderless.experiments.dynamics`, or the name of `DRY_FRICTION`.
        size : float
            SI, added to the quantity.
        """
        if name == DRY_FRICTION.name:
            return self._by_friction(size) if size >= 0.0 else None
        theory = self.segment.theory
        value = theory.nominal(name) + size
        if not theory.range(name).allows(value):
            return None
        if name in STEER_SENSOR:
            return self._by_sensor(_misreading(theory.dynamics(), name, size))
        return self.change_to({name: value})

    def change_to(self, values: Mapping[str, float]) -> Array | None:
        """Change (n, 2) by other values of parameters and quantities, SI; None where no machine has them."""
        try:
            return self._by_machine(self.segment.theory.dynamics(values))
        except InputError:
            return None

    def _by_sensor(self, error: Array) -> Array:
        """Let the steer be read with an error, a row (m,) on the state."""
        change = self._by_machine(_misled(self.segment.dynamics, error))
        change[:, 1] += (self.states @ error)[self.rows]
        return change

    def _by_friction(self, size: float) -> Array:
        """Ride with dry friction of a size [N m]; nothing where theory does not know the torque on the steer."""
        machine = MachineSteps.of(self.since)
        if machine is None:
            return 0.0 * self._shown(self.states, self.segment.dynamics)
        start = np.zeros(machine.window.embed.shape[1])
        start[BICYCLE_STARTS] = self.x
        return (machine.ride(start, ((DRY_FRICTION, size),)) - machine.ride(start))[self.rows]

    def _by_machine(self, moved: Dynamics) -> Array:
        states = free_response(moved, *_speeds(self.since))[..., BICYCLE_STARTS]
        return self._shown(states @ self.x, moved) - self._shown(self.states, self.segment.dynamics)

    def _shown(self, states: Array, dynamics: Dynamics) -> Array:
        read = dynamics.lean_rate_read(self.since.window.v_mean)
        return np.column_stack([states @ read, states[:, DELTA]])[self.rows]


def moved_by(segment: Segment, change: Array) -> Segment:
    """Window whose lean rate and steer have changed (n, 2)."""
    response, rows = segment.response, segment.window.rows
    phi_dot, delta = response.phi_dot.copy(), response.delta
    phi_dot[rows] += change[:, 0]
    if delta is not None:
        delta = delta.copy()
        delta[rows] += change[:, 1]
    return replace(segment, response=replace(response, phi_dot=phi_dot, delta=delta))


def _speeds(segment: Segment) -> tuple[Array, float]:
    return measured_speed(segment)[0], segment.dt


def _misreading(dynamics: Dynamics, name: str, size: float) -> Array:
    """Row (m,) of the error of the steer's reading on the state [rad]."""
    row = np.zeros(len(dynamics.states))
    row[DELTA if name == "steer_scale" else DELTA_DOT] = size if name == "steer_scale" else -size
    return row


def _misled(dynamics: Dynamics, error: Array) -> Dynamics:
    """Dynamics of a loop whose controller reads the steer with an error; as they are without a loop."""
    mechanics = dynamics.mechanics
    if mechanics is None or mechanics.readings is None:
        return dynamics
    readings = mechanics.readings
    return replace(dynamics, matrix=lambda v: dynamics.matrix(v) + np.outer(readings(v)[:, _ENCODER], error))


# Effects of errors: by how much an error of a machine moves measured minus like for like in a window, and its noise.
#
# A small error moves them in proportion. A larger one is what the start of the window cannot explain, so lean rate and
# steer no longer weigh what they did: of a drive 5 % too weak either side may move the decay to the same side. So the
# window is moved by the error and estimated again, as it would be in the experiment.


SIDES = (1.0, -1.0)


class ErrorEffect(NamedTuple):
    """Effect of an error of one size in one window, to either side; a side that no machine can have is the other one.

    Attributes
    ----------
    slope : (2,)
        Change of measured minus like for like per SI unit, where the window is estimated as without the error [1/s].
    moved : (2, 2)
        Change by the error to either side, estimated with it [1/s].
    covariances : (2, 2, 2)
        Of measured minus like for like with the error, by noise [1/s^2].
    """

    slope: Array
    moved: Array
    covariances: Array


@dataclass(frozen=True)
class WindowErrors:
    """Window of a rehearsal, with what was found of its errors so far."""

    comparison: Comparison
    kicked: KickedWindow
    start: InitialState
    found: dict[tuple[str, float], ErrorEffect] = field(default_factory=dict)

    @classmethod
    def of(cls, comparison: Comparison) -> "WindowErrors":
        """Prepare a window with a fit that has an influence."""
        segment = comparison.segment
        return cls(comparison, KickedWindow.of(segment), estimate_initial_state(segment, segment.dynamics))

    def slopes(self, names: Sequence[str], sizes: Sequence[float]) -> Array:
        """Slopes (2, p) of small errors, as `ErrorEffect` has them, from sizes [SI] that are taken for small."""
        named = zip(names, sizes, strict=True)
        return np.stack([self._slope(size, self._changes(name, size)) for name, size in named], axis=1)

    def effects(self, names: Sequence[str], sizes: Sequence[float]) -> list[ErrorEffect]:
        """Effect of each error, of its size [SI]; what was asked for before is known."""
        for key in zip(names, sizes, strict=True):
            if key not in self.found:
                self.found[key] = self._effect(*key)
        return [self.found[key] for key in zip(names, sizes, strict=True)]

    def _effect(self, name: str, size: float) -> ErrorEffect:
        changes = self._changes(name, size)
        if not changes:
            own = self.comparison.prediction.difference_covariance
            return ErrorEffect(np.zeros(2), np.zeros((2, 2)), np.array([own, own]))
        with_error = {side: self._with_error(change) for side, change in changes.items()}
        either = [with_error.get(side, next(iter(with_error.values()))) for side in SIDES]
        return ErrorEffect(self._slope(size, changes), *(np.array(part) for part in zip(*either, strict=True)))

    def _changes(self, name: str, size: float) -> dict[float, Array]:
        """Changes (n, 2) of lean rate and steer, to each side that a machine can have; none where nothing changes."""
        changes = {side: self.kicked.change(name, side * size) for side in SIDES}
        possible = {
            side: change for side, change in changes.items() if change is not None and np.isfinite(change).all()
        }
        return possible if any(np.any(change) for change in possible.values()) else {}

    def _slope(self, size: float, changes: Mapping[float, Array]) -> Array:
        slopes = [self._seen(self.start, change) / (side * size) for side, change in changes.items()]
        return np.asarray(np.mean(slopes, axis=0)) if slopes else np.zeros(2)

    def _with_error(self, change: Array) -> tuple[Array, Array]:
        """Estimate the window with a change (n, 2) of lean rate and steer: what it moves, and the covariance."""
        moved = moved_by(self.comparison.segment, change)
        again = estimate_alike(moved.t, moved.phi_dot, self.comparison.fit)
        start = estimate_initial_state(moved, moved.dynamics)
        covariance = like_for_like(moved, again, start).covariance
        if not (again.ok and np.isfinite(covariance).all()):
            covariance = self.comparison.prediction.difference_covariance
        return self._seen(start, change), covariance

    def _seen(self, start: InitialState, change: Array) -> Array:
        """Change (2,) of measured minus like for like that the estimate sees, weighted as for a start."""
        channels = difference_influence(self.comparison.fit.influence, start)
        return np.asarray(sum(channel @ moved for channel, moved in zip(channels, change.T, strict=True)))
