"""The nonlinear bicycle in time: rates of its state and a fourth-order step, on tuples inlined by the compiler.

The state is the eight coordinates of `models.nonlinear.nonlinear` and the speeds (u4, V, u7). The pitch is integrated
with the rest and put right after each step.
"""

from models.nonlinear.contact_forces import inside
from models.nonlinear.kernel import evaluate, pose
from models.nonlinear.vectors import inlined, sincos

SETTLED = 1e-8  # rad; the next change of Newton's method would be about the square of this
TRIES = 20  # of that method; five do anywhere in the domain


@inlined
def slopes(b, x, T4, TV, T7):
    """Rate of state ``x``; torques as for `evaluate`."""
    _, _, v, _, _, rates = evaluate(b, x[3], x[4], x[6], x[8], x[9], x[10], T4, TV, T7)
    sine, cosine = sincos(x[2])
    path = v.V - b.rR * v.u5
    turns_R, turns_F = -v.V / b.roll_R, v.w / b.roll_F
    return (path * cosine, path * sine, v.u3, v.u4, v.u5, turns_R, v.u7, turns_F, rates[0], rates[1], rates[2])


@inlined
def ahead(x, h, k):
    """State reached from ``x`` in ``h`` seconds at the constant rate ``k``."""
    return (
        x[0] + h * k[0],
        x[1] + h * k[1],
        x[2] + h * k[2],
        x[3] + h * k[3],
        x[4] + h * k[4],
        x[5] + h * k[5],
        x[6] + h * k[6],
        x[7] + h * k[7],
        x[8] + h * k[8],
        x[9] + h * k[9],
        x[10] + h * k[10],
    )


@inlined
def rk4(b, x, T4, TV, T7, dt):
    """State after a classical fourth-order Runge-Kutta step; its pitch still to be settled."""
    k = slopes(b, x, T4, TV, T7)
    end = ahead(x, dt / 6.0, k)
    k = slopes(b, ahead(x, dt / 2.0, k), T4, TV, T7)
    end = ahead(end, dt / 3.0, k)
    k = slopes(b, ahead(x, dt / 2.0, k), T4, TV, T7)
    end = ahead(end, dt / 3.0, k)
    k = slopes(b, ahead(x, dt, k), T4, TV, T7)
    return ahead(end, dt / 6.0, k)


@inlined
def lower(b, q4, q5, q7):
    """One step of Newton's method for the pitch [rad] that puts the front contact on the ground, and the old pose."""
    o = pose(b, q4, q5, q7)
    return q5 + o.p[2] / (o.c4 * o.p[0]), o


@inlined
def settle(b, x):
    """State with its pitch put right, and whether that is a state inside the domain of the model."""
    q5, fits = x[4], False
    for _ in range(TRIES):
        before = q5
        q5, o = lower(b, x[3], before, x[6])
        if abs(q5 - before) < SETTLED:
            fits = inside(x[3], q5, x[6], x[8], x[9], x[10], o.p, o.g1)
            break
    return (x[0], x[1], x[2], x[3], q5, x[5], x[6], x[7], x[8], x[9], x[10]), fits
