"""Linearity of a law after a kick.

Distance of the law from its linearisation over the motion after a kick by hand.
"""

import numpy as np

from riderless.hil.controllers.law_trials import try_law
from riderless.hil.design.closed_loop import SampledLoop
from riderless.hil.design.sampled_plant import U_PREV
from riderless.hil.design.steered.peaks import HAND_KICK, WATCHED
from riderless.hil.loop.law import LAW_INPUTS
from riderless.models.coordinates import PHI_DOT


def kick_nonlinearity(loop: SampledLoop, v: float) -> float:
    """Largest difference between a law and its linearisation, per largest command, after a kick at ``v`` [m/s].

    Lean, steer and all else that the law is told are those of the linear loop; nan of a loop that is not stable.
    """
    if np.max(np.abs(np.linalg.eigvals(loop.matrix(v)))) >= 1.0:
        return np.nan
    W, rows, n = loop.matrix(v), loop.law_inputs(v), round(WATCHED / loop.dt)
    x, linear = np.zeros(len(loop.states)), np.zeros(n)
    x[PHI_DOT] = HAND_KICK
    inputs = np.zeros((n, len(LAW_INPUTS)))
    for name, value in (("v", v), ("v_meas", v), ("dt", loop.dt), ("fresh", 1.0), ("steered", 1.0)):
        inputs[:, LAW_INPUTS.index(name)] = value
    columns = [LAW_INPUTS.index(name) for name in loop.schedule.linearised(v).inputs]
    for k in range(n):
        inputs[k, columns] = rows @ x
        x = W @ x
        linear[k] = x[U_PREV]
    law = loop.schedule.law()
    wishes = try_law(law, np.zeros((n, law.states)), inputs, ride=n).wishes
    off, largest = np.max(np.abs(wishes - linear)), np.max(np.abs(linear))
    return float(off / largest) if largest > 0.0 else (np.inf if off > 0.0 else 0.0)
