"""What `design` says of the weave is what `analyze` finds in a run: the same rules, asked before and after."""

import numpy as np
import pytest

from riderless.experiments.analysis.analyze import analyze_responses
from riderless.experiments.analysis.identification import identifiability
from riderless.experiments.analysis.identification.identifiability import (
    WeaveMeasurability,
    emulated_loop,
    weave_measurability,
)
from riderless.experiments.campaigns.protocols.plan_inputs import gentle_options
from riderless.experiments.emulation.hand import FIRST_KICK, KICK_SPACING, hand_kick
from riderless.experiments.recordings.run_response import response_of_run
from riderless.hil.design.methods import design
from riderless.hil.design.sampled_plant import LoopTiming
from riderless.hil.runners.simulated_run import simulate
from riderless.models.catalogue import load_bicycle
from riderless.models.plant.plant import Kick, Scenario


def kicks_of(bicycle, n=3):
    rng = np.random.default_rng(1)
    return [hand_kick(bicycle, FIRST_KICK + i * KICK_SPACING, (-1) ** i, rng) for i in range(n)]


def promised(gains, v):
    return weave_measurability(emulated_loop(gains), v, kicks_of(gains.bicycle), KICK_SPACING)


def found(gains, v):
    """Windows that could be fitted in a lockstep run, and their cycles."""
    scenario = Scenario(speed=((0.0, v),), kicks=tuple(kicks_of(gains.bicycle)), seed=3)
    run = simulate(gains.bicycle, gains, scenario=scenario, duration=FIRST_KICK + 3 * KICK_SPACING, model="linear")
    comparisons = analyze_responses([response_of_run(run)]).comparisons
    return [c.fit.im * c.window.duration / (2.0 * np.pi) for c in comparisons]


@pytest.mark.parametrize(
    ("name", "v", "method", "gentle"),
    [
        ("Silver", 4.0, "lqr", False),
        ("Silver", 5.0, "lqr", False),
        ("Silver", 4.0, "lqr", True),
        ("Silver", 5.0, "lqr", True),
        ("Benchmark", 4.0, "lqr", True),
        ("Benchmark", 5.0, "lqr", True),
        ("Yellow", 3.0, "poles", True),
        ("Yellow", 4.0, "lqr", True),
        ("Browser", 4.0, "lqr", False),
        ("Browser", 4.0, "lqr", True),
        ("Browser", 5.0, "poles", True),
    ],
)
def test_the_promise_of_a_design_is_kept_by_a_run(name, v, method, gentle):
    bicycle = load_bicycle(name)
    options = gentle_options(bicycle, method) if gentle else {}
    gains = design(bicycle, method, [v - 0.25, v, v + 0.25], **options)
    promise, cycles = promised(gains, v), found(gains, v)
    assert promise.measurable == gentle, promise
    assert len(cycles) == (3 if gentle else 0)
    if gentle:
        assert promise.cycles == pytest.approx(np.median(cycles), rel=0.35), "of the same order, noise and all"


def test_it_says_why_not():
    silver = load_bicycle("Silver")
    damped = promised(design(silver, "lqr", [4.0]), 4.0)
    assert not damped.measurable
    assert "less than one" in damped.reason
    assert str(damped) == f"no, {damped.cycles:.2f} cycles"
    falling = promised(design(silver, "off", [3.5]), 3.5)  # below its weave speed
    assert str(falling) == "no, it falls"
    assert str(WeaveMeasurability(1.234)) == "yes, 1.23 cycles"
    assert str(WeaveMeasurability(3.6, "too small: 0.3 rad/s at its peak")) == "no, too small"


def test_a_kick_too_soon_leaves_no_window():
    gains = design(load_bicycle("Silver"), "lqr", [4.5], weights={"T_delta": 0.03})
    loop = emulated_loop(gains)
    often = [Kick(1.0 + 0.8 * i, 4.0 * (-1) ** i) for i in range(5)]
    assert promised(gains, 4.5).measurable
    assert not weave_measurability(loop, 4.5, often, 0.8).measurable


def test_it_goes_by_the_timing_of_the_gains():
    timing = LoopTiming(rate=400.0, delay=0.4, drive_lag=0.002)
    loop = emulated_loop(design(load_bicycle("Silver"), "lqr", [4.5], timing, weights={"T_delta": 0.03}))
    assert loop.dt == 0.0025
    assert loop.eigenvalues(4.5).real.max() < 0.0
    immediate = emulated_loop(design(load_bicycle("Silver"), "lqr", [4.5], LoopTiming(delay=0, drive_lag=0.0)))
    assert immediate.eigenvalues(4.5).real.max() < 0.0


def test_the_kick_gives_the_lean_rate_that_the_plants_gives():
    # at rest, T_phi = -z F and T_delta = x c cos(lam) / w F turn the bicycle by M^-1 (Meijaard et al. 2007, eq. 5.3)
    bicycle, kick = load_bicycle("Silver"), Kick(0.5, impulse=4.0, duration=0.1)
    loop = emulated_loop(design(bicycle, "off", [6.0]))
    response = identifiability._kicked(loop, 6.0, [kick], 0.5)
    scenario = Scenario(speed=((0.0, 6.0),), kicks=(kick,), seed=3)
    run = response_of_run(simulate(bicycle, loop.schedule, scenario=scenario, duration=1.0, model="linear"))
    after = run.t >= run.t[np.flatnonzero(run.free)[0]]
    assert np.abs(response.phi_dot).max() == pytest.approx(np.abs(run.phi_dot[after]).max(), rel=0.05)
