"""The main job in lockstep, from bytes to verdict; and how the real-time campaign keeps its attempts."""

import json

import numpy as np
import pytest

from riderless.experiments.campaigns import run as campaign
from riderless.experiments.campaigns.protocols.treadmill import TREADMILL_PLAN, treadmill_conditions
from riderless.experiments.campaigns.run import run_conditions_in_lockstep, run_in_real_time
from riderless.experiments.campaigns.session import open_campaign
from riderless.experiments.emulation.hand import KICKS_PER_RUN
from riderless.experiments.recordings.run_response import response_of_run
from riderless.hil.logs.log import RUN_FILE, read_run
from riderless.hil.runners.operator import Outcome
from riderless.hil.runners.realtime import STOPPED_ON_PAGE
from riderless.models import catalogue
from riderless.models.linear.modes import critical_speeds
from tests.experiments.commands.test_cli import call
from tests.experiments.reports.browser import printed, words_of


@pytest.fixture(scope="module")
def lockstep_campaign(tmp_path_factory):
    """`riderless campaign --lockstep --json`, once: its document and folder."""
    import contextlib
    import io
    import sys

    from riderless.experiments import cli

    out, said = tmp_path_factory.mktemp("campaign"), io.StringIO()
    kept, sys.argv = sys.argv, ["riderless", "campaign", "--lockstep", "--seed", "3", "--json", "--out", str(out)]
    try:
        with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
            cli.main()
    finally:
        sys.argv = kept
    return json.loads(said.getvalue()), out / "campaign-seed3"


def test_plan_is_below_inside_and_above_the_stable_range():
    for name in ("Benchmark", "Silver"):
        stable = critical_speeds(catalogue.load_bicycle(name))
        speeds = {method: v for bike, method, v in TREADMILL_PLAN if bike == name}
        assert all(stable.weave < v < stable.capsize for v in speeds["off"])
        for method in ("lqr", "poles"):
            below, inside, above = speeds[method]
            assert below < stable.weave < inside < stable.capsize < above
    assert KICKS_PER_RUN >= 3
    assert len({v for *_, speeds in TREADMILL_PLAN for v in speeds}) >= 6


def test_the_usual_plan_is_below_inside_and_above_the_stable_range_on_a_belt_with_edges():
    conditions = open_campaign(seed=3, lockstep=True).conditions
    assert {condition.emulation.surroundings.belt_width for condition in conditions} == {2.4}
    for name in ("Benchmark", "Silver"):
        stable = critical_speeds(catalogue.load_bicycle(name))
        mine = [condition for condition in conditions if condition.bicycle.name == name]
        assert len({condition.v for condition in mine}) >= 6
        held = [condition.v for condition in mine if condition.excitation.held_back]
        where = [np.searchsorted([stable.weave, stable.capsize], v) for v in held]
        assert set(where) == {0, 1, 2}, "below, inside and above"
        (free,) = (condition.v for condition in mine if condition.excitation.releases)
        assert stable.weave < free < stable.capsize
        assert all(not condition.scenario.kicks for condition in mine), "nobody has to touch it"


def test_each_controller_has_a_curve_of_its_own_and_its_windows_lie_on_it(lockstep_campaign):
    """Two controllers of one method with other weights were drawn as one, on the curve of the first."""
    _, folder = lockstep_campaign
    document = json.loads((folder / "report.json").read_text())
    for name in ("Benchmark", "Silver"):
        for controller in ("firm lane", "lane"):
            curves = [one for one in document["curves"] if one["bicycle"] == name]
            curves = [one for one in curves if one["label"].endswith(f"held back: {controller}")]
            windows = [one for one in document["windows"] if one["label"].startswith(f"{name} {controller} ")]
            windows = [one for one in windows if one["label"].endswith("held back")]
            assert len(windows) >= 4
            for window in windows:
                v, frozen = window["window"]["v_mean"], complex(*window["prediction"]["frozen"])
                drawn = [
                    [np.interp(v, one["v"], np.array(one[part], float)) for part in ("re", "im")] for one in curves
                ]
                assert min(abs(complex(*one) - frozen) for one in drawn if np.isfinite(one).all()) < 0.03 * abs(frozen)


def test_it_stays_on_the_belt_and_the_report_shows_where(lockstep_campaign):
    _, folder = lockstep_campaign
    lanes = [response_of_run(read_run(path.parent)).lane for path in folder.glob(f"*/{RUN_FILE}")]
    assert len(lanes) == 14
    assert all(0.05 < lane.farthest < lane.half_belt == 1.2 for lane in lanes)
    assert "edges" in (folder / "report.html").read_text()


