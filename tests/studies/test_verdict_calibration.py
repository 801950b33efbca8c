"""Calibration of the verdict: resumable, and 20 true campaigns of the study within their bounds."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kstest

from riderless.experiments.analysis.analyze import analyze_responses
from riderless.hil.rig.rig import Rig
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import Variant
from tests.studies.verdict_calibration import judge
from tests.studies.verdict_calibration.judge import CampaignAnswer, ask_all, read_answers
from tests.studies.verdict_calibration.page import (
    binomial_bounds,
    calibration_tables,
    holm,
)
from tests.studies.verdict_calibration.simulate import campaign_responses, true_machine
from tests.studies.verdict_calibration.strata import HONEST_STRATA, STRATA, study_campaigns
from tests.tools.tables import write_tables

PLAN = study_campaigns(16, 5)


def answered(p=0.5):
    return lambda campaign: CampaignAnswer(campaign, 3, 9, 5.0, 6, p)


def test_a_study_goes_on_where_it_was_stopped(tmp_path, monkeypatch):
    path, asked = tmp_path / "answers.jsonl", []

    def ask(campaign):
        if len(asked) == 5:
            raise KeyboardInterrupt
        asked.append(campaign.key)
        return answered()(campaign)

    monkeypatch.setattr(judge, "ask_verdict", ask)
    with pytest.raises(KeyboardInterrupt):
        list(ask_all(PLAN, path))
    with path.open("a") as file:
        file.write('{"key": "cut sho')  # as by a power failure
    assert len(read_answers(path)) == 5
    again = []
    monkeypatch.setattr(judge, "ask_verdict", lambda campaign: (again.append(campaign.key), answered()(campaign))[1])
    found = list(ask_all(PLAN, path))
    assert sorted(asked + again) == sorted(one.key for one in PLAN)
    assert [one.campaign for one in found[:5]] == PLAN[:5]
    assert read_answers(path) == found


def test_a_line_that_lacks_its_end_alone_is_not_lost(tmp_path, monkeypatch):
    path = tmp_path / "answers.jsonl"
    monkeypatch.setattr(judge, "ask_verdict", answered())
    list(ask_all(PLAN[:3], path))
    path.write_text(path.read_text().removesuffix("\n"))
    assert len(list(ask_all(PLAN[:3], path))) == 3
    assert len(read_answers(path)) == 3, "each that was told is in the file"


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text('{"key": "x"}\n{"key": "y"}\n')
    with pytest.raises(InputError, match="wanted an answer of the study in line 1 of"):
        read_answers(path)


def test_the_plan_hangs_on_seed_and_number_alone():
    assert study_campaigns(24, 5)[:16] == PLAN
    assert {one.stratum for one in PLAN} == set(HONEST_STRATA)
    assert len({one.key for one in PLAN}) == len(PLAN)
    with pytest.raises(InputError, match="wanted a stratum among certain, drawn"):
        study_campaigns(1, 1, ("storm",))


def test_bounds_and_corrections():
    low, high = binomial_bounds(400, 0.05)
    mass = [math.comb(400, i) * 0.05**i * 0.95 ** (400 - i) for i in range(401)]
    assert sum(mass[:low]) < 0.005 <= sum(mass[: low + 1])
    assert sum(mass[high + 1 :]) <= 0.005 < sum(mass[high:])
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])  # Holm (1979) by hand


def test_the_tables_tell_a_liberal_verdict(tmp_path):
    p = (np.arange(64) + 0.5) / 64
    plan = study_campaigns(64, 5)
    true = [answered(one)(campaign) for one, campaign in zip(p, plan, strict=True)]
    said = calibration_tables(true)["verdict by stratum"].splitlines()[-1]
    assert said.startswith("| all | 64 |")
    assert said.endswith("| yes |")
    liberal = [replace(one, p=one.p**3) for one in true]
    assert calibration_tables(liberal)["verdict by stratum"].splitlines()[-1].endswith("| no |")
    in_wind = [replace(one, reason="wind" if one.p < 0.01 else "") for one in true]
    assert calibration_tables(in_wind)["verdict by stratum"].splitlines()[-1].startswith("| all | 63 | 1 |")
    write_tables(tmp_path / "page.md", calibration_tables(true))
    assert "| all | 64 |" in (tmp_path / "page.md").read_text()


def test_each_stratum_is_another_one_than_all_others():
    named_alike = [replace(stratum, name="") for stratum in STRATA.values()]
    assert all(one not in named_alike[:i] for i, one in enumerate(named_alike))


@pytest.mark.slow
def test_runs_on_a_ramp_slow_down_as_the_page_says():
    campaign = next(one for one in study_campaigns(16, 5, ("ramp",), ("Rigid",)) if one.method == "off")
    for response in campaign_responses(campaign):
        assert 0.095 < -np.polyfit(response.t[response.free], response.v[response.free], 1)[0] < 0.205  # m/s^2


@pytest.mark.slow
def test_drawn_bicycles_differ_and_certain_ones_do_not():
    drawn, certain = (
        next(one for one in study_campaigns(16, 5, (name,), ("Rigid",)) if one.method == "off")
        for name in ("drawn", "certain")
    )
    assert campaign_responses(drawn)[0].theory.uncertain
    assert not campaign_responses(certain)[0].theory.uncertain


def test_a_sensor_is_pitched_as_the_rig_says_that_it_may_be():
    rig = Rig(replace(load_bicycle("Benchmark"), std={}))
    drawn = [true_machine(rig, np.random.default_rng(seed)).imu_pitch for seed in range(200)]
    assert np.degrees(np.std(drawn)) == pytest.approx(0.3, rel=0.15)
    known = replace(rig, std={"imu_pitch": 0.0})
    assert true_machine(known, np.random.default_rng(1)) == Variant(known.bicycle)


def test_the_study_asks_what_analyze_answers_in_wind_too():
    """Once its search over parameters forgot the wind: p was 0.006 for 0.6, elsewhere 1e-88."""
    campaign = study_campaigns(8, 77001, ("gusts 4 N",), ("Browser", "Crescendo", "Benchmark", "Silver"))[7]
    (verdict,) = analyze_responses(campaign_responses(campaign)).verdicts
    assert verdict.parameters is not None  # drawn from deviations
    assert judge.ask_verdict(campaign).chi2 == pytest.approx(verdict.chi2, rel=1e-9)


@pytest.mark.slow
def test_twenty_true_campaigns_are_rejected_as_often_as_p_says(tmp_path):
    plan = study_campaigns(20, 41, ("certain", "drawn", "ramp", "nonlinear 0.15"))
    found = [one for one in ask_all(plan, tmp_path / "answers.jsonl") if np.isfinite(one.p)]
    assert len(found) >= 19
    p = np.array([one.p for one in found])
    assert np.sum(p < 0.05) <= binomial_bounds(len(p), 0.05)[1]
    assert np.sum(p < 0.01) <= binomial_bounds(len(p), 0.01)[1]
    assert kstest(p, "uniform").pvalue > 0.01
    assert len(json.loads((tmp_path / "answers.jsonl").read_text().splitlines()[0])) > 5
