"""Output error of a machine's free responses.

Measured minus theory's motion, linearised about values of quantities. No noisy derivative is ever taken. The linear
motion of a theory, from a start of its own for every window and at the measured speed, is compared with lean rate,
steer and yaw rate. The starts, and an offset of every channel, enter linearly and are solved for (variable projection);
only the quantities are searched (`identification.py`).

Where theory knows the noise of the sensors, the motion that a controller makes of it is predicted from row to row and
taken out, in the residual and in its Jacobian (`riderless.experiments.theory.kalman`). Gains and
observer go by the speed that was read, noise and all, the bicycle by the true one, which is known as well as the mean
of so many readings.

A known torque beside the controller's moves the bicycle from rest, on top of its free motion. So does Coulomb friction:
its size is sought, its sign is that of the steer rate as measured, which no model has to be right for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np

from riderless.experiments.analysis.estimators.coloured_noise import coloured_covariance
from riderless.experiments.analysis.identification.initial_state import PRIOR_SCALE
from riderless.experiments.datatypes import Segment, Window
from riderless.experiments.dynamics import Dynamics, Theory
from riderless.experiments.theory.free_response import (
    BICYCLE_STARTS,
    MAP_SPEED_STEP,
    N_BICYCLE_STARTS,
    forced_response,
    free_responses,
    row_map,
)
from riderless.experiments.theory.kalman import InnovationFilter, innovation_filter
from riderless.hil.design.loop_parts.instruments import gyro_readings, yaw_rate
from riderless.models.array_types import Array
from riderless.models.coordinates import DELTA, DELTA_DOT, STATES
from riderless.models.errors import InputError

AVERAGING_TIME = 0.02  # s; a weave of 10 rad/s turns by a fifth of a radian in it
RESIDUAL_FLOOR = 1e-6  # of a channel's size: a residual is never taken to be smaller
LEAST_NOISE = 1e-4  # of a channel's size, in its readings and nowhere else
MIN_SPEED_SCALED = 0.01  # m/s; at rest the speed's error does nothing
QUANTITY_STEP = 1e-3  # of a quantity's usual deviation, for difference quotients
SPEED_SHARE = 1e-3  # of the speed, for the difference quotient by its error
OFFSET_PRECISION = 1e-9  # prior weight of a channel's offset, in its size: nothing is known
NOMINAL, VARIED = 0, slice(1, None)  # of the theories that a linearisation compares
MEASURED, BEYOND_LINEAR, MODELLED = (
    0,
    1,
    slice(2, None),
)  # columns of a channel: so also of its large motion, of each unknown
WANDER_KEPT = 0.9  # of a wander, from one averaged row to the next: forgotten in 0.2 s, a third of a period
TURNING_RATE = 0.05  # rad/s of steer, beyond which dry friction has its sign and its size
TURNING_TIME = 0.05  # s, over which the steer rate is taken for that sign
OF_QUANTITIES, OF_SPEED = slice(None, -1), -1  # columns of a derivative: by each quantity, last by the mean speed


@dataclass(frozen=True, repr=False)
class AveragedWindow:
    """Window with its theory and the measured channels (n,) in averaged rows, each less its mean."""

    theory: Theory
    window: Window
    dt: float
    v: Array  # (n,) m/s
    channels: Mapping[str, Array]
    misread: Array | None = None  # (n,) m/s, by which the controller went by another speed
    v_std: float = 0.0  # m/s, of the mean speed, from the noise of the wheel
    played: Array | None = None  # (k n,) N m, known torque beside the controller's, in the rows as recorded
    turning: Array | None = None  # (k n,) -1 to 1: which way the steer turns
    beyond: Mapping[str, Array] = field(default_factory=dict)  # (n,) of each channel, its motion beyond the linear one

    @classmethod
    def of(cls, segment: Segment) -> "AveragedWindow":
        """Cut a window's rows, averaged over `AVERAGING_TIME`: lean rate, and steer and yaw rate where measured in SI.

        Averages of a few samples keep what noise leaves to learn; they shrink every channel of a motion alike.
        """
        response, window = segment.response, segment.window
        k = max(1, round(AVERAGING_TIME / response.dt))
        n = len(segment) // k
        rows = slice(window.start, window.start + n * k)
        signals = {"phi_dot": response.phi_dot}
        if response.phi_dot_unit == "rad/s":
            signals |= {name: y for name in ("delta", "psi_dot") if (y := getattr(response, name)) is not None}
        means = {name: y[rows].reshape(n, k).mean(axis=1) for name, y in signals.items()}
        channels = {name: y - y.mean() for name, y in means.items() if np.ptp(y) > 0.0}
        fall, v = window.v_start - window.v_end, np.full(n, window.v_mean)
        if abs(fall) > MAP_SPEED_STEP:
            v += 0.5 * fall * np.linspace(1.0, -1.0, n)
        measured = response.v[rows].reshape(n, k).mean(axis=1)
        v_std = float(np.std(measured - np.polyval(np.polyfit(np.arange(n), measured, 1), np.arange(n)))) / n**0.5
        misread = None if response.v_read is None else response.v_read[rows].reshape(n, k).mean(axis=1) - v
        played = None if response.T_played is None or not response.T_played[rows].any() else response.T_played[rows]
        delta = response.delta if "delta" in channels else None
        turning = None if delta is None else _turning(delta[rows], response.dt)
        return cls(segment.theory, window, k * response.dt, v, channels, misread, v_std, played, turning)

    @cached_property
    def sizes(self) -> dict[str, float]:
        """Standard deviation of each channel."""
        return {name: max(float(np.std(y)), np.finfo(float).tiny) for name, y in self.channels.items()}

    @cached_property
    def filter(self) -> InnovationFilter | None:
        """Innovation filter for the motion that a controller makes of its sensors' noise, as theory has the loop."""
        v = self.window.v_mean
        roll, yaw = gyro_readings(self.theory.variant({})[0], v)
        rows = {"phi_dot": roll, "delta": np.eye(len(STATES))[DELTA], "psi_dot": yaw}
        least = {name: LEAST_NOISE * size for name, size in self.sizes.items()}
        shown = {name: rows[name] for name in self.channels}
        return innovation_filter(self.theory.dynamics(), shown, least, v, self.dt, len(self.v))

    def __repr__(self) -> str:
        return f"AveragedWindow({self.window!r}, {', '.join(self.channels)}, {len(self.v)} rows)"

    def whitened(self, columns: Mapping[str, Array]) -> dict[str, Array]:
        """Each channel's k columns (n, k) as innovations; as they are where theory knows of no noise.

        A part forced by a known torque lasts for many periods, over which a belt makes the bicycle wander: there only
        what is new from row to row counts (generalised least squares; Cochrane and Orcutt 1949).
        """
        if self.filter is None and self.played is not None:
            kept = WANDER_KEPT ** (self.dt / AVERAGING_TIME)
            return {name: np.vstack([0.0 * y[:1], y[1:] - kept * y[:-1]]) for name, y in columns.items()}
        if self.filter is None:
            return dict(columns)
        innovations = self.filter.innovations(np.stack([columns[name] for name in self.channels], axis=1))
        return {name: innovations[:, i] for i, name in enumerate(self.channels)}