def test_windows_agree_with_the_prediction(lockstep_campaign):
    document, _ = lockstep_campaign
    z = np.array([[w["z_re"], w["z_im"]] for w in document["windows"]])
    assert len(z) >= 38, "at most a tenth of the 42 pushes may be lost to the rules"
    assert all(verdict["p"] > 0.01 for verdict in document["verdicts"])
    assert np.mean(np.all(np.abs(z) <= 3, axis=1)) >= 0.95
    assert np.all(np.sqrt(np.mean(z**2, axis=0)) > 0.5), "deviations so large that nothing could disagree"
    conditions_seen = {w["label"] for w in document["windows"]}
    assert len(conditions_seen) == 14


def test_the_report_prints_on_few_sheets(lockstep_campaign):
    _, folder = lockstep_campaign
    sheets = printed(folder / "report.html")
    assert len(sheets) <= 13  # one of them for what makes the band of each bicycle, whose sensor may be pitched
    text = "".join(words_of(found) for _, found in sheets)
    runs = [path.parent.name for path in folder.glob(f"*/{RUN_FILE}")]
    assert len(runs) == 14
    assert all(name in text for name in runs)  # each is drawn over time


def test_every_kick_left_a_window_or_a_reason(lockstep_campaign):
    document, _ = lockstep_campaign
    for run in document["runs"]:
        name = run["run"].rsplit("/", 1)[-1]
        kept = sum(w["source"] == name for w in document["windows"])
        refused = [r["reason"] for r in document["rejected"] if r["source"] == name]
        assert kept + sum("not free" not in reason for reason in refused) >= KICKS_PER_RUN
        assert all(refused)


def test_the_report_stands_beside_the_runs(lockstep_campaign):
    document, folder = lockstep_campaign
    assert document["report"] == str(folder / "report.html")
    page = (folder / "report.html").read_text()
    assert "Kooijman" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert json.loads((folder / "report.json").read_text())
    assert len(list(folder.glob(f"*/{RUN_FILE}"))) == 14


def test_the_same_seed_gives_the_same_logs(tmp_path, lockstep_campaign):
    _, folder = lockstep_campaign
    first = open_campaign(seed=3, lockstep=True).conditions[0]
    (attempt,) = run_conditions_in_lockstep([first], tmp_path, lambda condition, row: None)
    assert (attempt.folder / RUN_FILE).read_bytes() == (folder / attempt.folder.name / RUN_FILE).read_bytes()


def test_analysing_the_folder_again_gives_the_same_windows(lockstep_campaign, capsys, monkeypatch):
    document, folder = lockstep_campaign
    silver = [path.parent for path in folder.glob(f"silver-*/{RUN_FILE}")]
    code, out, _ = call(capsys, monkeypatch, "analyze", *silver, "--json")
    assert code == 0
    again = {(w["source"], w["t_start"]): w["re"] for w in json.loads(out)["windows"]}
    of_silver = [w for w in document["windows"] if w["source"].startswith("silver-")]
    assert again == {(w["source"], w["t_start"]): w["re"] for w in of_silver}
    assert len(again) >= 19


class Twin:
    """Stands for the process of a twin: what the campaign does with it is the question here."""

    paths = ("nowhere",)
    stopped = 0

    def stop(self):
        Twin.stopped += 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


@pytest.mark.parametrize(
    ("reasons", "order"),
    [
        (["success", "success"], [0, 1]),
        (["fault", "success", "success"], [0, 1, 0]),  # what spoilt it may be over by then
        (["success", "fault", "fault", "success"], [0, 1, 1, 1]),
        (["fault", "success", "fault", "fault"], [0, 1, 0, 0]),
        (["fault", "fault", "success", "fault", "fault"], [0, 1, 0, 1, 1]),
        (["success", "abort"], [0, 1]),
        (["abort"], [0]),
    ],
)
def test_a_spoilt_run_is_kept_and_made_again_and_a_person_is_obeyed(tmp_path, monkeypatch, reasons, order):
    left, started = list(reasons), []
    Twin.stopped = 0

    def attempt(condition, ports, out, watch, fifo, feed=None):
        reason = left.pop(0)
        return campaign.Attempt(condition, out / str(len(left)), Outcome(reason, "because"))

    def twin(condition, fifo):
        started.append(condition)
        return Twin()

    monkeypatch.setattr(campaign, "_attempt", attempt)
    monkeypatch.setattr(campaign, "_twin", twin)
    monkeypatch.setattr(campaign, "warm_up", lambda rig, schedule: None)
    two = list(treadmill_conditions(1))[:2]
    attempts = list(run_in_real_time(two, tmp_path, lambda c, row: None))
    assert [a.outcome.reason for a in attempts] == reasons
    assert [two.index(a.condition) for a in attempts] == order
    assert Twin.stopped == len(started), "no twin is left behind"
    assert [two.index(one) for one in started[: len(order)]] == order, "each its own"
    assert len(started) == len(order) + (reasons == ["abort"]), "and none for nothing, but for a run that was to come"


