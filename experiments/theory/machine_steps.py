"""Compiled steps of a nonlinear machine.

See `riderless.experiments.theory.nonlinear_response`.
"""

from typing import NamedTuple

import numpy as np

from riderless.hil.design.closed_loop import MEASURED_CHANNELS
from riderless.models.array_types import Array
from riderless.models.coordinates import DELTA, DELTA_DOT, PHI, PHI_DOT, STATES
from riderless.models.nonlinear.contact_forces import inside
from riderless.models.nonlinear.integrator import lower_front_wheel
from riderless.models.nonlinear.kernel import bias, inertia, mass_matrix, partials, pose, speeds
from riderless.models.nonlinear.parameters import unpack_bicycle
from riderless.models.nonlinear.vectors import compiled, sincos_tilt

# Accelerations and gyro readings of the nonlinear bicycle at a speed that is kept, beside other matter that moves.
#
# The equations are those of `riderless.models.nonlinear.kernel` for lean and steer alone: whoever keeps the speed of
# the rear rim does it through the rear wheel. Added to them are further mass, damping and stiffness (springs, dampers,
# a continuous law of control), so that any machine whose small motions are linear has its large ones too.


PITCH_STEPS = 3  # of Newton's method from the pitch a few milliseconds before; two do


@compiled
def _kept_speed_accelerations(p, tilt, x_imu, z_imu, more, state, pitch, V, V_dot, T):
    """Accelerations of lean and steer, what gyros and accelerometer read, and the pitch.

    Parameters
    ----------
    p : array of `riderless.models.nonlinear.parameters.pack_bicycle`
    tilt : float
        Steer axis tilt [rad], the pitch of the upright bicycle.
    x_imu, z_imu : float
        Place of the inertial sensor on the rear frame [m].
    more : (3, 2, 2) array
        Mass, damping and stiffness beyond the bicycle's own, SI.
    state : tuple of 4
        Lean, steer [rad] and their rates [rad/s].
    pitch : float
        rad, near the one sought.
    V, V_dot : float
        Speed of the rear rim [m/s] and its rate [m/s^2].
    T : float
        Steer torque [N m].

    Returns
    -------
    tuple of 7
        Lean and steer acceleration [rad/s^2]; roll and yaw gyro [rad/s]; lateral specific force [m/s^2]; pitch [rad];
        and whether the state is inside the domain of the model.
    """
    b = unpack_bicycle(p)
    phi, delta, phi_dot, delta_dot = state
    for _ in range(PITCH_STEPS):
        pitch, _pose = lower_front_wheel(b, phi, pitch, delta)
    o = pose(b, phi, pitch, delta)
    k = partials(o)
    s = speeds(o, k, phi_dot, V, delta_dot)
    i = inertia(b, o)
    h = bias(b, o, k, i, s)
    M = mass_matrix(b, k, i)
    m, c, g = more[0], more[1], more[2]
    r4 = -h.N[0] - k.eta4 * h.N[1] - M[1] * V_dot
    r7 = T - k.eta7 * h.N[1] - k.rho7 * h.N[2] - h.s7 - k.w7 * h.fw - M[4] * V_dot
    r4 -= c[0, 0] * phi_dot + c[0, 1] * delta_dot + g[0, 0] * phi + g[0, 1] * delta
    r7 -= c[1, 0] * phi_dot + c[1, 1] * delta_dot + g[1, 0] * phi + g[1, 1] * delta
    m44, m47, m74, m77 = M[0] + m[0, 0], M[2] + m[0, 1], M[2] + m[1, 0], M[5] + m[1, 1]
    over = 1.0 / (m44 * m77 - m47 * m74)
    u4_dot, u7_dot = (m77 * r4 - m47 * r7) * over, (m44 * r7 - m74 * r4) * over

    # rates of pitch and yaw, and the acceleration of the instrument, as in `models/plant/nonlinear_dynamics.py`
    eta_dot = h.alpha[1] - s.u3 * s.u4 + k.eta4 * u4_dot + k.eta7 * u7_dot
    u5_dot = (eta_dot + s.omega[1] * o.s4 / o.c4 * s.u4) / o.c4
    psi_ddot = h.alpha[2] + k.rhoV * V_dot + k.rho7 * u7_dot - o.s4 * u5_dot - o.c4 * s.u4 * s.u5
    sine, cosine = sincos_tilt(pitch - tilt)
    x, high = cosine * x_imu + sine * (z_imu + b.rR), cosine * (z_imu + b.rR) - sine * x_imu - b.rR
    x_dot, high_dot = (high + b.rR) * s.u5, -x * s.u5
    high_ddot = -x_dot * s.u5 - x * u5_dot
    turning = phi_dot * phi_dot * high - high_ddot
    leaning = u4_dot * high + 2.0 * phi_dot * high_dot
    v_x = V - b.rR * s.u5 + x_dot + s.u3 * o.s4 * high
    f_y = psi_ddot * x + s.u3 * (x_dot + v_x) + o.s4 * turning - o.c4 * leaning
    f_z = -o.c4 * turning - o.s4 * leaning - b.g
    yaw = s.u3 * o.c4
    fits = inside(phi, pitch, delta, phi_dot, V, delta_dot, o.p, o.g1)
    return (
        u4_dot,
        u7_dot,
        cosine * phi_dot - sine * yaw,
        sine * phi_dot + cosine * yaw,
        o.c4 * f_y + o.s4 * f_z,
        pitch,
        fits,
    )


