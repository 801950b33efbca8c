"""Lean angles that leave their own rate, and steer that never moves: faults of filters and encoders, not of motion.

A lean angle is an estimate: a filter joins a gyro with an accelerometer or a yaw rate. Where it trusts the wrong one,
lean moves while the lean rate says that the bicycle does not. Over a second they must agree within a gyro's bias.
"""

from dataclasses import replace

import numpy as np

from riderless.experiments.recordings.quality.checked import Recorded
from riderless.models.array_types import true_spans

WITHIN = 1.0  # s, over which lean is set against the integral of its rate
MOST_APART = 0.12  # rad; a bias of 0.12 rad/s, six times what a gyro has, or a filter that takes something else over
SPANS_TOLD = 3  # parts by name
NEVER_MOVES = 10.0  # s of a steer that never moves by one count while the lean rate does


def find_lean_faults(recorded: Recorded) -> Recorded:
    """Name the parts in which lean leaves the integral of its rate, and mark them not free; name a dead encoder."""
    return _dead_steer(_drifting_lean(recorded))


def _drifting_lean(recorded: Recorded) -> Recorded:
    response = recorded.response
    n = round(WITHIN / response.dt)
    if response.phi is None or response.phi_dot_unit != "rad/s" or len(response.t) <= n:
        return recorded
    moved = response.phi[n:] - response.phi[:-n]
    turned = np.cumsum(response.phi_dot) * response.dt
    apart = moved - (turned[n:] - turned[:-n])
    bad = np.abs(apart) > MOST_APART
    if not bad.any():
        return recorded
    flags = np.convolve(bad, np.ones(n + 1))[: len(response.t)] > 0.5
    spans = true_spans(flags)
    name, rate, t = recorded.name("phi"), recorded.name("phi_dot"), response.t
    said = [
        f"{name}: leaves the integral of {rate} by up to {np.abs(apart[a:b]).max():.2g} rad within "
        f"{WITHIN:g} s: its filter follows something else, not free, from {t[a]:.3f} to {t[b - 1]:.3f} s"
        for a, b in spans
    ]
    if len(said) > SPANS_TOLD + 1:
        said = [*said[:SPANS_TOLD], f"{name}: {len(said) - SPANS_TOLD} more parts like these"]
    free = np.ones(len(t), bool) if response.free is None else response.free
    return replace(recorded, response=replace(response, free=free & ~flags)).remarked(*said)


def _dead_steer(recorded: Recorded) -> Recorded:
    response = recorded.response
    if response.delta is None or response.t[-1] - response.t[0] < NEVER_MOVES:
        return recorded
    if np.ptp(response.delta) > 0.0 or np.ptp(response.phi_dot) == 0.0:
        return recorded
    name = recorded.name("delta")
    return recorded.remarked(f"{name}: is {response.delta[0]:.4g} rad in every row: the encoder is not read")