@pytest.mark.parametrize(
    ("outcome", "ends", "ends_asked"),
    [
        (Outcome("success", "the planned duration was reached"), False, False),
        (Outcome("fault", "it fell"), False, False),
        (Outcome("abort", "stopped by SIGTERM"), True, True),
        (Outcome("abort", "stopped by a key"), True, False),
        (Outcome("abort", STOPPED_ON_PAGE), True, False),
        (Outcome("fault", "it fell", late_stop=STOPPED_ON_PAGE), True, False),
        (Outcome("fault", "it fell", late_stop="stopped by SIGINT"), True, True),
        (Outcome("success", "the planned duration was reached", late_stop="stopped by SIGINT"), True, True),
    ],
)
def test_a_stop_ends_the_campaign_where_nobody_is_asked_and_a_signal_everywhere(tmp_path, outcome, ends, ends_asked):
    (condition,) = list(treadmill_conditions(1))[:1]
    assert campaign.Attempt(condition, tmp_path, outcome).ends_campaign is ends
    assert campaign.Attempt(condition, tmp_path, outcome, attended=True).ends_campaign is ends_asked


def test_a_run_records_its_condition(lockstep_campaign):
    _, folder = lockstep_campaign
    run = read_run(folder / "silver-lane-5.5-m-s-lane-held-back")
    assert run.header.label == "Silver lane 5.5 m/s lane held back"
    assert len(run.header.excitation.held_back) == KICKS_PER_RUN


def test_a_bicycle_that_is_not_the_one_predicted_is_noticed(tmp_path):
    """A tenth more spin inertia in the front wheel than the prediction knows: other eigenvalues, other verdict."""
    from dataclasses import replace

    from riderless.experiments.analysis.analyze import analyze_responses
    from riderless.experiments.recordings.read import read_recording
    from riderless.experiments.theory.run_theory import theory_of

    condition = next(c for c in treadmill_conditions(5) if c.label == "Silver lqr 5.0 m/s")
    silver = condition.bicycle
    heavier = replace(
        condition, bicycle=replace(silver, IFyy=1.1 * silver.IFyy, IFxx=1.1 * silver.IFxx), allow_mismatch=True
    )
    (attempt,) = run_conditions_in_lockstep([heavier], tmp_path, lambda c, row: None)
    recorded, run = read_recording(attempt.folder), read_run(attempt.folder)
    supposed = replace(recorded, bicycle=silver, theory=theory_of(run.header, silver, run.ticks))
    right, wrong = analyze_responses([recorded]).summary, analyze_responses([supposed]).summary
    assert right.n == wrong.n >= KICKS_PER_RUN - 1
    assert right.agreeing == right.n
    assert wrong.agreeing == 0


def test_the_nonlinear_bicycle_has_the_same_eigenvalues_when_kicked_gently(tmp_path):
    """The same loop and verdict with the nonlinear plant behind the wire: one condition of the campaign."""
    from riderless.experiments.analysis.analyze import analyze_responses
    from riderless.experiments.recordings.read import read_recording
    from riderless.hil.runners.emulation import Emulation

    condition = next(c for c in treadmill_conditions(1, Emulation("nonlinear")) if c.label == "Silver lqr 5.0 m/s")
    (attempt,) = run_conditions_in_lockstep([condition], tmp_path, lambda c, row: None)
    assert attempt.outcome.reason == "success"
    assert read_run(attempt.folder).header.emulation["model"] == "nonlinear"
    summary = analyze_responses([read_recording(attempt.folder)]).summary
    assert summary.n >= KICKS_PER_RUN - 1
    assert summary.agreeing == summary.n
