"""Forces of the ground on the wheels of an emulated nonlinear bicycle, for a picture of it."""

import numpy as np

from riderless.experiments.emulation.plaything import PlayTruth
from riderless.models.coordinates import Q_THETA_R, REAR_TORQUE, STEER_TORQUE
from riderless.models.errors import InputError
from riderless.models.nonlinear.equations import accelerations, contact_forces
from riderless.models.nonlinear.parameters import pack_bicycle
from riderless.models.nonlinear.simulation import initial_state
from riderless.models.parameters import Bicycle


def ground_forces(bicycle: Bicycle, truth: PlayTruth) -> list[float] | None:
    """Forces on rear and front wheel, each forward along the wheel, to its right and up [N]; None beyond the model.

    The speed is held, as a belt does, and the drive turns the steer; the push of a hand or of wind is not in them.
    """
    try:
        q, u = initial_state(bicycle, truth.phi, truth.delta, truth.phi_dot, truth.delta_dot, truth.v)
    except InputError:  # fallen over
        return None
    p, rates, forces = pack_bicycle(bicycle), np.empty((2, 8)), np.empty(6)
    T = np.zeros(3)
    T[STEER_TORQUE] = truth.torque
    accelerations(p, q, u, T, rates[0])
    T[REAR_TORQUE] = 1.0
    accelerations(p, q, u, T, rates[1])
    free, pushed = rates[:, Q_THETA_R]
    T[REAR_TORQUE] = -free / (pushed - free)  # that keeps the speed: rates are linear in torques
    accelerations(p, q, u, T, rates[0])
    contact_forces(p, q, u, T, rates[0], forces)
    return [round(float(force), 1) for force in forces] if np.isfinite(forces).all() else None
