"""Campaigns under a drive that obeys a steer rate (the third part of `make run`) or a steer angle."""

import json
import re
from dataclasses import replace

import pytest

from riderless.experiments.campaigns.file import plan_campaign, read_campaign
from riderless.experiments.campaigns.rehearsal import dry_run
from riderless.experiments.campaigns.session import run_campaign
from riderless.models.errors import InputError
from tests.experiments.commands.test_cli import call
from tests.hil.design.test_steered_compensators import CHALMERS
from tests.paths import ROOT

FILE = "docs/campaigns/rate_drive.toml"


def test_its_gains_are_designed_for_the_drive_of_its_rig():
    campaign = read_campaign(ROOT / FILE)
    assert campaign.lockstep
    assert {condition.schedule.drive for condition in campaign.conditions} == {campaign.machine.drive}
    assert {condition.rig.drive_kind for condition in campaign.conditions} == {"rate"}


def test_a_rehearsal_counts_the_rate_asked_for_against_its_own_limit():
    condition = read_campaign(ROOT / FILE).conditions[0]
    rehearsal = dry_run(condition)
    assert rehearsal.refusal == ""
    assert set(rehearsal.shares) == {"steer_rate", "lean", "steer"}
    limits = condition.machine.limits
    machine = replace(
        condition.machine, limits=replace(limits, steer_rate=replace(limits.steer_rate, value=0.3, reason="low"))
    )
    refusal = dry_run(replace(condition, machine=machine)).refusal
    asked = 100.0 * rehearsal.shares["steer_rate"] * limits.steer_rate.value / 0.3
    assert re.search(rf"steer rate would reach 0.3\d+ rad/s, {asked:.0f} % of its limit of 0.3 rad/s", refusal)


@pytest.mark.parametrize("method", ["poles", "off"])
def test_method_of_another_drive_is_refused(method):
    settings = {
        "name": "x",
        "rig": "rate-drive.toml",
        "controller": [{"method": method}],
        "protocol": [{"kind": "treadmill", "speeds_m_s": [4.0]}],
    }
    with pytest.raises(
        InputError, match=f"a controller's method is one of lqr, cascade, lane, lqg, yaw_rate, found '{method}'"
    ):
        plan_campaign(settings, ROOT / "docs/rigs")


def test_every_kick_is_found_and_agrees_with_the_prediction(tmp_path, capsys, monkeypatch):
    code, out, err = call(capsys, monkeypatch, "campaign", ROOT / FILE, "--out", tmp_path, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert len(found["windows"]) == 9
    assert all(abs(window["z_re"]) < 3.0 and abs(window["z_im"]) < 3.0 for window in found["windows"])
    assert all(verdict["p"] > 0.01 for verdict in found["verdicts"])
    assert "<svg" in (tmp_path / "rate_drive" / "report.html").read_text()


@pytest.mark.usefixtures("_unreported")
def test_modes_under_an_angle_drive_agree_with_the_prediction_where_the_cascade_lets_them_last(tmp_path):
    result = run_campaign(ROOT / "docs/campaigns/angle_drive.toml", tmp_path)
    assert result.missing == []
    found = result.findings.as_json()
    assert len(found["windows"]) == 4, "every kick"
    assert all(abs(window["z_re"]) < 3.0 and abs(window["z_im"]) < 3.0 for window in found["windows"])
    assert all(verdict["p"] > 0.01 for verdict in found["verdicts"])


@pytest.mark.usefixtures("_unreported")
def test_laws_with_states_are_measured_and_predicted_under_a_rate_drive(tmp_path):
    """A PI on the yaw rate around the cascade, and a law in Python, on Silver, which no gains here were chosen on."""
    rig = (ROOT / "docs/rigs/rate-drive.toml").read_text(encoding="utf-8")
    (tmp_path / "rig.toml").write_text(rig.replace('"Benchmark"', '"Silver"'), encoding="utf-8")
    (tmp_path / "law.py").write_text(CHALMERS, encoding="utf-8")
    settings = {
        "name": "states",
        "rig": "rig.toml",
        "time": "lockstep",
        "controller": [
            {"name": "yaw", "method": "yaw_rate", "options": {"inner": "cascade", "options": {"command": 0.05}}},
            {"name": "law", "file": "law.py"},
        ],
        "protocol": [{"kind": "treadmill", "speeds_m_s": [5.0], "kicks": 3, "lean_rate_rad_s": 0.25}],
    }
    result = run_campaign(plan_campaign(settings, tmp_path), tmp_path / "runs")
    windows = result.findings.as_json()["windows"]
    assert len(windows) == 6
    assert all(abs(window[z]) < 3.0 for window in windows for z in ("z_re", "z_im"))
