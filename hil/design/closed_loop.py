"""The whole sampled loop as one linear map: bicycle, drive, delay, hold, observer and gains.

What a kicked, controlled bicycle shows are the eigenvalues of this map, not those of the design
model, which knows no observer. At constant speed the observer is linear, so its matrices are read
off the compiled observer itself by unit vectors: there is no second description of it to disagree.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from firmware_interface.messages import SAMPLE
from hil.design.sampled_plant import LOOP_STATES as PLANT
from hil.design.sampled_plant import ROUNDING, U_PREV, LoopTiming, SampledModel, continuous, sample
from hil.design.schedule import GainSchedule
from hil.loop.observer import ESTIMATE, Observer, observe
from models.array_types import Array
from models.coordinates import DELTA, DELTA_DOT, PHI, PHI_DOT
from models.linear.perturbed import Variant
from models.parameters import Bicycle

OBSERVED = ("phi", "delta", "phi_dot", "delta_dot", "gyro_bias", "yaw_bias", "psi_dot")
MEASURED_CHANNELS = ("phi_dot_meas", "psi_dot_meas", "delta_meas", "a_y_meas")
SPEED_STEP = 0.02  # m/s, for the difference quotient of `SampledLoop.misread`
MIN_DELAY = 1e-6  # s; the loop has a command that it follows now and one that comes
LOOP_STATES = PLANT + tuple(f"{name}_est" for name in OBSERVED)


def instrument_map(plant: Variant, v: float, x_imu: float, z_imu: float, steer_age: float = 0.0) -> Array:
    """What gyros, encoder and accelerometer show of the plant's six states, the encoder ``steer_age`` s ago.

    Returns
    -------
    (4, 6)
        Rows as `MEASURED_CHANNELS`; f_y = v psi_dot + x_imu psi_ddot - z_imu phi_ddot - g phi.
    """
    A, b = plant.system(v)
    rates = np.zeros((4, 6))
    rates[:, :4], rates[:, 4] = A, b
    psi_dot = np.append(yaw_rate(plant, v), [0.0, 0.0])
    psi_ddot = yaw_rate(plant, v) @ rates
    H = np.zeros((4, 6))
    H[0, PHI_DOT] = 1.0
    H[1] = psi_dot
    H[2] = np.eye(6)[DELTA] - steer_age * np.eye(6)[DELTA_DOT] + 0.5 * steer_age**2 * rates[DELTA_DOT]
    H[3] = plant.speed_scale * v * psi_dot + x_imu * psi_ddot - z_imu * rates[PHI_DOT]
    H[3, PHI] -= plant.bicycle.g
    return H


def yaw_rate(plant: Variant, v: float) -> Array:
    """Yaw rate of the four states, (4,): psi_dot = (v delta + c delta_dot) cos(lam) / w."""
    row = np.zeros(4)
    row[DELTA], row[DELTA_DOT] = plant.speed_scale * v, plant.bicycle.c
    return row * math.cos(plant.bicycle.lam) / plant.bicycle.w


def observer_maps(settings: np.void, v: float, steer_age: float = 0.0) -> tuple[Array, Array]:
    """The compiled observer at constant speed as ``o_next = E o + S y``, (7, 7) and (7, 4)."""
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


class SampledLoop:
    """A bicycle under a schedule of gains, as the lab's machine runs it.

    Parameters
    ----------
    bicycle : Bicycle
    schedule : GainSchedule
        Gives K(v) (6,) for T_req = -K [phi, delta, phi_dot, delta_dot, T, u_prev].
    observer : Observer
    dt : float
        Sampling interval [s].
    drive_lag : float
        First-order lag of the drive [s], above 0.
    x_imu, z_imu : float
        Place of the inertial sensor on the rear frame [m].
    command_delay : float
        From a sample to the moment its command is obeyed [s], above 0; by default one interval.
    steer_age : float
        s, how much older the steer angle is than the inertial readings.
    real : Variant
        The machine that the loop, designed for ``bicycle``, really moves; by default it is as designed.
    more_delay : float
        s, by which a command is obeyed later than ``command_delay`` says, unknown to the observer.
    """

    def __init__(
        self,
        bicycle: Bicycle,
        schedule: GainSchedule,
        observer: Observer,
        dt: float,
        drive_lag: float,
        x_imu: float,
        z_imu: float,
        command_delay: float | None = None,
        steer_age: float = 0.0,
        real: Variant | None = None,
        more_delay: float = 0.0,
    ) -> None:
        self.bicycle, self.schedule, self.dt = bicycle, schedule, dt
        self.real = real or Variant(bicycle)
        delay = max((dt if command_delay is None else command_delay) + more_delay, MIN_DELAY) / dt
        self._whole = math.ceil(delay - ROUNDING) - 1  # samples that a command waits before its last, partial one
        self._timing, self._places = (
            LoopTiming(1.0 / dt, min(delay - self._whole, 1.0), drive_lag),
            (x_imu, z_imu, steer_age),
        )
        self._settings = observer.as_record(bicycle, dt, drive_lag, x_imu, z_imu, command_delay)
        self.states = LOOP_STATES + tuple(f"u_prev_{i}" for i in range(2, 2 + self._whole))
        self.output = np.zeros(len(self.states))
        self.output[PHI_DOT] = 1.0
        self._plant: tuple[float, SampledModel, Array] | None = None  # the latest, for its speed

    def _plant_at(self, v: float) -> tuple[SampledModel, Array]:
        """Bicycle and drive over one sample, and what the instruments show of them."""
        if self._plant is None or self._plant[0] != v:
            H = instrument_map(self.real, v, *self._places)
            self._plant = v, sample(*self.real.system(v), self._timing), H
        return self._plant[1:]

    def matrix(self, v: float, read: float | None = None) -> Array:
        """The map over one sample at measured speed ``v`` [m/s], (m, m), of ``states``.

        Where gains and observer went by another speed, ``read`` is that.
        """
        read = v if read is None else read
        model, H = self._plant_at(v)
        E, S = observer_maps(self._settings, read, self._places[-1])
        K = self.schedule.gains(read)
        whole = np.zeros((len(self.states), len(self.states)))
        whole[:5, :5] = model.F[:5, :5]
        whole[6:13, :6] = S @ H
        whole[6:13, 6:13] = E
        whole[U_PREV] = -K[:4] @ whole[6:10]  # the next command, from the estimates just made
        whole[U_PREV, 4:6] -= K[4:]
        waiting = [U_PREV, *range(13, 13 + self._whole)]  # commands of one, two, ... samples ago
        whole[waiting[1:], waiting[:-1]] = 1.0
        whole[:5, waiting[-1]] += model.F[:5, U_PREV]  # until the new command is obeyed
        if self._whole:
            whole[:5, waiting[-2]] += model.G[:5]
        else:
            whole[:5] += np.outer(model.G[:5], whole[U_PREV])
        return whole

    def played(self, v: float) -> Array:
        """What one N m, added to the command at a sample, does to the next state, (m,) per N m."""
        whole = np.zeros(len(self.states))
        whole[U_PREV] = 1.0
        if not self._whole:
            whole[:5] = sample(*self.real.system(v), self._timing).G[:5]
        return whole

    def misread(self, v: float) -> Array:
        """Change of `matrix` per m/s by which the controller reads a speed other than ``v``, (m, m)."""
        return (self.matrix(v, v + SPEED_STEP) - self.matrix(v)) / SPEED_STEP

    def noise(self, v: float, stds: Array) -> Array:
        """What one sample of noise in each instrument does to the next state, (m, 4).

        Parameters
        ----------
        v : float
            Speed [m/s].
        stds : (4,)
            Standard deviations in the order and units of `MEASURED_CHANNELS`.
        """
        _, S = observer_maps(self._settings, v, self._places[-1])
        N = np.zeros((len(self.states), 4))
        N[6:13] = S * stds
        N[U_PREV] = -self.schedule.gains(v)[:4] @ N[6:10]
        if not self._whole:
            N[:5] += np.outer(self._plant_at(v)[0].G[:5], N[U_PREV])
        return N

    def embed(self, v: float) -> Array:
        """A bicycle state in motion as a whole loop state, (m, 4): estimates true, drive settled."""
        A, K = self.real.system(v)[0], self.schedule.gains(v)
        before = np.eye(4) - self.dt * A  # the estimates are of the previous sample
        X = np.zeros((len(self.states), 4))
        X[:4] = np.eye(4)
        X[[4, U_PREV, *range(13, len(self.states))]] = -K[:4] / (1.0 + K[4] + K[5])
        X[6:10] = before
        X[12] = yaw_rate(self.real, v) @ before
        return X

    def slow_errors(self) -> Array:
        """The observer's errors that outlast a kick, at their usual size: lean, roll and yaw bias; (m, 3)."""
        X = np.zeros((len(self.states), 3))
        for column, (name, size) in enumerate({"phi": 0.01, "gyro_bias": 0.003, "yaw_bias": 0.003}.items()):
            X[6 + OBSERVED.index(name), column] = size
        return X

    def eigenvalues(self, v: float) -> NDArray[np.complex128]:
        """Eigenvalues at speed ``v`` in continuous terms, log(z) / dt [1/s]; those at z = 0 left out."""
        z = np.linalg.eigvals(self.matrix(v)).astype(complex)
        return continuous(z[np.abs(z) > 1e-9], self.dt)
