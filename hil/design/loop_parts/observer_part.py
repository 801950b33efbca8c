"""Observer of the whole sampled loop: its matrices, read off the compiled observer by unit vectors."""

from functools import lru_cache

import numpy as np

from firmware_interface.messages import SAMPLE
from hil.design.loop_parts.instruments import MEASURED_CHANNELS
from hil.loop.observer import ESTIMATE, observe
from models.array_types import Array

OBSERVED = ("phi", "delta", "phi_dot", "delta_dot", "gyro_bias", "yaw_bias", "psi_dot")


def observer_maps(settings: np.void, v: float, steer_age: float = 0.0) -> tuple[Array, Array]:
    """Matrices of the compiled observer at constant speed, ``o_next = E o + S y``: (7, 7) and (7, 4)."""
    return _observer_maps(settings.tobytes(), settings.dtype, v, steer_age)


@lru_cache(maxsize=1024)  # a search over bicycles asks for the same observer again and again
def _observer_maps(packed: bytes, dtype: np.dtype, v: float, steer_age: float) -> tuple[Array, Array]:
    settings = np.frombuffer(packed, dtype)[0]
    columns = []
    for name, is_state in [(n, True) for n in OBSERVED] + [(n, False) for n in MEASURED_CHANNELS]:
        estimate, sample = np.zeros(1, ESTIMATE)[0], np.zeros(1, SAMPLE)[0]
        estimate["v"], estimate["started"], sample["v_meas"] = v, 1, v
        sample["t"], sample["steer_age"] = settings["dt"], steer_age
        (estimate if is_state else sample)[name] = 1.0
        observe(settings, estimate, sample, False)
        columns.append([float(estimate[n]) for n in OBSERVED])
    maps = np.array(columns).T
    return maps[:, : len(OBSERVED)], maps[:, len(OBSERVED) :]
