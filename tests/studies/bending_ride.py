"""Rides of the campaigns' bicycles by the nonlinear equations of motion, however large, coasting on a floor.

The equations are riderless's own (`riderless.models.nonlinear.equations`), proven elsewhere by published rides; air and
law are written here once more. Nothing of the analysis is used.
"""

from typing import NamedTuple

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.models.coordinates import Q_DELTA, Q_PHI, Q_PSI, Q_THETA, Q_THETA_R, Q_X
from riderless.models.nonlinear import equations
from riderless.models.nonlinear.parameters import pack_bicycle
from riderless.models.parameters import Bicycle
from tests.reference.foreign_campaigns.generate import STEP, ForeignCampaign, totals, true_parameters

SUBSTEPS = 2  # of the integrator in a step
SPEED = 4  # of the states


class CoastingMachine(NamedTuple):
    """Bicycle, what slows it and its continuous law, SI."""

    packed: np.ndarray  # of `pack_bicycle`
    rR: float  # m
    lam: float  # rad
    rear: float  # N m, moments against rolling
    front: float
    axis: float  # of these: 1 horizontal, 0 along the leaned axles
    air: float  # N s^2/m^2, force per speed squared
    share: float  # of that force, on the frame against its heading; the rest brakes the rear hub
    z: float  # m, where it acts, below the ground
    gains: tuple[float, float, float, float]  # N m per lean, steer and their rates
    k: float  # of the law k (v0 - v) times the lean rate
    v0: float
    gyro_lag: float  # s


def bending_ride(
    campaign: ForeignCampaign, v: float, lean: np.ndarray, noise: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """States (n, 6), in place of the torque the speed, and the speed (n,); nan from where it has fallen over."""
    if campaign.law_rate or campaign.friction or noise[:, 4].any():
        raise ValueError(f"wanted a campaign of the level plain or instruments, found {campaign.level}")
    p = true_parameters(campaign)
    t = totals(p)
    on_front = t.mT * t.xT * p["g"] / t.w
    machine = CoastingMachine(
        packed=pack_bicycle(Bicycle(campaign.bicycle, **p)),
        rR=p["rR"],
        lam=p["lam"],
        rear=campaign.rolling * (t.mT * p["g"] - on_front) * p["rR"],
        front=campaign.rolling * on_front * p["rF"],
        axis=campaign.rolling_axis,
        air=0.6 * campaign.drag_area,
        share=campaign.drag_share,
        z=campaign.drag_height * t.zT,
        gains=campaign.gains,
        k=campaign.slope[0],
        v0=campaign.slope[1],
        gyro_lag=campaign.gyro_lag,
    )
    states = _ride(machine, v, lean, STEP / SUBSTEPS)
    return states, states[:, SPEED]


@njit(cache=True, nogil=True)
def _ride(machine, v, lean, h):
    rows = np.full((len(lean), 6), np.nan)
    x, pitch = np.array([0.0, 0.0, 0.0, 0.0, v, 0.0]), machine.lam
    k1, k2, k3, k4 = np.zeros(6), np.zeros(6), np.zeros(6), np.zeros(6)
    for k in range(len(lean)):
        for i in range(SUBSTEPS):
            pitch, gyro = _rates(machine, x, pitch, lean[k], k1)
            if i == 0:
                rows[k] = x
                rows[k, 5] = x[5] if machine.gyro_lag > 0.0 else gyro
            _rates(machine, x + 0.5 * h * k1, pitch, lean[k], k2)
            _rates(machine, x + 0.5 * h * k2, pitch, lean[k], k3)
            _rates(machine, x + h * k3, pitch, lean[k], k4)
            x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        if not np.isfinite(x[0]):
            break
    return rows


@njit(cache=True, nogil=True)
def _rates(machine, x, guess, lean, rates):
    """Fill the rates (6,) of the states; the pitch, and what a prompt gyro reads."""
    q, u, T, u_dot, gains = np.zeros(8), np.zeros(8), np.zeros(3), np.zeros(8), machine.gains
    q[Q_PHI], q[Q_DELTA] = x[0], x[1]
    q[Q_THETA] = equations.pitch(machine.packed, x[0], x[1], guess)
    air = machine.air * x[SPEED] ** 2
    roll, rim, steer = equations.rolling_forces(machine.packed, q, machine.rear, machine.front, machine.axis)
    T[0], T[1], T[2] = roll + lean, -machine.rR * rim + machine.rR * (1.0 - machine.share) * air, steer
    pitched = q[Q_THETA] - machine.lam
    h = np.cos(pitched) * (machine.z + machine.rR) - machine.rR
    for k, i in enumerate((Q_PHI, Q_THETA_R, Q_DELTA)):  # virtual work
        u[Q_PHI] = u[Q_THETA_R] = u[Q_DELTA] = 0.0
        u[i] = 1.0
        equations.dependent_speeds(machine.packed, q, u)
        ahead = u[Q_X] + (h + machine.rR) * u[Q_THETA] + np.sin(x[0]) * h * u[Q_PSI]
        T[k] -= machine.share * air * ahead
    T[2] += gains[0] * x[0] + gains[1] * x[1] + (gains[2] + machine.k * max(machine.v0 - x[SPEED], 0.0)) * x[2]
    T[2] += gains[3] * x[3]
    u[Q_PHI], u[Q_DELTA], u[Q_THETA_R] = x[2], x[3], -x[SPEED] / machine.rR
    equations.dependent_speeds(machine.packed, q, u)
    equations.accelerations(machine.packed, q, u, T, u_dot)
    gyro = np.cos(pitched) * x[2] - np.sin(pitched) * np.cos(x[0]) * u[Q_PSI]
    rates[0], rates[1], rates[2], rates[3] = x[2], x[3], u_dot[Q_PHI], u_dot[Q_DELTA]
    rates[SPEED] = -machine.rR * u_dot[Q_THETA_R]
    rates[5] = (gyro - x[5]) / machine.gyro_lag if machine.gyro_lag > 0.0 else 0.0
    return q[Q_THETA], gyro
