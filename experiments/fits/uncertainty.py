"""How far a fit would move had the window been cut otherwise."""

from dataclasses import replace

import numpy as np

from experiments.fits import estimate, single_mode
from experiments.nouns import Fit, Response, Window

LATER = (0.0, 0.15, 0.3)  # s. Only later: earlier lets in the kick, which the rules keep out
SHORTER = (0.0, 0.2)  # of the length


def fit_window(response: Response, window: Window, estimator: str = single_mode.NAME) -> Fit:
    """Fit of a window, with the uncertainty of where it was cut added to that of the noise.

    A rule, or a person, chose the window's first and last row; the answer should not hang on them. Its
    start is moved later by up to 0.3 s and its end earlier by up to a fifth; the mean square of the moves of
    every such fit that is still identifiable is added to the covariance from the coloured residual. Part of
    a move is noise already counted, so the sum is on the large side, by a tenth to a quarter in white noise.
    """
    t, y = response.t[window.start : window.stop], response.phi_dot[window.start : window.stop]
    whole = estimate(t, y, estimator)
    if not whole.ok:
        return whole
    tried = [
        estimate(t[first:last], y[first:last], estimator)
        for first in (round(s / response.dt) for s in LATER)
        for last in (len(t) - round(share * len(t)) for share in SHORTER)
        if (first, last) != (0, len(t)) and last - first >= len(t) // 2
    ]
    kept = [fit for fit in tried if fit.ok]
    moves = np.array([(fit.re - whole.re, fit.im - whole.im) for fit in kept]).reshape(-1, 2)
    spread = moves.T @ moves / max(len(kept), 1)
    return replace(
        whole,
        covariance=whole.covariance + spread,
        status=f"{whole.status}; {len(kept)} of {len(tried)} other cuts fitted, moving it by "
        f"{np.sqrt(spread[0, 0]):.2f} and {np.sqrt(spread[1, 1]):.2f} 1/s rms",
    )
