"""Accelerations and gyro readings of the nonlinear bicycle at a speed that is kept, beside other matter that moves.

The equations are those of `riderless.models.nonlinear.kernel` for lean and steer alone: whoever keeps the speed of the
rear rim does it through the rear wheel. Added to them are further mass, damping and stiffness (springs, dampers, a
continuous law of control), so that any machine whose small motions are linear has its large ones too.
"""

from riderless.models.nonlinear.contact_forces import inside
from riderless.models.nonlinear.integrator import lower_front_wheel
from riderless.models.nonlinear.kernel import bias, inertia, mass_matrix, partials, pose, speeds
from riderless.models.nonlinear.parameters import unpack_bicycle
from riderless.models.nonlinear.vectors import compiled, sincos_tilt

PITCH_STEPS = 3  # of Newton's method from the pitch a few milliseconds before; two do


@compiled
def kept_speed_accelerations(p, tilt, x_imu, z_imu, more, state, pitch, V, V_dot, T):
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
