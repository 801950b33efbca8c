"""Whole sampled loop as one linear map: bicycle, drive, delay, hold, observer and gains.

A kicked, controlled bicycle shows the eigenvalues of this map, not those of the design
model, which knows no observer. At constant speed the observer is linear, so its matrices are read
off the compiled observer itself by unit vectors: there is no second description of it to disagree.

The state is that of `hil.design.sampled_plant` (6), then the estimates of the observer (7), then the
commands that wait where the delay is longer than one sample.
"""

import math
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from firmware_interface.messages import SAMPLE
from hil.design.sampled_plant import (
    BICYCLE_PART,
    DRIVE_PART,
    LOOP_STATES,
    T_DRIVE,
    U_PREV,
    Z_ROUNDING,
    LoopTiming,
    SampledModel,
    continuous,
    sample,
)
from hil.design.schedule import GainSchedule, require_torque
from hil.loop.observer import ESTIMATE, Observer, observe
from models.array_types import Array
from models.coordinates import DELTA, DELTA_DOT, PHI, PHI_DOT
from models.coordinates import STATES as BICYCLE_STATES
from models.linear.perturbed import Variant
from models.parameters import Bicycle

OBSERVED = ("phi", "delta", "phi_dot", "delta_dot", "gyro_bias", "yaw_bias", "psi_dot")
MEASURED_CHANNELS = ("phi_dot_meas", "psi_dot_meas", "delta_meas", "a_y_meas")
_ROLL_GYRO, _YAW_GYRO, _STEER_ENCODER, _LATERAL_FORCE = range(len(MEASURED_CHANNELS))
MISREAD_STEP = 0.02  # m/s, for the difference quotient of `SampledLoop.misread`
MIN_DELAY = 1e-6  # s; the loop has a command that it follows now and one that comes
_DELAY_ROUNDING = 1e-9  # of a sample
WHOLE_LOOP_STATES = LOOP_STATES + tuple(f"{name}_est" for name in OBSERVED)

# Parts of the state of the whole loop.
PLANT_PART = slice(0, len(LOOP_STATES))  # bicycle, drive and command followed
MOTION_PART = slice(0, U_PREV)  # bicycle and drive: what moves between samples
OBSERVER_PART = slice(len(LOOP_STATES), len(WHOLE_LOOP_STATES))
ESTIMATE_PART = slice(len(LOOP_STATES), len(LOOP_STATES) + len(BICYCLE_STATES))  # of the bicycle's four states
PSI_DOT_EST = WHOLE_LOOP_STATES.index("psi_dot_est")


def instrument_map(plant: Variant, v: float, *, x_imu: float, z_imu: float, steer_age: float = 0.0) -> Array:
    """Output matrix from the plant's six states to gyros, encoder and accelerometer.

    Parameters
    ----------
    plant : Variant
    v : float
        Measured forward speed [m/s].
    x_imu, z_imu : float
        Place of the inertial sensor on the rear frame [m].
    steer_age : float
        s, how much older the steer angle is than the inertial readings.

    Returns
    -------
    (4, 6)
        Rows as `MEASURED_CHANNELS`; f_y = v psi_dot + x_imu psi_ddot - z_imu phi_ddot - g phi.
    """
    n, unit = len(LOOP_STATES), np.eye(len(LOOP_STATES))
    rates = np.zeros((len(BICYCLE_STATES), n))
    rates[:, BICYCLE_PART], rates[:, T_DRIVE] = plant.system(v)
    psi_dot = np.zeros(n)
    psi_dot[BICYCLE_PART] = yaw_rate(plant, v)
    psi_ddot = yaw_rate(plant, v) @ rates
    H = np.zeros((len(MEASURED_CHANNELS), n))
    H[_ROLL_GYRO, PHI_DOT] = 1.0
    H[_YAW_GYRO] = psi_dot
    H[_STEER_ENCODER] = unit[DELTA] - steer_age * unit[DELTA_DOT] + 0.5 * steer_age**2 * rates[DELTA_DOT]
    H[_LATERAL_FORCE] = plant.speed_scale * v * psi_dot + x_imu * psi_ddot - z_imu * rates[PHI_DOT]
    H[_LATERAL_FORCE, PHI] -= plant.bicycle.g
    return H


