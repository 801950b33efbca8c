"""Result of a latency test.

It tells how late this computer wakes, and whether that is good enough for a rate. The test itself is made by
`riderless.hil.commissioning.latency_measure`; this is what is judged, kept and asked for before a run.
"""

import math
import os
import platform
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from riderless.hil.rig.rig import Rig
from riderless.hil.runners.kept_proofs import is_recent, keep_proof, proofs_file, read_proofs
from riderless.models.errors import InputError

MISSED = 0.5  # of a period: a later wake-up counts as missed, for the supervisor too
GOOD_LATENESS = 0.25  # of a period, which 99.9 % must keep: the rest is for the wire, the tick and the device
MISSED_ALLOWED = 0.01  # of the wake-ups, with care
WORST_PERIODS = 3.0  # the shortest time-out a drive should have
ENOUGH = 2000  # wake-ups, to say something about one in a thousand
_SYSTEM = Path("/sys/devices/system")  # where Linux tells of CPUs and clocks
FIT, CARE, UNFIT, TOO_SHORT = "fit", "fit with care", "not fit", "too short"


@dataclass(frozen=True, eq=False)
class Lateness:
    """Lateness of a number of wake-ups.

    Attributes
    ----------
    counts : (m,) int64 array
        ``counts[k]`` came at least k us and less than k + 1 us late; the last holds all later ones.
    worst : float
        s
    """

    counts: np.ndarray
    worst: float

    @classmethod
    def of(cls, seconds: np.ndarray, bins: int) -> "Lateness":
        """Sort single latenesses (n,) [s] into ``bins`` of 1 us."""
        places = np.clip(np.floor(1e6 * np.asarray(seconds)), 0, bins - 1).astype(np.int64)
        return cls(np.bincount(places, minlength=bins), float(np.max(seconds, initial=0.0)))

    def __add__(self, other: "Lateness") -> "Lateness":
        return Lateness(self.counts + other.counts, max(self.worst, other.worst))

    @property
    def n(self) -> int:
        """Wake-ups."""
        return int(self.counts.sum())

    def percentile(self, q: float) -> float:
        """Lateness [s] that ``q`` per cent did not exceed, interpolated within 1 us; NaN of nothing."""
        if self.n == 0:
            return math.nan
        below = np.cumsum(self.counts)
        wanted = q / 100 * self.n
        k = int(np.searchsorted(below, wanted))
        if k >= self.counts.size - 1:
            return self.worst
        part = (wanted - (below[k] - self.counts[k])) / self.counts[k]
        return min(1e-6 * (k + part), self.worst)

    def later_than(self, limit: float) -> int:
        """Count those that came ``limit`` [s] late or later."""
        return int(self.counts[math.ceil(round(1e6 * limit, 3)) :].sum())

    def sparse(self) -> dict[str, int]:
        """Bins that are not empty, by their lower edge in us; for JSON."""
        return {str(k): int(self.counts[k]) for k in np.flatnonzero(self.counts)}


@dataclass(frozen=True)
class WakeUps:
    """Figures of one distribution of lateness [s]."""

    n: int
    p50: float
    p99: float
    p999: float
    worst: float
    missed: int  # later than half a period

    @classmethod
    def of(cls, lateness: Lateness, period: float) -> "WakeUps":
        """Figures of ``lateness`` at a ``period`` [s]."""
        p50, p99, p999 = (lateness.percentile(q) for q in (50.0, 99.0, 99.9))
        return cls(lateness.n, p50, p99, p999, lateness.worst, lateness.later_than(MISSED * period))

    @property
    def missed_share(self) -> float:
        """Of all wake-ups."""
        return self.missed / self.n if self.n else math.nan


def judge_wake_ups(ours: WakeUps, rate: float) -> tuple[str, str]:
    """Judge whether wake-ups like these are good enough for ``rate`` [Hz].

    Returns
    -------
    str, str
        FIT, CARE, UNFIT or TOO_SHORT, and one sentence with the figures and the rule.
    """
    period = 1.0 / rate
    if ours.n < ENOUGH:
        least = math.ceil(ENOUGH / rate)
        return TOO_SHORT, (
            f"too short to judge {rate:g} Hz: {ours.n} wake-ups say nothing about one in a thousand; "
            f"test for at least {least} s"
        )
    lateness = (
        f"99.9 % of the wake-ups came within {1e3 * ours.p999:.2f} ms, {100 * ours.missed_share:.2f} % were missed, "
        f"the latest came {1e3 * ours.worst:.2f} ms late"
    )
    good, worst = f"{1e3 * GOOD_LATENESS * period:.2f} ms", f"{1e3 * WORST_PERIODS * period:.2f} ms"
    if ours.worst > WORST_PERIODS * period:
        return (
            UNFIT,
            f"not fit for {rate:g} Hz: {lateness}; none may come {worst} late, when a drive's watchdog may trip",
        )
    if ours.missed_share > MISSED_ALLOWED:
        return UNFIT, f"not fit for {rate:g} Hz: {lateness}; at most {100 * MISSED_ALLOWED:g} % may be missed"
    if ours.p999 > GOOD_LATENESS * period:
        return CARE, (
            f"fit with care for {rate:g} Hz: {lateness}; with 99.9 % within {good} it would be fit: "
            "set what was refused, quieten the computer, or expect late ticks"
        )
    return FIT, f"fit for {rate:g} Hz: {lateness}; wanted are 99.9 % within {good} and none {worst} late"


