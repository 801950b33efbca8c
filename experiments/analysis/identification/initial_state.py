"""Initial state of a window.

It is the start from which theory's motion comes closest to what was measured. The linear motion is linear in its start,
which is found at once. The nonlinear one is found from there by the method of Gauss and Newton.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from riderless.experiments.analysis.windows.cut import measured_speed
from riderless.experiments.datatypes import Dynamics, Segment, Window
from riderless.experiments.theory.free_response import N_BICYCLE_STARTS, free_response
from riderless.experiments.theory.machine_steps import Nonlinearities
from riderless.experiments.theory.nonlinear_response import WindowMachine, window_machine
from riderless.models.array_types import Array
from riderless.models.noise_statistics import white_noise_variance

MIN_RELATIVE_NOISE = 1e-9  # of a signal: less noise than that is taken for that much
PRIOR_SCALE = 10.0  # s: a start beyond this many times the signal's own size is not believed
START_STEP = 1e-5  # rad, rad/s and hidden starts' standard deviations, for difference quotients
MOST_START_STEPS, MOST_HALVINGS = 12, 6  # of Gauss and Newton
GENTLER = 0.8  # of a start from which the bicycle falls over
OTHER_START, MOST_OTHER_STARTS = 0.3, 4  # share by which other starts of a search differ, and how many there are
SMALLER_START = 0.5  # of the one before, where a machine without losses is searched again
MOST_UNEXPLAINED = 1.5  # times the white noise of a reading, or what another motion leaves: then it is searched again
CHANGING_SPEED = 0.1  # m/s within a window, from which on the steer may end elsewhere than it began, see `_offsets`
START_SETTLED = 1e-4  # of the noise's standard deviations, squared: a smaller step is none


@dataclass(frozen=True)
class InitialState:
    """Least-squares estimate of the state at the start of a window, and the free response that follows."""

    x: Array  # (4 + k,) phi, delta, phi_dot, delta_dot, in the unit of the signal (times s); hidden starts
    unit_responses: Array  # (n, 4 + k) d lean rate / d x, less its mean
    lean_rate_influence: Array  # (4 + k, n) d x / d lean rate at each sample
    steer_influence: Array | None  # (4 + k, n) d x / d steer angle, where it was used
    lean_rate: Array  # (n,) simulated, less its mean: the measurement's offset is not the model's business
    steer: Array  # (n,) steer simulated
    peak: float  # greatest lean rate simulated
    machine: WindowMachine | None = None  # that was simulated, where the motion is not linear

    @property
    def nonlinear(self) -> bool:
        """Is the motion that of a machine which obeys no linear equations?"""
        return self.machine is not None


Offsets = tuple[Callable[[Array], Array], ...]  # what takes the free offsets out of lean rate and steer
Channels = list[tuple[Array, Array]]  # of each signal used: d signal / d x (n, 4 + k), and what was measured (n,)


def machine_in(segment: Segment, dynamics: Dynamics) -> WindowMachine:
    """Make the machine of some dynamics, and what its theory says is nonlinear, ready for the speeds of a window.

    Parameters
    ----------
    segment : Segment
    dynamics : Dynamics
        With mechanics.
    """
    theory = segment.theory
    losses, gain = theory.losses, theory.nominal("drive_gain")
    nonlinearities = Nonlinearities(
        bicycle=not theory.linear,
        coulomb=losses.friction,
        dead_band=gain * losses.dead_band,
        hysteresis=gain * losses.hysteresis,
        offset=gain * losses.offset,
    )
    v, misread = measured_speed(segment)
    return window_machine(dynamics, v, segment.dt, misread, nonlinearities)


def estimate_initial_state(segment: Segment, dynamics: Dynamics) -> InitialState:
    """Estimate the initial state from which the dynamics come closest to what was measured in a window.

    Linear least squares on the lean rate, and on the steer angle where it was measured in rad, each weighted by its own
    residual; constant offsets are left free, and where the speed changes a parabola of the steer (`_offsets`). A
    weak prior (zero; `PRIOR_SCALE` times the signal, for hidden starts their standard deviation) keeps apart what the
    window cannot tell apart, such as the slow capsize mode from an offset.
    """
    start = _linear_start(segment, dynamics)
    G = start.channels[0][0]
    influences = _influences(start.channels, start.stds, start.prior)
    peak = float(np.abs(start.lean_rates @ start.x).max())
    return InitialState(start.x, G, *influences, G @ start.x, start.last @ start.x, peak)


def explained_lean_rate(segment: Segment, dynamics: Dynamics) -> Array:
    """Lean rate (n,) of `estimate_initial_state`, less its mean, without what a measurement does to its start."""
    start = _linear_start(segment, dynamics)
    return start.channels[0][0] @ start.x


class _LinearStart(NamedTuple):
    """Start of a linear motion, and what it was found from."""

    x: Array  # (4 + k,)
    channels: Channels
    stds: list[float]  # of each signal's residual
    prior: Array  # (4 + k, 4 + k)
    lean_rates: Array  # (n, 4 + k) d lean rate / d x
    last: Array  # (n, 4 + k) likewise of the last signal of the model, be it measured or not


def _linear_start(segment: Segment, dynamics: Dynamics) -> _LinearStart:
    """Search the start of `estimate_initial_state`."""
    v, misread = measured_speed(segment)
    states = free_response(dynamics, v, segment.dt, misread)
    lean_rates = np.einsum("m,nmj->nj", dynamics.lean_rate_read(segment.window.v_mean), states)
    moved = [lean_rates]
    if "delta" in dynamics.states:
        moved.append(states[:, dynamics.states.index("delta")])
    free = _offsets(segment.window)
    channels = [(less(G), y) for less, G, y in zip(free, moved, _measured(segment), strict=False)]
    sizes = _sizes(channels)
    precision = _prior(sizes, states.shape[-1])
    x: Array = np.zeros(states.shape[-1])
    stds = sizes
    for _ in range(3):  # the weights settle at once
        x = np.asarray(np.linalg.solve(*_normal_equations(channels, stds, precision)), float)
        stds = _residual_sizes([y - G @ x for G, y in channels], sizes)
    return _LinearStart(x, channels, stds, precision, lean_rates, moved[-1])


def nonlinear_initial_state(segment: Segment, machine: WindowMachine, first: InitialState) -> InitialState | None:
    """Estimate the initial state of the nonlinear motion as `estimate_initial_state` does that of the linear one.

    Parameters
    ----------
    segment : Segment
        With the lean rate in rad/s.
    machine : WindowMachine
        Of the window's speeds, see `machine_in`.
    first : InitialState
        Of the linear motion, where the search begins.

    Returns
    -------
    InitialState or None
        None where every bicycle near that start falls over within the window. Of a drive with hysteresis, which may
        lag behind to either side where the window begins, the better of both.
    """
    beyond = machine.nonlinearities
    sides = (1, -1) if beyond.hysteresis > 0.0 else (1,)
    machines = [replace(machine, nonlinearities=beyond._replace(lagging=side)) for side in sides]
    # steps may end in a valley beside the deepest one: then the search begins elsewhere too
    chance, begin, smaller = np.random.default_rng(0), first, 1.0
    settled: list[tuple[float, InitialState]] = []
    for _ in range(1 + MOST_OTHER_STARTS):
        tried = (_bent_start(segment, each, begin) for each in machines)
        settled += [each for each in tried if each is not None]
        best = min(settled, key=lambda each: each[0])[1] if settled else None
        if best is None and not beyond.lossy:
            break
        if best is not None and (_explains(segment, best) or not (beyond.lossy or leaves_more(segment, best, first))):
            break
        if not beyond.lossy:  # where the lean rate alone was measured, a linear start may lean as no bicycle can
            smaller *= SMALLER_START
        begin = replace(first, x=smaller * first.x * (1.0 + OTHER_START * chance.standard_normal(len(first.x))))
    return best


def leaves_more(segment: Segment, start: InitialState, than: InitialState) -> bool:
    """Tell whether a motion leaves clearly more of a measured signal than another one does.

    Parameters
    ----------
    segment : Segment
    start, than : InitialState
        Of the motion asked about, and of the other one.
    """
    own, other = _left_by(segment, start), _left_by(segment, than)
    return any(np.std(y) > MOST_UNEXPLAINED * np.std(z) for y, z in zip(own, other, strict=True))


def likelihood_gain(segment: Segment, start: InitialState, than: InitialState) -> float:
    """Log likelihood by which a motion explains the measured signals better than another one, of white residuals."""
    own, other = _left_by(segment, start), _left_by(segment, than)
    return float(sum(len(y) * np.log(np.std(z) / np.std(y)) for y, z in zip(own, other, strict=True)))


def _left_by(segment: Segment, start: InitialState) -> list[Array]:
    """Residual (n,) of each measured signal beside a motion, less its free offsets."""
    return _residuals(_measured(segment), (start.lean_rate, start.steer), _offsets(segment.window))


def _explains(segment: Segment, start: InitialState) -> bool:
    """Tell whether a motion leaves little more than white noise, as third differences of the readings show that."""
    for y, rest in zip(_measured(segment), _left_by(segment, start), strict=True):
        noise = white_noise_variance(y) ** 0.5
        if np.std(rest) > MOST_UNEXPLAINED * max(noise, MIN_RELATIVE_NOISE * float(np.std(y))):
            return False
    return True


def _bent_start(segment: Segment, machine: WindowMachine, first: InitialState) -> tuple[float, InitialState] | None:
    """Search the start of one nonlinear motion, see `nonlinear_initial_state`; also how unlikely it is."""
    ys = _measured(segment)
    sizes = _sizes([(first.unit_responses, y) for y in ys])
    prior = _prior(sizes, len(first.x))
    free = _offsets(segment.window)
    here = next(
        (motion for k in range(MOST_HALVINGS) if (motion := _motion(machine, GENTLER**k * first.x, ys, free)).upright),
        None,
    )
    if here is None:
        return None
    stds = _residual_sizes(here.residuals, sizes)
    for _ in range(MOST_START_STEPS):
        precision, score = _normal_equations(here.channels, stds, prior)
        step = np.linalg.solve(precision, score - prior @ here.x)
        if float(step @ precision @ step) < START_SETTLED:
            break
        tried = (_motion(machine, here.x + 0.5**k * step, ys, free) for k in range(MOST_HALVINGS))
        cost = here.cost(stds, prior)
        better = next((motion for motion in tried if motion.cost(stds, prior) < cost and motion.upright), None)
        if better is None:
            break
        here, stds = better, _residual_sizes(better.residuals, sizes)
    state = InitialState(
        here.x,
        here.channels[0][0],
        *_influences(here.channels, stds, prior),
        _centred(here.lean_rate),
        here.steer,
        float(np.abs(here.lean_rate).max()),
        machine=machine,
    )
    unlikely = sum(len(y) * np.log(std) for y, std in zip(ys, stds, strict=True)) + 0.5 * float(here.x @ prior @ here.x)
    return float(unlikely), state


@dataclass(frozen=True)
class _Motion:
    """Nonlinear motion from a start, beside what was measured."""

    machine: WindowMachine
    x: Array
    lean_rate: Array  # (n,)
    steer: Array  # (n,)
    residuals: list[Array]  # measured minus simulated, each less its free offsets
    free: Offsets

    @cached_property
    def channels(self) -> Channels:
        """Jacobian of each signal by difference quotients, and what is left of the measurement."""
        moved = self.machine.simulate(self.x[:, None] + START_STEP * np.eye(len(self.x)))
        signals = zip(
            self.free, (moved.phi_dot, moved.delta), (self.lean_rate, self.steer), self.residuals, strict=False
        )
        return [(less((there - here[:, None]) / START_STEP), rest) for less, there, here, rest in signals]

    @property
    def upright(self) -> bool:
        """Does the bicycle stay upright in the window, and where it started a little differently?"""
        return all(np.isfinite(residual).all() for residual in self.residuals) and all(
            np.isfinite(G).all() for G, _ in self.channels
        )

    def cost(self, stds: Sequence[float], prior: Array) -> float:
        """Sum of squares that the start is to make least; nan where the bicycle falls over."""
        squares = (float(np.sum((y / std) ** 2)) for y, std in zip(self.residuals, stds, strict=True))
        return sum(squares) + float(self.x @ prior @ self.x)


def _measured(segment: Segment) -> list[Array]:
    """Lean rate (n,), and the steer angle where it was measured in rad and an encoder was read, less free offsets."""
    ys, steer = [segment.phi_dot], segment.delta
    if steer is not None and segment.response.phi_dot_unit == "rad/s":
        ys += [steer] if np.ptp(steer) > 0.0 else []
    return [less(y) for less, y in zip(_offsets(segment.window), ys, strict=False)]


def _motion(machine: WindowMachine, x: Array, ys: Sequence[Array], free: Offsets) -> _Motion:
    """Simulate the motion from ``x``."""
    shown = machine.simulate(x[:, None])
    lean_rate, steer = shown.phi_dot[:, 0], shown.delta[:, 0]
    return _Motion(machine, x, lean_rate, steer, _residuals(ys, (lean_rate, steer), free), free)


def _residuals(ys: Sequence[Array], shown: Sequence[Array], free: Offsets) -> list[Array]:
    """Residual (n,) of each measured signal of `_measured` beside what a motion shows, less its free offsets."""
    return [y - less(signal) for less, y, signal in zip(free, ys, shown, strict=False)]


def _centred(y: Array) -> Array:
    """Signal less its mean: the same as fitting a constant to it."""
    return np.asarray(y - y.mean(axis=0))


def _offsets(window: Window) -> Offsets:
    """Ways to take the free offsets of lean rate and steer out of a signal (n,) or signals (n, m).

    A sensor's bias makes a controller hold the steer off by an amount that depends on the speed, nearly in proportion.
    """
    changes = abs(window.v_end - window.v_start) > CHANGING_SPEED
    return _centred, _less_parabola if changes else _centred


def _less_parabola(y: Array) -> Array:
    """Signal less its parabola."""
    polynomials = _polynomials(len(y))
    return np.asarray(y - polynomials @ (polynomials.T @ y))


@lru_cache(8)
def _polynomials(n: int) -> Array:
    """Orthonormal polynomials (n, 3) up to the second degree: a search asks for those of one window again and again."""
    return np.asarray(np.linalg.qr(np.vander(np.linspace(-1.0, 1.0, n), 3))[0])


def _sizes(channels: Channels) -> list[float]:
    """Standard deviation of each signal."""
    return [max(float(np.std(y)), np.finfo(float).tiny) for _, y in channels]


def _residual_sizes(residuals: Sequence[Array], sizes: Sequence[float]) -> list[float]:
    """Standard deviation of each signal's residual, of which some noise is always taken to be left."""
    return [max(float(np.std(y)), MIN_RELATIVE_NOISE * size) for y, size in zip(residuals, sizes, strict=True)]


def _prior(sizes: Sequence[float], n_starts: int) -> Array:
    """Prior precision of the starts."""
    hidden = n_starts - N_BICYCLE_STARTS
    return np.diag([(PRIOR_SCALE * sizes[0]) ** -2] * N_BICYCLE_STARTS + [1.0] * hidden)


def _normal_equations(channels: Channels, stds: Sequence[float], prior: Array) -> tuple[Array, Array]:
    """Matrix and right-hand side of the normal equations of weighted least squares."""
    weighed = [(G / std, y / std) for (G, y), std in zip(channels, stds, strict=True)]
    return prior + sum(G.T @ G for G, _ in weighed), np.asarray(sum(G.T @ y for G, y in weighed))


def _influences(channels: Channels, stds: Sequence[float], prior: Array) -> tuple[Array, Array | None]:
    """Change of the estimate per lean rate and per steer angle at each sample, (4 + k, n) each."""
    precision, _ = _normal_equations(channels, stds, prior)
    influences = [
        np.asarray(np.linalg.solve(precision, G.T) / std**2, np.float64)
        for (G, _), std in zip(channels, stds, strict=True)
    ]
    return influences[0], influences[1] if len(influences) > 1 else None
