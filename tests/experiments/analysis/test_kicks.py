"""Where a kick is found, beside where the emulated hand pushed: known to the step, over speeds, noise and pushes."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from riderless.experiments.analysis.windows.find import find_windows
from riderless.experiments.analysis.windows.kicks import KickRules, find_kicks
from riderless.experiments.campaigns.protocols.treadmill import treadmill_conditions
from riderless.experiments.emulation.hand import FIRST_KICK, KICK_SPACING, KICKS_PER_RUN
from riderless.experiments.recordings.read import read_recording
from riderless.hil.runners.simulated_run import run_lockstep
from tests.experiments.pushed import PUSHES, pushed
from tests.studies.verdict_calibration.simulate import campaign_responses
from tests.studies.verdict_calibration.strata import study_campaigns

NEAR = 0.1  # s, that a kick may lie from where a careful person puts it


@pytest.mark.parametrize("noise", [0.0, 0.003, 0.01, 0.03])
@pytest.mark.parametrize("v", [1.5, 2.0, 3.5, 5.0, 6.4])
def test_every_push_is_found_where_it_was_and_none_beside(v, noise):
    response, turns = pushed(v, noise)
    found = find_kicks(response, KickRules())
    large = [k for k in found if abs(response.phi_dot[k.end]) > 0.1]
    assert len(large) == len(PUSHES)
    # the finest test: where the person who cuts a window starts it
    assert response.t[[k.end for k in large]] == pytest.approx(turns, abs=NEAR)
    assert response.t[[k.onset for k in large]] == pytest.approx(PUSHES, abs=NEAR)


@pytest.mark.parametrize("early", [0.40, 0.41, 0.42, 0.43])
def test_a_stir_of_the_background_just_before_a_kick_does_not_hide_it(early):
    """Seen in a run in real time: the bicycle, just let go, drifted a little in the 0.4 s before its first kick."""
    response, _ = pushed(5.0, 0.0)
    t = response.t
    since = t - (PUSHES[0] - early)
    drift = np.where(since < 0.15, since / 0.15, 1.0 - 1.5 * (since - 0.15)) * ((since > 0.0) & (t < PUSHES[0]))
    rate = response.phi_dot + 0.0015 * np.sin(40.0 * t) + 0.005 * drift
    found = find_kicks(replace(response, phi_dot=rate), KickRules())
    large = [k for k in found if abs(rate[k.end]) > 0.1]
    assert t[[k.onset for k in large]] == pytest.approx(PUSHES, abs=NEAR)


@pytest.mark.parametrize("v", [3.5, 5.0, 6.4])
def test_a_window_starts_where_a_person_would_or_the_settling_time_later(v):
    response, turns = pushed(v, 0.003)
    windows, _ = find_windows(response)
    assert len(windows) == len(PUSHES)
    for window, turn in zip(windows, turns, strict=True):
        waited = float(window.rule.split(" s after")[0])
        assert window.t_start == pytest.approx(turn + waited, abs=NEAR)


@pytest.mark.parametrize("which", ["Benchmark off", "Benchmark lqr 3.8", "Benchmark lqr 7.0", "Silver poles 2.8"])
def test_pushes_of_a_campaigns_run_are_found_as_far_apart_as_they_were(tmp_path, which):
    """Through the whole loop: bytes, devices' clocks, the unrest that the release leaves behind."""
    condition = next(c for c in treadmill_conditions(1) if c.label.startswith(which))
    run_lockstep(tmp_path / "run", condition.rig, condition.schedule, condition.scenario, condition.duration)
    response = replace(read_recording(tmp_path / "run"), markers=())
    found = find_kicks(response, KickRules())
    assert len(found) == len(condition.scenario.kicks)
    begins = response.t[[k.onset for k in found]]
    assert [b - a for a, b in pairwise(begins)] == pytest.approx([KICK_SPACING] * (len(found) - 1), abs=0.5 * NEAR)
    lasted = [k.duration for k in condition.scenario.kicks]
    ends = response.t[[k.end for k in found]]
    assert ends - begins == pytest.approx(lasted, abs=NEAR)


def test_a_kick_into_a_large_swing_is_found_where_the_swing_is_not_foretold_to_the_last_digit():
    """Without control a weave decays slowly; what its prediction leaves began to grow 0.4 s before the third kick."""
    (campaign,) = (one for one in study_campaigns(25, 4000) if one.number == 24)
    slowest = campaign_responses(campaign)[0]
    begins = slowest.t[[k.onset for k in find_kicks(slowest, KickRules())]]
    assert np.diff(begins) == pytest.approx([KICK_SPACING] * (KICKS_PER_RUN - 1), abs=0.5 * NEAR)
    windows, _ = find_windows(slowest)
    assert len(windows) == KICKS_PER_RUN
    released = begins[0] - FIRST_KICK  # before it the bicycle is held
    for i, window in enumerate(windows[:-1]):
        assert window.t_end < released + FIRST_KICK + (i + 1) * KICK_SPACING


def test_a_kick_too_small_for_a_window_ends_the_one_before_it():
    """Seen in still air: a kick into a large swing adds little to it, and a window ran on through its push."""
    slowest = campaign_responses(study_campaigns(89, 4000)[88])[0]
    windows, refused = find_windows(slowest)
    (small,) = [part.t_start for part in refused if part.reason.startswith("too small")]
    assert len(windows) == KICKS_PER_RUN - 1
    assert all(window.t_end < small or window.t_start > small for window in windows)
