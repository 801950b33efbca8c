"""Experiment that runs itself: it chooses, learns, stops for the reason it says, and goes on after a kill."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.analysis.identification.identify import MODEL_ERROR
from riderless.experiments.campaigns.adaptive.course import Course
from riderless.experiments.campaigns.adaptive.runs import LearningRuns
from riderless.experiments.campaigns.display import CampaignDisplay
from riderless.experiments.campaigns.file import plan_campaign
from riderless.experiments.campaigns.folder import CAMPAIGN_FILE, FinishedRun, read_runs
from riderless.experiments.campaigns.run import Attempt
from riderless.experiments.campaigns.session import run_campaign
from riderless.experiments.dynamics import usual_std
from riderless.experiments.recordings.read import read_recording
from riderless.experiments.reports.identify import identify_parameters
from riderless.hil.logs.log import RUN_FILE
from riderless.hil.rig.rig import Rig
from riderless.hil.runners import simulated_run
from riderless.hil.runners.emulation import emulated_plant
from riderless.hil.runners.operator import Outcome
from riderless.hil.runners.realtime import STOPPED_ON_PAGE
from riderless.models import catalogue
from riderless.models.errors import InputError
from tests.studies.chosen_runs import course_by_labels

TEXT = """
name = "runs itself"
bicycles = ["Silver"]
time = "lockstep"
[belt]
width_m = 1.2
[emulated]
drive_gain = 0.9
[[controller]]
method = "lane"
[[protocol]]
kind = "auto"
until = "drive_gain +- 0.0006"
minutes = 5
speeds_m_s = [5.0, 6.5]
kicks_s = [0.2]
"""


def settings(**protocol):
    import tomllib

    table = tomllib.loads(TEXT)
    table["protocol"][0] |= protocol
    return table


@pytest.fixture(scope="module")
def learnt(tmp_path_factory):
    """Campaign of a machine whose drive makes nine tenths of what it is told."""
    return run_campaign(plan_campaign(settings()), tmp_path_factory.mktemp("auto"))


def test_it_stops_when_it_knows_and_the_truth_is_in_its_interval(learnt):
    course = learnt.course
    assert course.ending.kind == "reached"
    assert learnt.complete
    assert len(course.steps) >= 2
    (value,), (std,) = course.values, course.known.stds
    assert std <= 0.0006 < course.steps[-2].stds[0]
    assert value == pytest.approx(0.9, abs=4.0 * std)


def test_its_estimate_is_that_of_riderless_identify(learnt):
    found = identify_parameters(
        learnt.runs[0].folder, ["drive_gain", "imu_pitch"]
    ).found  # what is uncertain is free too
    first = learnt.course.steps[0]
    assert first.values == pytest.approx(found.values[:1], abs=0.2 * found.std[0])
    assert first.stds == pytest.approx(found.std[:1], rel=0.1)


def test_intervals_hold_on_a_nonlinear_bicycle():
    """Linear theory alone would be off by 3 deviations of the noise; a share of that stays in the interval."""
    table = settings(until="drive_gain, steer_damping", minutes=1.0, speeds_m_s=[3.0]) | {"model": "nonlinear"}
    course = course_by_labels(plan_campaign(table), None)
    known = course.known
    by_noise = course.goal.stds(known.by_noise)
    assert np.all(abs(course.values - [0.9, 0.0]) < 2.5 * known.stds)
    bias = course.goal.rows @ known.model_error / MODEL_ERROR
    assert np.any(abs(bias) > 3.0 * by_noise)
    assert np.all(known.stds > by_noise)


def test_what_it_promised_is_what_it_found(learnt):
    """Foretold from the noise of the sensors alone; found from the residuals, so about."""
    for step in learnt.course.steps[1:]:
        assert 0.8 < step.stds / step.choice.foretold < 2.0


def test_report_and_record_say_what_was_chosen_and_why(learnt):
    document = json.loads((learnt.folder / CAMPAIGN_FILE).read_text())["course"]
    assert document["ended"] == "reached"
    assert [step["condition"] for step in document["steps"]] == [run.name for run in learnt.runs]
    assert all("nat/min" in step["why"] for step in document["steps"])
    page = (learnt.folder / "report.html").read_text()
    assert "What was chosen, and why" in page
    assert document["steps"][0]["why"].split(";")[0] in page
    assert json.loads((learnt.folder / "report.json").read_text())["course"]["steps"] == document["steps"]


def test_the_report_answers_first_what_was_asked(tmp_path):
    """A window's eigenvalue bears a drive gain of 0.9; the runs themselves know it to be far from theory's."""
    made = run_campaign(plan_campaign(settings(until="drive_gain +- 0.002", speeds_m_s=[3.0])), tmp_path)
    assert made.findings.analysis.comparisons
    (value,), (std,) = made.course.values, made.course.known.stds
    page = (made.folder / "report.html").read_text()
    answer = page.split('<div class="verdict')[1].split("</div>")[0]
    asked, *rest = (line.strip() for line in answer.splitlines() if line.strip())
    assert f"drive_gain {value:.4g} ± {std:.2g} (wanted 0.002).</strong>" in asked
    assert rest[0] == f"<span>Theory has drive_gain 1 ({(1.0 - value) / std:.0f} standard deviations off).</span>"
    assert rest[1].startswith("<span>The bicycle Silver has no deviations")
    assert rest[2].startswith("<span>By the eigenvalues of its windows alone: ")
    assert rest[3].startswith("<span>No contradiction: an eigenvalue shows a machine")


def test_the_weave_is_told_by_a_torque_of_any_scale():
    """The drive makes 0.8 of what it is told; theory's weave is true."""
    table = settings(until="weave@5 +- 0.02", speeds_m_s=[5.0]) | {"model": "nonlinear"}
    course = course_by_labels(plan_campaign(table | {"emulated": {"drive_gain": 0.8}}), None)
    assert {"drive_gain", "more_delay"} < set(course.goal.free)
    assert np.all(abs(course.values - course.nominal_values) < 2.5 * course.known.stds)


