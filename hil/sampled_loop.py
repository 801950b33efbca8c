"""The whole sampled loop as one linear map: bicycle, drive, delay, hold, observer and gains.

What a kicked, controlled bicycle shows are the eigenvalues of this map, not those of the design
model, which knows no observer. At constant speed the observer is linear, so its matrices are read
off the compiled observer itself by unit vectors: there is no second description of it to disagree.
"""

import math

import numpy as np
from numpy.typing import NDArray

from firmware_interface.messages import SAMPLE
from hil.design.loop import STATES as PLANT
from hil.design.loop import Loop, continuous, sampled_model
from hil.design.schedule import GainSchedule
from hil.estimator import ESTIMATE, Observer, observe
from models.coordinates import DELTA, DELTA_DOT, PHI, PHI_DOT
from models.parameters import Bicycle
from models.whipple import input_matrix, system_matrix

Array = NDArray[np.float64]

OBSERVED = ("phi", "delta", "phi_dot", "delta_dot", "gyro_bias", "yaw_bias", "psi_dot")
MEASURED = ("phi_dot_meas", "psi_dot_meas", "delta_meas", "a_y_meas")
LOOP_STATES = PLANT + tuple(f"{name}_est" for name in OBSERVED)


def instrument_map(bicycle: Bicycle, v: float, x_imu: float, z_imu: float) -> Array:
    """What gyros, encoder and accelerometer show of the plant's six states.

    Returns
    -------
    (4, 6)
        Rows as `MEASURED`; f_y = v psi_dot + x_imu psi_ddot - z_imu phi_ddot - g phi.
    """
    A, b = system_matrix(bicycle, v), input_matrix(bicycle)[:, 1]
    rates = np.zeros((4, 6))
    rates[:, :4], rates[:, 4] = A, b
    turn = math.cos(bicycle.lam) / bicycle.w
    psi_dot = np.zeros(6)
    psi_dot[DELTA], psi_dot[DELTA_DOT] = v * turn, bicycle.c * turn
    psi_ddot = turn * (v * rates[DELTA] + bicycle.c * rates[DELTA_DOT])
    H = np.zeros((4, 6))
    H[0, PHI_DOT] = 1.0
    H[1] = psi_dot
    H[2, DELTA] = 1.0
    H[3] = v * psi_dot + x_imu * psi_ddot - z_imu * rates[PHI_DOT]
    H[3, PHI] -= bicycle.g
    return H


def observer_maps(settings: np.void, v: float) -> tuple[Array, Array]:
    """The compiled observer at constant speed as ``o_next = E o + S y``, (7, 7) and (7, 4)."""
    columns = []
    for name, is_state in [(n, True) for n in OBSERVED] + [(n, False) for n in MEASURED]:
        estimate, sample = np.zeros(1, ESTIMATE)[0], np.zeros(1, SAMPLE)[0]
        estimate["v"], estimate["started"], sample["v_meas"] = v, 1, v
        sample["t"] = settings["dt"]
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
    """

    states = LOOP_STATES

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
    ) -> None:
        self.bicycle, self.schedule, self.dt = bicycle, schedule, dt
        delay = 1.0 if command_delay is None else command_delay / dt
        self._timing, self._imu = Loop(1.0 / dt, delay, drive_lag), (x_imu, z_imu)
        self._settings = observer.as_record(bicycle, dt, drive_lag, x_imu, z_imu, command_delay)
        self.output = np.zeros(len(LOOP_STATES))
        self.output[PHI_DOT] = 1.0

    def matrix(self, v: float) -> Array:
        """The map over one sample at speed ``v`` [m/s], (13, 13), of `LOOP_STATES`."""
        model = sampled_model(self.bicycle, v, self._timing)
        H = instrument_map(self.bicycle, v, *self._imu)
        E, S = observer_maps(self._settings, v)
        K = self.schedule.gains(v)
        whole = np.zeros((13, 13))
        whole[:6, :6] = model.F
        whole[6:, :6] = S @ H
        whole[6:, 6:] = E
        whole[5] = -K[:4] @ whole[6:10]  # the next command, from the estimates just made
        whole[5, 4:6] -= K[4:]
        whole[:5] += np.outer(model.G[:5], whole[5])  # what of it is obeyed within this sample
        return whole

    def noise(self, v: float, stds: Array) -> Array:
        """What one sample of noise in each instrument does to the next state, (13, 4).

        Parameters
        ----------
        v : float
            Speed [m/s].
        stds : (4,)
            Standard deviations in the order and units of `MEASURED`.
        """
        _, S = observer_maps(self._settings, v)
        N = np.zeros((13, 4))
        N[6:] = S * stds
        N[5] = -self.schedule.gains(v)[:4] @ N[6:10]
        N[:5] += np.outer(sampled_model(self.bicycle, v, self._timing).G[:5], N[5])
        return N

    def embed(self, v: float) -> Array:
        """A bicycle state in motion as a whole loop state, (13, 4): estimates true, drive settled."""
        A, K = system_matrix(self.bicycle, v), self.schedule.gains(v)
        before = np.eye(4) - self.dt * A  # the estimates are of the previous sample
        torque = -K[:4] / (1.0 + K[4] + K[5])
        turn = math.cos(self.bicycle.lam) / self.bicycle.w
        X = np.zeros((13, 4))
        X[:4] = np.eye(4)
        X[4] = X[5] = torque
        X[6:10] = before
        X[12] = turn * (v * before[DELTA] + self.bicycle.c * before[DELTA_DOT])
        return X

    def slow_errors(self) -> Array:
        """The observer's errors that outlast a kick, at their usual size: lean, roll and yaw bias; (13, 3)."""
        X = np.zeros((13, 3))
        for column, (name, size) in enumerate({"phi": 0.01, "gyro_bias": 0.003, "yaw_bias": 0.003}.items()):
            X[6 + OBSERVED.index(name), column] = size
        return X

    def eigenvalues(self, v: float) -> NDArray[np.complex128]:
        """Eigenvalues at speed ``v`` in continuous terms, log(z) / dt [1/s]; those at z = 0 left out."""
        z = np.linalg.eigvals(self.matrix(v)).astype(complex)
        return continuous(z[np.abs(z) > 1e-9], self.dt)