def yaw_rate(plant: Variant, v: float) -> Array:
    """Row of the yaw rate on the four states, (4,): psi_dot = (v delta + c delta_dot) cos(lam) / w."""
    row = np.zeros(len(BICYCLE_STATES))
    row[DELTA], row[DELTA_DOT] = plant.speed_scale * v, plant.bicycle.c
    return row * math.cos(plant.bicycle.lam) / plant.bicycle.w


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


class LoopHardware(Protocol):
    """Part of a rig that its sampled loop depends on; `hil.rig.rig.Rig` has all of it."""

    @property
    def bicycle(self) -> Bicycle: ...
    @property
    def observer(self) -> Observer: ...
    @property
    def dt(self) -> float: ...
    @property
    def drive_lag(self) -> float: ...
    @property
    def command_delay(self) -> float | None: ...
    @property
    def x_imu(self) -> float: ...
    @property
    def z_imu(self) -> float: ...


class SampledLoop:
    """Bicycle under a schedule of gains, as the lab's machine runs it.

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
        *,
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
        require_torque(schedule)
        self.bicycle, self.schedule, self.dt = bicycle, schedule, dt
        self.real = real or Variant(bicycle)
        delay = max((dt if command_delay is None else command_delay) + more_delay, MIN_DELAY) / dt
        whole = math.ceil(delay - _DELAY_ROUNDING) - 1  # samples that a command waits before its last, partial one
        self._timing = LoopTiming(rate=1.0 / dt, delay=min(delay - whole, 1.0), drive_lag=drive_lag)
        self._x_imu, self._z_imu, self._steer_age = x_imu, z_imu, steer_age
        self._settings = observer.as_record(bicycle, dt, drive_lag, x_imu, z_imu, command_delay)
        self.states = WHOLE_LOOP_STATES + tuple(f"u_prev_{i}" for i in range(2, 2 + whole))
        self._waiting = range(len(WHOLE_LOOP_STATES), len(self.states))  # commands of two, three, ... samples ago
        self.output = np.zeros(len(self.states))
        self.output[PHI_DOT] = 1.0
        self._plant: tuple[float, SampledModel, Array] | None = None  # the latest, for its speed

    @classmethod
    def of_rig(
        cls,
        rig: LoopHardware,
        schedule: GainSchedule,
        *,
        steer_age: float = 0.0,
        real: Variant | None = None,
        more_delay: float = 0.0,
    ) -> "SampledLoop":
        """Sampled loop of a rig: its bicycle, observer, timing and place of the inertial sensor.

        Parameters
        ----------
        rig : Rig
        schedule : GainSchedule
        steer_age, real, more_delay
            As of the class.
        """
        return cls(
            rig.bicycle,
            schedule,
            observer=rig.observer,
            dt=rig.dt,
            drive_lag=rig.drive_lag,
            x_imu=rig.x_imu,
            z_imu=rig.z_imu,
            command_delay=rig.command_delay,
            steer_age=steer_age,
            real=real,
            more_delay=more_delay,
        )

    def __repr__(self) -> str:
        law, states = self.schedule.method, len(self.states)
        return f"<SampledLoop: {self.bicycle.name} under {law}, {1.0 / self.dt:g} Hz, {states} states>"

    def instruments(self, v: float) -> Array:
        """Output matrix to the instruments at measured speed ``v`` [m/s], (4, m); rows as `MEASURED_CHANNELS`."""
        H = np.zeros((len(MEASURED_CHANNELS), len(self.states)))
        H[:, PLANT_PART] = self._plant_at(v)[1]
        return H

    def _plant_at(self, v: float) -> tuple[SampledModel, Array]:
        """Bicycle and drive over one sample, and the output matrix (4, 6) to the instruments."""
        if self._plant is None or self._plant[0] != v:
            H = instrument_map(self.real, v, x_imu=self._x_imu, z_imu=self._z_imu, steer_age=self._steer_age)
            self._plant = v, sample(*self.real.system(v), self._timing), H
        return self._plant[1:]

    def matrix(self, v: float, read: float | None = None) -> Array:
        """Matrix of the map over one sample at measured speed ``v`` [m/s], (m, m), of ``states``.

        Where gains and observer went by another speed, ``read`` is that.
        """
        read = v if read is None else read
        model, H = self._plant_at(v)
        E, S = observer_maps(self._settings, read, self._steer_age)
        K = self.schedule.gains(read)
        whole = np.zeros((len(self.states), len(self.states)))
        whole[MOTION_PART, MOTION_PART] = model.F[MOTION_PART, MOTION_PART]
        whole[OBSERVER_PART, PLANT_PART] = S @ H
        whole[OBSERVER_PART, OBSERVER_PART] = E
        whole[U_PREV] = -K[BICYCLE_PART] @ whole[ESTIMATE_PART]  # the next command, from the estimates just made
        whole[U_PREV, DRIVE_PART] -= K[DRIVE_PART]
        commands = [U_PREV, *self._waiting]  # of one, two, ... samples ago
        whole[commands[1:], commands[:-1]] = 1.0
        whole[MOTION_PART, commands[-1]] += model.F[MOTION_PART, U_PREV]  # until the new command is obeyed
        if self._waiting:
            whole[MOTION_PART, commands[-2]] += model.G[MOTION_PART]
        else:
            whole[MOTION_PART] += np.outer(model.G[MOTION_PART], whole[U_PREV])
        return whole

    def input_vector(self, v: float) -> Array:
        """Change of the next state per N m added to the command at a sample, (m,)."""
        whole = np.zeros(len(self.states))
        whole[U_PREV] = 1.0
        if not self._waiting:
            whole[MOTION_PART] = self._plant_at(v)[0].G[MOTION_PART]
        return whole

    def misread(self, v: float) -> Array:
        """Change of `matrix` per m/s by which the controller reads a speed other than ``v``, (m, m)."""
        return (self.matrix(v, v + MISREAD_STEP) - self.matrix(v)) / MISREAD_STEP

    def noise(self, v: float, stds: Array) -> Array:
        """Change of the next state by one sample of noise in each instrument, (m, 4).

        Parameters
        ----------
        v : float
            Speed [m/s].
        stds : (4,)
            Standard deviations in the order and units of `MEASURED_CHANNELS`.
        """
        _, S = observer_maps(self._settings, v, self._steer_age)
        N = np.zeros((len(self.states), len(MEASURED_CHANNELS)))
        N[OBSERVER_PART] = S * stds
        N[U_PREV] = -self.schedule.gains(v)[BICYCLE_PART] @ N[ESTIMATE_PART]
        if not self._waiting:
            N[MOTION_PART] += np.outer(self._plant_at(v)[0].G[MOTION_PART], N[U_PREV])
        return N

    def embed(self, v: float) -> Array:
        """Matrix from a bicycle state in motion to the whole loop state, (m, 4): estimates true, drive settled."""
        A, K = self.real.system(v)[0], self.schedule.gains(v)
        n = len(BICYCLE_STATES)
        before = np.eye(n) - self.dt * A  # the estimates are of the previous sample
        X = np.zeros((len(self.states), n))
        X[BICYCLE_PART] = np.eye(n)
        X[[T_DRIVE, U_PREV, *self._waiting]] = -K[BICYCLE_PART] / (1.0 + K[T_DRIVE] + K[U_PREV])
        X[ESTIMATE_PART] = before
        X[PSI_DOT_EST] = yaw_rate(self.real, v) @ before
        return X

    def slow_errors(self) -> Array:
        """Errors of the observer that outlast a kick, at their usual size: lean, roll and yaw bias; (m, 3)."""
        X = np.zeros((len(self.states), 3))
        for column, (name, size) in enumerate({"phi": 0.01, "gyro_bias": 0.003, "yaw_bias": 0.003}.items()):
            X[WHOLE_LOOP_STATES.index(f"{name}_est"), column] = size
        return X

    def eigenvalues(self, v: float) -> NDArray[np.complex128]:
        """Eigenvalues at speed ``v`` in continuous terms, log(z) / dt [1/s]; those at z = 0 left out."""
        z = np.linalg.eigvals(self.matrix(v)).astype(complex)
        return continuous(z[np.abs(z) > Z_ROUNDING], self.dt)
