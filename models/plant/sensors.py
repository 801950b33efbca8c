"""Readings of the instruments, biased, noisy and late.

They sit on the rear frame. Linear world, axes x forward, y right, z down, gyro and accelerometer at (x_imu, z_imu):

- the gyro reads (phi_dot, 0, psi_dot);
- the accelerometer reads specific force, the acceleration of its place less gravity, both along
  the axes of the leaning frame: :func:`lateral_force` sideways, v_dot forward, -g downward.

Noise comes from a small generator whose state lies in the record, so that compiled code needs no
object beside it, a copied plant carries on identically, and one seed gives one run: splitmix64
(Steele, Lea and Flood 2014) made normal by Box and Muller's transform.
"""

from dataclasses import dataclass

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.models.errors import InputError

READINGS = np.dtype(
    [
        ("phi_dot", "f8"),  # rad/s, gyro about x
        ("theta_dot", "f8"),  # rad/s, gyro about y
        ("psi_dot", "f8"),  # rad/s, gyro about z
        ("a_x", "f8"),  # m/s^2, specific force forward
        ("a_y", "f8"),  # m/s^2, specific force to the right
        ("a_z", "f8"),  # m/s^2, specific force downward: -g at rest
        ("delta", "f8"),  # rad, steer encoder
        ("wheel_rate", "f8"),  # rad/s, rear wheel, positive rolling forward
        ("T", "f8"),  # N m, torque the drive reports
    ]
)
N_READINGS = len(READINGS.names or ())
LATENCY_MAX = 63  # samples

INSTRUMENTS = np.dtype(
    [
        ("noise", "f8", (N_READINGS,)),  # standard deviation of each reading, in its own unit
        ("bias", "f8", (N_READINGS,)),
        ("x_imu", "f8"),
        ("z_imu", "f8"),
        ("latency", "i8"),
        ("vibration", "f8"),  # m/s^2
        ("vibration_time", "f8"),  # s
        ("vibration_frequency", "f8"),  # Hz
    ],
    align=True,
)

NOISE = np.dtype([("word", "u8"), ("spare", "f8"), ("has_spare", "i8")])

INSTRUMENTS_STATE = np.dtype(
    [
        ("noise", NOISE),
        ("past", "f8", (LATENCY_MAX + 1, N_READINGS)),
        ("taken", "i8"),
        ("shaken", "c16", (3,)),  # m/s^2, each axis: the real part is felt
        ("t", "f8"),
    ],
    align=True,
)


@dataclass(frozen=True, kw_only=True)
class Instruments:
    """Noise, bias, place and latency of the instruments.

    Noise is white from sample to sample, but for vibration, and given as a standard deviation.

    Attributes
    ----------
    gyro_noise : float
        rad/s, each axis.
    accel_noise : float
        m/s^2, each axis.
    steer_noise : float
        rad.
    wheel_noise : float
        rad/s.
    gyro_bias : (3,) tuple of float
        rad/s, about x, y, z.
    accel_bias : (3,) tuple of float
        m/s^2, along x, y, z.
    steer_bias : float
        rad.
    x_imu, z_imu : float
        Place of gyro and accelerometer on the rear frame, m forward of the rear contact and m
        below the ground (negative above it).
    latency : int
        Samples by which every reading is late.
    vibration : float
        Of the ground and the frame, as the accelerometer feels it, standard deviation on each axis, m/s^2.
    vibration_time, vibration_frequency : float
        s, Hz: its correlation over a time t is exp(-t / vibration_time) cos(2 pi vibration_frequency t). The Delft
        steer-by-wire bicycle, on a treadmill at 1.5 to 5 m/s between kicks: 0.4 to 1.5 m/s^2, to the side about 20 Hz
        for up to 0.3 s.

    Raises
    ------
    InputError
        Negative noise, a number that is not finite, a latency that is no count of samples.
    """

    gyro_noise: float = 0.003
    accel_noise: float = 0.03
    steer_noise: float = 0.0
    wheel_noise: float = 0.02
    gyro_bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    accel_bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    steer_bias: float = 0.0
    x_imu: float = 0.3
    z_imu: float = -0.5
    latency: int = 0
    vibration: float = 0.0
    vibration_time: float = 0.01
    vibration_frequency: float = 0.0

    def __post_init__(self) -> None:
        units = {
            "gyro_noise": "rad/s",
            "accel_noise": "m/s^2",
            "steer_noise": "rad",
            "wheel_noise": "rad/s",
            "vibration": "m/s^2",
            "vibration_frequency": "Hz",
        }
        for name, unit in units.items():
            value = getattr(self, name)
            if not 0.0 <= value < np.inf:
                raise InputError(f"{name} must be zero or more, found {value} {unit}; correct it")
        if not 0.0 < self.vibration_time < np.inf:
            raise InputError(f"vibration_time must be above zero, found {self.vibration_time} s; correct it")
        for name in ("gyro_bias", "accel_bias", "steer_bias", "x_imu", "z_imu"):
            value, shape = np.asarray(getattr(self, name), dtype=float), np.shape(getattr(Instruments, name))
            if value.shape != shape or not np.all(np.isfinite(value)):
                raise InputError(
                    f"{name} wants {'three finite numbers' if shape else 'one finite number'}, "
                    f"found {getattr(self, name)}; correct it"
                )
        if self.latency not in range(LATENCY_MAX + 1):
            raise InputError(
                f"latency must be a whole number of samples from 0 to {LATENCY_MAX}, found {self.latency}; "
                "give samples, not seconds"
            )

    def pack(self, p: np.void) -> None:
        """Write the numbers into a record of ``INSTRUMENTS``."""
        gyro, accel = [self.gyro_noise] * 3, [self.accel_noise] * 3
        p["noise"] = [*gyro, *accel, self.steer_noise, self.wheel_noise, 0.0]
        p["bias"] = [*self.gyro_bias, *self.accel_bias, self.steer_bias, 0.0, 0.0]
        p["x_imu"], p["z_imu"], p["latency"], p["vibration"] = self.x_imu, self.z_imu, self.latency, self.vibration
        p["vibration_time"], p["vibration_frequency"] = self.vibration_time, self.vibration_frequency


