"""Calibration of steer drive and bar friction.

From a sine sweep with the front wheel lifted. The bars are simulated under the torque that was commanded,

    I delta_ddot = gain T(t - delay) + T_bias - damping delta_dot - stiffness delta - friction sign(delta_dot)

and the fitted parameters minimise the sum of squares of measured less simulated steer angle (output error). ``I``,
the inertia of the front assembly about the steer axis, is known from the bicycle (I_A,lambda,lambda of Meijaard et
al. 2007, appendix A), so every torque is known in units of it. The drive holds the bars near straight meanwhile with
a spring and a damper (`Centring`), for bars without would run away. The difference of measured and simulated angle
has made a torque through them; the simulation gets that torque back, so that it rests on the sweep alone and a
disturbance (a cable, a breath) neither carries it away nor passes for a property of the drive: the closed-loop output
error of Landau and Karimi (1997). Residuals are not white, and standard errors rest on the scatter between blocks of
`BLOCK_DURATION` seconds.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares
from scipy.signal import savgol_filter

from riderless.firmware_interface.kernels import njit
from riderless.hil.commissioning.sensor_calibration import Estimate, usable_rows
from riderless.hil.loop.states import State
from riderless.models.array_types import Array
from riderless.models.linear.whipple import totals
from riderless.models.parameters import Bicycle

DRIVE_PARAMETERS = ("gain", "damping", "friction", "stiffness", "bias", "delay")
DRIVE_UNITS = {
    "gain": "",
    "damping": "N m s/rad",
    "friction": "N m",
    "stiffness": "N m/rad",
    "bias": "N m",
    "delay": "s",
}
# Order of the fitted parameters `p`: those, and the first angle [rad] and rate [rad/s].
_GAIN, _DAMPING, _FRICTION, _STIFFNESS, _BIAS, _DELAY, _FIRST_ANGLE, _FIRST_RATE = range(8)
LOWER_BOUNDS = (0.02, 0.0, 0.0, -100.0, -10.0, 0.0, -10.0, -100.0)
UPPER_BOUNDS = (50.0, 50.0, 10.0, 100.0, 10.0, 0.2, 10.0, 100.0)
DIFFERENCE_STEPS = (
    1e-3,
    1e-3,
    1e-3,
    1e-2,
    1e-3,
    1e-4,
    1e-4,
    1e-3,
)  # of the difference quotients, in the parameters' units
MODEL_ERRORS = (3e-3, 1e-3, 1e-3, 3e-3, 1e-4, 5e-4)  # errors of the model itself, in the parameters' units
BLOCK_DURATION = 1.0  # s
HANDS_OFF_TIME = 2.0  # s after the drive has taken over, in which a hand may still be at the bars
FRICTION_SUBSTEPS = 5  # of a sample, in which friction is simulated
MIN_SWEEP_SAMPLES = 200
MIN_SWEEP_MOTION = 0.02  # rad, standard deviation of the steer; with less the friction tells nothing


class Centring(NamedTuple):
    """Feedback of the drive that keeps the bars near straight, and the observer's bandwidth by which it sees them."""

    stiffness: float  # N m/rad
    damping: float  # N m s/rad
    bandwidth: float  # rad/s


@dataclass(frozen=True)
class _DriveEstimate:
    """Estimates of the drive's parameters from a sweep, and how well they fit.

    Attributes
    ----------
    found : mapping of name to Estimate
        `DRIVE_PARAMETERS`, in `DRIVE_UNITS`. ``gain`` is the torque made per torque asked for; ``delay`` is from a
        sample to its command's torque, the lag of the drive included.
    residual : float
        rad rms, of the steer angle.
    motion : float
        rad, standard deviation of the steer angle.
    """

    found: dict[str, Estimate]
    residual: float
    motion: float