@dataclass(frozen=True)
class LatencyResult:
    """One latency test: what was measured, under what settings, and the verdict."""

    utc: str  # ISO 8601
    host: str
    kernel: str
    rate: float  # Hz
    fifo: int  # priority asked for, 0 for none; what was granted stands in `settings`
    cpu: int | None
    load: bool
    settings: tuple[str, ...]  # a sentence each
    ours: WakeUps
    floor: WakeUps | None  # cyclictest in the same run
    floor_note: str  # how the floor was measured, or why not
    compute_p50: float | None  # s, of the ticks that decoded a sample; None when none did
    compute_p99: float | None
    verdict: str
    sentence: str

    @property
    def passed(self) -> bool:
        """Good enough for the rate, and measured under load."""
        return self.load and self.verdict in (FIT, CARE)

    def as_dict(self) -> dict[str, Any]:
        """For JSON and the header of a run."""
        return {**asdict(self), "settings": list(self.settings)}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> "LatencyResult":
        """Rebuild a result from what `as_dict` gave.

        Raises
        ------
        InputError
            When it is something else.
        """
        try:
            floor = given["floor"]
            parts = {
                "settings": tuple(given["settings"]),
                "ours": WakeUps(**given["ours"]),
                "floor": None if floor is None else WakeUps(**floor),
            }
            return cls(**{**given, **parts})
        except (KeyError, TypeError) as error:
            raise InputError(f"this is not the result of a latency test ({error}): run `riderless latency`") from None


def keep_latency_result(result: LatencyResult) -> Path:
    """Remember the newest test of this host, kernel, rate and priority; returns the file.

    Raises
    ------
    InputError
        When it cannot be written.
    """
    path = _path()
    keep_proof(path, _key(result.host, result.kernel, result.rate, result.fifo), result.as_dict(), "the latency test")
    return path


def recent_latency_result(rate: float, fifo: int, max_age_days: float = 7.0) -> LatencyResult | None:
    """Find the newest test of this computer and kernel at this rate [Hz] and priority, if passed and not too old."""
    entry = read_proofs(_path()).get(_key(platform.node(), platform.release(), rate, fifo))
    if not isinstance(entry, dict):
        return None
    try:
        result = LatencyResult.from_dict(entry)
        return result if result.passed and is_recent(result.utc, max_age_days) else None
    except (InputError, TypeError, ValueError):
        return None


def find_latency_test(rig: Rig, fifo: int) -> LatencyResult | None:
    """Find the latency test that vouches for this computer; None where the rig asks for none.

    Raises
    ------
    InputError
        The rig asks for one and there is none: it would wait for ever, disarmed.
    """
    if not rig.latency_days:
        return None
    result = recent_latency_result(rig.rate, fifo, rig.latency_days)
    if result is None:
        priority = f" --fifo {fifo}" if fifo else ""
        raise InputError(
            f"the rig '{rig.name}' wants a latency test of this computer that passed within {rig.latency_days:g} days "
            f"at {rig.rate:g} Hz, found none{f' with priority {fifo}' if fifo else ''}: run `riderless latency RIG"
            f"{priority}` under the load of your session, or set latency_test_days = 0 in the rig"
        )
    return result


def describe_computer() -> list[str]:
    """Describe what the computer itself adds to the latency, a sentence each."""
    governors = _SYSTEM.glob("cpu/cpu[0-9]*/cpufreq/scaling_governor")
    named = sorted({name for path in governors if (name := _told(path))})
    if named and named != ["performance"]:
        governor = f"CPU governor {', '.join(named)}: set it with `sudo cpupower frequency-set -g performance`"
    else:
        governor = f"CPU governor {named[0]}" if named else "no CPU governor: the frequency is not ours to set"
    source = _told(_SYSTEM / "clocksource/clocksource0/current_clocksource") or "unknown"
    resolution = 1e9 * time.clock_getres(time.CLOCK_MONOTONIC)
    return [
        f"{os.cpu_count()} CPUs, kernel {platform.release()} ({platform.version()})",
        governor,
        f"clock source {source}, timer resolution {resolution:g} ns",
    ]


def _told(path: Path) -> str:
    """Text of a file of the kernel; empty where it cannot be read, as that of a CPU that is switched off."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _key(host: str, kernel: str, rate: float, fifo: int) -> str:
    return f"{host}, {kernel}, {rate:g} Hz, fifo {fifo}"


def _path() -> Path:
    return proofs_file("latency")
