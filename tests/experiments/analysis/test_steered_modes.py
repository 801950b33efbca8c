"""Kicks under a drive that obeys a steer rate: the measured weave is the one that the whole loop predicts.

The gentle gains were chosen on Benchmark and Silver; Rigid, DelftSbW2024, Balanceassistv1, Fisher and Pista are others.
"""

import numpy as np
import pytest

from riderless.experiments import analyze
from riderless.experiments.campaigns.protocols.plan_inputs import gentle_options
from riderless.experiments.emulation.hand import RELEASE_DELAY, hand_kick
from riderless.hil.design.methods import design
from riderless.hil.loop.states import State
from riderless.hil.runners.simulated_run import simulate
from riderless.models import load_bicycle
from riderless.models.linear.prescribed_steer import InnerLoop

DRIVE = InnerLoop(kind="rate", bandwidth=50.0, damping=1.0)
V = 6.0  # m/s
KICKS = 0.6 + 3.2 * np.arange(3)  # s after the release


@pytest.mark.parametrize(("lengths", "least"), [((0.06, 0.12), 1), ((0.1, 0.25), 2), ((0.25, 0.3), 2)])
@pytest.mark.parametrize("name", ["Pista", "Fisher"])
def test_windows_open_after_the_push_where_the_drive_turns_the_motion_back_sooner(name, lengths, least):
    """Under the cascade that only balances the lean rate turns long before a push of a person has ended."""
    bicycle = load_bicycle(name)
    gains = design(bicycle, "cascade", [V - 0.25, V, V + 0.25], drive=DRIVE)
    rng = np.random.default_rng(7)
    kicks = [hand_kick(bicycle, float(t), (-1) ** i, rng, lean_rate=0.25, lengths=lengths) for i, t in enumerate(KICKS)]
    run = simulate(bicycle, gains, speed=V, kicks=kicks, duration=10.2, seed=3, model="linear")
    released = run.ticks["t"][run.ticks["state"] == State.RUNNING][0] + RELEASE_DELAY
    found = analyze(run).comparisons
    assert len(found) >= least
    for one in found:
        last = max(released + kick.t + kick.duration for kick in kicks if released + kick.t < one.window.t_start)
        assert one.window.t_start > last + DRIVE.lag
        assert np.all(np.abs([one.z_re, one.z_im]) < 2.0), one


@pytest.mark.parametrize("name", ["Silver", "Rigid", "DelftSbW2024", "Balanceassistv1", "Fisher", "Pista"])
def test_measured_weave_is_the_predicted_one_within_three_standard_deviations(name):
    bicycle = load_bicycle(name)
    gains = design(
        bicycle, "cascade", [V - 0.25, V, V + 0.25], drive=DRIVE, **gentle_options(bicycle, "cascade", DRIVE)
    )
    rng = np.random.default_rng(7)
    kicks = [hand_kick(bicycle, float(t), (-1) ** i, rng, lean_rate=0.25) for i, t in enumerate(KICKS)]
    found = analyze(simulate(bicycle, gains, speed=V, kicks=kicks, duration=10.2, seed=3, model="linear")).comparisons
    assert len(found) == 3
    for one in found:
        assert np.all(np.abs([one.z_re, one.z_im]) < 3.0), one
        assert abs(one.fit.eigenvalue.imag) > 4.0, "the weave"
