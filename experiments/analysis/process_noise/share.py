"""Motion that random torques drive in windows, beside the motion of the kicks: where it is large, errors are not small.

Everything that is said of errors holds to first order: the motion driven by wind, belt or road must be small beside
that of the kick. Otherwise kicks are found, and windows cut, by the wind as well.
"""

import numpy as np

from riderless.experiments.analysis.windows.grouping import WindowsOfBicycle, in_turn
from riderless.experiments.datatypes import Comparison, ProcessNoise, Response
from riderless.experiments.theory.process_noise import impulse_responses, torque_rows
from riderless.experiments.theory.theory import dynamics_for


def driven_share(group: WindowsOfBicycle) -> float:
    """Lean rate that random torques drive in windows, over that measured: rms over the windows; 0 in still air.

    Parameters
    ----------
    group : sequence of (Response, Comparison)
        Windows of one bicycle, each with the recording it was cut from.
    """
    squares = [_window_share(r, c, r.process_noise) ** 2 if r.process_noise else 0.0 for r, c in in_turn(group)]
    return float(np.sqrt(np.mean(squares))) if squares else 0.0


def _window_share(response: Response, c: Comparison, noise: ProcessNoise) -> float:
    """Root mean square of the driven lean rate of one window, from its beginning on, over that of the measured one."""
    window = c.window
    rows, before = torque_rows(dynamics_for(response), noise, window.v_mean, response.dt)
    within, earlier = impulse_responses(rows, before, window.stop - window.start)
    variance = np.cumsum((within[:, 0] ** 2).sum(axis=1)) + (earlier[:, 0] ** 2).sum(axis=1)
    y = response.phi_dot[window.rows]
    return float(np.sqrt(variance.mean() / max(float(np.var(y)), np.finfo(float).tiny)))
