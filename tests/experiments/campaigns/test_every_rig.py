"""Each example rig flies a campaign in simulated time, with all its devices, and its verdict is explained."""

import pytest

from riderless.experiments.campaigns.session import run_campaign
from riderless.hil.rig.file import read_rig
from tests.paths import DOCS

RIGS = sorted(path.stem for path in (DOCS / "rigs").glob("*.toml"))


@pytest.mark.slow
@pytest.mark.usefixtures("_unreported")  # a report takes four fifths of the time
@pytest.mark.parametrize("name", RIGS)
def test_a_rig_flies_in_simulated_time(name, tmp_path):
    rig = read_rig(DOCS / "rigs" / f"{name}.toml")
    method = "lane" if rig.place else "lqr" if rig.drive is None else "cascade" if rig.drive.kind == "rate" else "lqr"
    source = {
        "name": name,
        "rig": str(DOCS / "rigs" / f"{name}.toml"),
        "time": "lockstep",
        "model": "linear",
        "controller": [{"method": method}],
        "protocol": [{"kind": "treadmill", "speeds_m_s": [5.0], "kicks": 3, "lean_rate_rad_s": 0.15}],
    }
    found = run_campaign(source, tmp_path / "out")
    (run,) = found.runs
    assert run.outcome.reason == "success", run
    assert found.findings is not None
    for verdict in found.findings.analysis.verdicts:  # none where a steered weave is gone within a cycle
        assert verdict.explained is not False or verdict.causes, verdict.sentence  # a rig may have another wheel radius
