"""Predictions of the fit in a window.

The frozen eigenvalue, and the same fit on a simulation. The *frozen* prediction is an eigenvalue at the window's mean
speed, as in Kooijman, Schwab and Meijaard (2008), figure 7. While the bicycle slows down no such eigenvalue exists, and
fitting one damped sinusoid to a motion of several modes has a bias of its own. The *like-for-like* prediction therefore
sends the model through the measurement: the linear motion that best explains the window, at the measured speed, is
simulated without noise and given to the same estimator. What estimator and deceleration do to the one, they do to the
other.

That motion is a linear one as long as angles are small, and the drive has no losses but a gain. Where large angles
would move the eigenvalue by more than `BENDING` of its deviation, it goes through the nonlinear bicycle
(`riderless.experiments.theory.nonlinear_response`), under the same drive, observer and gains, from the start that
explains the window best; where the rig tells dry friction, a dead band or hysteresis, they are in it always. A machine
emulated by linear equations stays linear but for these.

Only the speed enters the simulation, as a line or a smooth curve through what was measured in the window
(`riderless.experiments.analysis.windows.cut`), and where it is logged the speed that the controller went by, which is
late and noisy. Where the speed changes the motion has the terms of dv/dt too. Where the force acts that changes it is
not known: it is taken for one at the rear rim, which has no terms of its own.
"""

from typing import NamedTuple

import numpy as np

from riderless.experiments.analysis.comparison.noise_covariance import difference_covariance, drawn_differences
from riderless.experiments.analysis.estimators import estimate_alike
from riderless.experiments.analysis.identification.initial_state import (
    InitialState,
    estimate_initial_state,
    likelihood_gain,
    machine_in,
    nonlinear_initial_state,
)
from riderless.experiments.datatypes import Dynamics, Fit, Prediction, Segment, Window
from riderless.experiments.dynamics import Theory
from riderless.experiments.theory.modes import MIN_TURN, SMALL_SHARE, dominant_mode
from riderless.experiments.theory.nonlinear_response import WindowMachine
from riderless.models.array_types import Array

SPEED_CHANGE = 0.1  # m/s over a window, from which on a bias of the frozen eigenvalue is said to be the speed's
BENDING = 0.05  # of the deviation of measured minus like: what large angles may move it by before they are counted


def predict(segment: Segment, fit: Fit) -> Prediction:
    """Predict what the estimator of ``fit`` should have found in a window.

    The frozen mode is the oscillation that has the most energy in the explained lean rate; for a fit
    without oscillation (``im = 0``), or where the model has none, whichever mode has the most. The
    oscillation is called weave: it is what the controller made of the weave mode.

    Raises
    ------
    InputError
        If no bicycle is known, or the recording's sampling does not fit its dynamics.
    """
    theory, dynamics, window = segment.theory, segment.dynamics, segment.window
    start = estimate_initial_state(segment, dynamics)
    expected = like_for_like(segment, fit, start)
    linear_gain = 0.0
    curved = not (theory.linear and theory.losses.linear)
    if curved and dynamics.mechanics is not None and segment.response.phi_dot_unit == "rad/s":
        machine = machine_in(segment, dynamics)
        straight = np.abs(_bending(machine, fit, start)) <= BENDING * np.array(expected.std)
        if not (theory.losses.linear and np.all(straight)):
            bent = nonlinear_initial_state(segment, machine, start)
            if bent is not None:
                linear_gain = -likelihood_gain(segment, bent, start)
                start, expected = bent, like_for_like(segment, fit, bent, not theory.losses.linear)
    name, frozen, status = _frozen(window, fit, dynamics, start)
    remarks = [status, _through(start, theory), _bias(window, frozen, expected), expected.status]
    return Prediction(
        name,
        frozen,
        expected.like,
        expected.std,
        " ".join(filter(None, remarks)),
        difference_correlation=expected.correlation,
        nonlinear=start.nonlinear,
        lean_rate=start.peak,
        linear_gain=linear_gain,
    )


def _bending(machine: WindowMachine, fit: Fit, start: InitialState) -> Array:
    """Change (2,) of the like-for-like eigenvalue's parts by what the linear motion leaves out, to first order [1/s].

    One nonlinear motion from the linear one's start differs from that by some m. Of m the fit sees what another start
    does not explain: influence @ (m - unit_responses @ (influences of the start) @ m).

    Parameters
    ----------
    machine : WindowMachine
    fit : Fit
    start : InitialState
        Of the linear motion.
    """
    if fit.influence.shape[1] != len(start.lean_rate):
        return np.zeros(2)
    motion = machine.simulate(start.x[:, None])
    m = motion.phi_dot[:, 0] - start.lean_rate
    moved = start.lean_rate_influence @ (m - m.mean())
    if start.steer_influence is not None:
        turned = motion.delta[:, 0] - start.steer
        moved += start.steer_influence @ (turned - turned.mean())
    return np.asarray(fit.influence @ (m - m.mean() - start.unit_responses @ moved))


