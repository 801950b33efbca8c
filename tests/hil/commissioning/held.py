"""Rows of a machine in a person's hands, made without a machine."""

import math

import numpy as np
from numba import njit

from riderless.hil.commissioning.drive_calibration import Centring
from riderless.hil.commissioning.sensor_calibration import EARTH_GRAVITY, FORCE_CHANNELS, GYRO_CHANNELS
from riderless.hil.loop.excitation import Excitation
from riderless.hil.loop.states import State
from riderless.hil.loop.tick_record import TICK

RATE = 200.0
SUBSTEPS = 200  # of a sample
NOISE = {"gyro": 0.002, "force": 0.02, "steer": 1e-4, "wheel": 1e-3}  # rad/s, m/s^2, rad, rad/s


def rows_of(n, truth, read_with, rng, lean=0.0, lean_rate=0.0, steer=0.0, wheel=0.0, noise=1.0):
    """Rows (n,) of TICK of a bicycle in a posture, each value a number or (n,).

    The sensors are as ``truth`` says, the rows are read with another calibration.
    """
    rows = np.zeros(n, TICK)
    rows["t"] = rows["t_host"] = np.arange(n) / RATE
    rows["k"], rows["valid"] = np.arange(n), 1
    lean, zero = np.broadcast_to(lean, n), np.zeros(n)
    gyro = np.column_stack([np.broadcast_to(lean_rate, n), zero, zero]) + noise * NOISE["gyro"] * rng.normal(
        size=(n, 3)
    )
    force = np.column_stack([zero, -EARTH_GRAVITY * np.sin(lean), -EARTH_GRAVITY * np.cos(lean)])
    force = force + noise * NOISE["force"] * rng.normal(size=(n, 3))
    there, here = np.array(truth.mounting), np.array(read_with.mounting)
    for names, values, offset in ((GYRO_CHANNELS, gyro, "gyro_offset"), (FORCE_CHANNELS, force, "accel_offset")):
        sensor = values @ there + getattr(truth, offset) - getattr(read_with, offset)
        for name, column in zip(names, (sensor @ here.T).T, strict=True):
            rows[name] = column
    encoder = truth.steer_sign * (steer + noise * NOISE["steer"] * rng.normal(size=n) + truth.steer_offset)
    rows["delta_meas"] = read_with.steer_sign * encoder - read_with.steer_offset
    rate = truth.wheel_sign * (wheel + noise * NOISE["wheel"] * rng.normal(size=n))
    rows["v_meas"] = read_with.wheel_sign * read_with.wheel_radius * rate
    return rows


def swinging_rows(
    centring: Centring,
    amplitude=0.9,
    duration=17.0,
    inertia=0.154,
    gain=1.0,
    damping=0.05,
    friction=0.05,
    stiffness=0.0,
    bias=0.0,
    transport=0.005,
    lag=0.005,
    count=2 * math.pi / 20000,
    breath=0.0,
    seed=0,
):
    """Rows of a sweep on bars that the drive centres: the loop, its observer, the drive and friction in small steps.

    ``transport`` [s] is from a sample to the moment its command is obeyed, ``count`` [rad] a step of the encoder,
    ``breath`` [N m/sqrt(s)] drives a torque that nobody knows, with a memory of 0.2 s.
    """
    rng = np.random.default_rng(seed)
    sweep = Excitation("sweep", amplitude, duration, 0.5, 4.0).samples(RATE)
    noise = 2e-5 * rng.normal(size=len(sweep))
    kicks = breath * rng.normal(size=(len(sweep), SUBSTEPS))
    out = np.zeros(len(sweep), TICK)
    out["t"] = out["t_host"] = np.arange(len(sweep)) / RATE
    out["k"], out["valid"], out["state"] = np.arange(len(sweep)), 1, State.RUNNING
    bars = (inertia, gain, damping, friction, stiffness, bias, transport, lag)
    out["delta_meas"], out["T_cmd"] = _swing(sweep, noise, kicks, float(count), bars, tuple(centring))
    return out


@njit
def _swing(sweep, noise, kicks, count, bars, centring):
    """Angles measured and torques commanded; the plainest integrator there is, with very small steps."""
    inertia, gain, damping, friction, stiffness, bias, transport, lag = bars
    spring, damper, bandwidth = centring
    h, late = 1.0 / RATE / SUBSTEPS, round(transport * RATE * SUBSTEPS)
    measured, command = np.zeros(sweep.size), np.zeros(sweep.size)
    angle = rate = T = unknown = seen = seen_rate = 0.0
    z = math.exp(-bandwidth / RATE)
    for step in range(sweep.size * SUBSTEPS):
        i, j = step // SUBSTEPS, step % SUBSTEPS
        if j == 0:
            measured[i] = round((angle + noise[i]) / count) * count
            error = measured[i] - (seen + seen_rate / RATE)
            seen += seen_rate / RATE + (1.0 - z * z) * error
            seen_rate += (1.0 - z) ** 2 * RATE * error
            command[i] = sweep[i] - spring * seen - damper * seen_rate
        obeyed = command[(step - late) // SUBSTEPS] if step >= late else 0.0
        T += h / lag * (gain * obeyed - T)
        unknown += math.sqrt(h) * kicks[i, j] - h * unknown / 0.2
        push = T + bias + unknown - stiffness * angle
        if rate == 0.0 and abs(push) <= friction:
            continue
        side = math.copysign(1.0, rate if rate != 0.0 else push)
        after = rate + h * (push - damping * rate - side * friction) / inertia
        rate = after if after * side > 0.0 else 0.0
        angle += h * rate
    return measured, command
