"""Jumps of the steer angle in a run of ours: an index that came late, or a coupling that slipped, moves its zero."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from riderless.hil.loop.states import State

LEAST_STEER_JUMP = float(np.radians(0.25))  # within a sample, beyond what the steer does in those beside it
STEPS_BESIDE = 10  # to either side: an encoder slower than the loop moves in every fourth sample alone, say
AFTER_STEER_JUMP = 1.0  # s, in which the controller answers it
STEER_JUMPS_TOLD = 5


def steer_jumps(ticks: np.ndarray, rate: float) -> list[tuple[float, float]]:
    """Find where the steer angle moves, within one sample under control, farther than any steer turns, and stays.

    Parameters
    ----------
    ticks : (n,) array
        Usable rows.
    rate : float
        Of the loop [Hz].

    Returns
    -------
    list of (float, float)
        Device's time of the last sample before [s], and size [rad].
    """
    t, steps = ticks["t"], np.diff(ticks["delta_meas"])
    size = np.abs(steps)
    steered = (ticks["state"][1:] == State.RUNNING) & (np.diff(t) < 1.5 / rate)
    far = np.flatnonzero(steered & (size > LEAST_STEER_JUMP))
    around = sliding_window_view(np.pad(size, STEPS_BESIDE), 2 * STEPS_BESIDE + 1)[far].copy()
    around[:, STEPS_BESIDE] = 0.0
    alone = far[size[far] - around.max(axis=1) > LEAST_STEER_JUMP]
    return [(float(t[i]), float(steps[i])) for i in alone]


def jump_remarks(jumps: list[tuple[float, float]]) -> tuple[str, ...]:
    """Say where the steer's zero moved, from `steer_jumps`."""
    return tuple(
        f"delta_meas: the steer jumps by {np.degrees(size):+.2g} deg at {at:.3f} s and stays, not free for "
        f"{AFTER_STEER_JUMP:g} s: its zero has moved; turn the bars past the encoder's index before the run, and see "
        "that no coupling slips"
        for at, size in jumps[:STEER_JUMPS_TOLD]
    )
