"""Sine sweeps under drives that obey a steer rate or angle: played in the unit of their command, and predicted."""

import pytest

from riderless.experiments.campaigns.file import plan_campaign
from riderless.experiments.campaigns.session import run_campaign
from riderless.models.errors import InputError
from tests.paths import ROOT

RIGS = {"rate": "rate-drive.toml", "angle": "angle-drive.toml"}


def planned(folder, drive, method, **protocol):
    rig = (ROOT / "docs/rigs" / RIGS[drive]).read_text(encoding="utf-8")
    (folder / "rig.toml").write_text(rig.replace('"Benchmark"', '"Silver"'), encoding="utf-8")
    settings = {
        "name": "sweep",
        "rig": "rig.toml",
        "seed": 3,
        "time": "lockstep",
        "controller": [{"method": method}],
        "protocol": [{"kind": "sine_sweep", "speeds_m_s": [4.5], "f_high_Hz": 4.0, **protocol}],
    }
    return plan_campaign(settings, folder)


@pytest.mark.usefixtures("_unreported")
@pytest.mark.parametrize(("kind", "method"), [("rate", "cascade"), ("angle", "lqg")])
def test_loop_and_plant_answer_as_predicted(kind, method, tmp_path):
    """An emulated drive whose inner loop looks at its steer 50 times in 1 / bandwidth fails here: p = 0.01 and 3e-6."""
    campaign = planned(tmp_path, kind, method, share_of_limits=0.15)
    (condition,) = campaign.conditions
    assert condition.rig.drive_kind == kind
    assert f"will play {condition.excitation.amplitude:.2g} {condition.rig.drive.unit} at most" in condition.instruction
    result = run_campaign(campaign, tmp_path / "runs")
    (fit,) = result.findings.as_json()["frequency_responses"]
    assert fit["command_unit"] == condition.rig.drive.unit
    for part in (fit["goodness"]["loop"], fit["goodness"]["plant"]):
        assert part["p"] > 0.01
        assert abs(part["delay"]) < 3.0 * part["delay_std"] + 0.1e-3
        assert part["gain"] == pytest.approx(1.0, abs=2e-3)


def test_amplitudes_of_a_torque_are_refused(tmp_path):
    with pytest.raises(
        InputError, match=r"amplitude_Nm is a torque, but the drive of .* a steer angle \[rad\]: give ampl"
    ):
        planned(tmp_path, "angle", "lqr", amplitude_Nm=1.0)
