"""Responses whose answer is known, for the tests of windows and fits."""

import numpy as np
from scipy.signal import lfilter

from riderless.experiments.datatypes import Marker, Response
from riderless.models.array_types import Array


def coloured(rng: np.random.Generator, n: int, std: float, lag_1: float) -> Array:
    """Noise (n,) of the given standard deviation and lag-1 autocorrelation (first-order autoregressive)."""
    e = rng.normal(size=n + 100)
    e[1:] *= np.sqrt(1.0 - lag_1**2)
    return std * lfilter([1.0], [1.0, -lag_1], e)[100:]


def damped(t: Array, d: float, w: float, c1: float = 0.0, amplitude: float = 0.5, phase: float = 0.0) -> Array:
    """c1 + amplitude e^(d t) cos(w t + phase)."""
    return c1 + amplitude * np.exp(d * t) * np.cos(w * t + phase)


def kicked(
    d: float = -1.2,
    w: float = 5.4,
    kicks: tuple[float, ...] = (2.0, 8.0),
    amplitude: float = 0.4,
    noise: float = 0.003,
    dt: float = 0.005,
    length: float = 14.0,
    v: float = 5.0,
    marked: bool = False,
    **changes: object,
) -> Response:
    """Quiet recording with kicks of 0.1 s, each followed by one damped mode that starts at its peak."""
    t = np.arange(0.0, length, dt)
    y = np.full(len(t), 0.02) + np.random.default_rng(5).normal(0.0, noise, len(t)) if noise else 0.02 + 0 * t
    for i, begin in enumerate(kicks):
        after = np.clip(t - begin - 0.1, 0.0, None)
        rise = np.clip((t - begin) / 0.1, 0.0, 1.0)
        # at its peak the mode's derivative is zero: tan(phase) = d / w
        phase = np.arctan2(d, w)
        y += (-1.0) ** i * rise * damped(after, d, w, amplitude=amplitude / np.cos(phase), phase=phase)
    marks = tuple(Marker(begin, "kick") for begin in kicks) if marked else ()
    fields = {"t": t, "phi_dot": y, "v": np.full(len(t), v), "markers": marks} | changes
    return Response(source="synthetic", kind="riderless", **fields)  # type: ignore[arg-type]
