"""Linear prediction of free motion.

What it does not explain shows a kick into a bicycle still swinging. A bicycle left alone goes on as it went: each value
of its lean rate is a sum of earlier ones with fixed weights (linear prediction; L. Ljung, System Identification, 2nd
ed. 1999, section 3.2). The weights are learnt from the recording itself. What then differs from the prediction was not
free: a kick, a gust, noise. A slow decay is explained and so is no part of the background.
"""

import numpy as np

from riderless.models.array_types import Array, row_parts
from riderless.models.noise_statistics import robust_deviation

PREDICTION_HORIZON = 0.5  # s ahead that is foretold: what a kick of 0.4 s does until its lean rate has turned back
TAP_SPACING = 0.1  # s between the earlier values; a weave of 10 rad/s turns by 1 rad
TAPS = 6  # earlier values: weave, capsize, caster and one to spare
KICK_MEMORY = PREDICTION_HORIZON + (TAPS - 1) * TAP_SPACING  # s after a kick in which it disturbs the prediction
PREDICTION_REWEIGHTINGS = 10
LEARNT_FROM = 100_000  # rows at most, spread over the recording
OUTLIER = 2.0  # robust standard deviations at which a row, most likely of a kick, counts half


def unexplained_motion(s: Array, dt: float) -> Array:
    """Lean rate (n,) less what its values half a second earlier foretell; as it is where there are none yet.

    Parameters
    ----------
    s : (n,)
        Lean rate without bias.
    dt : float
        Sampling interval [s].
    """
    spacing, ahead = max(1, round(TAP_SPACING / dt)), max(1, round(PREDICTION_HORIZON / dt))
    first = ahead + (TAPS - 1) * spacing
    if len(s) < 2 * first:
        return s.copy()
    before = [ahead + j * spacing for j in range(TAPS)]
    some = np.arange(first, len(s), max(1, spacing // 4, -(-(len(s) - first) // LEARNT_FROM)))
    ones = np.ones(len(some))  # of the rest of the bias
    *weights, rest = _robust_weights(np.column_stack([*(s[some - rows] for rows in before), ones]), s[some])
    out = s.copy()
    for part in row_parts(len(s), first):
        for weight, rows in zip(weights, before, strict=True):
            out[part] -= weight * s[part.start - rows : part.stop - rows]
        out[part] -= rest
    return out


def _robust_weights(X: Array, y: Array) -> Array:
    """Solution (m,) of X w = y by least squares in which rows far off count little (Cauchy's weight function).

    Parameters
    ----------
    X : (n, m)
    y : (n,)
    """
    w = np.linalg.lstsq(X, y, rcond=None)[0]
    for _ in range(PREDICTION_REWEIGHTINGS):
        off = np.abs(y - X @ w)
        scale = float(robust_deviation(off))
        if scale <= 0.0:
            break
        root = 1.0 / np.sqrt(1.0 + (off / (OUTLIER * scale)) ** 2)
        w = np.linalg.lstsq(X * root[:, None], y * root, rcond=None)[0]
    return np.asarray(w)