def front_inertia(bicycle: Bicycle, added: float = 0.0) -> Estimate:
    """Inertia [kg m^2] of the front assembly about the steer axis; ``added`` is a drive's own, seen at the bars."""

    def inertia(**changes: float) -> float:
        moved: dict[str, Any] = dict(changes)
        return totals(replace(bicycle, **moved)).IAll

    uncertain = [name for name, std in bicycle.std.items() if std > 0.0]
    parts = []
    for name in uncertain:
        step = 0.01 * bicycle.std[name]  # so small that the bicycle remains one that can be
        parts.append((inertia(**{name: getattr(bicycle, name) + step}) - inertia()) / 0.01)
    change = np.array(parts)
    variance = float(change @ bicycle.correlation_matrix(uncertain) @ change) if uncertain else 0.0
    return Estimate(inertia() + added, math.sqrt(variance))


def sweep_rows(rows: np.ndarray) -> np.ndarray:
    """Select the rows under control, without those in which a hand may still be at the bars."""
    new = usable_rows(rows)
    new = new[new["state"] == State.RUNNING]
    return new[new["t"] > new["t"][0] + HANDS_OFF_TIME] if len(new) else new


def fit_drive(rows: np.ndarray, inertia: Estimate, lag: float, centring: Centring) -> _DriveEstimate:
    """Fit gain, friction and delay to the rows of a sweep.

    Parameters
    ----------
    rows : rows
        Of TICK, fresh and under control.
    inertia : Estimate
        kg m^2; its error goes into those of all torques.
    lag : float
        s, time constant of the drive; what the delay is beyond it is found.
    centring : Centring
        Feedback of the loop during the sweep.

    Raises
    ------
    ValueError
        When the bars hardly moved, or no parameters fit.
    """
    motion = float(np.std(rows["delta_meas"])) if len(rows) else 0.0
    if len(rows) < MIN_SWEEP_SAMPLES or motion < MIN_SWEEP_MOTION:
        raise ValueError(
            f"the bars moved by {motion:.3f} rad rms in {len(rows)} samples, wanted {MIN_SWEEP_MOTION:g} rad"
        )
    seen = rows["t"] - rows["steer_age"]  # what the encoder saw is that much older
    rows = rows[np.diff(np.maximum.accumulate(seen), prepend=-np.inf) > 0.0]
    t, delta, T, age = (np.ascontiguousarray(rows[name], float) for name in ("t", "delta_meas", "T_cmd", "steer_age"))
    t_delta, dt = t - age, float(np.median(np.diff(t)))

    def residuals(p: Array) -> Array:
        torque = _torque(t, T, t_delta, p[_DELAY] - lag)
        return _residuals(t_delta, delta, torque, p, inertia.value, lag, *centring)

    def slopes(p: Array) -> Array:
        columns = []
        for i, step in enumerate(DIFFERENCE_STEPS):
            up, down = p.copy(), p.copy()
            up[i], down[i] = min(p[i] + step, UPPER_BOUNDS[i]), max(p[i] - step, LOWER_BOUNDS[i])
            columns.append((residuals(up) - residuals(down)) / (up[i] - down[i]))
        return np.array(columns).T

    start = _guess(t_delta, delta, _torque(t, T, t_delta, lag + dt), inertia.value, lag + dt)
    inside = np.clip(start, np.array(LOWER_BOUNDS) + DIFFERENCE_STEPS, np.array(UPPER_BOUNDS) - DIFFERENCE_STEPS)
    fit = least_squares(residuals, inside, slopes, (LOWER_BOUNDS, UPPER_BOUNDS), x_scale=np.array(DIFFERENCE_STEPS))
    if not fit.success:
        raise ValueError(f"no parameters fit ({fit.message})")
    goes_with_inertia = np.abs(fit.x[: len(DRIVE_PARAMETERS)]) * [name != "delay" for name in DRIVE_PARAMETERS]
    error = np.sqrt(
        _variances(residuals(fit.x), slopes(fit.x), t)[: len(DRIVE_PARAMETERS)]
        + np.square(goes_with_inertia * inertia.error / inertia.value)
        + np.square(MODEL_ERRORS)
    )
    estimates = {name: Estimate(float(v), float(e)) for name, v, e in zip(DRIVE_PARAMETERS, fit.x, error, strict=False)}
    return _DriveEstimate(estimates, float(np.sqrt(np.mean(residuals(fit.x) ** 2))), motion)


