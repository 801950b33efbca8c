"""Every example campaign in simulated time, end to end, through the command line; and what it then knows."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from riderless.experiments.campaigns.findings import FREQUENCY_FILE
from riderless.experiments.campaigns.folder import CAMPAIGN_FILE, read_runs
from riderless.experiments.recordings.read import read_recording
from riderless.hil.logs.log import read_run
from riderless.hil.loop.states import Verdict
from riderless.hil.runners.replay import replay
from riderless.models import catalogue
from riderless.models.linear.whipple import canonical_matrices
from tests.experiments.commands.test_cli import call
from tests.paths import DOCS

EXAMPLES = DOCS / "campaigns"


def campaign_of(name, tmp_path_factory, **changes):
    """`riderless campaign EXAMPLE --lockstep --json`: its document and folder; with less to do, where said so."""
    out = tmp_path_factory.mktemp(name)
    text = (EXAMPLES / f"{name}.toml").read_text().replace('"../rigs/', f'"{EXAMPLES.parent}/rigs/')
    for key, value in changes.items():
        text, n = re.subn(rf"(?m)^{key} = [^#\n]*", f"{key} = {value}", text)
        assert n
    file = out / f"{name}.toml"
    file.write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        import contextlib
        import io
        import sys

        from riderless.experiments import cli

        said = io.StringIO()
        words = ["riderless", "campaign", str(file), "--lockstep", "--json", "--out", str(out)]
        patch.setattr(sys, "argv", words)
        with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
            cli.main()
    document = json.loads(said.getvalue())
    assert all(run["reason"] == "success" for run in document["runs"]), document["runs"]
    assert all(not one["refusal"] for one in document["rehearsals"])
    assert all(max(one["shares_of_limits"].values()) < 0.9 for one in document["rehearsals"])
    return document, out / name


def open_loop_weave(bicycle, v):
    """The oscillating eigenvalue of M q'' + v C1 q' + (g K0 + v^2 K2) q = 0 [1/s]."""
    m = canonical_matrices(bicycle)
    A = np.block(
        [
            [np.zeros((2, 2)), np.eye(2)],
            [-np.linalg.solve(m.M, bicycle.g * m.K0 + v * v * m.K2), -np.linalg.solve(m.M, v * m.C1)],
        ]
    )
    return next(s for s in np.linalg.eigvals(A) if s.imag > 0.1)


def z_of(document):
    return np.array([[w["z_re"], w["z_im"]] for w in document["windows"]])


@pytest.mark.usefixtures("_unreported")
def test_treadmill(tmp_path_factory):
    document, folder = campaign_of("treadmill", tmp_path_factory, repeats=1, kicks=2)
    assert len(document["runs"]) == 6
    assert len(document["windows"]) >= 10
    assert np.mean(np.all(np.abs(z_of(document)) <= 3, axis=1)) > 0.9
    assert json.loads((folder / CAMPAIGN_FILE).read_text())["planned"] == [run["condition"] for run in document["runs"]]


@pytest.mark.usefixtures("_unreported")
def test_release(tmp_path_factory):
    document, folder = campaign_of("release", tmp_path_factory, repeats=2)
    bicycle = catalogue.load_bicycle("Benchmark")
    assert len(document["windows"]) >= 8, document["rejected"]
    speeds = {round(w["v_mean"], 1) for w in document["windows"]}
    assert len(speeds) == 2
    for v in speeds:
        growth = [complex(w["re"], w["im"]) for w in document["windows"] if abs(w["v_mean"] - v) < 0.06]
        assert min(g.real for g in growth) > 0.0, "below the weave speed the weave grows"
        assert np.mean(growth) == pytest.approx(open_loop_weave(bicycle, v), abs=0.12)
    for one in read_runs(folder):
        run, response = read_run(one.folder), read_recording(one.folder)
        assert replay(run).identical
        assert response.theory.name == "open loop"
        alone = run.ticks["t"][(run.ticks["verdict"] & Verdict.RELEASED) > 0]
        free = response.t[response.free]
        assert len(free) > 0.9 * len(alone)
        assert np.isin(np.round(free, 3), np.round(alone, 3)).all(), "free only where it was released"
        assert np.all(response.T_delta[response.free] == 0.0)
        off = alone[np.append(True, np.diff(alone) > 1.0)]
        free_from = np.array([marker.t for marker in response.markers])
        assert np.all(free_from - off >= 5 * 0.005), "the drive's torque has died away"
        begins = [w["t_start"] for w in document["windows"] if w["source"] == response.source]
        assert np.all(np.array(begins) - off[: len(begins)] >= 0.3), "and the caster after it"


@pytest.mark.usefixtures("_unreported")
def test_coast_down(tmp_path_factory):
    document, _ = campaign_of("coast_down", tmp_path_factory, bicycles='["Silver"]')
    assert len(document["windows"]) >= 6
    for w in document["windows"]:
        slowing = (w["v_start"] - w["v_end"]) / (w["t_end"] - w["t_start"])
        assert slowing == pytest.approx(0.15, abs=0.03)
    assert np.mean(np.all(np.abs(z_of(document)) <= 3, axis=1)) > 0.85


