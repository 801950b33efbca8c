"""Weights of lines and swings by their deviations.

They give the weighted answer beside the unweighted one.
"""

from collections.abc import Mapping

import numpy as np

from riderless.models.array_types import Array
from riderless.models.measured.readings import LabReadings
from riderless.models.measured.reduction import OrientationSet, Plan, reduce_readings

ROUNDS = 50  # of the fixed point; it settles to 1e-12 in fewer than ten
WEIGHTS_SETTLED = 1e-13


def weights_of(readings: LabReadings, plan: Plan) -> Mapping[str, Array]:
    """Inverse variances of the orientations of each set, by its key, at the weighted answer itself."""
    x = {symbol: reading.mean for symbol, reading in readings.readings.items()}
    weights: dict[str, Array] = {}
    for _ in range(ROUNDS):
        reduction = reduce_readings(x, plan, weights)
        lam, before = reduction.parameters["lam"], weights
        weights = {}
        for each in plan.sets:
            beta = lam - np.array([x[name] for name in each.angles])
            variance = _variance(readings, each, beta, reduction)
            weights[each.key] = 1.0 / variance if (variance > 0.0).all() else np.ones(len(beta))
        if before and all(np.allclose(weights[key], before[key], rtol=WEIGHTS_SETTLED, atol=0.0) for key in weights):
            break
    return weights


def _variance(readings: LabReadings, each: OrientationSet, beta: Array, reduction: object) -> Array:
    """Variances (n,) of what a set's equations leave over, from its readings and its angles."""
    own = np.array([readings.readings[name].std for name in each.symbols])
    angle = np.array([readings.readings[name].std for name in each.angles])
    s, c = np.sin(beta), np.cos(beta)
    if each.of == "line":
        X, Z = reduction.centres[each.part]  # type: ignore[attr-defined]
        return own**2 + (c * X - s * Z) ** 2 * angle**2
    Ixx, Ixz, Izz = reduction.tensors[each.part]  # type: ignore[attr-defined]
    moments = np.array([reduction.moments[name] for name in each.symbols])  # type: ignore[attr-defined]
    periods = np.array([readings.readings[name].mean for name in each.symbols])
    turned = 2.0 * s * c * (Izz - Ixx) - 2.0 * (c**2 - s**2) * Ixz
    return (2.0 * moments * own / periods) ** 2 + (turned * angle) ** 2
