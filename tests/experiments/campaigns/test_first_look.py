"""First look, with which `make run` begins: one run, and a report that compares it with the prediction."""

import json
import os
import subprocess
import sys

import pytest

from experiments.campaigns.session import open_campaign
from tests.paths import ROOT

FILE = "docs/campaigns/first_look.toml"


def test_it_is_one_run_of_three_kicks_in_simulated_time():
    campaign = open_campaign(ROOT / FILE)
    assert campaign.lockstep
    (condition,) = campaign.conditions
    assert len(condition.scenario.kicks) == 3


def test_make_run_begins_with_it_and_goes_on_in_real_time():
    plan = subprocess.run(
        ["make", "--dry-run", "run"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    ).stdout
    campaigns = [line.split("riderless campaign")[1] for line in plan.splitlines() if "riderless campaign" in line]
    assert [FILE in line for line in campaigns] == [True, False, False, False]
    assert ["rate_drive.toml" in line for line in campaigns] == [False, False, False, True]
    assert ["lane.toml" in line for line in campaigns] == [False, False, True, False]
    assert not any("--lockstep" in line for line in campaigns)


@pytest.mark.timeout(600)  # all may have to be compiled
def test_every_kick_is_found_and_agrees_with_the_prediction(tmp_path):
    command = [sys.executable, "-m", "experiments.cli", "campaign", FILE, "--out", str(tmp_path)]
    done = subprocess.run([*command, "--json"], cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=590)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["windows"]) == 3
    assert all(abs(window["z_re"]) < 3.0 and abs(window["z_im"]) < 3.0 for window in found["windows"])
    (verdict,) = found["verdicts"]
    assert verdict["p"] > 0.05
    assert found["report"] == str(tmp_path / "first_look" / "report.html")
    assert "<svg" in (tmp_path / "first_look" / "report.html").read_text()
