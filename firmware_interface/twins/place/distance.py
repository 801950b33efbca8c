"""Twin of the distance sensor across the belt: a line of ASCII for each reading, some time after it was taken.

It reads the place of its target on the bicycle, y_P + x psi - z phi, to the right of the belt's middle, with noise;
now and then a line is missing (`DROPOUT_SHARE`) or far off (`STRAY_SHARE`), as with a laser on spokes. The core
serves lockstep and pseudo-terminals alike. What can go wrong with it is a `PlaceFault`.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from firmware_interface.twins.twin import TwinConfig

DROPOUT_SHARE, STRAY_SHARE, STRAY_SIZE = 0.01, 0.002, 1.0  # share of lines that are missing or off, and how far [m]
_WAITING = 64  # lines under way
_MOST_FAULTS = 4
PLACE_FAULTS = ("silent", "frozen", "outliers", "drift", "late", "noisy")
_SILENT, _FROZEN, _OUTLIERS, _DRIFT, _LATE, _NOISY = range(len(PLACE_FAULTS))
_EARLY = 1e-9  # s, for sums of periods

DISTANCE_TWIN = np.dtype(
    [
        ("on", "i8"),
        ("period", "f8"),  # s
        ("latency", "f8"),  # s
        ("sigma", "f8"),  # m
        ("units_per_m", "f8"),
        ("offset", "f8"),  # m
        ("dropout", "f8"),
        ("outlier", "f8"),
        ("fields", "i8"),  # numbers in front of the one that counts
        ("x", "f8"),  # m, target on the rear frame, forward of the rear contact
        ("z", "f8"),  # m, and below the ground
        ("word", "u8"),  # of its noise
        ("next", "f8"),  # s, of its next reading
        ("held", "f8"),  # m, reading that a frozen one repeats
        ("first", "i8"),
        ("count", "i8"),
        ("due", "f8", (_WAITING,)),
        ("value", "f8", (_WAITING,)),  # m
        ("n_faults", "i8"),
        ("fault", "f8", (_MOST_FAULTS, 4)),  # kind, from [s], to [s], size
    ],
    align=True,
)


class PlaceFault(NamedTuple):
    """Fault of a place sensor, from ``start`` to ``stop`` [s]; ``size`` is m, m/s, s or a factor, as its kind wants."""

    kind: str  # of PLACE_FAULTS
    start: float
    stop: float
    size: float = 1.0


def new_distance_twin(
    settings: Mapping[str, float],
    x: float = 0.0,
    z: float = 0.0,
    seed: int = 0,
    faults: Sequence[PlaceFault] = (),
    noise: float = 1.0,
) -> np.void:
    """Make a sensor as after power-up, a record of DISTANCE_TWIN.

    Parameters
    ----------
    settings : mapping
        Of the device, all of them.
    x, z : float
        Its target on the rear frame [m].
    seed : int
    faults : sequence of PlaceFault
    noise : float
        Times that of its settings; 0 takes drop-outs and outliers away as well.
    """
    s = np.zeros(1, DISTANCE_TWIN)[0]
    s["on"], s["period"], s["latency"] = 1, 1.0 / settings["rate_Hz"], 1e-3 * settings["latency_ms"]
    s["sigma"] = 1e-3 * noise * settings["sigma_mm"]
    s["units_per_m"], s["offset"] = 1e3 / settings["mm_per_unit"], 1e-3 * settings["offset_mm"]
    s["fields"] = round(settings["field"])
    s["dropout"], s["outlier"] = (DROPOUT_SHARE, STRAY_SHARE) if noise > 0.0 else (0.0, 0.0)
    s["x"], s["z"], s["word"] = x, z, np.uint64(seed * 2654435761 % 2**63 + 1)
    s["n_faults"] = len(faults)
    for row, fault in zip(s["fault"], faults, strict=False):
        row[:] = PLACE_FAULTS.index(fault.kind), fault.start, fault.stop, fault.size
    return s


@njit(cache=True, nogil=True)
def _uniform(s):
    """Next number from 0 to below 1 (splitmix64)."""
    s.word += np.uint64(0x9E3779B97F4A7C15)
    z = s.word
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.float64((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


@njit(cache=True, nogil=True)
def _size_of(s, kind, t):
    """Size of the fault of this kind that is on at ``t``; NaN if none."""
    for i in range(s.n_faults):
        if s.fault[i, 0] == kind and s.fault[i, 1] <= t < s.fault[i, 2]:
            return s.fault[i, 3]
    return np.nan


@njit(cache=True, nogil=True)
def read_distance(s, t, y_P, psi, phi):
    """Take a reading where one is due at ``t`` [s]; its line is under way from then on.

    Parameters
    ----------
    s : record of DISTANCE_TWIN
    t : float
        s
    y_P, psi, phi : float
        Rear contact [m], heading and lean [rad].
    """
    if t < s.next - _EARLY:
        return
    s.next += s.period if t < s.next + s.period else t - s.next + s.period
    spread = _size_of(s, _NOISY, t)
    sigma = s.sigma * (spread if np.isfinite(spread) else 1.0)
    gauss = np.sqrt(-2.0 * np.log(1.0 - _uniform(s))) * np.cos(2.0 * np.pi * _uniform(s))
    y = y_P + s.x * np.sin(psi) - s.z * np.sin(phi) + sigma * gauss
    off, share = _size_of(s, _OUTLIERS, t), s.outlier
    if np.isfinite(off):
        share = max(off, share)
    if _uniform(s) < share:
        y += STRAY_SIZE * (1.0 if _uniform(s) < 0.5 else -1.0)
    for i in range(s.n_faults):
        if s.fault[i, 0] == _DRIFT and t >= s.fault[i, 1]:
            y += s.fault[i, 3] * (min(t, s.fault[i, 2]) - s.fault[i, 1])
    if np.isfinite(_size_of(s, _FROZEN, t)):
        y = s.held
    s.held = y
    if _uniform(s) < s.dropout or np.isfinite(_size_of(s, _SILENT, t)) or s.count == _WAITING:
        return
    late = _size_of(s, _LATE, t)
    place = (s.first + s.count) % _WAITING
    s.due[place], s.value[place] = t + s.latency + (late if np.isfinite(late) else 0.0), y
    s.count += 1


@njit(cache=True, nogil=True)
def send_distance(s, t, out):
    """Write the lines that have come to their end by ``t`` [s]; returns the number of bytes."""
    n = 0
    while s.count > 0 and s.due[s.first] <= t + _EARLY:
        for _ in range(s.fields):
            out[n], out[n + 1] = 48, 59  # "0;"
            n += 2
        n = _write(out, n, (s.value[s.first] - s.offset) * s.units_per_m)
        out[n], out[n + 1] = 13, 10
        n += 2
        s.first = (s.first + 1) % _WAITING
        s.count -= 1
    return n


@njit(cache=True, nogil=True)
def _write(out, n, number):
    """Write a number with four decimals at ``n``; returns where it ends."""
    whole = np.int64(np.rint(1e4 * abs(number)))
    if number < 0.0:
        out[n] = 45
        n += 1
    digits = 5  # at least
    while whole >= 10**digits:
        digits += 1
    for k in range(digits):
        out[n + digits - k - (1 if k >= 4 else 0)] = 48 + whole % 10
        whole //= 10
    out[n + digits - 4] = 46
    return n + digits + 1


class DistanceTwin:
    """Sensor behind a pseudo-terminal of the emulated machine; `see` tells it where the bicycle is."""

    def __init__(self, config: TwinConfig) -> None:
        self.T, self.enabled = 0.0, False
        settings = config.settings
        x, z = settings.get("target_x", 0.0), settings.get("target_z", 0.0)
        self._s = new_distance_twin(settings, x, z, seed=int(settings.get("seed", 1)))
        self._seen, self._out = (0.0, 0.0, 0.0), np.zeros(4096, np.uint8)

    def see(self, y_P: float, psi: float, phi: float) -> None:
        """Take note of rear contact [m], heading and lean [rad]."""
        self._seen = (y_P, psi, phi)

    def hear(self, data: bytes, t: float) -> bytes:
        """Hear nothing."""
        return b""

    def instant(self, t: float, readings: np.ndarray) -> bytes:
        """Go one step on at ``t`` [s]; the lines that end now."""
        read_distance(self._s, t, *self._seen)
        return self._out[: send_distance(self._s, t, self._out)].tobytes()


def make(config: TwinConfig) -> DistanceTwin:
    """Make a sensor as after power-up."""
    return DistanceTwin(config)
