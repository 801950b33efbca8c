"""First look, with which `make run` begins; what it finds is looked at in `test_foresight.py`, which runs it."""

import subprocess

from riderless.experiments.campaigns.session import open_campaign
from tests.paths import ROOT

FILE = "docs/campaigns/first_look.toml"


def test_it_is_one_run_of_three_kicks_in_simulated_time():
    campaign = open_campaign(ROOT / FILE)
    assert campaign.lockstep
    (condition,) = campaign.conditions
    assert len(condition.scenario.kicks) == 3


def test_make_run_begins_with_it_and_ends_with_a_ride_in_real_time_and_its_replay():
    plan = subprocess.run(
        ["make", "--dry-run", "run"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    ).stdout
    campaigns = [line.split("riderless campaign")[1] for line in plan.splitlines() if "riderless campaign" in line]
    assert [FILE in line for line in campaigns] == [True, False, False]
    assert ["rate_drive.toml" in line for line in campaigns] == [False, False, True]
    assert ".toml" not in campaigns[1]
    assert "--lockstep" in campaigns[1]
    ride, replay = [line for line in plan.splitlines() if "riderless " in line][-2:]
    assert "riderless run --emulated" in ride
    assert "riderless replay" in replay
