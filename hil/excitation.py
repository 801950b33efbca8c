"""Torque played on top of the controller's wish while RUNNING, sample by sample: sweeps and designed inputs.

The supervisor limits the sum like any other wish. A signal is described by a few numbers, which stand in the
log's header, so that a replay plays the same.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.errors import InputError


@dataclass(frozen=True)
class Excitation:
    """A torque over time that begins when the machine is RUNNING.

    Parameters
    ----------
    kind : str
        A name in `KINDS`.
    amplitude : float
        N m, the largest value.
    duration : float
        s.
    f_low, f_high : float
        Hz, the band it excites.
    seed : int
        Of its random part, if it has one.
    """

    kind: str = "none"
    amplitude: float = 0.0
    duration: float = 0.0
    f_low: float = 0.2
    f_high: float = 5.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"unknown excitation '{self.kind}': the kinds are {', '.join(KINDS)}")
        if not (self.amplitude >= 0.0 and self.duration >= 0.0 and 0.0 < self.f_low <= self.f_high):
            raise InputError(
                "an excitation needs an amplitude and a duration of zero or more and a band of positive frequencies, "
                f"found {self.amplitude:g} N m, {self.duration:g} s, {self.f_low:g} to {self.f_high:g} Hz"
            )

    def samples(self, rate: float) -> NDArray[np.float64]:
        """The torque at each tick, (n,) [N m]; ``rate`` in Hz.

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
        return self.amplitude * KINDS[self.kind](self, t) if t.size else t


def _none(e: Excitation, t: NDArray) -> NDArray:
    return np.zeros_like(t)


def _sweep(e: Excitation, t: NDArray) -> NDArray:
    """A sine whose frequency grows exponentially from ``f_low`` to ``f_high``."""
    grow = math.log(e.f_high / e.f_low) / e.duration
    phase = e.f_low * t if grow == 0.0 else e.f_low * np.expm1(grow * t) / grow
    return np.sin(2 * np.pi * phase)


def _push(e: Excitation, t: NDArray) -> NDArray:
    """Half a sine to the right."""
    return np.sin(np.pi * t / e.duration)


def _multisine(e: Excitation, t: NDArray) -> NDArray:
    """Every harmonic of the band at once, with Schroeder's phases (1970), which keep the peak low."""
    k = np.arange(math.ceil(e.f_low * e.duration), math.floor(e.f_high * e.duration) + 1)
    if k.size == 0:
        raise InputError(
            f"no whole period of {e.f_low:g} to {e.f_high:g} Hz fits into {e.duration:g} s: lengthen the excitation"
        )
    n = np.arange(k.size)
    sum_of = np.cos(2 * np.pi * np.outer(t, k) / e.duration - np.pi * n * n / k.size).sum(axis=1)
    return sum_of / np.abs(sum_of).max()


def _steps(e: Excitation, t: NDArray) -> NDArray:
    """Random telegraph: plus or minus one, each level at least ``1 / (2 f_high)`` long (a PRBS)."""
    level = np.random.default_rng(e.seed).integers(0, 2, size=int(2 * e.f_high * e.duration) + 1)
    return 2.0 * level[(2 * e.f_high * t).astype(int)] - 1.0


KINDS: dict[str, Callable[[Excitation, NDArray], NDArray]] = {
    "none": _none,
    "push": _push,
    "sweep": _sweep,
    "multisine": _multisine,
    "steps": _steps,
}
