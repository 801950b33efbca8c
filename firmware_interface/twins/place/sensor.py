"""Twin of a sensor of place.

For any protocol: what it measures, with its noise, delay and faults. It sees the place of its target on the bicycle,
x_P + x cos psi and y_P + x sin psi - z sin phi, with noise; now and then a reading is missing (`dropout`) or far off
(`stray`), and a satellite receiver's place jumps for some seconds, as by a reflection (`jumps`). The core serves
lockstep and pseudo-terminals alike; each kind of sensor adds how a reading is written. What can go wrong on purpose is
a `PlaceFault`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.random_stream import draw_normal, draw_uniform
from riderless.firmware_interface.twins.twin import TwinConfig

STRAY_SIZE = 1.0  # m, by which a stray reading is off
_WAITING = 64  # readings under way
_MOST_FAULTS = 4
PLACE_FAULTS = ("silent", "frozen", "outliers", "drift", "late", "noisy", "jump", "float", "scale")
_SILENT, _FROZEN, _OUTLIERS, _DRIFT, _LATE, _NOISY, _JUMP, _FLOAT, _SCALE = range(len(PLACE_FAULTS))
_FLOAT_NOISE = 15.0  # times the noise, of a receiver that has lost its fixed solution
_EARLY = 1e-9  # s, for sums of periods

PLACE_TWIN = np.dtype(
    [
        ("on", "i8"),
        ("kind", "i8"),  # in SENSOR_KINDS
        ("send", "u8"),  # address of what writes its messages; 0 where they are not asked for by `send_place`
        ("period", "f8"),  # s
        ("latency", "f8"),  # s
        ("sigma", "f8"),  # m
        ("dropout", "f8"),  # share of readings that are missing
        ("stray", "f8"),  # and that are far off
        ("jumps", "f8"),  # share of readings at which its place jumps
        ("jump_size", "f8"),  # m
        ("jump_length", "f8"),  # s
        ("x", "f8"),  # m, target on the rear frame, forward of the rear contact
        ("z", "f8"),  # m, and below the ground
        ("setting", "f8", (8,)),  # of its kind; its file names the places
        ("walked", "f8"),  # m, way that a person has gone with the bicycle, before it ran by itself
        ("word", "u8"),  # of its noise
        ("next", "f8"),  # s, of its next reading
        ("held", "f8", (3,)),  # reading that a frozen one repeats
        ("seen", "f8", (3,)),  # m, m, s: target and time of the reading before
        ("jump_end", "f8"),  # s
        ("jump_to", "f8"),  # rad
        ("first", "i8"),
        ("count", "i8"),
        ("said", "i8"),  # readings so far, missing ones too
        ("due", "f8", (_WAITING,)),
        ("taken", "f8", (_WAITING,)),  # s
        ("number", "i8", (_WAITING,)),
        ("solid", "i8", (_WAITING,)),  # 0 where its solution is poor
        ("value", "f8", (_WAITING, 5)),  # x, y [m], psi [rad], velocity along x and y [m/s]
        ("n_faults", "i8"),
        ("fault", "f8", (_MOST_FAULTS, 4)),  # kind, from [s], to [s], size
    ],
    align=True,
)
SENSOR_KINDS = ("distance", "nmea", "ubx", "camera")


class PlaceFault(NamedTuple):
    """Fault of a place sensor, from ``start`` to ``stop`` [s]; ``size`` is m, m/s, s or a factor, as its kind wants."""

    kind: str  # of PLACE_FAULTS
    start: float
    stop: float
    size: float = 1.0


@dataclass(frozen=True)
class SensorHabits:
    """Habits of a kind of sensor: share of its readings that are missing, stray, or begin a jump, and what it writes.

    Attributes
    ----------
    dropout, stray, jumps : float
        Shares.
    jump_size, jump_length : float
        m, s
    setting : tuple of float
        Of its kind.
    """

    dropout: float = 0.01
    stray: float = 0.002
    jumps: float = 0.0
    jump_size: float = 0.0
    jump_length: float = 1.0
    setting: tuple[float, ...] = ()


def new_sensor_twin(
    kind: str,
    settings: Mapping[str, float],
    habits: SensorHabits,
    x: float = 0.0,
    z: float = 0.0,
    seed: int = 0,
    faults: Sequence[PlaceFault] = (),
    noise: float = 1.0,
) -> np.void:
    """Make a sensor as after power-up, a record of PLACE_TWIN.

    Parameters
    ----------
    kind : str
        Of SENSOR_KINDS.
    settings : mapping
        Of the device, all of them: rate_Hz, latency_ms and sigma_mm are used.
    habits : SensorHabits
    x, z : float
        Its target on the rear frame [m].
    seed : int
    faults : sequence of PlaceFault
        `_MOST_FAULTS` at most.
    noise : float
        Times that of its settings; 0 takes drop-outs, strays and jumps away as well.

    Raises
    ------
    DeviceError
        Too many faults.
    """
    if len(faults) > _MOST_FAULTS:
        raise DeviceError(f"a sensor of place has at most {_MOST_FAULTS} faults at once, found {len(faults)}")
    s = np.zeros(1, PLACE_TWIN)[0]
    s["on"], s["kind"] = 1, SENSOR_KINDS.index(kind)
    s["period"], s["latency"] = 1.0 / settings["rate_Hz"], 1e-3 * settings["latency_ms"]
    s["sigma"] = 1e-3 * noise * settings["sigma_mm"]
    if noise > 0.0:
        s["dropout"], s["stray"], s["jumps"] = habits.dropout, habits.stray, habits.jumps
    s["jump_size"], s["jump_length"] = habits.jump_size, habits.jump_length
    s["setting"][: len(habits.setting)] = habits.setting
    s["x"], s["z"], s["word"] = x, z, np.uint64(seed * 2654435761 % 2**63 + 1)
    s["n_faults"] = len(faults)
    for row, fault in zip(s["fault"], faults, strict=False):
        row[:] = PLACE_FAULTS.index(fault.kind), fault.start, fault.stop, fault.size
    return s


@njit(cache=True, nogil=True)
def _size_of(s, kind, t):
    """Size of the fault of this kind that is on at ``t``; NaN if none."""
    for i in range(s.n_faults):
        if s.fault[i, 0] == kind and s.fault[i, 1] <= t < s.fault[i, 2]:
            return s.fault[i, 3]
    return np.nan


@njit(cache=True, nogil=True)
def see_place(s, t, x_P, y_P, psi, phi):
    """Take a reading where one is due at ``t`` [s]; what it writes of it is under way from then on.

    Parameters
    ----------
    s : record of PLACE_TWIN
    t : float
        s
    x_P, y_P : float
        Rear contact [m].
    psi, phi : float
        Heading and lean [rad].
    """
    if t < s.next - _EARLY:
        return
    s.next += s.period if t < s.next + s.period else t - s.next + s.period
    s.said += 1
    spread, poor = _size_of(s, _NOISY, t), np.isfinite(_size_of(s, _FLOAT, t))
    sigma = s.sigma * (spread if np.isfinite(spread) else 1.0) * (_FLOAT_NOISE if poor else 1.0)
    x = s.walked + x_P + s.x * np.cos(psi) + s.z * np.sin(phi) * np.sin(psi)
    y = y_P + s.x * np.sin(psi) - s.z * np.sin(phi) * np.cos(psi)
    elapsed = t - s.seen[2]
    v_x, v_y = ((x - s.seen[0]) / elapsed, (y - s.seen[1]) / elapsed) if elapsed > 0.0 else (0.0, 0.0)
    s.seen[0], s.seen[1], s.seen[2] = x, y, t
    y += sigma * draw_normal(s)
    if s.kind > 0:  # it sees more than one coordinate
        x += sigma * draw_normal(s)
    x, y = _gone_wrong(s, t, x, y)
    if np.isfinite(_size_of(s, _FROZEN, t)):
        x, y, psi = s.held[0], s.held[1], s.held[2]
    s.held[0], s.held[1], s.held[2] = x, y, psi
    if draw_uniform(s) < s.dropout or np.isfinite(_size_of(s, _SILENT, t)) or s.count == _WAITING:
        return
    late, i = _size_of(s, _LATE, t), (s.first + s.count) % _WAITING
    s.due[i], s.taken[i] = t + s.latency + (late if np.isfinite(late) else 0.0), t
    s.number[i], s.solid[i] = s.said, 0 if poor else 1
    s.value[i, 0], s.value[i, 1], s.value[i, 2], s.value[i, 3], s.value[i, 4] = x, y, psi, v_x, v_y
    s.count += 1


@njit(cache=True, nogil=True)
def _gone_wrong(s, t, x, y):
    """Reading with a wrong scale, with what is far off, jumps, drifts."""
    scale = _size_of(s, _SCALE, t)
    if np.isfinite(scale):
        y *= scale
    off, share = _size_of(s, _OUTLIERS, t), s.stray
    if np.isfinite(off):
        share = max(off, share)
    if draw_uniform(s) < share:
        y += STRAY_SIZE * (1.0 if draw_uniform(s) < 0.5 else -1.0)
    if s.jumps > 0.0:
        if t >= s.jump_end and draw_uniform(s) < s.jumps:
            s.jump_end, s.jump_to = t + s.jump_length * 2.0 * draw_uniform(s), 2.0 * math.pi * draw_uniform(s)
        if t < s.jump_end:
            x += s.jump_size * math.cos(s.jump_to)
            y += s.jump_size * math.sin(s.jump_to)
    for i in range(s.n_faults):
        if s.fault[i, 0] == _DRIFT and t >= s.fault[i, 1]:
            y += s.fault[i, 3] * (min(t, s.fault[i, 2]) - s.fault[i, 1])
    jumped = _size_of(s, _JUMP, t)
    return x, y + (jumped if np.isfinite(jumped) else 0.0)


@njit(cache=True, nogil=True)
def is_due(s, t):
    """Tell whether a reading has come to its end by ``t`` [s]: that at ``s.first``."""
    return s.count > 0 and s.due[s.first] <= t + _EARLY


@njit(cache=True, nogil=True)
def forget_reading(s):
    """Forget the reading at ``s.first``: it has been written."""
    s.first = (s.first + 1) % _WAITING
    s.count -= 1


@njit(cache=True, nogil=True)
def write_decimal(out, n, number, scale, whole_digits, decimals):
    """Write a number at ``n``: a sign if it is negative, so many digits at least, a point, decimals; returns its end.

    Parameters
    ----------
    out : uint8 array
    n : int
    number : float
    scale : float
        ``10.0**decimals``
    whole_digits, decimals : int
    """
    whole = np.int64(np.rint(scale * abs(number)))
    if number < 0.0:
        out[n] = 45
        n += 1
    digits = whole_digits + decimals
    while whole >= 10**digits:
        digits += 1
    for k in range(digits):
        out[n + digits - k - (1 if k >= decimals else 0)] = 48 + whole % 10
        whole //= 10
    out[n + digits - decimals] = 46
    return n + digits + 1


class PlaceTwin:
    """Sensor of place behind a pseudo-terminal of the emulated machine; `see` tells it where the bicycle is.

    Parameters
    ----------
    sensor : record of PLACE_TWIN
    send : callable
        ``send(sensor, t, out)`` writes what ends now, and returns the number of bytes.
    """

    def __init__(self, sensor: np.void, send: Callable[[np.void, float, np.ndarray], int]) -> None:
        self.T, self.enabled = 0.0, False
        self._s, self._send = sensor, send
        self._where, self._out = (0.0, 0.0, 0.0, 0.0), np.zeros(4096, np.uint8)
        self._pace = self._t = 0.0

    def see(self, x_P: float, y_P: float, psi: float, phi: float, pace: float = 0.0) -> None:
        """Take note of rear contact [m], heading and lean [rad].

        Parameters
        ----------
        x_P, y_P, psi, phi : float
        pace : float
            Speed [m/s] at which a person who holds the bicycle goes along; 0 where nobody does.
        """
        self._where, self._pace = (x_P, y_P, psi, phi), pace

    def hear(self, data: bytes, t: float) -> bytes:
        """Hear nothing."""
        return b""

    def instant(self, t: float, readings: np.ndarray) -> bytes:
        """Go one step on at ``t`` [s]; the messages that end now."""
        self._s["walked"] += self._pace * (t - self._t)
        self._t = t
        see_place(self._s, t, *self._where)
        return self._out[: self._send(self._s, t, self._out)].tobytes()


def sensor_of(config: TwinConfig, kind: str, habits: SensorHabits) -> np.void:
    """Sensor of the emulated machine, a record of PLACE_TWIN; its target stands among the settings."""
    settings = config.settings
    x, z = settings.get("target_x", 0.0), settings.get("target_z", 0.0)
    return new_sensor_twin(kind, settings, habits, x, z, seed=int(settings.get("seed", 1)))
