"""Slopes of errors: by how much each error that a machine may have moves measured minus like for like, to first order.

The machine with the error is simulated from the kick on, where everything in its loop was at rest: an observer that
goes by a wrong machine has then settled to its wrong estimates as it has in the measurement. What that changes in lean
rate and steer, less what another start of the window would explain, is what the estimator sees. A sensor of the steer
that is off changes the loop too (the controller steers by it); dry friction is ridden (`simulated_motion.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from experiments.analysis.difference_noise import difference_influence
from experiments.analysis.initial_state import estimate_initial_state
from experiments.analysis.steer_parts.simulated_motion import MachineSteps
from experiments.analysis.steer_parts.steer_elements import STEER_ELEMENTS
from experiments.analysis.windows.speed import measured_speed
from experiments.datatypes import Comparison, Dynamics, Response, Theory, Window
from experiments.theory.free_response import BICYCLE_STARTS, free_response
from experiments.theory.theory import theory_for
from hil.design.closed_loop import MEASURED_CHANNELS
from models.array_types import Array
from models.coordinates import DELTA, DELTA_DOT
from models.errors import InputError

STEER_SENSOR = ("steer_scale", "steer_lag")
DRY_FRICTION = next(element for element in STEER_ELEMENTS if element.name == "coulomb_friction")
FORESEEN_ERRORS = (  # that a lab makes
    *("drive_gain", "more_delay", "steer_damping", DRY_FRICTION.name),
    *("mH", "fork_inertia", "mB", "frame_inertia", "speed_scale", *STEER_SENSOR),
)
SMALL_MISREADING = {"steer_scale": 1e-3, "steer_lag": 1e-4}  # SI, for difference quotients
ERROR_STEP = 0.1  # of a quantity's usual deviation, likewise
KICK_TO_WINDOW = 0.4  # s, from a kick to the beginning of its window
_ENCODER = MEASURED_CHANNELS.index("delta_meas")


def error_slopes(response: Response, c: Comparison, names: Sequence[str], friction: float) -> Array:
    """Change (2, p) of measured minus like for like in one window, per SI unit of each error [1/s].

    Parameters
    ----------
    response : Response
        The window was cut from it.
    c : Comparison
    names : sequence of str
        Quantities of `experiments.dynamics`, or the name of `DRY_FRICTION`.
    friction : float
        Dry friction [N m] at which its slope is taken: what it does is not in proportion to it.
    """
    slopes = np.zeros((2, len(names)))
    if not c.fit.influence.size:
        return slopes
    theory = theory_for(response)
    channels = difference_influence(c.fit.influence, estimate_initial_state(response, c.window, theory.dynamics()))
    kicked = _Kicked.of(response, c.window)
    for i, name in enumerate(names):
        if name == DRY_FRICTION.name:
            step, change = friction, kicked.by_friction(friction)
        elif name in STEER_SENSOR:
            step = SMALL_MISREADING[name]
            change = kicked.by_sensor(_misreading(kicked.dynamics, name))
        else:
            step = ERROR_STEP * theory.usual(name)
            change = kicked.by_theory(theory, name, step)
        slopes[:, i] = sum(one @ moved for one, moved in zip(channels, change.T, strict=True)) / step
    return slopes


@dataclass(frozen=True)
class _Kicked:
    """Motion of a window's machine since the kick; the changes (n, 2) are of lean rate and steer in the window."""

    response: Response
    since: Window  # the window, and what comes before it since the kick
    rows: slice  # of the window in that
    dynamics: Dynamics
    x: Array  # (4,) at the kick
    states: Array  # (m, M) that follow

    @classmethod
    def of(cls, response: Response, window: Window) -> "_Kicked":
        """Find the state at the kick that explains lean rate and steer in the window."""
        before = min(round(KICK_TO_WINDOW / response.dt), window.start)
        since, rows = replace(window, start=window.start - before), slice(before, None)
        dynamics = theory_for(response).dynamics()
        states = free_response(dynamics, *_speeds(response, since))[..., BICYCLE_STARTS]
        signals = [(np.einsum("m,nmj->nj", dynamics.output, states)[rows], response.phi_dot[window.rows])]
        if response.delta is not None:
            signals.append((states[rows, DELTA], response.delta[window.rows]))
        weighed = [
            ((G - G.mean(axis=0)) / np.std(y), (y - y.mean()) / np.std(y)) for G, y in signals if np.ptp(y) > 0.0
        ]
        x = np.linalg.lstsq(np.vstack([G for G, _ in weighed]), np.concatenate([y for _, y in weighed]), rcond=None)[0]
        return cls(response, since, rows, dynamics, x, states @ x)

    def by_theory(self, theory: Theory, name: str, step: float) -> Array:
        """Move a quantity of theory by a step; nothing where no machine can have that."""
        try:
            moved = theory.dynamics({name: theory.nominal(name) + step})
        except InputError:
            return 0.0 * self._shown(self.states, self.dynamics)
        return self._change(moved)

    def by_sensor(self, error: Array) -> Array:
        """Let the steer be read with an error, a row (m,) on the state."""
        change = self._change(_misled(self.dynamics, error))
        change[:, 1] += (self.states @ error)[self.rows]
        return change

    def by_friction(self, size: float) -> Array:
        """Ride with dry friction of a size [N m]; nothing where theory does not know the torque on the steer."""
        machine = MachineSteps.of(self.response, self.since)
        if machine is None:
            return 0.0 * self._shown(self.states, self.dynamics)
        start = np.zeros(machine.embed.shape[1])
        start[BICYCLE_STARTS] = self.x
        return (machine.ride(start, ((DRY_FRICTION, size),)) - machine.ride(start))[self.rows]

    def _change(self, moved: Dynamics) -> Array:
        states = free_response(moved, *_speeds(self.response, self.since))[..., BICYCLE_STARTS]
        return self._shown(states @ self.x, moved) - self._shown(self.states, self.dynamics)

    def _shown(self, states: Array, dynamics: Dynamics) -> Array:
        return np.column_stack([states @ dynamics.output, states[:, DELTA]])[self.rows]


def _speeds(response: Response, window: Window) -> tuple[Array, float]:
    return measured_speed(response, window)[0], response.dt


def _misreading(dynamics: Dynamics, name: str) -> Array:
    """Row (m,) of the error of the steer's reading on the state, for a small error [rad]."""
    row = np.zeros(len(dynamics.states))
    if name == "steer_scale":
        row[DELTA] = SMALL_MISREADING[name]
    else:
        row[DELTA_DOT] = -SMALL_MISREADING[name]
    return row


def _misled(dynamics: Dynamics, error: Array) -> Dynamics:
    """Dynamics of a loop whose controller reads the steer with an error; as they are without a loop."""
    mechanics = dynamics.mechanics
    if mechanics is None or mechanics.readings is None:
        return dynamics
    readings = mechanics.readings
    return replace(dynamics, matrix=lambda v: dynamics.matrix(v) + np.outer(readings(v)[:, _ENCODER], error))
