"""Coverage of the stated intervals: does each estimator's interval hold the truth, over speeds, noises and lengths?

A bicycle of the catalogue, uncontrolled or steered into its lean, is pushed from a start that is not quite
rest; the window begins 0.3 s after the push, as the rules cut it. The truth is known twice: the eigenvalue at the
window's mean speed (frozen), and what the same estimator makes of the same motion without noise (like for like).
An estimator is anything that makes a Fit of a Response and a Window.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from scipy.signal import lfilter

from riderless.experiments.analysis.comparison.prediction import predict
from riderless.experiments.analysis.estimators import (
    bootstrap,
    era,
    estimate,
    log_decrement,
    several_modes,
    single_mode,
)
from riderless.experiments.analysis.estimators.uncertainty import fit_window
from riderless.experiments.analysis.windows.cut import make_window
from riderless.experiments.analysis.windows.find import find_windows
from riderless.experiments.analysis.windows.rules import WindowRules
from riderless.experiments.campaigns.protocols.treadmill import treadmill_conditions
from riderless.experiments.campaigns.run import condition_response
from riderless.experiments.campaigns.sweeps import spread
from riderless.experiments.datatypes import Fit, Response, Segment, Window
from riderless.experiments.dynamics import Theory
from riderless.experiments.emulation.hand import KICK_LEAN_RATE
from riderless.experiments.recordings.foreign.delft import DELFT_DT
from riderless.experiments.theories import lean_feedback, open_loop
from riderless.experiments.theory.free_response import free_response
from riderless.experiments.theory.modes import kicked_mode
from riderless.models import catalogue
from riderless.models.array_types import Array
from riderless.models.noise_statistics import STDS_95

Estimator = Callable[[Segment], Fit]
Clock = Callable[[], float]  # s

PUSH_LEAN_RATE = KICK_LEAN_RATE["linear"]  # rad/s
INITIAL_UNREST = 0.015  # rad of lean and of steer when the push comes, one standard deviation
WINDOW_DELAY = 0.3  # s between push and window
NOISE_LAG_1 = 0.44  # at 100 Hz, measured in the Delft logs
GYRO_QUANTUM = 0.0022  # rad/s, of a gyro of 12 bits
BELT_DECELERATION = 0.05  # m/s^2, one standard deviation: a belt that is not quite even
GYRO_DRIFT = 0.003  # rad/s over the window, one standard deviation: a turn that begins; a gyro drifts less

WHITE_NOISE, COLOURED_NOISE, ROUGH_RECORDING, EMULATED_RUNS = "white", "coloured", "rough", "emulated"
NOISE_KINDS = {
    WHITE_NOISE: "white noise",
    COLOURED_NOISE: f"noise with a lag-1 autocorrelation of {NOISE_LAG_1:g} at 100 Hz",
    ROUGH_RECORDING: f"coloured noise, drift ({GYRO_DRIFT:g} rad/s), changing speed ({BELT_DECELERATION:g} m/s^2), "
    f"quantised ({GYRO_QUANTUM:g} rad/s)",
}
STUDY_MACHINES: dict[str, tuple[str, Callable[..., Theory]]] = {
    "uncontrolled": ("Silver", open_loop),
    "steered": ("DelftSbW2024", partial(lean_feedback, k=2.0, v0=6.5)),
}
STUDY_SPEEDS = {"uncontrolled": (3.5, 4.5, 5.5, 7.0), "steered": (2.5, 3.5, 5.0)}  # m/s
NOISE_LEVELS = (0.003, 0.01, 0.03)  # rad/s, 1 to 10 % of the push
WINDOW_CYCLES = (1.1, 1.6, 2.5, 4.0)


@dataclass(frozen=True)
class StudyWindow:
    """Setting of a window of the study: machine, speed, noise and length."""

    machine: str  # of `STUDY_MACHINES`
    v: float  # m/s, mean of the window
    kind: str  # of `NOISE_KINDS`
    noise: float  # rad/s
    cycles: float  # of the true oscillation that the window holds

    @property
    def draw_key(self) -> str:
        """Text that seeds the draws; the published tables rest on these very words."""
        return (
            f"Setting(machine={self.machine!r}, v={self.v!r}, kind={self.kind!r}, noise={self.noise!r}, "
            f"cycles={self.cycles!r})"
        )

    @property
    def theory(self) -> Theory:
        """Dynamics of the machine, with the uncertainty of its parameters."""
        return _theory(self.machine)

    @property
    def truth(self) -> complex:
        """Eigenvalue of the oscillation [1/s] at the mean speed."""
        return _truth(self.machine, self.v)

    @property
    def length(self) -> float:
        """Length of the window [s]."""
        return self.cycles * 2.0 * np.pi / self.truth.imag


@dataclass(frozen=True)
class EstimatorAnswer:
    """Answer of one estimator to one window, beside the truth."""

    setting: StudyWindow
    estimator: str
    ok: bool
    error: complex  # estimate minus frozen truth
    like: complex  # estimate minus that without noise; nan where that was refused
    half: tuple[float, float]  # of the 95 % interval of re and im
    half_noise: tuple[float, float]  # of that from the noise alone
    ms: float  # that the whole fit took, by the clock that was given

    @property
    def held(self) -> tuple[bool, bool]:
        """Did the interval hold re and im of the frozen eigenvalue?"""
        return abs(self.error.real) <= self.half[0], abs(self.error.imag) <= self.half[1]

    @property
    def held_like(self) -> tuple[bool, bool]:
        """Did the interval from noise alone hold re and im of the like-for-like value?"""
        return abs(self.like.real) <= self.half_noise[0], abs(self.like.imag) <= self.half_noise[1]


def fit_with_noise_alone(segment: Segment, estimator: str = single_mode.NAME) -> Fit:
    """Fit with the uncertainty of the noise only, as for a comparison like for like."""
    return estimate(segment.t, segment.phi_dot, estimator)


def fit_with_blocks(segment: Segment, estimator: str = single_mode.NAME) -> Fit:
    """Fit with the covariance of a block bootstrap."""
    return bootstrap.bootstrapped(fit_with_noise_alone(segment, estimator), segment.phi_dot)


OSCILLATING_ESTIMATORS = (single_mode.NAME, several_modes.NAME, log_decrement.NAME, era.NAME)
# name -> (whole uncertainty, uncertainty from noise alone)
STUDIED_ESTIMATORS: dict[str, tuple[Estimator, Estimator]] = {
    name: (partial(fit_window, estimator=name), partial(fit_with_noise_alone, estimator=name))
    for name in OSCILLATING_ESTIMATORS
} | {"single_mode, blocks": (fit_with_blocks, fit_with_blocks)}


@cache
def _theory(machine: str) -> Theory:
    bicycle, make = STUDY_MACHINES[machine]
    return make(catalogue.load_bicycle(bicycle))


@cache
def _truth(machine: str, v: float) -> complex:
    return kicked_mode(_theory(machine).dynamics(), v)


def study_grid(
    speeds: Mapping[str, Iterable[float]] = STUDY_SPEEDS,
    kinds: Iterable[str] = tuple(NOISE_KINDS),
    noises: Iterable[float] = NOISE_LEVELS,
    cycles: Iterable[float] = WINDOW_CYCLES,
) -> list[StudyWindow]:
    """Make the grid of settings, without windows longer than the rules would cut.

    Parameters
    ----------
    speeds : mapping
        Speeds [m/s] of each machine of `STUDY_MACHINES`.
    kinds : iterable of str
        Of `NOISE_KINDS`.
    noises : iterable of float
        Standard deviations [rad/s].
    cycles : iterable of float
        Of the true oscillation that a window holds.
    """
    grid = [
        StudyWindow(machine, v, kind, noise, c)
        for machine, some in speeds.items()
        for v in some
        for kind in kinds
        for noise in noises
        for c in cycles
    ]
    return [one for one in grid if one.length <= WindowRules().longest]


def draw_response(setting: StudyWindow, rng: np.random.Generator) -> tuple[Response, Response, Window]:
    """Draw a pushed response with noise, the same without, and the window to fit."""
    rough = setting.kind == ROUGH_RECORDING
    slowing = rng.normal(0.0, BELT_DECELERATION) if rough else 0.0
    rows, before = round(setting.length / DELFT_DT) + 1, round(WINDOW_DELAY / DELFT_DT)
    t = DELFT_DT * np.arange(before + rows, dtype=np.float64)
    v: Array = setting.v - slowing * (t - (WINDOW_DELAY + 0.5 * setting.length))
    start = np.array(
        [rng.normal(0, INITIAL_UNREST), rng.normal(0, INITIAL_UNREST), PUSH_LEAN_RATE * rng.uniform(0.85, 1.15), 0.0]
    )
    dynamics = setting.theory.dynamics()
    side = float(rng.choice([-1.0, 1.0]))
    clean: Array = side * (dynamics.output @ free_response(dynamics, v, DELFT_DT) @ start)
    offset = rng.normal(0.0, 0.02)
    noisy = (
        clean
        + offset
        + setting.noise * draw_coloured_noise(rng, len(t), 0.0 if setting.kind == WHITE_NOISE else NOISE_LAG_1)
    )
    if rough:
        noisy = noisy + rng.normal(0.0, GYRO_DRIFT) * (t - t[0]) / setting.length
        noisy = np.round(noisy / GYRO_QUANTUM) * GYRO_QUANTUM
    response = Response("coverage", "riderless", t, noisy, v, theory=setting.theory)
    return (
        response,
        Response("coverage", "riderless", t, clean, v, theory=setting.theory),
        make_window(response, before, len(t), "after the push"),
    )


def draw_coloured_noise(rng: np.random.Generator, n: int, lag_1: float) -> Array:
    """Draw first-order autoregressive noise (n,) of variance 1."""
    noise = rng.normal(size=n)
    noise[1:] *= np.sqrt(1.0 - lag_1**2)
    return np.asarray(lfilter([1.0], [1.0, -lag_1], noise))


def no_clock() -> float:
    """Stand in for a clock where the time that a fit takes does not matter."""
    return 0.0


def ask_estimators(
    work: tuple[StudyWindow, int, int],
    studied: Mapping[str, tuple[Estimator, Estimator]] | None = None,
    clock: Clock = no_clock,
) -> list[EstimatorAnswer]:
    """Ask every estimator for the windows of a setting; work is (setting, windows, seed)."""
    setting, windows, seed = work
    key = [seed, *setting.draw_key.encode()]  # a setting has its own draws, whatever else is studied
    rng = np.random.default_rng(key)
    answers = []
    for _ in range(windows):
        response, clean, window = draw_response(setting, rng)
        noisy, quiet = Segment(response, window), Segment(clean, window)
        for name, (whole, noise) in (studied or STUDIED_ESTIMATORS).items():
            begin = clock()
            fit = whole(noisy)
            ms = 1e3 * (clock() - begin)
            answers.append(_answer(setting, name, fit, noise(noisy), noise(quiet), ms))
    return answers


def _answer(setting: StudyWindow, name: str, fit: Fit, alone: Fit, without: Fit, ms: float) -> EstimatorAnswer:
    like = complex(fit.re - without.re, fit.im - without.im) if without.ok else complex(np.nan, np.nan)
    error = complex(fit.re, fit.im) - setting.truth
    return EstimatorAnswer(
        setting=setting,
        estimator=name,
        ok=fit.ok,
        error=error,
        like=like,
        half=_half(fit),
        half_noise=_half(alone),
        ms=ms,
    )


def _half(fit: Fit) -> tuple[float, float]:
    (re_lo, re_hi), (im_lo, im_hi) = fit.interval(0.95)
    return 0.5 * (re_hi - re_lo), 0.5 * (im_hi - im_lo)


def ask_of_emulated_runs(
    seed: int, names: Iterable[str] = OSCILLATING_ESTIMATORS, clock: Clock = no_clock
) -> Iterator[list[EstimatorAnswer]]:
    """Ask the estimators for the campaign's runs in simulated time: whole loop, real bytes, windows found by the rules.

    The emulated gyro has 0.003 rad/s of noise at 200 Hz. Like for like is here what the report compares: the
    explained motion of the whole sampled loop, fitted the same way, and the deviation that goes with it.
    """
    for condition in treadmill_conditions(seed):
        response = condition_response(condition)
        truth = kicked_mode(response.own_theory.dynamics(), condition.v)
        answers = []
        for window in find_windows(response)[0]:
            cycles = (window.t_end - window.t_start) * truth.imag / (2.0 * np.pi)
            setting = StudyWindow(condition.label, condition.v, EMULATED_RUNS, 0.003, cycles)
            for name in names:
                begin = clock()
                fit = fit_window(Segment(response, window), name)
                ms = 1e3 * (clock() - begin)
                like, std = complex(np.nan, np.nan), (float("nan"), float("nan"))
                if fit.ok:
                    predicted = predict(Segment(response, window), fit)
                    like, std = complex(fit.re, fit.im) - predicted.like, predicted.difference_std
                half = (STDS_95 * std[0], STDS_95 * std[1])
                answers.append(
                    EstimatorAnswer(
                        setting=setting,
                        estimator=name,
                        ok=fit.ok,
                        error=complex(fit.re, fit.im) - truth,
                        like=like,
                        half=_half(fit),
                        half_noise=half,
                        ms=ms,
                    )
                )
        yield answers


def run_study(
    grid: Iterable[StudyWindow], windows: int, seed: int, jobs: int | None = 1, clock: Clock = no_clock
) -> Iterator[list[EstimatorAnswer]]:
    """Ask for the windows of each setting; yields the answers as they are found.

    Parameters
    ----------
    grid : iterable of StudyWindow
        The settings.
    windows : int
        Of each setting.
    seed : int
    jobs : int or None
        Processes, see `riderless.experiments.campaigns.sweeps.spread`.
    clock : callable
        Gives the time [s], to measure what a fit takes.
    """
    for _, answers in spread(
        partial(ask_estimators, clock=clock), [(setting, windows, seed) for setting in grid], jobs
    ):
        yield answers
