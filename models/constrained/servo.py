"""Steer torque that makes the lean follow a path.

"The lean follows the path" is a constraint whose reaction is the steer torque. What comes out is the feed-forward:
played back into the same bicycle without the constraint, it makes the same motion, as far as the bicycle is stable.
The steer is free meanwhile. At a walking pace and faster it settles; slower than that no lean path can be held
(the zeros of the transfer from steer torque to lean are unstable).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riderless.models.constrained.bicycle import ConstrainedBicycle
from riderless.models.constrained.constraints import PrescribedMotion
from riderless.models.errors import InputError
from riderless.models.nonlinear.simulation import initial_state
from riderless.models.parameters import Bicycle

SmoothPath = Callable[[float], tuple[float, float, float]]
LEAN_SERVO = "lean follows its path"


class _FeedForward(NamedTuple):
    """Feed-forward steer torque and the motion it makes.

    t : (n,) array, s
    T_delta : (n,) array, N m
    q, u : (n, 8) arrays, coordinates and speeds of `riderless.models.nonlinear.equations`
    """

    t: NDArray
    T_delta: NDArray
    q: NDArray
    u: NDArray


def smooth_change(size: float, start: float, duration: float) -> SmoothPath:
    """Path that changes by `size` from `start` on within `duration` [s], at rest before and after, and smoothly.

    The seventh-degree polynomial whose first three derivatives vanish at both ends, so that the torque has no kink.
    """
    if not duration > 0.0:
        raise InputError(f"a change needs a positive duration, found {duration} s")
    shape = np.polynomial.Polynomial([0.0, 0.0, 0.0, 0.0, 35.0, -84.0, 70.0, -20.0])
    rate, acceleration = shape.deriv(), shape.deriv(2)

    def path(t: float) -> tuple[float, float, float]:
        s = min(max((t - start) / duration, 0.0), 1.0)
        return size * shape(s), size * rate(s) / duration, size * acceleration(s) / duration**2

    return path


def lean_feedforward(bicycle: Bicycle, path: SmoothPath, v: float, times: ArrayLike, lam: float = 10.0) -> _FeedForward:
    """Steer torque that makes the lean follow a path, for a bicycle that starts straight ahead at the speed v.

    Parameters
    ----------
    bicycle : Bicycle
    path : function of time
        Lean [rad] and its first two derivatives.
    v : float
        Speed at the start, m/s; nothing drives or brakes afterwards.
    times : (n,) array
        Where the torque is wanted, s; the run starts at the first.
    lam : float
        Decay rate of the constraints, 1/s.

    Raises
    ------
    InputError
        When the steer torque cannot move the lean (at rest), or when the motion ends early (a fall of the steer).
    """
    times = np.asarray(times, float)
    free = ConstrainedBicycle(bicycle)
    steering = free.steer_motor(1.0).per_unit
    servo = PrescribedMotion(LEAN_SERVO, free.lean, path, by=steering)
    led = ConstrainedBicycle(bicycle, lam=lam, extra=(servo,))
    lean, rate, _ = path(float(times[0]))
    q, u = initial_state(bicycle, lean, 0.0, rate, 0.0, v)
    states = led.system.simulate(led.state(q, u), times, rtol=1e-7, atol=1e-9)
    torque = [led.system.solve(t, x).reactions[LEAN_SERVO][0] for t, x in zip(times, states, strict=True)]
    coordinates = [q]
    for x in states[1:]:
        coordinates.append(led.coordinates(x, near=coordinates[-1]))
    return _FeedForward(times, np.array(torque), np.array(coordinates), np.array([led.speeds(x) for x in states]))
