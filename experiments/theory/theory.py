"""Theories of the machines that were recorded: which bicycle moves in a recording, and which feedback moves with it."""

from collections.abc import Callable, Mapping

import numpy as np

from experiments.datatypes import Response
from experiments.dynamics import Array, Dynamics, Theory
from models import catalogue
from models.coordinates import PHI_DOT, STATES
from models.errors import InputError
from models.linear.perturbed import Variant
from models.parameters import Bicycle


def open_loop(bicycle: Bicycle) -> Theory:
    """The uncontrolled bicycle: Meijaard et al. (2007) eq. (5.3) without torques."""

    def build(real: Variant, more_delay: float) -> Dynamics:
        return _four_states("open loop", lambda v: real.system(v)[0])

    return Theory("open loop", bicycle, build)


def lean_feedback(bicycle: Bicycle, k: float, v0: float, std: Mapping[str, float] | None = None) -> Theory:
    """The bicycle that steers into the lean: T_delta = k (v0 - v) phi_dot, nothing above v0.

    Continuous and without delay: what is known of the Delft controllers. ``k`` in N s^2 (that is N m per rad/s and
    m/s), ``v0`` in m/s. A delay tau is taken to first order, T = k (v0 - v) (phi_dot - tau phi_ddot).
    """
    name = f"steer into the lean, {k:g} ({v0:g} - v)"

    def build(real: Variant, more_delay: float) -> Dynamics:
        def matrix(v: float) -> Array:
            gain = real.drive_gain * k * max(v0 - v, 0.0)
            mass, damping, stiffness = real.matrices(v)
            mass[1, 0] += gain * more_delay
            damping[1, 0] -= gain
            A = np.zeros((4, 4))
            A[:2, 2:] = np.eye(2)
            A[2:] = -np.linalg.solve(mass, np.hstack([stiffness, damping]))
            return A

        return _four_states(name, matrix)

    return Theory(name, bicycle, build, std or {})


def _four_states(name: str, matrix: Callable[[float], Array]) -> Dynamics:
    return Dynamics(name, STATES, matrix, np.eye(4)[PHI_DOT], lambda v: np.eye(4))


def fixed(bicycle: Bicycle, dynamics: Dynamics) -> Theory:
    """Dynamics that do not depend on anything: no bands, nothing to identify."""
    return Theory(dynamics.name, bicycle, lambda real, more_delay: dynamics)


# What moves in a recording of each kind, where the recording does not bring its own theory.
BICYCLES = {"kooijman": "Silver", "delft-sbw": "DelftSbW2024"}
THEORIES: dict[str, Callable[[Bicycle], Theory]] = {
    "kooijman": open_loop,
    "delft-sbw": lambda bicycle: lean_feedback(bicycle, 2.0, 6.5),
}


def bicycle_for(response: Response) -> Bicycle:
    """The bicycle of a recording: its own, else the published one of its kind."""
    if response.bicycle is not None:
        return response.bicycle
    if response.kind not in BICYCLES:
        raise InputError(
            f"{response.source}: wanted a bicycle to predict the motion of, found none for a recording of "
            f"kind '{response.kind}'; name one of the catalogue (`riderless bikes`)."
        )
    return catalogue.load_bicycle(BICYCLES[response.kind])


def theory_for(response: Response) -> Theory:
    """The theory of a recording: its own, else what was published for its kind."""
    return response.theory or THEORIES.get(response.kind, open_loop)(bicycle_for(response))


def dynamics_for(response: Response) -> Dynamics:
    """What theory says moves in a recording."""
    return theory_for(response).dynamics()
