"""Checks of the sensors at rest.

They find readings that no machine shows which a person holds upright and still. In CHECK and while armed the bicycle is
held, on a floor or on a running belt. Over a second a hand turns it by little and gravity is all that an accelerometer
feels, so means say what the sensors are worth: a gyro that reads more than data sheets allow at rest, an accelerometer
whose mean is not as long as gravity, or does not point upward along the frame. What a hand does within a second
averages out.

Out of sight at rest: an axis of a gyro, or the lateral axis of an accelerometer, with the wrong sign or scale, since it
reads about zero. `riderless check` finds those, for it has the bicycle leant.
"""

import math

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.hil.loop.limits import Limits
from riderless.hil.loop.states import Cause, Symptom

REST_TIME = 0.5  # s, time constant of the means
_AXES = 3
_RATE, _FORCE, _TILT = int(Symptom.REST_RATE), int(Symptom.REST_FORCE), int(Symptom.REST_TILT)
_GYRO_NAMES = ("roll", "pitch", "yaw")
_TURNED_OVER, _ON_ITS_SIDE = math.radians(135.0), math.radians(45.0)  # farther off upright than that

RESTING = np.dtype(
    [
        ("rates", "f8", (_AXES,)),  # rad/s, means of the gyros
        ("forces", "f8", (_AXES,)),  # m/s^2, means of the accelerometers
        ("since", "f8"),  # s, over which the means go, at most `REST_TIME`
    ],
    align=True,
)


@njit(cache=True, nogil=True)
def judge_rest(limits, g, r, sample, fresh, held, dt):
    """Test the means of gyros and accelerometer while a person holds the machine; `Symptom` bits. Runs inside the tick.

    Parameters
    ----------
    limits : record of LIMITS
    g : float
        Gravity [m/s^2].
    r : record of RESTING, changed in place.
    sample : record of SAMPLE
    fresh : bool
        It is a new one, and usable.
    held : bool
        The machine is being checked, or armed; else the means are forgotten.
    dt : float
        Time since the last tick [s].
    """
    if not held:
        r.since = 0.0
        return 0
    if fresh:
        r.since = min(r.since + max(dt, 0.0), REST_TIME)
        part = min(dt / r.since, 1.0) if dt > 0.0 else 0.0  # at first a plain mean, then one that forgets
        rates = (sample.phi_dot_meas, sample.theta_dot_meas, sample.psi_dot_meas)
        forces = (sample.a_x_meas, sample.a_y_meas, sample.a_z_meas)
        for axis in range(_AXES):
            r.rates[axis] += part * (rates[axis] - r.rates[axis])
            r.forces[axis] += part * (forces[axis] - r.forces[axis])
    if r.since == 0.0:
        return 0
    on = 0
    for axis in range(_AXES):
        on |= _RATE if abs(r.rates[axis]) > limits.rest_rate else 0
    x, y, z = r.forces[0], r.forces[1], r.forces[2]
    on |= _FORCE if abs(math.sqrt(x * x + y * y + z * z) - g) > limits.rest_force else 0
    return on | (_TILT if math.atan2(math.sqrt(x * x + y * y), -z) > limits.rest_tilt else 0)


def describe_rest(limits: Limits, g: float, rates: np.ndarray, forces: np.ndarray) -> dict[Cause, str]:
    """Say what mean readings show that no machine at rest can: the reading, what is wanted, the probable cause.

    Parameters
    ----------
    limits : Limits
    g : float
        Gravity [m/s^2].
    rates, forces : (3,)
        Means of the gyros [rad/s] and of the accelerometers [m/s^2], x, y, z.

    Returns
    -------
    dict
        A sentence for each of CHECK_GYRO, CHECK_GRAVITY and CHECK_MOUNTING that the readings deserve.
    """
    reports = {}
    axis = int(np.argmax(np.abs(rates)))
    most, margin, tilt_most = limits.rest_rate.value, limits.rest_force.value, limits.rest_tilt.value
    if abs(rates[axis]) > most:
        reports[Cause.CHECK_GYRO] = (
            f"the {_GYRO_NAMES[axis]} gyro reads {rates[axis]:+.2f} rad/s at rest, wanted within {most:g} rad/s: its "
            "offset or scale is wrong, or it is broken"
        )
    x, y, z = (float(force) for force in forces)
    size, tilt = math.hypot(x, y, z), math.atan2(math.hypot(x, y), -z)
    if abs(size - g) > margin:
        reports[Cause.CHECK_GRAVITY] = (
            f"the accelerometer reads {size:.1f} m/s^2 at rest, wanted {g:.1f} to within {margin:g} m/s^2: its scale "
            "or an offset is wrong"
        )
    if tilt > tilt_most:
        cause = (
            "it is upside down, or its z axis has the wrong sign"
            if tilt > _TURNED_OVER
            else "it lies on its side, or two axes are exchanged"
            if tilt > _ON_ITS_SIDE
            else "it is mounted otherwise than the rig says, or an offset is wrong"
        )
        reports[Cause.CHECK_MOUNTING] = (
            f"the accelerometer reads ({x:+.1f}, {y:+.1f}, {z:+.1f}) m/s^2, {math.degrees(tilt):.0f} deg off upright, "
            f"wanted (0, 0, -{g:.1f}) to within {math.degrees(tilt_most):.0f} deg: {cause}"
        )
    return reports