ROLL_GYRO, YAW_GYRO, LATERAL_FORCE = 0, 1, 3  # of `riderless.hil.design.closed_loop.MEASURED_CHANNELS`
N_INSTRUMENTS = len(MEASURED_CHANNELS)
N_SHOWN, SHOWN_LEAN_RATE, SHOWN_STEER, SHOWN_YAW_RATE = 3, 0, 1, 2  # of the motion returned

_LOOKS = 8  # at the drive's torque within a step


class Nonlinearities(NamedTuple):
    """Nonlinearities of a machine, beyond the linear theory of it."""

    bicycle: bool = True  # it leans and steers by its nonlinear equations of motion
    coulomb: float = 0.0  # N m, dry friction of the steer axis, at rest and in motion
    dead_band: float = 0.0  # N m, of the drive's torque that never arrives at the steer axis: below it nothing does
    hysteresis: float = 0.0  # N m, by which what arrives lags behind on its way up and down
    offset: float = 0.0  # N m that the drive adds, ahead of both
    lagging: int = 1  # 1 or -1: what arrives lags behind a torque that rises, or falls, where a window begins

    @property
    def lossy(self) -> bool:
        """Does the drive or its bearings keep some torque, in a way that is not smooth?"""
        return max(self.coulomb, self.dead_band, self.hysteresis) > 0.0


class MachineTables(NamedTuple):
    """Machine of m whole states at the n samples of a window, as compiled code reads it; k speeds it was looked at."""

    F: Array  # (k, m, m) map over one step
    left: Array  # (n,) int: of the k speeds the one below each sample's
    weight: Array  # (n,) share of the next one
    change: Array  # (m, m) derivative of the map by the speed misread, per m/s
    off: Array  # (n,) speed misread [m/s]
    v: Array  # (n,) m/s, true
    v_dot: Array  # (n,) m/s^2
    per_sample: int  # steps within a sampling interval
    rows: Array  # (k, 2 + 2, m): accelerations of lean and steer, lateral force and yaw rate as read, all linear
    readings: Array  # (k, m, 4)
    forced: Array  # (k, 2, 4, 2): states after accelerations constant, and growing from 0 to 1, over one step
    more: Array  # (k, 3, 2, 2) mass, damping and stiffness beyond the bicycle's own
    steer: Array  # (k, 2) accelerations per steer torque
    felt: Array  # (k,) lateral force that the instruments read per torque on the steer
    torque: Array  # (m,) torque of the drive, of the state
    keeps: float  # share of a change of the drive's torque that is left after a step; 0 where it is no lag
    packed: Array  # bicycle, of `riderless.models.nonlinear.parameters.pack_bicycle`
    place: tuple[float, float, float]  # steer axis tilt [rad], sensor [m]


