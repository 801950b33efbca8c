"""Signals of the drive itself, where that obeys a steer rate or angle: steps, multisines, kicks; and what it cannot."""

import numpy as np
import pytest

from riderless.experiments.campaigns.file import plan_campaign, read_campaign
from riderless.experiments.campaigns.session import run_campaign
from riderless.experiments.theory.excited_loop import excited_loop
from riderless.hil.design.methods import design
from riderless.hil.logs.log import read_run
from riderless.hil.loop.excitation import Excitation
from riderless.hil.loop.states import State, Verdict
from riderless.hil.rig.file import read_rig
from riderless.hil.rig.task import Task
from riderless.hil.runners.replay import replay
from riderless.hil.runners.session import run_realtime
from riderless.models.errors import InputError
from tests.experiments.campaigns.test_steered_sweep import planned as planned_sweep
from tests.paths import ROOT

CUT = Verdict.RATE_LIMIT | Verdict.TORQUE_LIMIT


def planned(folder, drive, method, **protocol):
    return planned_sweep(folder, drive, method, kind="identification", duration_s=24.0, **protocol)


@pytest.mark.usefixtures("_unreported")
@pytest.mark.parametrize(("kind", "method", "signal"), [("rate", "cascade", "multisine"), ("angle", "lqg", "steps")])
def test_what_the_drive_plays_is_all_played_and_answered_as_predicted(kind, method, signal, tmp_path):
    campaign = planned(tmp_path, kind, method, signal=signal)
    (condition,) = campaign.conditions
    result = run_campaign(campaign, tmp_path / "runs")
    (fit,) = result.findings.as_json()["frequency_responses"]
    assert fit["command_unit"] == condition.rig.drive.unit
    for part in (fit["goodness"]["loop"], fit["goodness"]["plant"]):
        assert part["p"] > 0.01
        assert part["gain"] == pytest.approx(1.0, abs=4.0 * part["gain_std"] + 1e-3)
    run = read_run(result.runs[0].folder)
    rows = run.ticks[run.ticks["state"] == State.RUNNING]
    assert not np.any(rows["verdict"].astype(int) & CUT), "no limit cuts what is played"
    assert replay(run).identical


def test_an_amplitude_is_given_in_the_unit_of_the_command_and_keeps_to_the_drive(tmp_path):
    with pytest.raises(InputError, match=r"amplitude_rad_s is a steer rate, but .* a steer angle \[rad\]: give .*rad,"):
        planned(tmp_path, "angle", "lqr", amplitude_rad_s=0.1)
    (condition,) = planned(tmp_path, "angle", "lqr", amplitude_rad=0.01, signal="multisine").conditions
    assert condition.excitation.amplitude == 0.01
    with pytest.raises(InputError, match=r"of 0.08 rad at 4.5 m/s meets the limit steer_rate of 6 rad/s, .* at most "):
        planned(tmp_path, "angle", "lqr", amplitude_rad=0.08, signal="steps")


def test_steps_of_an_angle_change_it_no_faster_than_a_command_may_change(tmp_path):
    """A step of 2 A within a sample of 5 ms, from a simulation of the loop that knows nothing of limits."""
    (condition,) = planned(tmp_path, "angle", "lqr", signal="steps", share_of_limits=0.9).conditions
    rig, played = condition.rig, condition.excitation
    sent = excited_loop(rig, condition.schedule, 4.5).response(played.samples(rig.rate))["T"]
    assert np.abs(np.diff(sent)).max() <= 0.005 * 0.9001 * rig.limits.steer_rate.value


def test_such_a_drive_lets_nothing_go(tmp_path):
    release = {"kind": "release", "speeds_m_s": [3.6]}
    settings = {"name": "x", "rig": "rate-drive.toml", "controller": [{"method": "cascade"}], "protocol": [release]}
    refused = "takes the torque off, but the drive of the rig 'rate drive' .* would hold the steer where it is"
    with pytest.raises(InputError, match=refused):
        plan_campaign(settings, ROOT / "docs/rigs")
    rig = read_rig(ROOT / "docs/rigs/rate-drive.toml")
    gains = design(rig.bicycle, "cascade", (4.0, 4.5), rig.timing, drive=rig.drive)
    with pytest.raises(InputError, match=refused):
        run_realtime(tmp_path / "run", rig, gains, "nowhere", 5.0, task=Task(Excitation(releases=((1.0, 2.0),))))


def test_it_kicks_itself_by_its_steer_rate_and_learns(tmp_path):
    """The belt emulated is as fast as it says: 1 is the truth, and the interval is found from the kicks alone."""
    campaign = read_campaign(ROOT / "docs/campaigns/auto_rate.toml")
    assert "kicks by 0.54 rad/s, stand at the stop" in campaign.conditions[1].instruction
    result = run_campaign(campaign, tmp_path)
    assert result.course.ending.kind == "reached"
    (value,), (std,) = result.course.values, result.course.known.stds
    assert std <= 0.0005
    assert value == pytest.approx(1.0, abs=4.0 * std)
    assert "reached" in (result.folder / "report.html").read_text(encoding="utf-8")
