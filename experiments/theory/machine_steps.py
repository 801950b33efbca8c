"""Steps of a machine whose motion is not small, compiled; see `experiments.theory.nonlinear_response`."""

import numpy as np

from experiments.theory.nonlinear_bicycle import kept_speed_accelerations
from hil.design.closed_loop import MEASURED_CHANNELS
from models.coordinates import DELTA, DELTA_DOT, PHI, PHI_DOT, STATES
from models.nonlinear.vectors import compiled

ROLL_GYRO, YAW_GYRO, LATERAL_FORCE = 0, 1, 3  # of `hil.design.closed_loop.MEASURED_CHANNELS`
N_INSTRUMENTS = len(MEASURED_CHANNELS)
N_SHOWN, SHOWN_LEAN_RATE, SHOWN_STEER, SHOWN_YAW_RATE = 3, 0, 1, 2  # of the motion returned

_LOOKS = 8  # at the drive's torque within a step


@compiled
def simulate_machine(
    X, F, left, weight, change, off, V, V_dot, steps, rows, readings, forced, more, steer, felt, torque,
    keeps, packed, place, curved, coulomb, dead_band, hysteresis, offset, lagging, shaken,
):  # fmt: skip
    """Simulate motions (n, 3, c) from whole states: roll gyro, steer, yaw gyro.

    Parameters
    ----------
    X : (m, c) array
        Whole states at the first sample.
    F, left, weight : arrays
        Of `experiments.theory.free_response.step_maps`, for one step.
    change : (m, m) array
        Derivative of the map by the speed misread, per m/s.
    off : (n,) array
        Speed misread [m/s].
    V, V_dot : (n,) arrays
        True speed [m/s] and its rate [m/s^2].
    steps : int
        Within a sampling interval.
    rows, readings, forced, more, steer, felt, torque, keeps, packed, place
        As of `WindowMachine`.
    curved : bool
        The bicycle is nonlinear.
    coulomb, dead_band, hysteresis, offset, lagging : float
        As of `Nonlinearities`.
    shaken : (n steps, m, c) array
        Change of each whole state over each step by noise; of no steps where there is none.
    """
    m, columns = X.shape
    n = len(left)
    shown = np.full((n, N_SHOWN, columns), np.nan)
    x, y, row = np.zeros(m), np.zeros(m), np.zeros(4)
    first, second = np.zeros(2), np.zeros(2)
    d = np.zeros(N_INSTRUMENTS)
    extra = np.zeros((3, 2, 2))
    for c in range(columns):
        for a in range(m):  # an assignment of arrays compiles 50 functions for the words of its error
            x[a] = X[a, c]
        pitch = place[0]
        T = _driven(x, torque)
        arrived = _arriving(T + offset, dead_band, hysteresis, -np.inf * lagging)
        rubs = 0.0
        for i in range(n):
            here, share = left[i], weight[i]
            after = here + 1 if share != 0.0 else here
            for a in range(3):
                for e in range(2):
                    for f in range(2):
                        extra[a, e, f] = more[here, a, e, f] + share * (more[after, a, e, f] - more[here, a, e, f])
            for step in range(steps):
                T = _driven(x, torque)
                arrived = _arriving(T + offset, dead_band, hysteresis, arrived)
                pitch = _beyond(x, rows, here, after, share, extra, V[i], V_dot[i], pitch, T, arrived, packed,
                                place, curved, row, first, d)  # fmt: skip
                if x[DELTA_DOT] != 0.0:
                    rubs = -np.sign(x[DELTA_DOT]) * coulomb
                d[LATERAL_FORCE] += felt[here] * (rubs if curved else arrived - T + rubs)
                if not np.isfinite(first[0] + first[1]):
                    break
                if step == 0:
                    shown[i, SHOWN_LEAN_RATE, c] = x[PHI_DOT] + d[ROLL_GYRO]
                    shown[i, SHOWN_STEER, c] = x[DELTA]
                    shown[i, SHOWN_YAW_RATE, c] = row[3] + d[YAW_GYRO]
                if i == n - 1:
                    break
                for a in range(m):
                    y[a] = 0.0
                    for b in range(m):
                        ab = F[here, a, b] + change[a, b] * off[i]
                        if share != 0.0:
                            ab += share * (F[after, a, b] - F[here, a, b])
                        y[a] += ab * x[b]
                    for b in range(N_INSTRUMENTS):
                        y[a] += readings[here, a, b] * d[b]
                    if len(shaken) > 0:
                        y[a] += shaken[i * steps + step, a, c]
                T_end = _driven(y, torque)
                begins, ends, arrived_end = _losses(T, T_end, arrived, keeps, dead_band, hysteresis, offset)
                _push(first, steer[here], (T - arrived if curved else 0.0) - begins)
                for a in range(len(STATES)):
                    y[a] += forced[here, 0, a, 0] * first[0] + forced[here, 0, a, 1] * first[1]
                pitch = _beyond(y, rows, here, after, share, extra, V[i], V_dot[i], pitch, T_end, arrived_end, packed,
                                place, curved, row, second, d)  # fmt: skip
                _push(second, steer[here], (T_end - arrived_end if curved else 0.0) - ends)
                arrived = arrived_end
                if not np.isfinite(second[0] + second[1]):
                    break
                for a in range(len(STATES)):
                    for b in range(2):
                        y[a] += forced[here, 1, a, b] * (second[b] - first[b])
                if coulomb > 0.0:
                    rubs = _rub(x[DELTA_DOT], y, forced[here], steer[here], coulomb)
                for a in range(m):
                    x[a] = y[a]
            if not np.isfinite(first[0] + first[1] + second[0] + second[1]):
                break
    return shown