@compiled
def simulate_machine(X, machine, beyond, shaken):
    """Simulate motions (n, 3, c) from whole states: roll gyro, steer, yaw gyro.

    Parameters
    ----------
    X : (m, c) array
        Whole states at the first sample.
    machine : MachineTables
    beyond : Nonlinearities
    shaken : (n steps, m, c) array
        Change of each whole state over each step by noise; of no steps where there is none.
    """
    m, columns = X.shape
    n = len(machine.left)
    shown = np.full((n, N_SHOWN, columns), np.nan)
    x, y, row = np.zeros(m), np.zeros(m), np.zeros(4)
    first, second = np.zeros(2), np.zeros(2)
    d = np.zeros(N_INSTRUMENTS)
    more = np.zeros((3, 2, 2))
    for c in range(columns):
        for a in range(m):  # an assignment of arrays compiles 50 functions for the words of its error
            x[a] = X[a, c]
        pitch = machine.place[0]
        T = _driven(x, machine.torque)
        arrived = _arriving(T, beyond, -np.inf * beyond.lagging)
        rubs = 0.0
        for i in range(n):
            here = machine.left[i]
            _interpolate(machine, i, more)
            for step in range(machine.per_sample):
                T = _driven(x, machine.torque)
                arrived = _arriving(T, beyond, arrived)
                pitch = _accelerate(machine, beyond.bicycle, x, i, more, pitch, T, arrived, row, first, d)
                if x[DELTA_DOT] != 0.0:
                    rubs = -np.sign(x[DELTA_DOT]) * beyond.coulomb
                d[LATERAL_FORCE] += machine.felt[here] * (rubs if beyond.bicycle else arrived - T + rubs)
                if not np.isfinite(first[0] + first[1]):
                    break
                if step == 0:
                    shown[i, SHOWN_LEAN_RATE, c] = x[PHI_DOT] + d[ROLL_GYRO]
                    shown[i, SHOWN_STEER, c] = x[DELTA]
                    shown[i, SHOWN_YAW_RATE, c] = row[3] + d[YAW_GYRO]
                if i == n - 1:
                    break
                map_linear(machine, x, d, i, y)
                if len(shaken) > 0:
                    for a in range(m):
                        y[a] += shaken[i * machine.per_sample + step, a, c]
                T_end = _driven(y, machine.torque)
                begins, ends, arrived_end = _losses(T, T_end, arrived, machine.keeps, beyond)
                _push(first, machine.steer[here], (T - arrived if beyond.bicycle else 0.0) - begins)
                for a in range(len(STATES)):
                    y[a] += machine.forced[here, 0, a, 0] * first[0] + machine.forced[here, 0, a, 1] * first[1]
                pitch = _accelerate(machine, beyond.bicycle, y, i, more, pitch, T_end, arrived_end, row, second, d)
                _push(second, machine.steer[here], (T_end - arrived_end if beyond.bicycle else 0.0) - ends)
                arrived = arrived_end
                if not np.isfinite(second[0] + second[1]):
                    break
                for a in range(len(STATES)):
                    for b in range(2):
                        y[a] += machine.forced[here, 1, a, b] * (second[b] - first[b])
                if beyond.coulomb > 0.0:
                    rubs = _rub(x[DELTA_DOT], y, machine.forced[here], machine.steer[here], beyond.coulomb)
                for a in range(m):
                    x[a] = y[a]
            if not np.isfinite(first[0] + first[1] + second[0] + second[1]):
                break
    return shown


@compiled
def _interpolate(machine, i, more):
    """Fill ``more`` (3, 2, 2) with mass, damping and stiffness beyond the bicycle's own, at the speed of a sample."""
    here, share, parts = machine.left[i], machine.weight[i], machine.more
    after = here + 1 if share != 0.0 else here
    for a in range(3):
        for b in range(2):
            for c in range(2):
                more[a, b, c] = parts[here, a, b, c] + share * (parts[after, a, b, c] - parts[here, a, b, c])


