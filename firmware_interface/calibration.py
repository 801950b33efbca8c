"""Calibration: counts to SI units and back.

SI values are in the axes of the bicycle; the way back serves the virtual node.

Sentinels end in the drivers, which set ``off_scale``; above this module a value is a float, and
``valid`` says whether to use it.
"""

import math
from dataclasses import dataclass, fields

import numpy as np

from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import COMMAND_KIND_ANGLE, FAULT_ENCODER, FAULT_IMU

# Not plain ints: numba compiles a function anew for every literal int it is handed.
INT16_MIN, INT16_MAX = np.int64(-(2**15)), np.int64(2**15 - 1)
INT32_MIN, INT32_MAX = np.int64(-(2**31)), np.int64(2**31 - 1)

# Places in the nine readings of the instruments, beside rates (0 to 2) and specific force (3 to 5).
DELTA_READING, WHEEL_READING, TORQUE_READING = 6, 7, 8
RATE_READINGS, FORCE_READINGS = slice(0, 3), slice(3, 6)

_Vector = tuple[float, float, float]

_POSITIVE = {
    "wheel_radius": " m",
    "gyro_lsb": " rad/s",
    "accel_lsb": " m/s^2",
    "steer_counts_per_turn": "",
    "steer_gear_ratio": "",
    "max_rate": " rad/s",
    "max_acceleration": " m/s^2",
    "max_steer": " rad",
    "max_speed": " m/s",
}
_SHAPES = {"mounting": (3, 3), "gyro_offset": (3,), "accel_offset": (3,)}


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Scales, signs and offsets that turn the counts of one wired bicycle into SI values.

    Parameters
    ----------
    wheel_radius : float
        m, of the wheel whose rate is measured, under load.
    gyro_lsb, accel_lsb : float
        rad/s and m/s^2 per count; the node's HELLO tells them.
    mounting : 3x3 rotation
        Bicycle axes from sensor axes: its columns are the sensor's x, y, z seen in the bicycle's
        (x forward, y right, z down).
    gyro_offset, accel_offset : 3 floats
        rad/s and m/s^2, what the sensor reads, in its own axes, when the truth is zero.
    steer_counts_per_turn : float
        Of the encoder's own shaft.
    steer_gear_ratio : float
        Turns of the encoder per turn of the steer.
    steer_offset : float
        rad, what the encoder says, scaled and signed, when the wheel points straight ahead.
    steer_sign, wheel_sign, torque_sign : 1 or -1
        1 where the device counts as the bicycle does: steer and torque to the right, rolling forward.
    max_rate, max_acceleration, max_steer, max_speed : float
        rad/s, m/s^2, rad, m/s: a magnitude beyond is not believed and makes the sample invalid.

    Raises
    ------
    DeviceError
        If a value is impossible; the sentence names it.
    """

    wheel_radius: float
    gyro_lsb: float = math.radians(250.0) / 32768
    accel_lsb: float = 4 * 9.80665 / 32768
    mounting: tuple[_Vector, _Vector, _Vector] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    gyro_offset: _Vector = (0.0, 0.0, 0.0)
    accel_offset: _Vector = (0.0, 0.0, 0.0)
    steer_counts_per_turn: float = 20000.0
    steer_gear_ratio: float = 1.0
    steer_offset: float = 0.0
    steer_sign: int = 1
    wheel_sign: int = 1
    torque_sign: int = 1
    max_rate: float = 10.0
    max_acceleration: float = 100.0
    max_steer: float = math.pi / 2
    max_speed: float = 30.0

    def __post_init__(self) -> None:
        for field in fields(self):
            shape = _SHAPES.get(field.name, ())
            if not _is_finite(getattr(self, field.name), shape):
                wanted = "a finite number" if shape == () else f"finite numbers of shape {shape}"
                raise DeviceError(f"calibration {field.name} must be {wanted}, found {getattr(self, field.name)!r}")
        for name in ("steer_sign", "wheel_sign", "torque_sign"):
            if getattr(self, name) not in (1, -1):
                raise DeviceError(f"calibration {name} must be 1 or -1, found {getattr(self, name)!r}")
        for name, unit in _POSITIVE.items():
            if getattr(self, name) <= 0:
                raise DeviceError(f"calibration {name} must be positive, found {getattr(self, name)!r}{unit}")
        rotation = np.array(self.mounting)
        with np.errstate(over="ignore", invalid="ignore"):  # of 1e300, say, which is no part of a rotation
            off, determinant = np.abs(rotation @ rotation.T - np.eye(3)).max(), np.linalg.det(rotation)
        if not off <= 1e-6 or determinant < 0:
            raise DeviceError(
                "calibration mounting must be a rotation (orthonormal to 1e-6, determinant +1), found "
                f"determinant {determinant:.4g}; give the sensor's axes seen from the bicycle"
            )

    def __repr__(self) -> str:
        """Values that are not the default ones, as one would give them."""
        given = (f for f in fields(self) if f.name == "wheel_radius" or getattr(self, f.name) != f.default)
        return f"Calibration({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in given)})"

    def as_record(self) -> np.void:
        """Calibration for compiled code, a record of type ``CALIBRATION``."""
        record = np.zeros(1, CALIBRATION)[0]
        for name in CALIBRATION.names or ():
            record[name] = getattr(self, name)
        return record


def _is_finite(value: object, shape: tuple[int, ...]) -> bool:
    """True if ``value`` is made of finite numbers, in this shape."""
    try:
        numbers = np.asarray(value, dtype=float)
    except (TypeError, ValueError):  # text, or rows of unequal length
        return False
    return numbers.shape == shape and bool(np.isfinite(numbers).all())


CALIBRATION = np.dtype([(f.name, "f8", _SHAPES.get(f.name, ())) for f in fields(Calibration)], align=True)

# The device clock, unwrapped. Apart from the tick's scratch because it must outlive a sample.
DEVICE_CLOCK = np.dtype([("now_us", "i8"), ("last_us", "u4"), ("started", "u1")], align=True)


@njit(cache=True, nogil=True, error_model="numpy")  # a division by zero makes an invalid sample
def calibrate(raw, cal, clock, sample):
    """Fill the ``SAMPLE`` record from a ``RAW`` record.

    ``valid`` becomes 0 if the device flags its inertial sensor or encoder, if a reading is off its scale,
    if a value is implausibly large, or if the device clock steps back (the device has restarted).

    Runs inside the tick.

    Parameters
    ----------
    raw : record of type ``RAW``
    cal : record of type ``CALIBRATION``
    clock : record of type ``DEVICE_CLOCK``
        Carries the device clock over the wrap of ``t_us``; gaps under 35 minutes are bridged.
    sample : record of type ``SAMPLE``
    """
    running = _unwrap(clock, raw.t_us)
    phi_dot = theta_dot = psi_dot = a_x = a_y = a_z = 0.0
    for axis in range(3):  # of the sensor
        gyro = raw.gyro_counts[axis] * cal.gyro_lsb - cal.gyro_offset[axis]
        accel = raw.accel_counts[axis] * cal.accel_lsb - cal.accel_offset[axis]
        x, y, z = cal.mounting[0, axis], cal.mounting[1, axis], cal.mounting[2, axis]
        phi_dot += x * gyro
        theta_dot += y * gyro
        psi_dot += z * gyro
        a_x += x * accel
        a_y += y * accel
        a_z += z * accel
    steer_turns = raw.steer_counts / (cal.steer_counts_per_turn * cal.steer_gear_ratio)

    sample.t = 1e-6 * clock.now_us
    sample.phi_dot_meas = phi_dot
    sample.theta_dot_meas = theta_dot
    sample.psi_dot_meas = psi_dot
    sample.a_x_meas = a_x
    sample.a_y_meas = a_y
    sample.a_z_meas = a_z
    sample.delta_meas = cal.steer_sign * 2 * math.pi * steer_turns - cal.steer_offset
    sample.v_meas = cal.wheel_sign * cal.wheel_radius * 1e-3 * raw.wheel_mrad_s
    sample.T_meas = cal.torque_sign * 1e-3 * raw.torque_mNm
    sample.bus_meas = 1e-3 * raw.bus_mV
    sample.seq = raw.seq
    sample.command_seq = raw.command_seq
    sample.status = raw.status
    sample.faults = raw.faults
    sample.rejected = raw.rejected
    usable = raw.off_scale == 0 and raw.faults & (FAULT_IMU | FAULT_ENCODER) == 0
    sample.valid = running and usable and _plausible(sample, cal)


@njit(cache=True, nogil=True)
def to_counts(readings, cal, raw):
    """Convert ``readings`` to the counts the instruments of a virtual node report; the inverse of ``calibrate``.

    Values are rounded to whole counts and saturate at the ends of the scale, which ``calibrate``
    reads as invalid; so does a reading that is not a number.

    Parameters
    ----------
    readings : (9,) float64 array
        phi_dot, theta_dot, psi_dot (rad/s), a_x, a_y, a_z (m/s^2), delta (rad), wheel rate (rad/s,
        positive rolling forward) and steer torque (N m), in the axes of the bicycle.
    cal : record of type ``CALIBRATION``
    raw : record of type ``RAW``
        The instruments' fields are set, the others left alone.
    """
    m = cal.mounting
    for axis in range(3):
        gyro = m[0, axis] * readings[0] + m[1, axis] * readings[1] + m[2, axis] * readings[2]
        accel = m[0, axis] * readings[3] + m[1, axis] * readings[4] + m[2, axis] * readings[5]
        raw.gyro_counts[axis] = _round_to((gyro + cal.gyro_offset[axis]) / cal.gyro_lsb, INT16_MIN, INT16_MAX)
        raw.accel_counts[axis] = _round_to((accel + cal.accel_offset[axis]) / cal.accel_lsb, INT16_MIN, INT16_MAX)
    steer_turns = cal.steer_sign * (readings[DELTA_READING] + cal.steer_offset) / (2 * math.pi)
    raw.steer_counts = _round_to(steer_turns * cal.steer_counts_per_turn * cal.steer_gear_ratio, INT32_MIN, INT32_MAX)
    raw.wheel_mrad_s = _round_to(cal.wheel_sign * 1e3 * readings[WHEEL_READING], INT32_MIN, INT32_MAX)
    raw.torque_mNm = _round_to(cal.torque_sign * 1e3 * readings[TORQUE_READING], INT16_MIN, INT16_MAX)
    raw.off_scale = is_off_scale(raw)


@njit(cache=True, nogil=True, inline="always")
def is_off_scale(raw):
    """True if a reading of the node stands at an end of its 16 bits. Runs inside the tick."""
    off_scale = not INT16_MIN < raw.torque_mNm < INT16_MAX
    for axis in range(3):
        off_scale |= not INT16_MIN < raw.gyro_counts[axis] < INT16_MAX
        off_scale |= not INT16_MIN < raw.accel_counts[axis] < INT16_MAX
    return off_scale


@njit(cache=True, nogil=True)
def drive_command(value, kind, cal):
    """Value of a command in the drive's own sense, for one positive to the right.

    A torque and a rate turn with the drive's sign. An angle is that of the drive's encoder, so it has the encoder's
    sign and zero.

    Runs inside the tick.

    Parameters
    ----------
    value : float
        N m, rad/s or rad.
    kind : int
        ``COMMAND_KIND_*``.
    cal : record of type ``CALIBRATION``
    """
    if kind == COMMAND_KIND_ANGLE:
        return cal.steer_sign * (value + cal.steer_offset)
    return cal.torque_sign * value


@njit(cache=True, nogil=True)
def steer_command(value, kind, cal):
    """Value of a command, positive to the right, for one in the drive's own sense: `drive_command` backwards.

    Parameters
    ----------
    value, kind, cal
        As for `drive_command`.
    """
    if kind == COMMAND_KIND_ANGLE:
        return cal.steer_sign * value - cal.steer_offset
    return cal.torque_sign * value


@njit(cache=True, nogil=True, inline="always")
def _unwrap(clock, t_us):
    """Advance the clock to the device time ``t_us``; False if that is a step back."""
    step = np.int64(t_us)
    if clock.started:  # the shorter way round the 32 bits
        step = ((step - clock.last_us + 2**31) & 0xFFFFFFFF) - 2**31
    clock.now_us += step
    clock.last_us = t_us
    clock.started = 1
    return step >= 0


@njit(cache=True, nogil=True, inline="always")
def _plausible(sample, cal):
    """No magnitude is beyond what the calibration believes."""
    return (
        abs(sample.phi_dot_meas) <= cal.max_rate
        and abs(sample.theta_dot_meas) <= cal.max_rate
        and abs(sample.psi_dot_meas) <= cal.max_rate
        and abs(sample.a_x_meas) <= cal.max_acceleration
        and abs(sample.a_y_meas) <= cal.max_acceleration
        and abs(sample.a_z_meas) <= cal.max_acceleration
        and abs(sample.delta_meas) <= cal.max_steer
        and abs(sample.v_meas) <= cal.max_speed
    )


@njit(cache=True, nogil=True)
def _round_to(x, lowest, highest):
    """Nearest whole number within the limits; the lowest for a value that is not a number."""
    if not (x > lowest):
        return lowest
    return int(np.rint(min(x, float(highest))))