@pytest.mark.usefixtures("_unreported")
def test_speed_sweep(tmp_path_factory):
    document, _ = campaign_of("speed_sweep", tmp_path_factory, kicks=3, from_m_s=4.8, to_m_s=3.9)
    v = sorted(w["v_mean"] for w in document["windows"])
    assert v[0] < 4.0 < 4.6 < v[-1]
    assert len(v) >= 5
    stepped = [w for w in document["windows"] if "steps" in w["label"]]
    assert all(abs(w["v_start"] - w["v_end"]) < 0.05 for w in stepped)
    assert np.all(np.abs(z_of({"windows": stepped})) <= 4)
    for w in document["windows"]:
        measured, like = complex(w["re"], w["im"]), complex(w["like_re"], w["like_im"])
        # along a ramp the gains lag a tenth of a second behind the speed, which the model does not know
        assert measured == pytest.approx(like, abs=0.04)


@pytest.mark.usefixtures("_unreported")
def test_controllers(tmp_path_factory):
    document, folder = campaign_of("controllers", tmp_path_factory, repeats="2\nkicks = 1")
    assert len({w["label"] for w in document["windows"]}) == 6
    scenarios = {}
    for one in read_runs(folder):
        header = read_run(one.folder).header
        scenarios.setdefault((header.condition["v"], header.condition["repeat"]), []).append(header.scenario)
    assert all(len(s) == 3 and s[0] == s[1] == s[2] for s in scenarios.values())
    assert len(scenarios) == 4


@pytest.mark.usefixtures("_unreported")
def test_sine_sweep(tmp_path_factory):
    document, folder = campaign_of("sine_sweep", tmp_path_factory)
    assert document["windows"] == []
    assert Path(document["report"]) == folder / "report.html"
    found = json.loads((folder / FREQUENCY_FILE).read_text())
    assert [round(f["v"], 1) for f in found] == [round(f["v"], 1) for f in document["frequency_responses"]]
    assert {round(f["v"], 1) for f in found} == {4.0, 5.5}
    for response in (r for f in found for r in f["responses"]):
        trusted = np.array(response["coherence"]) > 0.9
        ratio = np.array(response["gain"])[trusted] / np.array(response["predicted_gain"])[trusted]
        assert trusted.sum() > 20
        assert np.median(ratio) == pytest.approx(1.0, abs=0.03)


def test_identification(tmp_path_factory):
    document, folder = campaign_of("identification", tmp_path_factory, speeds_m_s="[3.5, 6.5]")
    assert len(document["frequency_responses"]) == 2
    assert all(one["goodness"]["loop"]["agrees"] for one in document["frequency_responses"])
    html = (folder / "report.html").read_text(encoding="utf-8")
    first = re.search(r"<strong>(.*?)</strong>", html)[1]
    assert first == "The frequency response of Benchmark agrees with theory (2 of 2 runs do)."
    assert "Gains and margins" in html
    for one in document["rehearsals"]:
        assert max(one["shares_of_limits"].values()) == pytest.approx(0.25, rel=0.15), "as strong as was allowed"
    for one in read_runs(folder):
        assert replay(read_run(one.folder)).identical
        assert not read_recording(one.folder).free[1000:-1000].any(), "no free response is sought while a torque plays"


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.toml")))
def test_every_example_as_it_stands(name, tmp_path_factory):
    document, folder = campaign_of(name, tmp_path_factory)
    assert len(document["runs"]) == len(list(folder.glob("*/run.mcap")))
    assert (folder / FREQUENCY_FILE).exists() == (document["windows"] == [])
    if document["windows"]:
        assert np.mean(np.all(np.abs(z_of(document)) <= 3, axis=1)) > 0.9


def test_a_refused_condition_stops_all_before_anything_is_run(tmp_path, capsys, monkeypatch):
    text = (EXAMPLES / "sine_sweep.toml").read_text().replace("share_of_limits = 0.2", "amplitude_Nm = 20.0")
    (tmp_path / "bold.toml").write_text(text)
    code, _, err = call(capsys, monkeypatch, "campaign", tmp_path / "bold.toml", "-o", tmp_path / "runs")
    assert code == 2
    said = " ".join(err.split())
    assert "is refused" in said
    assert "of its limit of" in said
    assert "lower amplitude_Nm" in said
    assert not (tmp_path / "runs").exists()


def test_a_dry_run_makes_no_folder(tmp_path, capsys, monkeypatch):
    """Of a campaign without kicks, about which there is nothing to foresee."""
    code, out, _ = call(
        capsys, monkeypatch, "campaign", EXAMPLES / "sine_sweep.toml", "-o", tmp_path / "runs", "--dry-run", "--json"
    )
    assert code == 0
    assert len(json.loads(out)["rehearsals"]) == 2
    assert not (tmp_path / "runs").exists()