@dataclass(frozen=True)
class Linearisation:
    """Linearisation of a window about values of p quantities: residual (N,) and Jacobian (N, p), starts solved for."""

    residual: Array  # weighed, all channels one after the other, as innovations where there is a filter
    jacobian: Array
    curves: Mapping[str, Array]  # (n,) theory's motion, about the channel's offset
    stds: Mapping[str, float]  # of each channel's residual, or of its innovations: the weights of the next
    start: Array  # (4 + k + c,) states, hidden starts and offsets solved for
    beyond: Array  # (N,) what the motion beyond the linear one makes of the residual

    def score_covariance(self) -> Array:
        """Covariance (p, p) of the score, jacobian' residual, under noise as coloured as each channel's residual."""
        p = self.jacobian.shape[1]
        total, first = np.zeros((p, p)), 0
        for curve in self.curves.values():
            rows = slice(first, first + len(curve))
            first = rows.stop
            total += coloured_covariance(self.jacobian[rows].T, self.residual[rows], p + N_BICYCLE_STARTS)
        return total


def linearise(
    averaged: AveragedWindow,
    values: Mapping[str, float],
    names: Sequence[str] = (),
    stds: Mapping[str, float] = {},
) -> Linearisation:
    """Linearise a window's residual about values of quantities, with its starts solved for.

    The one place where a window's slopes by quantities are taken. One that no machine can have a little more or less of
    has a slope of zero.

    Parameters
    ----------
    averaged : AveragedWindow
    values : mapping of str to float
        Of the quantities that are not nominal, SI.
    names : sequence of str
        Quantities to differentiate by, p of them.
    stds : mapping of str to float
        Standard deviation of each channel's residual, for its weight; of the channel itself where it is missing.
    """
    here = averaged.theory.move(values)
    tried = [_a_little_more(here, name) for name in names]
    speed = here.nominal("speed_scale") * (1.0 + SPEED_SHARE)
    theories = [here, *(moved for moved, _ in tried), here.move({"speed_scale": speed})]
    outputs = _outputs(averaged, theories)  # per channel (2 + p, n, 4 + k)
    forced = _forced(averaged, theories)  # per channel (2 + p, n)
    if not all(np.isfinite(G).all() for G in outputs.values()):
        raise InputError("wanted a motion that stays finite, found one that does not: take other values")
    sizes, channels = averaged.sizes, list(outputs)
    n_starts = next(iter(outputs.values())).shape[-1]
    offsets = np.eye(len(channels))
    beyond = {name: averaged.beyond.get(name, np.zeros(len(y))) for name, y in averaged.channels.items()}
    free = {name: y - forced[name][NOMINAL] - beyond[name] for name, y in averaged.channels.items()}
    columns = {
        name: np.column_stack([y, beyond[name], outputs[name][NOMINAL], np.tile(sizes[name] * offset, (len(y), 1))])
        for (name, y), offset in zip(free.items(), offsets, strict=True)
    }
    white, unit = averaged.whitened(columns), dict.fromkeys(channels, 1.0) if averaged.filter else sizes
    weights = {name: stds.get(name, unit[name]) for name in channels}
    prior = _prior(sizes, n_starts)
    rows = np.vstack([*(white[name] / weights[name] for name in channels), prior])
    y, G = rows[:, MEASURED], rows[:, MODELLED]
    x = np.linalg.lstsq(G, y, rcond=None)[0]
    # Motion by each quantity, and last by one standard deviation of the mean speed: one more unknown.
    moves = {
        name: ((H[VARIED] - H[NOMINAL]) @ x[:n_starts] + forced[name][VARIED] - forced[name][NOMINAL]).T
        for name, H in outputs.items()
    }
    for name in channels:
        moves[name][:, OF_SPEED] *= averaged.v_std / (SPEED_SHARE * max(float(averaged.v.mean()), MIN_SPEED_SCALED))
    moved = np.vstack([change / weights[name] for name, change in averaged.whitened(moves).items()])
    moved = np.vstack([moved, np.zeros((len(prior) + 1, moved.shape[1]))])
    y, bent = np.append(y, 0.0), np.append(rows[:, BEYOND_LINEAR], 0.0)
    G = np.column_stack([np.vstack([G, np.zeros(G.shape[1])]), moved[:, OF_SPEED]])
    G[-1, OF_SPEED] = 1.0  # the prior of that unknown
    q, r = np.linalg.qr(G)
    x = np.linalg.solve(r, q.T @ y)
    jacobian = -moved[:, OF_QUANTITIES] / np.array([step for _, step in tried])
    jacobian -= q @ (q.T @ jacobian)
    bent -= q @ (q.T @ bent)
    columns = {name: np.column_stack([known, moves[name][:, OF_SPEED]]) for name, known in columns.items()}
    curves = {name: known[:, MODELLED] @ x for name, known in columns.items()}
    residuals = averaged.whitened({name: known[:, :1] - curves[name][:, None] for name, known in columns.items()})
    stds = {name: max(float(np.std(residuals[name])), RESIDUAL_FLOOR * unit[name]) for name in channels}
    curves = {name: curve + forced[name][NOMINAL] + beyond[name] for name, curve in curves.items()}
    return Linearisation(y - G @ x, jacobian, curves, stds, x[:-1], bent)