@compiled
def _beyond(x, rows, here, after, share, more, V, V_dot, pitch, T, arrived, packed, place, curved, row, r, d):
    """Fill accelerations ``r`` (2,) and readings ``d`` (4,) beyond the linear ones ``row`` (4,); returns the pitch.

    What a drive loses counts in the accelerations of a nonlinear bicycle; else ``r`` is zero here.

    Parameters
    ----------
    x : (m,) array
        Whole state.
    rows, packed, place
        As of `WindowMachine`.
    here, after, share
        Speeds' nodes and the share of the second.
    more : (3, 2, 2) array
        Mass, damping and stiffness beyond the bicycle's own.
    V, V_dot : float
        Speed [m/s] and its rate [m/s^2].
    pitch : float
        rad, a guess.
    T, arrived : float
        Torque of the drive, and what of it arrives [N m].
    curved : bool
        The bicycle is nonlinear.
    row, r, d : arrays
        Written.
    """
    m = len(x)
    for a in range(4):
        row[a] = 0.0
        for b in range(m):
            row[a] += (rows[here, a, b] + share * (rows[after, a, b] - rows[here, a, b])) * x[b]
    d[:] = 0.0
    r[:] = 0.0
    if not curved:
        return pitch
    state = (x[PHI], x[DELTA], x[PHI_DOT], x[DELTA_DOT])
    phi_ddot, delta_ddot, roll, yaw, lateral, pitch, fits = kept_speed_accelerations(
        packed, place[0], place[1], place[2], more, state, pitch, V, V_dot, arrived
    )
    r[0], r[1] = phi_ddot - row[0], delta_ddot - row[1]
    d[ROLL_GYRO], d[YAW_GYRO], d[LATERAL_FORCE] = roll - x[PHI_DOT], yaw - row[3], lateral - row[2]
    if not fits:
        r[0] = np.nan
    return pitch


@compiled
def _push(r, steer, torque):
    """Add the accelerations of a torque on the steer [N m] to ``r`` (2,)."""
    r[0] += steer[0] * torque
    r[1] += steer[1] * torque


@compiled
def _driven(x, torque):
    """Torque of the drive [N m] in a whole state."""
    T = 0.0
    for b in range(len(x)):
        T += torque[b] * x[b]
    return T


@compiled
def _arriving(T, dead_band, hysteresis, arrived):
    """Torque that arrives at the steer axis of a torque T [N m], where ``arrived`` did before."""
    beyond = T - min(max(T, -dead_band), dead_band)
    return min(max(arrived, beyond - hysteresis), beyond + hysteresis) if hysteresis > 0.0 else beyond


@compiled
def _losses(T, T_end, arrived, keeps, dead_band, hysteresis, offset):
    """Losses of a drive over a step, as if they changed linearly: at the beginning and the end [N m]; what arrives.

    They have the mean and the first moment of what is lost while the torque goes from T to T_end, of whose change a
    share ``keeps`` would be left at the end of a step: as a lag goes.
    """
    if dead_band == 0.0 and hysteresis == 0.0:
        return -offset, -offset, T_end + offset
    mean, moment = 0.0, 0.0
    for k in range(_LOOKS):
        s = (k + 0.5) / _LOOKS
        gone = s if keeps == 0.0 else (1.0 - keeps**s) / (1.0 - keeps)
        here = T + gone * (T_end - T)
        arrived = _arriving(here + offset, dead_band, hysteresis, arrived)
        mean += (here - arrived) / _LOOKS
        moment += s * (here - arrived) / _LOOKS
    arrived = _arriving(T_end + offset, dead_band, hysteresis, arrived)
    return 4.0 * mean - 6.0 * moment, 6.0 * moment - 2.0 * mean, arrived


@compiled
def _rub(rate, y, forced, steer, coulomb):
    """Let dry friction act over the step that ends in the state ``y``, changed in place; its torque at the end [N m].

    The steer turns evenly quicker or slower, from ``rate`` [rad/s] on: while it turns friction is against that, then it
    holds the steer as far as it reaches.
    """
    per_torque = forced[0, DELTA_DOT, 0] * steer[0] + forced[0, DELTA_DOT, 1] * steer[1]
    free = y[DELTA_DOT] - rate  # over the step
    way = np.sign(rate)
    slows = way * free - coulomb * per_torque
    turned = min(-abs(rate) / slows, 1.0) if slows < 0.0 and rate != 0.0 else 1.0 if rate != 0.0 else 0.0
    after = min(max(-free / per_torque, -coulomb), coulomb)
    mean = -way * coulomb * turned + after * (1.0 - turned)
    moment = 0.5 * (-way * coulomb * turned**2 + after * (1.0 - turned**2))
    begins, ends = 4.0 * mean - 6.0 * moment, 6.0 * moment - 2.0 * mean
    for a in range(len(STATES)):
        for b in range(2):
            y[a] += (forced[0, a, b] * begins + forced[1, a, b] * (ends - begins)) * steer[b]
    if turned < 1.0 and abs(after) < coulomb:
        y[DELTA_DOT] = 0.0
    return after if turned < 1.0 else -way * coulomb