@compiled
def map_linear(machine, x, d, i, y):
    """Fill ``y`` (m,) with the state a step after ``x`` (m,), by the linear map and readings beyond it.

    Parameters
    ----------
    machine : MachineTables
    x : (m,) array
    d : (4,) array
        Readings beyond the linear ones.
    i : int
        Sample.
    y : (m,) array
        Written.
    """
    here, share = machine.left[i], machine.weight[i]
    for a in range(len(x)):
        y[a] = 0.0
        for b in range(len(x)):
            ab = machine.F[here, a, b] + machine.change[a, b] * machine.off[i]
            if share != 0.0:
                ab += share * (machine.F[here + 1, a, b] - machine.F[here, a, b])
            y[a] += ab * x[b]
        for b in range(N_INSTRUMENTS):
            y[a] += machine.readings[here, a, b] * d[b]


@compiled
def _accelerate(machine, curved, x, i, more, pitch, T, arrived, row, r, d):
    """Fill accelerations ``r`` (2,) and readings ``d`` (4,) beyond the linear ones ``row`` (4,); returns the pitch.

    What a drive loses counts in the accelerations of a nonlinear bicycle; else ``r`` is zero here.

    Parameters
    ----------
    machine : MachineTables
    curved : bool
        The bicycle is nonlinear.
    x : (m,) array
        Whole state.
    i : int
        Sample.
    more : (3, 2, 2) array
        Mass, damping and stiffness beyond the bicycle's own, at the sample's speed.
    pitch : float
        rad, a guess.
    T, arrived : float
        Torque of the drive, and what of it arrives [N m].
    row, r, d : arrays
        Written.
    """
    here, share, rows = machine.left[i], machine.weight[i], machine.rows
    after = here + 1 if share != 0.0 else here
    for a in range(4):
        row[a] = 0.0
        for b in range(len(x)):
            row[a] += (rows[here, a, b] + share * (rows[after, a, b] - rows[here, a, b])) * x[b]
    d[:] = 0.0
    r[:] = 0.0
    if not curved:
        return pitch
    tilt, x_imu, z_imu = machine.place
    state = (x[PHI], x[DELTA], x[PHI_DOT], x[DELTA_DOT])
    phi_ddot, delta_ddot, roll, yaw, lateral, pitch, fits = _kept_speed_accelerations(
        machine.packed, tilt, x_imu, z_imu, more, state, pitch, machine.v[i], machine.v_dot[i], arrived
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
def _arriving(T, beyond, arrived):
    """Torque that arrives at the steer axis of a drive's torque T [N m], where ``arrived`` did before."""
    T, dead_band, hysteresis = T + beyond.offset, beyond.dead_band, beyond.hysteresis
    passed = T - min(max(T, -dead_band), dead_band)
    return min(max(arrived, passed - hysteresis), passed + hysteresis) if hysteresis > 0.0 else passed


@compiled
def _losses(T, T_end, arrived, keeps, beyond):
    """Losses of a drive over a step, as if they changed linearly: at the beginning and the end [N m]; what arrives.

    They have the mean and the first moment of what is lost while the torque goes from T to T_end, of whose change a
    share ``keeps`` would be left at the end of a step: as a lag goes.
    """
    if beyond.dead_band == 0.0 and beyond.hysteresis == 0.0:
        return -beyond.offset, -beyond.offset, T_end + beyond.offset
    mean, moment = 0.0, 0.0
    for k in range(_LOOKS):
        s = (k + 0.5) / _LOOKS
        gone = s if keeps == 0.0 else (1.0 - keeps**s) / (1.0 - keeps)
        here = T + gone * (T_end - T)
        arrived = _arriving(here, beyond, arrived)
        mean += (here - arrived) / _LOOKS
        moment += s * (here - arrived) / _LOOKS
    arrived = _arriving(T_end, beyond, arrived)
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
