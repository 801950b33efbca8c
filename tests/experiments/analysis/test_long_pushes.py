"""A hand that pushes for as long as a hand may: windows begin when it is gone, and show the motion of theory.

Silver was looked at while the rule was made; Stratos_computed and Gyro_computed were not.
"""

from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments import analyze
from riderless.experiments.campaigns.protocols.plan_inputs import gentle_options
from riderless.experiments.emulation.hand import RELEASE_DELAY, kicks_in_turn
from riderless.hil.design.methods import design
from riderless.hil.loop.states import State
from riderless.hil.runners.simulated_run import simulate
from riderless.models import load_bicycle

KICKS = 0.6 + 3.2 * np.arange(3)  # s after the release
SWIFT = [  # weave of 28 to 39 and 8 to 11 rad/s, which turns the motion back before the hand is gone
    ("Silver", "lqr", 8.5),
    ("Silver", "poles", 9.0),
    ("Stratos_computed", "poles", 5.75),
    ("Gyro_computed", "lean", 4.75),
]


def ride(name, method, v, lengths, seed=11):
    """A run with pushes of these lengths, and when each ended on its clock [s]."""
    bicycle = replace(load_bicycle(name), std={})
    gains = design(bicycle, method, [v - 0.25, v, v + 0.25], allow_unstable=True, **gentle_options(bicycle, method))
    kicks = kicks_in_turn(bicycle, KICKS, np.random.default_rng(seed), lengths=lengths)
    run = simulate(bicycle, gains, speed=v, kicks=kicks, duration=10.2, seed=seed, model="linear")
    released = run.ticks["t"][run.ticks["state"] == State.RUNNING][0] + RELEASE_DELAY
    return run, [released + kick.t + kick.duration for kick in kicks]


@pytest.mark.parametrize(("name", "method", "v"), SWIFT)
def test_windows_begin_when_the_hand_is_gone(name, method, v):
    """They began up to 0.1 s before, and verdicts rejected true bicycles."""
    run, ends = ride(name, method, v, (0.2, 0.3))
    result = analyze(run)
    assert len(result.comparisons) >= 2
    for one in result.comparisons:
        assert min(abs(one.window.t_start - end) for end in ends) < 0.35, "soon after a push"
        assert all(not end - 0.3 < one.window.t_start < end for end in ends)
        assert np.all(np.abs([one.z_re, one.z_im]) < 3.0), one
    assert result.verdicts[0].p > 0.01


def test_a_short_push_costs_no_motion():
    """Of a weave that is slow beside the push the turning point is its end, as before."""
    run, ends = ride("Silver", "poles", 6.2, (0.06, 0.08))
    for one, end in zip(analyze(run).comparisons, ends, strict=True):
        assert 0.0 < one.window.t_start - end < 0.05