def _a_little_more(theory: Theory, name: str) -> tuple[Theory, float]:
    """Theory with a little more of a quantity, or less where no machine has more, and the step [SI]; else the same."""

    def moved(step: float) -> Theory:
        other = theory.move({name: theory.nominal(name) + step})
        other.variant({})  # refuses what no machine can have
        return other

    return either_side(moved, QUANTITY_STEP * float(theory.scales([name])[0])) or (theory, 1.0)


def _prior(sizes: Mapping[str, float], n_starts: int) -> Array:
    """Prior of starts and offsets as rows of least squares, the measured zeros in the first two columns."""
    start = [1.0 / (PRIOR_SCALE * sizes["phi_dot"])] * N_BICYCLE_STARTS
    hidden = [1.0] * (n_starts - N_BICYCLE_STARTS)
    precision = np.diag([*start, *hidden, *[OFFSET_PRECISION] * len(sizes)])
    return np.column_stack([np.zeros((len(precision), 2)), precision])


def _outputs(averaged: AveragedWindow, theories: Sequence[Theory]) -> dict[str, Array]:
    """Channels of the motion from each unit start, for several theories at once; (q, n, 4 + k) each."""
    several = [theory.dynamics() for theory in theories]
    states = free_responses(several, averaged.v, averaged.dt, averaged.misread)
    shown = _shown(averaged, theories, several, states)
    return {name: shown[name] for name in averaged.channels}


