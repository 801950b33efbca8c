"""Kicked window: its machine's motion since the kick, and what an error of the machine changes of what is measured.

The machine with the error is simulated from the kick on, where everything in its loop was at rest: an observer that
goes by a wrong machine has then settled to its wrong estimates as it has in the measurement. A sensor of the steer that
is off changes the loop too (the controller steers by it); dry friction is ridden (`simulated_motion.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from riderless.experiments.analysis.verdict.simulated_motion import MachineSteps
from riderless.experiments.analysis.verdict.steer_elements import STEER_ELEMENTS
from riderless.experiments.analysis.windows.speed import measured_speed
from riderless.experiments.datatypes import Dynamics, Response, Theory, Window
from riderless.experiments.theory.free_response import BICYCLE_STARTS, free_response
from riderless.experiments.theory.theory import theory_for
from riderless.hil.design.closed_loop import MEASURED_CHANNELS
from riderless.models.array_types import Array
from riderless.models.coordinates import DELTA, DELTA_DOT
from riderless.models.errors import InputError

STEER_SENSOR = ("steer_scale", "steer_lag")
DRY_FRICTION = next(element for element in STEER_ELEMENTS if element.name == "coulomb_friction")
FORESEEN_ERRORS = (  # that a lab makes
    *("drive_gain", "more_delay", "steer_damping", DRY_FRICTION.name),
    *("mH", "fork_inertia", "mB", "frame_inertia", "speed_scale", "imu_pitch", *STEER_SENSOR),
)
KICK_TO_WINDOW = 0.4  # s, from a kick to the beginning of its window
_ENCODER = MEASURED_CHANNELS.index("delta_meas")


@dataclass(frozen=True)
class KickedWindow:
    """Window with the motion of its machine since the kick; the changes (n, 2) are of lean rate and steer in it."""

    response: Response
    since: Window  # the window, and what comes before it since the kick
    rows: slice  # of the window in that
    theory: Theory
    x: Array  # (4,) at the kick
    states: Array  # (m, M) that follow

    @classmethod
    def of(cls, response: Response, window: Window) -> "KickedWindow":
        """Find the state at the kick that explains lean rate and steer in the window."""
        before = min(round(KICK_TO_WINDOW / response.dt), window.start)
        since, rows = replace(window, start=window.start - before), slice(before, None)
        theory = theory_for(response)
        dynamics = theory.dynamics()
        states = free_response(dynamics, *_speeds(response, since))[..., BICYCLE_STARTS]
        read = dynamics.lean_rate_read(window.v_mean)
        signals = [(np.einsum("m,nmj->nj", read, states)[rows], response.phi_dot[window.rows])]
        if response.delta is not None:
            signals.append((states[rows, DELTA], response.delta[window.rows]))
        weighed = [
            ((G - G.mean(axis=0)) / np.std(y), (y - y.mean()) / np.std(y)) for G, y in signals if np.ptp(y) > 0.0
        ]
        x = np.linalg.lstsq(np.vstack([G for G, _ in weighed]), np.concatenate([y for _, y in weighed]), rcond=None)[0]
        return cls(response, since, rows, theory, x, states @ x)

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
        value = self.theory.nominal(name) + size
        if not self.theory.range(name).allows(value):
            return None
        if name in STEER_SENSOR:
            return self._by_sensor(_misreading(self.theory.dynamics(), name, size))
        return self.change_to({name: value})

    def change_to(self, values: Mapping[str, float]) -> Array | None:
        """Change (n, 2) by other values of parameters and quantities, SI; None where no machine has them."""
        try:
            return self._by_machine(self.theory.dynamics(values))
        except InputError:
            return None

    def _by_sensor(self, error: Array) -> Array:
        """Let the steer be read with an error, a row (m,) on the state."""
        change = self._by_machine(_misled(self.theory.dynamics(), error))
        change[:, 1] += (self.states @ error)[self.rows]
        return change

    def _by_friction(self, size: float) -> Array:
        """Ride with dry friction of a size [N m]; nothing where theory does not know the torque on the steer."""
        machine = MachineSteps.of(self.response, self.since)
        if machine is None:
            return 0.0 * self._shown(self.states, self.theory.dynamics())
        start = np.zeros(machine.embed.shape[1])
        start[BICYCLE_STARTS] = self.x
        return (machine.ride(start, ((DRY_FRICTION, size),)) - machine.ride(start))[self.rows]

    def _by_machine(self, moved: Dynamics) -> Array:
        states = free_response(moved, *_speeds(self.response, self.since))[..., BICYCLE_STARTS]
        return self._shown(states @ self.x, moved) - self._shown(self.states, self.theory.dynamics())

    def _shown(self, states: Array, dynamics: Dynamics) -> Array:
        read = dynamics.lean_rate_read(self.since.v_mean)
        return np.column_stack([states @ read, states[:, DELTA]])[self.rows]


def moved_by(response: Response, rows: slice, change: Array) -> Response:
    """Recording whose lean rate and steer have changed (n, 2) in some rows."""
    phi_dot = response.phi_dot.copy()
    phi_dot[rows] += change[:, 0]
    if response.delta is None:
        return replace(response, phi_dot=phi_dot)
    delta = response.delta.copy()
    delta[rows] += change[:, 1]
    return replace(response, phi_dot=phi_dot, delta=delta)


def _speeds(response: Response, window: Window) -> tuple[Array, float]:
    return measured_speed(response, window)[0], response.dt


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