def _frozen(window: Window, fit: Fit, dynamics: Dynamics, start: InitialState) -> tuple[str, complex, str]:
    """Mode that a window shows most of, its eigenvalue at the window's mean speed, and a status."""
    v, duration = window.v_mean, window.duration
    mode = dominant_mode(dynamics, v, start.x, duration, turn=MIN_TURN) if fit.im > 0 else None
    mode = mode or dominant_mode(dynamics, v, start.x, duration, oscillatory=False)
    if mode is None:  # every pole was left out
        return "none", complex(np.nan, np.nan), "The model has no mode here."
    oscillates = mode.eigenvalue.imag > 0
    status = ""
    if fit.im > 0 and not oscillates:
        status = f"The model is over-damped at {v:.2f} m/s: it has no oscillatory mode."
    elif mode.share < SMALL_SHARE:
        status = f"The predicted mode carries only {mode.share:.0%} of the lean rate."
    return "weave" if oscillates else "real", mode.eigenvalue, status


def _through(start: InitialState, theory: Theory) -> str:
    """Say that a motion was too large for linear equations, or that its drive obeys none."""
    if not start.nonlinear:
        return ""
    parts = ["the nonlinear bicycle"] * (not theory.linear)
    parts += [f"{name} of the steer" for name in theory.losses.told if name not in ("gain", "offset")]
    return f"Like for like through {', '.join(parts)}, lean rate {start.peak:.2g} rad/s."


def _bias(window: Window, frozen: complex, expected: "LikeForLike") -> str:
    """Say what a fit should find in place of the frozen eigenvalue where the speed changes."""
    change, bias = window.v_end - window.v_start, expected.like - frozen
    if abs(change) < SPEED_CHANGE or not (abs(bias.real) > expected.std[0] or abs(bias.imag) > expected.std[1]):
        return ""
    return (
        f"A fit should find {expected.like.real:.3f} +- {expected.like.imag:.3f}i, not the frozen {frozen.real:.3f} +- "
        f"{frozen.imag:.3f}i, because the speed changes by {change:+.2f} m/s."
    )


class LikeForLike(NamedTuple):
    """Like-for-like eigenvalue, the covariance (2, 2) of measured minus that, and a status."""

    like: complex
    covariance: Array
    status: str

    @property
    def std(self) -> tuple[float, float]:
        """Standard deviations of both parts of that difference [1/s]."""
        re, im = np.sqrt(np.diag(self.covariance))
        return float(re), float(im)

    @property
    def correlation(self) -> float:
        """Correlation of the two parts, 0 where one is certain."""
        size = self.std[0] * self.std[1]
        return float(self.covariance[0, 1] / size) if size > 0.0 else 0.0


def like_for_like(segment: Segment, fit: Fit, start: InitialState, dithered: bool = False) -> LikeForLike:
    """Apply the estimator to the explained lean rate; also the covariance of measured minus that, and a status.

    Parameters
    ----------
    segment : Segment
    fit : Fit
    start : InitialState
    dithered : bool
        Noise of the sensors moves the eigenvalue on average too, as losses of the drive make it do.
    """
    dynamics, window = segment.dynamics, segment.window
    if fit.influence.size == 0:  # the model is part of the fit: fitted to its own motion it finds its own eigenvalue
        mode = dominant_mode(dynamics, window.v_mean, start.x, window.duration, fit.im > 0, MIN_TURN)
        return LikeForLike(mode.eigenvalue if mode else complex(np.nan, np.nan), fit.covariance, "")
    y = segment.phi_dot
    simulated = estimate_alike(segment.t, start.lean_rate, fit)
    like = complex(simulated.re, simulated.im)
    status = "" if simulated.ok else f"The fit to the simulation: {simulated.status}."
    if not (len(simulated.curve) == len(fit.curve) == len(y) == fit.influence.shape[1]):
        return LikeForLike(like, np.full((2, 2), np.nan), status)
    unexplained = (y - fit.curve) - (start.lean_rate - simulated.curve)
    v, dt = window.v_mean, segment.dt
    drawn = drawn_differences(dynamics, v, dt, fit.influence, start) if dithered else None
    noise = segment.response.process_noise
    covariance = difference_covariance(dynamics, v, dt, fit.influence, start, unexplained, noise, drawn)
    if drawn is not None:
        like += complex(*drawn.mean(axis=1))
    return LikeForLike(like, covariance, status)