def _forced(averaged: AveragedWindow, theories: Sequence[Theory]) -> dict[str, Array]:
    """Channels of the motion from rest under what is known of the torques on the steer axis, (q, n) each."""
    n, several = len(averaged.v), [theory.dynamics() for theory in theories]
    names = ("drive_gain", "steer_dry_friction", "more_delay")
    gains, friction, delays = (np.array([theory.nominal(name) for theory in theories]) for name in names)
    if averaged.played is None and not friction.any():
        return dict.fromkeys(averaged.channels, np.zeros((len(theories), n)))
    if averaged.turning is None:
        raise InputError("wanted steer as measured where a torque on it is known or sought, found none")
    turning = averaged.turning
    played = np.zeros(len(turning)) if averaged.played is None else averaged.played
    k, v = len(turning) // n, float(averaged.v.mean())
    states = []
    for machine, gain, size, delay in zip(several, gains, friction, delays, strict=True):
        row = row_map(machine, v, averaged.dt / k)
        if row.commanded is None:
            x = forced_response(row, gain * _later(played, delay * k / averaged.dt) - size * turning)
        else:
            x = forced_response(row, -size * turning, played)
        states.append(x.reshape(n, k, -1).mean(axis=1)[..., None])
    most = max(x.shape[1] for x in states)  # a delay beyond one sample has more states
    states = [np.pad(x, ((0, 0), (0, most - x.shape[1]), (0, 0))) for x in states]
    shown = _shown(averaged, theories, several, np.array(states))
    return {name: shown[name][..., 0] for name in averaged.channels}


def _later(played: Array, rows: float) -> Array:
    """Torque (n,) so many rows later: a late drive is late with all that it is told."""
    n = np.arange(len(played))
    return np.interp(n - rows, n, played)


def _shown(
    averaged: AveragedWindow, theories: Sequence[Theory], several: Sequence[Dynamics], states: Array
) -> dict[str, Array]:
    """Readings of the sensors in states (q, n, m, j); (q, n, j) each."""
    outputs = {}
    scale, lag = (np.array([theory.nominal(name) for theory in theories]) for name in ("steer_scale", "steer_lag"))
    later = states[:, :, DELTA] - lag[:, None, None] * states[:, :, DELTA_DOT]
    outputs["delta"] = scale[:, None, None] * later
    rows = np.zeros((len(theories), 2, len(STATES)))
    for row, theory in zip(rows, theories, strict=True):
        real = theory.variant({})[0]
        row[:] = yaw_rate(real, 0.0), yaw_rate(real, 1.0) - yaw_rate(real, 0.0)
    still, per_speed = (np.einsum("qm,qnmj->qnj", rows[:, i], states[:, :, BICYCLE_STARTS]) for i in (0, 1))
    lean_rate = np.einsum("m,qnmj->qnj", _wide(several[0].output, states.shape[2]), states)
    gyros = np.array([theory.variant({})[0].gyros for theory in theories])
    rates = np.stack([lean_rate, still + averaged.v[:, None] * per_speed])
    outputs["phi_dot"], outputs["psi_dot"] = np.einsum("qab,bqnj->aqnj", gyros, rates)
    return outputs


def _turning(delta: Array, dt: float) -> Array:
    """Direction in which the steer (n,) [rad] turns, -1 to 1."""
    width = max(1, round(TURNING_TIME / dt)) | 1
    padded = np.pad(delta, width // 2, mode="edge")
    smooth = np.convolve(padded, np.ones(width) / width, mode="valid")
    return np.asarray(np.tanh(np.gradient(smooth, dt) / TURNING_RATE))


def _wide(row: Array, m: int) -> Array:
    """Row with zeros for the states it does not have, (m,)."""
    return np.pad(row, (0, m - len(row)))


# Step of a difference quotient, to the other side where no machine can be on the first.


_Found = TypeVar("_Found")


def either_side(move: Callable[[float], _Found], step: float) -> tuple[_Found, float] | None:
    """Result of moving by a step, or by minus the step where that is refused, and the step made; None where both are.

    Parameters
    ----------
    move : callable
        Takes a step; raises InputError where nothing can be.
    step : float
    """
    for signed in (step, -step):
        try:
            return move(signed), signed
        except InputError:
            continue
    return None
