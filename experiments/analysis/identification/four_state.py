"""Joint four-state fit of one window.

Lean rate, steer and yaw rate are fitted with the model's lean equation. The lean equation holds no torque: it is
geometry and mass, and both are known well. The steer equation holds what is not: friction, cables, the drive, the
feedback. So the four coefficients with which lean, steer and their rates enter the steer equation are left free, and so
is the initial state; everything else is the model's, the controller and the falling speed included. A lean rate alone,
shorter than a period, fits many damped sinusoids; with the steer beside it and the lean equation between them it does
not.
"""

from dataclasses import replace

import numpy as np

from riderless.experiments.analysis.estimators.result import root_mean_square, too_noisy
from riderless.experiments.analysis.identification.identify import Identification, identify
from riderless.experiments.analysis.identification.output_error import AveragedWindow
from riderless.experiments.analysis.windows.cut import make_window
from riderless.experiments.datatypes import Fit, Segment
from riderless.experiments.theory.modes import MIN_TURN, dominant_mode
from riderless.experiments.theory.uncertainty_bands import eigenvalue_derivatives
from riderless.models.array_types import Array

NAME = "four_state"
FREE_COEFFICIENTS = ("steer_by_lean", "steer_stiffness", "steer_by_lean_rate", "steer_damping")
BROAD_PRIOR = {  # far more than any machine has: keeps apart only what a window does not tell
    "steer_by_lean": 300.0,  # N m/rad
    "steer_stiffness": 100.0,
    "steer_by_lean_rate": 30.0,  # N m s/rad
    "steer_damping": 30.0,
}
CUT_START, CUT_END = 0.15, 0.15  # s and share of the length, by which the other cuts differ
MIN_JOINT_ROWS = 15
MAX_STD = 0.5  # of the eigenvalue's size, beyond which the window has told nothing


def fit(segment: Segment) -> Fit:
    """Fit the eigenvalue of the oscillation that carries most of the window's lean rate, at its mean speed.

    Returns
    -------
    Fit
        ``coefficients`` are those of the steer equation beyond theory's, SI (see `FREE_COEFFICIENTS`). Where
        the motion found is over-damped ``im`` is 0 and ``re`` the slowest real eigenvalue that shows.
    """
    theory, window = segment.theory, segment.window
    averaged = AveragedWindow.of(segment)
    if len(averaged.v) < MIN_JOINT_ROWS:
        return Fit.refused(NAME, f"too few rows: {len(averaged.v)} after averaging, wanted at least {MIN_JOINT_ROWS}")
    if "delta" not in averaged.channels and "psi_dot" not in averaged.channels:
        return Fit.refused(
            NAME, "neither steer nor yaw rate was measured: the lean rate alone leaves the steer equation open"
        )
    identified = identify([averaged], FREE_COEFFICIENTS, BROAD_PRIOR)
    moved = theory.move(identified.changes)
    duration = window.duration
    start, dynamics = identified.starts[0], moved.dynamics()
    mode = dominant_mode(dynamics, window.v_mean, start, duration, turn=MIN_TURN)
    mode = mode or dominant_mode(dynamics, window.v_mean, start, duration, oscillatory=False)
    if mode is None:
        return Fit.refused(NAME, "the motion found has no mode that shows")
    s = mode.eigenvalue
    slopes = eigenvalue_derivatives(moved, window.v_mean, FREE_COEFFICIENTS, s)
    jacobian = np.array([slopes.real, slopes.imag if s.imag > 0 else np.zeros(len(FREE_COEFFICIENTS))])
    covariance = jacobian @ identified.covariance @ jacobian.T
    y, curve = averaged.channels["phi_dot"], identified.curves[0]["phi_dot"]
    residual = y - curve
    problem = _problem(identified, s, covariance, curve, residual)
    rows = np.arange(window.start, window.stop)
    centres = window.start + (np.arange(len(y)) + 0.5) * (len(rows) / len(y)) - 0.5
    offset = float(segment.phi_dot.mean())
    return Fit(
        estimator=NAME,
        re=float(s.real),
        im=float(s.imag),
        covariance=covariance,
        r2=float(1.0 - residual @ residual / (y @ y)),
        rms=root_mean_square(residual),
        ok=not problem,
        status=problem
        or f"lean rate and {', '.join(set(averaged.channels) - {'phi_dot'})}; {identified.status}".rstrip("; "),
        curve=offset + np.interp(rows, centres, curve),
        coefficients=dict(zip(FREE_COEFFICIENTS, map(float, identified.values), strict=True)),
    )


def fit_cuts(segment: Segment) -> Fit:
    """`fit`, with the scatter over other cuts of the window in its covariance where theory knows no sensor noise.

    A controller makes real motion of its sensors' noise. A theory that knows both takes it out of the fit
    (`riderless.experiments.theory.kalman`); without it no residual shows that motion, and it moves the estimate with
    the cut.
    """
    whole = fit(segment)
    if not whole.ok or segment.dynamics.noise is not None:
        return whole
    response, window, n = segment.response, segment.window, len(segment)
    ends = [(round(CUT_START / segment.dt), n), (0, round((1.0 - CUT_END) * n))]
    parts = [make_window(response, window.start + a, window.start + b, window.rule) for a, b in ends if b - a > n // 2]
    others = [other for other in (fit(Segment(response, part)) for part in parts) if other.ok]
    moves = np.array([(other.re - whole.re, other.im - whole.im) for other in others]).reshape(-1, 2)
    return replace(whole, covariance=whole.covariance + moves.T @ moves / max(len(moves), 1))


def _problem(identified: Identification, s: complex, covariance: Array, curve: Array, residual: Array) -> str:
    """Reason why the fit may not be compared; empty when it may."""
    if not identified.ok:
        return f"not identifiable: {identified.status}"
    if noisy := too_noisy(root_mean_square(curve), root_mean_square(residual), motion="motion"):
        return noisy
    if np.sqrt(np.trace(covariance)) > MAX_STD * abs(s):
        return f"not identifiable: {s:.3g} 1/s is known to {np.sqrt(np.trace(covariance)):.2g} only"
    return ""
