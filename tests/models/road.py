"""A front brake, and the system matrix of a bicycle under forces along the road, for comparisons."""

from math import cos

import numpy as np

from riderless.models.array_types import Array
from riderless.models.coordinates import ANGLE_STATES, RATE_STATES, STATES
from riderless.models.errors import InputError
from riderless.models.linear.path import PSI, heading_rate
from riderless.models.linear.road_forces import RoadTerms
from riderless.models.linear.whipple import canonical_matrices, one_speed, system_matrix
from riderless.models.parameters import Bicycle


def front_brake(bicycle: Bicycle, force: float) -> RoadTerms:
    """Terms of a retarding ``force`` [N] at the front rim, from a brake on the front frame."""
    b = bicycle
    steer = force * (1.0 + b.c / b.w) * b.c * cos(b.lam) ** 2
    return RoadTerms(np.array([[0.0, 0.0], [0.0, steer]]), np.zeros(2), np.zeros((2, 2)))


def road_system_matrix(bicycle: Bicycle, v: float, terms: RoadTerms) -> Array:
    """Matrix (5, 5) [1/s] of lean, steer, their rates and the heading at the speed ``v`` [m/s], not zero.

    Without P in the terms the heading acts on nothing, and its eigenvalue is 0.
    """
    v = one_speed(v)
    if v == 0.0:
        raise InputError("forces along the road want a bicycle that moves, found 0 m/s: give its speed")
    M, n = canonical_matrices(bicycle).M, len(STATES)
    A = np.zeros((n + 1, n + 1))
    A[:n, :n] = system_matrix(bicycle, v)
    A[RATE_STATES, ANGLE_STATES] -= np.linalg.solve(M, terms.K)
    A[RATE_STATES, RATE_STATES] -= np.linalg.solve(M, terms.C / v)
    A[RATE_STATES, PSI] = -np.linalg.solve(M, terms.P)
    A[PSI, :n] = heading_rate(bicycle, v, np.eye(n))
    return A