@njit(cache=True, nogil=True)
def next_uniform(s):
    """Next number of the stream in a ``NOISE`` record, above 0 and at most 1 (splitmix64)."""
    s.word += np.uint64(0x9E3779B97F4A7C15)
    z = s.word
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return (np.float64(z >> np.uint64(11)) + 1.0) * 2.0**-53


@njit(cache=True, nogil=True)
def next_normal(s):
    """Next standard normal number of the stream in a ``NOISE`` record (Box and Muller 1958)."""
    if s.has_spare:
        s.has_spare = 0
        return s.spare
    radius, angle = np.sqrt(-2.0 * np.log(next_uniform(s))), 2.0 * np.pi * next_uniform(s)
    s.spare = radius * np.sin(angle)
    s.has_spare = 1
    return radius * np.cos(angle)


@njit(cache=True, nogil=True)
def lateral_force(p, a_rear, psi_ddot, phi_ddot, phi, g):
    """Specific force to the right at the accelerometer, m/s^2.

    a_rear + x_imu psi'' - z_imu phi'' - g phi: the acceleration of the rear contact along the y axis
    of the frame (v psi' at steady speed), that of the instrument about it, and gravity, which pulls
    to the right when the frame leans right.

    Parameters
    ----------
    p : INSTRUMENTS record
    a_rear : float
        Lateral acceleration of the rear contact, m/s^2.
    psi_ddot, phi_ddot : float
        Yaw and lean acceleration, rad/s^2.
    phi : float
        Lean, rad.
    g : float
        Gravity, m/s^2.
    """
    return a_rear + p.x_imu * psi_ddot - p.z_imu * phi_ddot - g * phi


@njit(cache=True, nogil=True)
def apply_instruments(p, s, t, out):
    """Turn true values into readings, in place.

    Late by ``latency`` samples; until so many have been taken, the first is repeated.

    Parameters
    ----------
    p, s : INSTRUMENTS and INSTRUMENTS_STATE records
        The latter moves on.
    t : float
        Time of the sample, s.
    out : READINGS record
    """
    now = s.past[s.taken % (LATENCY_MAX + 1)]
    now[0], now[1], now[2] = out.phi_dot, out.theta_dot, out.psi_dot
    now[3], now[4], now[5] = out.a_x, out.a_y, out.a_z
    now[6], now[7], now[8] = out.delta, out.wheel_rate, out.T
    if p.vibration > 0.0:
        kept = np.exp((s.t - t) / p.vibration_time)
        turn = np.exp(-2j * np.pi * p.vibration_frequency * (s.t - t))
        fresh = p.vibration * np.sqrt(1.0 - kept * kept)
        s.t = t
        for axis in range(3):
            shake = next_normal(s.noise) + 0j
            if p.vibration_frequency > 0.0:
                shake += 1j * next_normal(s.noise)
            s.shaken[axis] = kept * turn * s.shaken[axis] + fresh * shake
            now[3 + axis] += s.shaken[axis].real
    for i in range(N_READINGS - 1):  # all but the torque, which the drive reports as it is
        now[i] += p.bias[i] + p.noise[i] * next_normal(s.noise)
    then = s.past[max(s.taken - p.latency, 0) % (LATENCY_MAX + 1)]
    s.taken += 1
    out.phi_dot, out.theta_dot, out.psi_dot = then[0], then[1], then[2]
    out.a_x, out.a_y, out.a_z = then[3], then[4], then[5]
    out.delta, out.wheel_rate, out.T = then[6], then[7], then[8]
