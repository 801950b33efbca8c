"""The joint four-state fit: one window's lean rate, steer and yaw rate, with the model's lean equation.

The lean equation holds no torque: it is geometry and mass, and both are known well. The steer equation holds what
is not: friction, cables, the drive, the feedback. So the four coefficients with which lean, steer and their rates
enter the steer equation are left free, and so is the initial state; everything else is the model's, the
controller and the falling speed included. A lean rate alone, shorter than a period, fits many damped sinusoids; with
the steer beside it and the lean equation between them it does not.
"""

from dataclasses import replace

import numpy as np

from experiments.analysis.output_error import Identified, Piece, identify
from experiments.analysis.windows import make_window
from experiments.datatypes import Array, Fit, Response, Window
from experiments.theory.modes import MIN_TURN, dominant_mode
from experiments.theory.theory import theory_for
from experiments.theory.uncertainty_bands import slopes

NAME = "four_state"
FREE = ("steer_by_lean", "steer_stiffness", "steer_by_lean_rate", "steer_damping")
BROAD = {  # far more than any machine has: keeps apart only what a window does not tell
    "steer_by_lean": 300.0,  # N m/rad
    "steer_stiffness": 100.0,
    "steer_by_lean_rate": 30.0,  # N m s/rad
    "steer_damping": 30.0,
}
LATER, SHORTER = 0.15, 0.15  # s and share of the length, by which the other cuts differ
MIN_ROWS = 15
MAX_STD = 0.5  # of the eigenvalue's size, beyond which the window has told nothing
MIN_SIGNAL = 2.0  # rms of the motion over rms of the residual


def fit(response: Response, window: Window) -> Fit:
    """Eigenvalue of the oscillation that carries most of the window's lean rate, at its mean speed.

    Returns
    -------
    Fit
        ``coefficients`` are those of the steer equation beyond theory's, SI (see `FREE`). Where the motion found is
        over-damped ``im`` is 0 and ``re`` the slowest real eigenvalue that shows.
    """
    theory = theory_for(response)
    piece = Piece.of(response, window, theory)
    if len(piece.v) < MIN_ROWS:
        return _refused(f"too few rows: {len(piece.v)} after averaging, wanted at least {MIN_ROWS}")
    if "delta" not in piece.channels and "psi_dot" not in piece.channels:
        return _refused("neither steer nor yaw rate was measured: the lean rate alone leaves the steer equation open")
    found = identify([piece], FREE, BROAD)
    moved = theory.move(found.changes)
    duration = window.t_end - window.t_start
    start, dynamics = found.starts[0], moved.dynamics()
    mode = dominant_mode(dynamics, window.v_mean, start, duration, turn=MIN_TURN)
    mode = mode or dominant_mode(dynamics, window.v_mean, start, duration, oscillatory=False)
    if mode is None:
        return _refused("the motion found has no mode that shows")
    s = mode.eigenvalue
    answer = slopes(moved, window.v_mean, FREE, s)
    parts = np.array([answer.real, answer.imag if s.imag > 0 else np.zeros(len(FREE))])
    covariance = parts @ found.covariance @ parts.T
    y, curve = piece.channels["phi_dot"], found.curves[0]["phi_dot"]
    left = y - curve
    problem = _judge(found, s, covariance, curve, left)
    rows = np.arange(window.start, window.stop)
    centres = window.start + (np.arange(len(y)) + 0.5) * (len(rows) / len(y)) - 0.5
    offset = float(response.phi_dot[rows].mean())
    return Fit(
        estimator=NAME,
        re=float(s.real),
        im=float(s.imag),
        covariance=covariance,
        r2=float(1.0 - left @ left / (y @ y)),
        rms=float(np.sqrt(np.mean(left**2))),
        ok=not problem,
        status=problem or f"lean rate and {', '.join(set(piece.channels) - {'phi_dot'})}; {found.status}".rstrip("; "),
        curve=offset + np.interp(rows, centres, curve),
        coefficients=dict(zip(FREE, map(float, found.values), strict=True)),
    )


def fit_cuts(response: Response, window: Window) -> Fit:
    """`fit`; where nobody knows the noise of the sensors, with what other cuts of the window say in its covariance.

    A controller makes real motion of its sensors' noise. A theory that knows both takes it out of the fit
    (`experiments.theory.kalman`); without it no residual shows that motion, and it moves the answer with the cut.
    """
    whole = fit(response, window)
    if not whole.ok or theory_for(response).dynamics().noise is not None:
        return whole
    n = window.stop - window.start
    ends = [(round(LATER / response.dt), n), (0, round((1.0 - SHORTER) * n))]
    parts = [make_window(response, window.start + a, window.start + b, window.rule) for a, b in ends if b - a > n // 2]
    others = [other for other in (fit(response, part) for part in parts) if other.ok]
    moves = np.array([(other.re - whole.re, other.im - whole.im) for other in others]).reshape(-1, 2)
    return replace(whole, covariance=whole.covariance + moves.T @ moves / max(len(moves), 1))


def _judge(found: Identified, s: complex, covariance: Array, curve: Array, left: Array) -> str:
    """Why the fit may not be compared; empty when it may."""
    if not found.ok:
        return f"not identifiable: {found.status}"
    if np.sqrt(np.mean(curve**2)) < MIN_SIGNAL * np.sqrt(np.mean(left**2)):
        return f"too noisy: the motion's rms is under {MIN_SIGNAL:g} times the residual's"
    if np.sqrt(np.trace(covariance)) > MAX_STD * abs(s):
        return f"not identifiable: {s:.3g} 1/s is known to {np.sqrt(np.trace(covariance)):.2g} only"
    return ""


def _refused(status: str) -> Fit:
    nan = float("nan")
    return Fit(NAME, nan, nan, np.full((2, 2), nan), nan, nan, False, status)