def _torque(t: Array, T: Array, at: Array, delay: float) -> Array:
    """Mean torque [N m] commanded ``delay`` s before each sub-step between the instants ``at``, (n - 1, substeps).

    A command stands until the next one.
    """
    edges = at[:-1, None] + np.diff(at)[:, None] * np.arange(FRICTION_SUBSTEPS + 1) / FRICTION_SUBSTEPS
    impulse = np.interp(edges - delay, t, np.append(0.0, np.cumsum(T[:-1] * np.diff(t))))
    return np.ascontiguousarray(np.diff(impulse, axis=1) / np.diff(edges, axis=1))


@njit(cache=True)
def _residuals(t, delta, T, p, inertia, lag, spring, damper, bandwidth):
    """Measured less simulated steer angle, (n,) [rad]; ``T`` as from `_torque`, ``p`` as indexed above."""
    gain, damping, friction, stiffness, bias = p[_GAIN], p[_DAMPING], p[_FRICTION], p[_STIFFNESS], p[_BIAS]
    out = np.zeros(t.size)
    x, rate, made = p[_FIRST_ANGLE], p[_FIRST_RATE], T[0, 0]
    beyond = beyond_rate = 0.0  # of the measured angle, as the loop saw it
    for i in range(t.size):
        out[i] = delta[i] - x
        if i + 1 == t.size:
            break
        dt = t[i + 1] - t[i]
        z = math.exp(-bandwidth * dt)
        beyond += dt * beyond_rate
        error = out[i] - beyond
        beyond += (1.0 - z * z) * error
        beyond_rate += (1.0 - z) * (1.0 - z) / dt * error
        back = spring * beyond + damper * beyond_rate
        h = dt / T.shape[1]
        keep = math.exp(-h / lag)
        for j in range(T.shape[1]):  # half a drift, a kick, half a drift: no energy comes or goes by rounding
            x += 0.5 * h * rate
            before, made = made, keep * made + (1.0 - keep) * (T[i, j] + back)
            push = gain * 0.5 * (before + made) + bias - stiffness * x
            side = math.copysign(1.0, rate if rate != 0.0 else push)
            drag = 0.5 * h * damping / inertia
            after = ((1.0 - drag) * rate + h * (push - side * friction) / inertia) / (1.0 + drag)
            if after * side < 0.0:  # it comes to rest on the way, and sticks or turns for the rest of the sub-step
                coasting = after / (after - rate) * h
                rate = coasting * math.copysign(max(0.0, abs(push) - friction), push) / inertia
            else:
                rate = after
            x += 0.5 * h * rate
    return out


def _guess(t: Array, delta: Array, T: Array, inertia: float, delay: float) -> Array:
    """Starting values of the parameters, by linear least squares on smoothed derivatives."""
    dt = float(np.median(np.diff(t)))
    width = 2 * max(3, round(0.03 / dt)) + 1
    angle, rate, turn = (savgol_filter(delta, width, 3, deriv=n, delta=dt)[:-1] for n in range(3))
    columns = np.column_stack([T.mean(axis=1), -rate, -np.tanh(rate / 0.05), -angle, np.ones(len(rate))])
    linear = np.linalg.lstsq(columns, inertia * turn, rcond=None)[0]
    return np.concatenate([linear, [delay, angle[0], rate[0]]])


def _variances(residual: Array, slope: Array, t: Array) -> Array:
    """Squared standard errors, robust to correlation of the residuals in a block (clusters; Liang and Zeger 1986)."""
    bread = np.linalg.pinv(slope.T @ slope)
    block = ((t - t[0]) / BLOCK_DURATION).astype(int)
    sums = np.array([(slope * residual[:, None])[block == b].sum(axis=0) for b in np.unique(block)])
    n = len(sums)
    between = bread @ (sums.T @ sums) @ bread * n / max(n - len(DIFFERENCE_STEPS), 1)
    within = bread * float(np.mean(residual**2))
    return np.maximum(np.diag(between), np.diag(within))
