"""Excitation on top of the controller's command.

It is played while RUNNING, by the device's clock: sweeps and designed inputs. The supervisor limits the sum like any
other wish. There can be moments without any torque as well, in which the bicycle is left to itself: everything but the
torque goes on, and a limit ends them like anything else. Or only the lane's part of the law is held back: the rest
balances, and heading and place wander. A signal is described by a few numbers, which stand in the log's header, so that
a replay plays the same: on another processor too, for which sines come from the C library. numpy's own differ in the
last bit between kinds of processors.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from riderless.firmware_interface.kernels import njit
from riderless.models.errors import InputError


@dataclass(frozen=True)
class Excitation:
    """Command over time that begins when the machine is RUNNING: a torque, or the steer rate or angle of such a drive.

    Parameters
    ----------
    kind : str
        A name in `EXCITATION_KINDS`.
    amplitude : float
        N m, the largest value; rad/s or rad of a drive that obeys a steer rate or angle.
    duration : float
        s, of all of it.
    periods : int
        How often a multisine repeats itself within its duration.
    f_low, f_high : float
        Hz, the band it excites.
    seed : int
        Of its random part, if it has one.
    delay : float
        s under control before it begins.
    releases : sequence of (s, s)
        When the torque is off for a moment, of a drive that obeys a torque: beginning after the machine is RUNNING, and
        how long. A push is played right before each of them, to either side in turn, instead of once at the beginning.
    catch : float
        Share of the lean and steer limits beyond which a release ends early.
    held_back : sequence of (s, s)
        When a law that keeps a lane is told to be in its middle, after pushes like those before releases: beginning
        after the machine is RUNNING, and how long.
    bring_back : float
        Share of the way to the edge beyond which a wheel ends that early.
    shares : sequence of float
        Of the amplitude, for each kick in turn, 0 for a kick that is left out; none: all are whole.
    """

    kind: str = "none"
    amplitude: float = 0.0
    duration: float = 0.0
    f_low: float = 0.2
    f_high: float = 5.0
    seed: int = 0
    delay: float = 0.0
    releases: Sequence[tuple[float, float]] = ()
    catch: float = 0.5
    periods: int = 1
    held_back: Sequence[tuple[float, float]] = ()
    bring_back: float = 0.8
    shares: Sequence[float] = ()

    def __post_init__(self) -> None:
        if self.kind not in EXCITATION_KINDS:
            raise InputError(f"unknown excitation '{self.kind}': the kinds are {', '.join(EXCITATION_KINDS)}")
        numbers = (self.amplitude, self.duration, self.delay, self.f_high)
        if not (all(0.0 <= number < math.inf for number in numbers) and 0.0 < self.f_low <= self.f_high):
            raise InputError(
                "an excitation needs an amplitude, a duration and a delay of zero or more and a band of positive "
                f"frequencies, found {self.amplitude:g}, {self.duration:g} s, {self.delay:g} s, {self.f_low:g} to "
                f"{self.f_high:g} Hz"
            )
        if not (isinstance(self.periods, Integral) and isinstance(self.seed, Integral) and self.seed >= 0):
            raise InputError(
                f"periods and seed of an excitation are whole numbers, the seed from 0, found {self.periods} periods "
                f"and the seed {self.seed}"
            )
        if self.periods != 1 and (self.kind not in PERIODIC or self.periods < 1):
            raise InputError(
                f"only {' and '.join(PERIODIC)} can repeat themselves, one time or more, found {self.periods} periods "
                f"of a {self.kind}: leave periods out"
            )
        self._require_moments()
        if self.shares and (
            self.kind != "kicks"
            or len(self.shares) != self.periods
            or not all(0.0 <= share <= 1.0 for share in self.shares)
        ):
            raise InputError(
                f"kicks want a share of the amplitude from 0 to 1 for each of them, found {len(self.shares)} shares of "
                f"{self.periods} {self.kind}: correct them, or leave shares out"
            )

    def _require_moments(self) -> None:
        for what, moments in (("releases", self.releases), ("moments with the lane held back", self.held_back)):
            ends = [-math.inf, *(begin + length for begin, length in moments)]
            if any(
                not (max(end, 0.0) <= begin < math.inf and 0.0 < length < math.inf)
                for (begin, length), end in zip(moments, ends, strict=False)
            ):
                raise InputError(
                    f"{what} must begin at 0 s under control or later, last longer than 0 s and follow one another, "
                    f"found {list(moments)} (beginning and length in s): move them"
                )
        if self.releases and self.held_back:
            raise InputError("a run either lets the bicycle go or holds its lane back, found both: leave one out")
        for what, share in (("a release", self.catch), ("a lane that is held back", self.bring_back)):
            if not 0.0 < share < 1.0:
                raise InputError(
                    f"{what} must end at a share of the limits between 0 and 1, found {share:g}: 0.5 leaves room"
                )

    @property
    def moments(self) -> Sequence[tuple[float, float]]:
        """Releases, or when the lane is held back."""
        return self.held_back or self.releases

    def samples(self, rate: float) -> NDArray[np.float64]:
        """Sample the command at each tick, (n,) [unit of the amplitude]; ``rate`` in Hz.

        Raises
        ------
        InputError
            When the band reaches beyond a quarter of the rate.
        """
        if self.kind != "none" and self.f_high > rate / 4:
            raise InputError(
                f"an excitation up to {self.f_high:g} Hz is too fast for {rate:g} Hz: "
                f"stay below a quarter of it, {rate / 4:g} Hz"
            )
        t = np.arange(round(self.duration * rate)) / rate
        played = self.amplitude * EXCITATION_KINDS[self.kind](self, t) if t.size else t
        if self.kind != "push" or not self.moments:
            return np.concatenate([np.zeros(round(self.delay * rate)), played])
        begins = [round(begin * rate) for begin, _ in self.moments]
        torque = np.zeros(max(*begins, t.size))
        for i, begin in enumerate(begins):
            room = min(begin, t.size)
            torque[begin - room : begin] = (-1) ** i * played[t.size - room :]
        return torque

    def freedom(self, rate: float) -> NDArray[np.float64]:
        """Share of its limits up to which the bicycle is left to itself at each tick, (n,); 0 under control.

        Where only its lane is held back the share is that of the way to the edge, less than 0.
        """
        moments, share_of = (self.held_back, -self.bring_back) if self.held_back else (self.releases, self.catch)
        last = max((begin + length for begin, length in moments), default=0.0)
        share = np.zeros(round(last * rate))
        for begin, length in moments:
            share[round(begin * rate) : round((begin + length) * rate)] = share_of
        return share


@njit(cache=True)
def _sines(x: NDArray) -> NDArray:
    y = np.empty_like(x)
    for i in range(x.size):
        y.flat[i] = math.sin(x.flat[i])
    return y


@njit(cache=True)
def _cosines(x: NDArray) -> NDArray:
    y = np.empty_like(x)
    for i in range(x.size):
        y.flat[i] = math.cos(x.flat[i])
    return y


def _none(e: Excitation, t: NDArray) -> NDArray:
    return np.zeros_like(t)


def _sweep(e: Excitation, t: NDArray) -> NDArray:
    """Sine whose frequency grows exponentially from ``f_low`` to ``f_high``."""
    grow = math.log(e.f_high / e.f_low) / e.duration
    phase = e.f_low * t if grow == 0.0 else e.f_low * np.array([math.expm1(x) for x in grow * t]) / grow
    return _sines(2 * np.pi * phase)


def _push(e: Excitation, t: NDArray) -> NDArray:
    """Half a sine to the right."""
    return _sines(np.pi * t / e.duration)


def _kicks(e: Excitation, t: NDArray) -> NDArray:
    """Half a sine of ``f_high`` as each of the periods begins, to the right and to the left in turn."""
    period = e.duration / e.periods
    number, since = np.divmod(t, period)
    kick = np.where(since < 0.5 / e.f_high, (-1.0) ** number * _sines(2 * np.pi * e.f_high * since), 0.0)
    return kick * np.array(e.shares)[np.minimum(number.astype(int), e.periods - 1)] if e.shares else kick


def _multisine(e: Excitation, t: NDArray) -> NDArray:
    """Every harmonic of the band at once, with Schroeder's phases (1970), which keep the peak low."""
    period = e.duration / e.periods
    k = np.arange(math.ceil(e.f_low * period), math.floor(e.f_high * period) + 1)
    if k.size == 0:
        raise InputError(
            f"no whole period of {e.f_low:g} to {e.f_high:g} Hz fits into {period:g} s: lengthen the excitation"
        )
    n, rows = np.arange(k.size), max(2, COSINES_AT_ONCE // k.size)
    sum_of = np.concatenate(
        [
            _cosines(2 * np.pi * np.outer(part, k) / period - np.pi * n * n / k.size).sum(axis=1)
            for part in (t[i : i + rows] for i in range(0, t.size, rows))
        ]
    )
    return sum_of / np.abs(sum_of).max()


def _steps(e: Excitation, t: NDArray) -> NDArray:
    """Random telegraph: plus or minus one, each level at least ``1 / (2 f_high)`` long (a PRBS)."""
    level = np.random.default_rng(e.seed).integers(0, 2, size=int(2 * e.f_high * e.duration) + 1)
    return 2.0 * level[(2 * e.f_high * t).astype(int)] - 1.0


COSINES_AT_ONCE = 1_000_000  # of a multisine: 400 s in one period are 60 million
PERIODIC = ("kicks", "multisine")
EXCITATION_KINDS: dict[str, Callable[[Excitation, NDArray], NDArray]] = {
    "none": _none,
    "push": _push,
    "kicks": _kicks,
    "sweep": _sweep,
    "multisine": _multisine,
    "steps": _steps,
}


@njit(cache=True, nogil=True)
def excitation_place(pulse, t, running):
    """Find which sample of the excitation belongs to this tick, by the device's clock. Runs inside the tick.

    The first is played one period after the sample with which the machine became RUNNING; so samples that are lost,
    doubled or come too often neither stretch the signal nor squeeze it.

    Parameters
    ----------
    pulse : record with ``dt``, ``played``, ``t`` [s]; the last two are changed in place.
    t : float
        Time of the newest sample [s, device's clock].
    running : bool
        The machine was RUNNING before this tick. Where it was not, the place is that of the next tick that is.
    """
    pulse.played += t - pulse.t if running else 0.0
    pulse.t = t
    place = np.int64(np.rint(pulse.played / pulse.dt)) - (1 if running else 0)
    return max(place, np.int64(0))


@njit(cache=True, nogil=True)
def excitation_torque(excitation, place):
    """Command [of its unit] at a place of the excitation (n,); none behind its end. Runs inside the tick."""
    return excitation[place] if place < excitation.size else 0.0


@njit(cache=True, nogil=True)
def is_released(pulse, freedom, place, limits, e):
    """Decide whether the torque is off for a release; a bicycle too far from upright is caught. Runs inside the tick.

    Parameters
    ----------
    pulse : record with ``caught``, changed in place.
    freedom : (n,) array, see `Excitation.freedom`.
    place : int
        As `excitation_place` found it.
    limits, e : records of LIMITS and ESTIMATE.
    """
    share = freedom[place] if place < freedom.size else 0.0
    if share == 0.0:
        pulse.caught = 0
    elif share > 0.0 and (abs(e.phi) > share * limits.lean or abs(e.delta) > share * limits.steer):
        pulse.caught = 1
    return share > 0.0 and not pulse.caught


@njit(cache=True, nogil=True)
def is_held_back(pulse, freedom, place, settings, tracked):
    """Decide whether the lane's part of the law is held back; near an edge it is not. Runs inside the tick.

    Parameters
    ----------
    pulse : record with ``caught``, changed in place; after `is_released`.
    freedom : (n,) array, see `Excitation.freedom`.
    place : int
        As `excitation_place` found it.
    settings, tracked : records of PLACE_SETTINGS and PLACE.
    """
    share = freedom[place] if place < freedom.size else 0.0
    if share >= 0.0:
        return False
    if max(abs(tracked.y), abs(tracked.y + settings.w * math.sin(tracked.psi))) > -share * settings.inner_edge:
        pulse.caught = 1
    return not pulse.caught