def test_reasons_to_doubt_are_said(learnt):
    document = json.loads((learnt.folder / CAMPAIGN_FILE).read_text())["course"]
    (exact,) = document["doubts"]
    assert exact.startswith("the bicycle Silver has no deviations: the interval holds only if it is exactly so")
    assert json.dumps(exact) in (learnt.folder / "report.html").read_text()
    course = Course(learnt.course.menu, learnt.course.settings.model_copy(update={"until": "steer_damping"}))
    course.steps = learnt.course.steps
    values = np.array([-0.3, 4.0 * course._theory(course.menu[0]).uncertain["imu_pitch"]]) / course.goal.scales
    course._knowledge.estimate = replace(course.known, values=values, by_noise=1e6 * np.eye(2), model_error=np.zeros(2))
    course._knowledge.misfit = 3.0
    doubts = " ".join(course.doubts)
    assert "is a reason to doubt: friction takes energy and gives none" in doubts
    assert "4.0 of its deviations off: bicycle or machine is not as its file says" in doubts
    assert "3 times the noise of the sensors unexplained" in doubts


def test_usual_deviations_stand_in_for_those_that_nobody_measured():
    def std(name):
        campaign = plan_campaign(settings(until="drive_gain") | {"bicycles": [name], "deviations": "usual"})
        assert not Course(campaign.conditions, campaign.learning).doubts
        return campaign.conditions[0].rig.bicycle.std

    assert std("Silver") == usual_std()
    own = {name: value for name, value in catalogue.load_bicycle("Fisher").std.items() if value}
    assert own.items() <= std("Fisher").items()


@pytest.mark.parametrize("deviations", ["own", "usual"])
def test_a_frame_heavier_than_its_file_is_no_weak_drive(monkeypatch, deviations):
    """The frame is 10 % heavier than theory has it: who counts the bicycle as exact is told so, and is wrong."""

    def heavier(rig, *settings):
        bicycle = replace(rig.bicycle, mB=1.1 * rig.bicycle.mB)
        return emulated_plant(replace(rig, bicycle=bicycle), *settings)

    monkeypatch.setattr(simulated_run, "emulated_plant", heavier)
    table = settings(until="drive_gain, steer_damping", minutes=0.5, speeds_m_s=[3.0])
    table |= {"model": "nonlinear", "emulated": {}, "deviations": deviations}
    course = course_by_labels(plan_campaign(table), None)
    off, said = abs(course.values - [1.0, 0.0]) / course.known.stds, " ".join(course.doubts)
    if deviations == "own":
        assert off[0] > 5.0
        assert "the interval holds only if it is exactly so" in said
        assert "steer_damping -0.00663 is a reason to doubt" in said
    else:
        assert np.all(off < 2.5)
        assert "no deviations" not in said


