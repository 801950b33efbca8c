"""Campaigns of labs that never saw riderless: their mechanics are the printed ones, and their logs are understood."""

import json
from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments import analyze
from tests.paths import ROOT
from tests.reference.foreign_campaigns.generate import (
    LAWS,
    LEVELS,
    MEASURED,
    STEP,
    ForeignCampaign,
    canonical,
    draw_campaign,
    linear_plant,
    push_torque,
    slowing,
    totals,
    write_campaign,
)
from tests.studies.bending_ride import bending_ride
from tests.studies.foreign_campaigns import ask_foreign, foreign_line, foreign_tables, read_foreign_answers

PRINTED = json.loads((ROOT / "tests/reference/linear_reference.json").read_text(encoding="utf-8"))["bicycles"]


@pytest.mark.parametrize("name", sorted(PRINTED.keys() & MEASURED.keys()))
def test_matrices_are_those_computed_independently(name):
    for found, entry in zip(canonical(MEASURED[name]["parameters"]), ("M", "C1", "K0", "K2"), strict=True):
        assert found == pytest.approx(np.array(PRINTED[name][entry]), rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("name", ["Benchmark", "Silver", "Rigid"])
def test_a_coasting_bicycle_has_the_terms_computed_independently(name):
    """To 1e-9, of rolling about horizontal axes and the rest of the force as air on the rear frame."""
    given = json.loads((ROOT / "tests/reference/road_forces.json").read_text(encoding="utf-8"))["bicycles"][name]
    p, v = given["parameters"], 5.0
    for case in given["cases"]:
        if case["case"] == "rolling_006_rest_drag" and case["v_dot"] < 0.0:
            loads = case["loads"]
            campaign = ForeignCampaign(
                *(0, "plain", name, "bare"),
                rolling=0.006,
                rolling_axis=1.0,
                drag_area=loads["drag_N"] / (0.6 * v**2),
                drag_height=loads["z"] / totals(p).zT,
            )
            a, K = slowing(campaign, p, v)
            assert a == pytest.approx(case["v_dot"], rel=1e-9)
            np.testing.assert_allclose(K, case["K"], atol=1e-9)


@pytest.mark.parametrize("law", LAWS)
def test_a_small_motion_of_the_nonlinear_ride_is_the_linear_one(law):
    """Coasting by rolling and air in shares: to some 6e-4 of each state, of which the linear ride's steps have most."""
    campaign, n = draw_campaign(100, "instruments", law, coasts=True), round(5.0 / STEP)
    push = (campaign, campaign.speeds[0], 1e-3 * push_torque(campaign, [0.5], n), np.zeros((n, 5)))
    (bent, speed), (linear, expected) = bending_ride(*push), linear_plant(*push)
    for state in (0, 1, 2, 3, 5):
        assert np.abs(bent - linear)[:, state].max() < 1e-3 * np.abs(linear[:, state]).max()
    np.testing.assert_allclose(speed, expected, atol=1e-4)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("law", LAWS)
def test_a_campaign_hangs_on_its_number_level_and_law_alone(level, law):
    assert draw_campaign(2, level, law) == draw_campaign(2, level, law) != draw_campaign(4, level, law)


def test_a_plain_campaign_is_judged(tmp_path):
    answer = ask_foreign(draw_campaign(4, "plain", "lean"))
    assert answer.judged, answer.why
    assert answer.p > 0.01
    path = tmp_path / "answers.jsonl"
    path.write_text(foreign_line(answer) + "\n", encoding="utf-8")
    assert read_foreign_answers(path)[0].chi2 == answer.chi2
    assert "| all | 1 | 0 |" in foreign_tables([answer])["all"]


def test_windows_wait_for_the_end_of_a_push_by_a_strangers_hand(tmp_path):
    """They began where the motion turned: chi-square 36 of 6 under pushes of 0.36 s, and hysteresis was named."""
    campaign = replace(draw_campaign(44, "instruments", "lean"), push=0.3)
    logs = write_campaign(campaign, tmp_path)
    begun = {}
    for log in logs:
        rows = np.genfromtxt(log, delimiter=",", names=True)
        begun[log.name] = rows["time_s"][1:][np.diff(rows["button"]) > 0.0]
    found = analyze(logs, mapping=tmp_path / "mapping.toml")
    assert len(found.comparisons) > 12
    for one in found.comparisons:
        since = one.window.t_start - begun[one.window.source]
        assert not np.any((since > 0.0) & (since < campaign.push - 0.05)), one


def test_a_mass_that_is_a_tenth_off_is_among_what_cannot_be_told_apart():
    """The motion ranks a mass by what a scale leaves of doubt, and so never tried it: the steer's inertia was named."""
    campaign = replace(draw_campaign(4, "plain", "state"), planted={"mB": 8.5})
    answer = ask_foreign(campaign)
    assert answer.p < 1e-6
    assert answer.named in ("right", "among equals")
