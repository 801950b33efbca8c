"""Loop part: matrices of the observer.

They are read off the compiled observer by unit vectors.
"""

from functools import lru_cache

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import SAMPLE
from riderless.hil.design.loop_parts.instruments import MEASURED_CHANNELS
from riderless.hil.loop.observer import ESTIMATE, observe
from riderless.models.array_types import Array

OBSERVED = ("phi", "delta", "phi_dot", "delta_dot", "gyro_bias", "yaw_bias", "psi_dot")


def observer_maps(settings: np.void, v: float, steer_age: float = 0.0) -> tuple[Array, Array]:
    """Matrices of the compiled observer at constant speed, ``o_next = E o + S y``: (7, 7) and (7, 4)."""
    return _observer_maps(settings.tobytes(), settings.dtype, v, steer_age)


@lru_cache(maxsize=1024)  # a search over bicycles asks for the same observer again and again
def _observer_maps(packed: bytes, dtype: np.dtype, v: float, steer_age: float) -> tuple[Array, Array]:
    settings = np.frombuffer(packed, dtype)[0]
    units = (*OBSERVED, *MEASURED_CHANNELS)
    estimates, samples = np.zeros(len(units), ESTIMATE), np.zeros(len(units), SAMPLE)
    estimates["v"], estimates["started"], samples["v_meas"] = v, 1, v
    samples["t"], samples["steer_age"] = settings["dt"], steer_age
    for i, name in enumerate(units):
        (estimates if i < len(OBSERVED) else samples)[name][i] = 1.0
    _observe_each(settings, estimates, samples)
    maps = np.array([estimates[name] for name in OBSERVED])
    return maps[:, : len(OBSERVED)], maps[:, len(OBSERVED) :]


@njit(cache=True)
def _observe_each(settings, estimates, samples):
    """Let each estimate (n,) take its sample (n,)."""
    for i in range(estimates.size):
        observe(settings, estimates[i], samples[i], False)