def test_it_keeps_to_its_belt(learnt):
    for run in learnt.runs:
        lane = read_recording(run.folder).lane
        assert 0.05 < lane.farthest < lane.half_belt == 0.6


@pytest.mark.slow  # whoever goes on after a kill takes up recordings too
def test_the_same_recordings_lead_to_the_same_course(learnt):
    again = LearningRuns.of(plan_campaign(settings()))
    again.take_up(read_runs(learnt.folder), CampaignDisplay())
    assert [one.name for one in again.made] == [run.name for run in learnt.runs]
    assert again.course.choose() is None  # nothing is run again
    assert again.course.ending == learnt.course.ending
    assert np.array_equal(again.course.values, learnt.course.values)


def test_it_chooses_what_tells_most_for_its_time():
    campaign = plan_campaign(settings(speeds_m_s=[5.0, 6.5], kicks_s=[0.1, 0.2]))
    course = Course(campaign.conditions, campaign.learning)
    chosen = course.choose()
    alone = {}
    for entry in campaign.conditions:
        one = Course([entry], campaign.learning)
        one.choose()
        alone[entry.label] = one._chosen.rate
    assert chosen.label == max(alone, key=alone.get)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"until": "drive_gain +- none"}, "wanted a standard deviation above 0"),
        ({"until": "happiness +- 1"}, "happiness"),
        ({"until": "verdict"}, "a verdict wants another model"),
        ({"until": "weave@20 +- 0.02"}, "weave@20 lies outside the speeds of the menu, 5 to 6.5 m/s"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(change, words, tmp_path):
    with pytest.raises(InputError, match=words):
        run_campaign(plan_campaign(settings(**change)), tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"belt": None}, "must know the edges of its belt, found none: .*width_m in the campaign file"),
        ({"controller": [{"method": "lqr"}]}, "keeps its lane, but the controller 'lqr' does not"),
        ({"bicycles": ["Silver", "Benchmark"]}, "about one bicycle, found Silver, Benchmark"),
    ],
)
def test_a_machine_that_cannot_keep_to_its_belt_does_not_run_itself(change, words):
    table = {key: value for key, value in {**settings(), **change}.items() if value is not None}
    with pytest.raises(InputError, match=words):
        plan_campaign(table)


def test_a_rig_without_edges_does_not_run_itself():
    from riderless.experiments.campaigns.protocols.auto import Settings, plan
    from riderless.experiments.campaigns.protocols.plan_inputs import NamedController, PlanInputs
    from riderless.hil.rig.fitting import with_emulated_place

    bicycle = catalogue.load_bicycle("Silver")
    given = Settings(kind="auto", until="drive_gain", speeds_m_s=(5.0,))
    bench = PlanInputs((bicycle,), (NamedController("lane", "lane"),), machine=Rig(bicycle))
    with pytest.raises(InputError, match="has no sensor of place"):
        plan(given, bench)
    with pytest.raises(InputError, match=r"belt_width_m in \[place\] of the rig"):
        plan(given, replace(bench, machine=with_emulated_place(Rig(bicycle))))


def test_what_can_never_be_known_is_said_before_anything_runs(tmp_path):
    """Rigid is known no better than its deviations say, and several of these look like a weak drive."""
    never = plan_campaign(settings(until="drive_gain +- 0.00001", speeds_m_s=[5.0]) | {"bicycles": ["Rigid"]})
    with pytest.raises(InputError, match=r"is never reached, however long .* told from (\w+)") as refused:
        run_campaign(never, tmp_path)
    assert any(name in str(refused.value) for name in catalogue.load_bicycle("Rigid").std)
    assert not list(tmp_path.glob("*/*"))


