"""Integrator of the nonlinear bicycle, fourth order.

Rates of its state, one step, and the correction of the pitch. The state is the eight coordinates of
`riderless.models.coordinates` and the speeds (u4, V, u7): roll rate, speed of the rear rim, steer rate. It is a tuple,
and the functions are inlined by the compiler. The pitch is integrated with the rest and put right after each step.
"""

from riderless.models.coordinates import Q_DELTA, Q_PHI, Q_PSI, Q_THETA, U_DELTA, U_PHI, U_THETA_R
from riderless.models.nonlinear.contact_forces import inside
from riderless.models.nonlinear.kernel import evaluate, pose
from riderless.models.nonlinear.vectors import inlined, sincos

PITCH_TOLERANCE = 1e-8  # rad; the next change of Newton's method would be about the square of this
NEWTON_STEPS_MAX = 20  # of that method; five do anywhere in the domain


@inlined
def state_rates(b, x, T4, TV, T7):
    """Rate of a state.

    Parameters
    ----------
    b : Packed
    x : tuple of 11
        State.
    T4, TV, T7 : float
        Roll torque [N m], force of the drive at the rear rim [N], steer torque [N m]; as for `evaluate`.
    """
    _, _, v, _, _, rates = evaluate(b, x[Q_PHI], x[Q_THETA], x[Q_DELTA], x[U_PHI], x[U_THETA_R], x[U_DELTA], T4, TV, T7)
    sine, cosine = sincos(x[Q_PSI])
    path = v.V - b.rR * v.u5
    turns_R, turns_F = -v.V / b.roll_R, v.w / b.roll_F
    return (path * cosine, path * sine, v.u3, v.u4, v.u5, turns_R, v.u7, turns_F, rates[0], rates[1], rates[2])


@inlined
def _euler_step(x, h, k):
    """State reached from ``x`` in ``h`` seconds at the constant rate ``k``."""
    return (
        x[0] + h * k[0], x[1] + h * k[1], x[2] + h * k[2], x[3] + h * k[3], x[4] + h * k[4], x[5] + h * k[5],
        x[6] + h * k[6], x[7] + h * k[7], x[8] + h * k[8], x[9] + h * k[9], x[10] + h * k[10],
    )  # fmt: skip


@inlined
def rk4(b, x, T4, TV, T7, dt):
    """State after a classical fourth-order Runge-Kutta step; its pitch still to be settled.

    Parameters
    ----------
    b : Packed
    x : tuple of 11
        State.
    T4, TV, T7 : float
        Roll torque [N m], force of the drive at the rear rim [N], steer torque [N m], held over the step.
    dt : float
        Step, s.
    """
    k = state_rates(b, x, T4, TV, T7)
    end = _euler_step(x, dt / 6.0, k)
    k = state_rates(b, _euler_step(x, dt / 2.0, k), T4, TV, T7)
    end = _euler_step(end, dt / 3.0, k)
    k = state_rates(b, _euler_step(x, dt / 2.0, k), T4, TV, T7)
    end = _euler_step(end, dt / 3.0, k)
    k = state_rates(b, _euler_step(x, dt, k), T4, TV, T7)
    return _euler_step(end, dt / 6.0, k)


@inlined
def lower_front_wheel(b, q4, q5, q7):
    """Take one step of Newton's method for the pitch that puts the front contact on the ground.

    Returns the new pitch [rad] and the pose at the old one.

    Parameters
    ----------
    b : Packed
    q4, q5, q7 : float
        Roll, pitch and steer, rad.
    """
    o = pose(b, q4, q5, q7)
    return q5 + o.p[2] / (o.c4 * o.p[0]), o


@inlined
def settle_pitch(b, x):
    """State with its pitch put right, and whether that is a state inside the domain of the model."""
    q5, fits = x[Q_THETA], False
    for _ in range(NEWTON_STEPS_MAX):
        before = q5
        q5, o = lower_front_wheel(b, x[Q_PHI], before, x[Q_DELTA])
        if abs(q5 - before) < PITCH_TOLERANCE:
            fits = inside(x[Q_PHI], q5, x[Q_DELTA], x[U_PHI], x[U_THETA_R], x[U_DELTA], o.p, o.g1)
            break
    return (x[0], x[1], x[2], x[3], q5, x[5], x[6], x[7], x[8], x[9], x[10]), fits
