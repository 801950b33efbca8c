"""Do the stated intervals hold the truth? Every estimator over speeds, noises and window lengths.

A bicycle of the catalogue, uncontrolled or steered into its lean, is pushed from a start that is not quite
rest; the window begins 0.3 s after the push, as the rules cut it. The truth is known twice: the eigenvalue at the
window's mean speed (frozen), and what the same estimator makes of the same motion without noise (like for like).
An estimator is anything that makes a Fit of a Response and a Window.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.special import ndtri

from experiments.analysis.estimators import bootstrap, era, estimate, log_decrement, several_modes, single_mode
from experiments.analysis.estimators.uncertainty import fit_window
from experiments.analysis.prediction import predict
from experiments.analysis.windows import find_windows, make_window
from experiments.campaigns.protocols.treadmill import conditions
from experiments.campaigns.sweeps import spread
from experiments.datatypes import Array, Fit, Response, Window
from experiments.dynamics import Theory
from experiments.recordings.runs import read_recording
from experiments.theory.free_response import free_response
from experiments.theory.modes import kicked_mode
from experiments.theory.theory import dynamics_for, lean_feedback, open_loop
from hil.runners.simulated_run import run_lockstep
from models import catalogue

Estimator = Callable[[Response, Window], Fit]
Clock = Callable[[], float]  # s

DT = 0.01  # s, of the Delft logs; the emulator's 0.005 s holds more of the same noise
PUSH = 0.35  # rad/s of lean rate, as the campaign's
UNREST = 0.015  # rad of lean and of steer when the push comes, one standard deviation
SETTLE = 0.3  # s between push and window
LONGEST = 4.0  # s, as the rules'
LAG_1 = 0.44  # at 100 Hz, measured in the Delft logs
QUANTUM = 0.0022  # rad/s, of a gyro of 12 bits
DECELERATION = 0.05  # m/s^2, one standard deviation: a belt that is not quite even
DRIFT = 0.003  # rad/s over the window, one standard deviation: a turn that begins; a gyro drifts less

WHITE, COLOURED, ROUGH, EMULATED = "white", "coloured", "rough", "emulated"
KINDS = {
    WHITE: "white noise",
    COLOURED: f"noise with a lag-1 autocorrelation of {LAG_1:g} at 100 Hz",
    ROUGH: f"coloured noise, drift ({DRIFT:g} rad/s), changing speed ({DECELERATION:g} m/s^2), "
    f"quantised ({QUANTUM:g} rad/s)",
}
MACHINES: dict[str, tuple[str, Callable[..., Theory]]] = {
    "uncontrolled": ("Silver", open_loop),
    "steered": ("DelftSbW2024", partial(lean_feedback, k=2.0, v0=6.5)),
}
SPEEDS = {"uncontrolled": (3.5, 4.5, 5.5, 7.0), "steered": (2.5, 3.5, 5.0)}  # m/s
NOISES = (0.003, 0.01, 0.03)  # rad/s, 1 to 10 % of the push
CYCLES = (1.1, 1.6, 2.5, 4.0)


@dataclass(frozen=True)
class StudyWindow:
    """What a window of the study is made of."""

    machine: str  # of MACHINES
    v: float  # m/s, mean of the window
    kind: str  # of KINDS
    noise: float  # rad/s
    cycles: float  # of the true oscillation that the window holds

    @property
    def theory(self) -> Theory:
        return _theory(self.machine)

    @property
    def truth(self) -> complex:
        """Eigenvalue of the oscillation [1/s] at the mean speed."""
        return _truth(self.machine, self.v)

    @property
    def length(self) -> float:
        """Of the window [s]."""
        return self.cycles * 2.0 * np.pi / self.truth.imag


@dataclass(frozen=True)
class EstimatorAnswer:
    """What one estimator said of one window."""

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


def noise_alone(response: Response, window: Window, estimator: str = single_mode.NAME) -> Fit:
    """The fit with the uncertainty of its noise only, as for a comparison like for like."""
    rows = slice(window.start, window.stop)
    return estimate(response.t[rows], response.phi_dot[rows], estimator)


def by_blocks(response: Response, window: Window, estimator: str = single_mode.NAME) -> Fit:
    """The fit with the covariance of a block bootstrap."""
    rows = slice(window.start, window.stop)
    return bootstrap.bootstrapped(noise_alone(response, window, estimator), response.phi_dot[rows])


OSCILLATING = (single_mode.NAME, several_modes.NAME, log_decrement.NAME, era.NAME)
# name -> (whole uncertainty, uncertainty from noise alone)
STUDIED: dict[str, tuple[Estimator, Estimator]] = {
    name: (partial(fit_window, estimator=name), partial(noise_alone, estimator=name)) for name in OSCILLATING
} | {"single_mode, blocks": (by_blocks, by_blocks)}


@cache
def _theory(machine: str) -> Theory:
    bicycle, make = MACHINES[machine]
    return make(catalogue.load_bicycle(bicycle))


@cache
def _truth(machine: str, v: float) -> complex:
    return kicked_mode(_theory(machine).dynamics(), v)


def settings(
    speeds: Mapping[str, Iterable[float]] = SPEEDS,
    kinds: Iterable[str] = tuple(KINDS),
    noises: Iterable[float] = NOISES,
    cycles: Iterable[float] = CYCLES,
) -> list[StudyWindow]:
    """The grid, without windows longer than the rules would cut."""
    grid = [
        StudyWindow(machine, v, kind, noise, c)
        for machine, some in speeds.items()
        for v in some
        for kind in kinds
        for noise in noises
        for c in cycles
    ]
    return [one for one in grid if one.length <= LONGEST]


def draw(setting: StudyWindow, rng: np.random.Generator) -> tuple[Response, Response, Window]:
    """One pushed response with noise, the same without, and the window to fit."""
    rough = setting.kind == ROUGH
    slowing = rng.normal(0.0, DECELERATION) if rough else 0.0
    rows, before = round(setting.length / DT) + 1, round(SETTLE / DT)
    t = DT * np.arange(before + rows, dtype=np.float64)
    v: Array = setting.v - slowing * (t - (SETTLE + 0.5 * setting.length))
    start = np.array([rng.normal(0, UNREST), rng.normal(0, UNREST), PUSH * rng.uniform(0.85, 1.15), 0.0])
    dynamics = setting.theory.dynamics()
    side = float(rng.choice([-1.0, 1.0]))
    clean: Array = side * (dynamics.output @ free_response(dynamics, v, DT) @ start)
    offset = rng.normal(0.0, 0.02)
    noisy = clean + offset + setting.noise * coloured(rng, len(t), 0.0 if setting.kind == WHITE else LAG_1)
    if rough:
        noisy = noisy + rng.normal(0.0, DRIFT) * (t - t[0]) / setting.length
        noisy = np.round(noisy / QUANTUM) * QUANTUM
    response = Response("coverage", "riderless", t, noisy, v, theory=setting.theory)
    return (
        response,
        Response("coverage", "riderless", t, clean, v, theory=setting.theory),
        make_window(response, before, len(t), "after the push"),
    )


def coloured(rng: np.random.Generator, n: int, lag_1: float) -> Array:
    """First-order autoregressive noise (n,) of variance 1."""
    noise = rng.normal(size=n)
    noise[1:] *= np.sqrt(1.0 - lag_1**2)
    for k in range(1, n):
        noise[k] += lag_1 * noise[k - 1]
    return noise


def no_clock() -> float:
    """For whom the time that a fit takes does not matter."""
    return 0.0


def ask(
    work: tuple[StudyWindow, int, int],
    studied: Mapping[str, tuple[Estimator, Estimator]] | None = None,
    clock: Clock = no_clock,
) -> list[EstimatorAnswer]:
    """What every estimator says of the windows of a setting; work is (setting, windows, seed)."""
    setting, windows, seed = work
    key = [seed, *repr(setting).encode()]  # a setting has its own draws, whatever else is studied
    rng = np.random.default_rng(key)
    answers = []
    for _ in range(windows):
        response, clean, window = draw(setting, rng)
        for name, (whole, noise) in (studied or STUDIED).items():
            begin = clock()
            fit = whole(response, window)
            ms = 1e3 * (clock() - begin)
            answers.append(_answer(setting, name, fit, noise(response, window), noise(clean, window), ms))
    return answers


def _answer(setting: StudyWindow, name: str, fit: Fit, alone: Fit, without: Fit, ms: float) -> EstimatorAnswer:
    like = complex(fit.re - without.re, fit.im - without.im) if without.ok else complex(np.nan, np.nan)
    error = complex(fit.re, fit.im) - setting.truth
    return EstimatorAnswer(setting, name, fit.ok, error, like, _half(fit), _half(alone), ms)


def _half(fit: Fit) -> tuple[float, float]:
    (re_lo, re_hi), (im_lo, im_hi) = fit.interval(0.95)
    return 0.5 * (re_hi - re_lo), 0.5 * (im_hi - im_lo)


def emulated(seed: int, names: Iterable[str] = OSCILLATING, clock: Clock = no_clock) -> Iterator[list[EstimatorAnswer]]:
    """The same of the campaign's runs in simulated time: whole loop, real bytes, windows found by the rules.

    The emulated gyro has 0.003 rad/s of noise at 200 Hz. Like for like is here what the report compares: the
    explained motion of the whole sampled loop, fitted the same way, and the deviation that goes with it.
    """
    for condition in conditions(seed):
        with TemporaryDirectory() as root:
            folder = Path(root) / "run"
            run_lockstep(folder, condition.rig, condition.schedule, condition.scenario, condition.duration)
            response = read_recording(folder)
        truth = kicked_mode(dynamics_for(response), condition.v)
        answers = []
        for window in find_windows(response)[0]:
            cycles = (window.t_end - window.t_start) * truth.imag / (2.0 * np.pi)
            setting = StudyWindow(condition.label, condition.v, EMULATED, 0.003, cycles)
            for name in names:
                begin = clock()
                fit = fit_window(response, window, name)
                ms = 1e3 * (clock() - begin)
                like, std = complex(np.nan, np.nan), (float("nan"), float("nan"))
                if fit.ok:
                    predicted = predict(response, window, fit)
                    like, std = complex(fit.re, fit.im) - predicted.like, predicted.difference_std
                half = (float(ndtri(0.975)) * std[0], float(ndtri(0.975)) * std[1])
                answers.append(
                    EstimatorAnswer(setting, name, fit.ok, complex(fit.re, fit.im) - truth, like, _half(fit), half, ms)
                )
        yield answers


def study(
    grid: Iterable[StudyWindow], windows: int, seed: int, jobs: int | None = 1, clock: Clock = no_clock
) -> Iterator[list[EstimatorAnswer]]:
    """The answers of each setting, as they are found."""
    for _, answers in spread(partial(ask, clock=clock), [(setting, windows, seed) for setting in grid], jobs):
        yield answers