@pytest.mark.usefixtures("_unreported")
def test_the_budget_ends_it_and_says_how_much_longer(tmp_path):
    made = run_campaign(plan_campaign(settings(until="drive_gain +- 0.0002", minutes=0.4)), tmp_path)
    assert made.course.ending.kind == "spent"
    assert f"the 0.4 minutes are spent: drive_gain {made.course.values[0]:.4g} +-" in made.course.ending.sentence
    assert "minutes would do" in made.course.ending.sentence
    assert not made.complete


@pytest.mark.usefixtures("_unreported")
@pytest.mark.slow
def test_a_killed_one_goes_on_as_if_nothing_had_been(learnt, tmp_path):
    file = tmp_path / "auto.toml"
    file.write_text(TEXT)
    command = [
        sys.executable,
        "-m",
        "riderless.experiments.cli",
        "campaign",
        str(file),
        "-o",
        str(tmp_path / "runs"),
        "--json",
    ]
    folder = tmp_path / "runs" / "auto"
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    end = time.monotonic() + 300.0
    while len(list(folder.glob(f"*/{RUN_FILE}"))) < 2:
        assert first.poll() is None
        assert time.monotonic() < end
        time.sleep(0.002)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    before = {run.folder.name: (run.folder / RUN_FILE).read_bytes() for run in read_runs(folder)}
    again = run_campaign(file, tmp_path / "runs")
    after = {run.folder.name: (run.folder / RUN_FILE).read_bytes() for run in read_runs(folder)}
    assert before.items() <= after.items()
    assert [one.choice.condition.name for one in again.course.steps] == [
        one.choice.condition.name for one in learnt.course.steps
    ]
    assert again.course.values == pytest.approx(learnt.course.values, rel=1e-9)


def stopped_runs(tmp_path, cause, asked, answers, reason="abort", by_itself=False):
    """Course of a campaign whose runs all end with a person's stop or otherwise, and how many were made."""
    learning, runs = LearningRuns.of(plan_campaign(settings() | {"time": "real"})), []

    class Person(CampaignDisplay):
        unattended = by_itself

        def ask(self, condition, last):
            return answers.pop(0)

    def run(condition, ask):
        last = None
        while not asked or ask(condition, last) == "go":
            last = Outcome(reason, cause)
            yield Attempt(condition, tmp_path, last, asked)
            if not asked:
                return

    for attempt in learning.attempts(runs, run, Person()):
        runs.append(FinishedRun(attempt.condition.name, attempt.folder, attempt.outcome))
    return learning.course, len(runs)


def test_who_stops_a_run_and_leaves_it_out_gets_another(tmp_path):
    course, made = stopped_runs(tmp_path, "stopped by a key", True, ["go", "skip", "go", "go", "stop"])
    assert made == 3
    assert list(course.dropped.values()) == ["a person left it out"]
    assert course.ending.kind == "stopped"


def test_who_leaves_out_what_failed_is_not_asked_for_it_again(tmp_path):
    course, made = stopped_runs(tmp_path, "it fell", True, ["go", "skip", "go", "go", "skip", "stop"], "fault")
    assert made == 3
    assert list(course.dropped.values()) == ["a person left it out"] * 2


def test_where_nobody_is_asked_what_failed_is_tried_again(tmp_path):
    course, made = stopped_runs(tmp_path, "it fell", True, ["go", "skip", "go", "stop"], "fault", by_itself=True)
    assert made == 2
    assert not course.dropped


def test_a_stop_ends_it_where_nobody_is_asked_and_it_may_go_on(tmp_path):
    course, made = stopped_runs(tmp_path, STOPPED_ON_PAGE, False, [])
    assert made == 1
    assert course.ending is None


def test_a_first_run_without_a_window_is_left_out_and_nothing_is_known():
    campaign = plan_campaign(settings())
    course = Course(campaign.conditions, campaign.learning)
    first = course.choose()
    step = course.record([])
    assert step.windows == course.known.windows == 0
    assert "no window" in course.dropped[first.label]
    assert course.choose().label != first.label
