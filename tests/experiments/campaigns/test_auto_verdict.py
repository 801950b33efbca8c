"""Experiment that runs itself until a verdict: it stops when a model is decided on, and says when none ever will be."""

import json
from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.campaigns.adaptive.course import Course
from riderless.experiments.campaigns.adaptive.rival_models import Rivals
from riderless.experiments.campaigns.adaptive.runs import progress_words
from riderless.experiments.campaigns.file import plan_campaign
from riderless.experiments.campaigns.folder import CAMPAIGN_FILE
from riderless.experiments.campaigns.session import run_campaign
from riderless.experiments.experiment_design.knowledge import KnownSoFar
from riderless.models.errors import InputError
from tests.experiments.campaigns.test_auto import settings

WEAK = 0.9955  # of a drive: a run or two do not show it


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Campaign of a machine with a weak drive, which is asked whether its drive is right or weak."""
    asked = settings(until="verdict", against={"drive_gain": WEAK}) | {"emulated": {"drive_gain": WEAK}, "seed": 4}
    return run_campaign(plan_campaign(asked), tmp_path_factory.mktemp("verdict"))


@pytest.fixture(scope="module")
def rivals():
    """Models of a verdict: a right drive, a weak one, and a damped fork."""
    campaign = plan_campaign(settings(until="verdict", against=[{"drive_gain": 0.9}, {"steer_damping": 0.05}]))
    return Course(campaign.conditions, campaign.learning).rivals


def known(rivals, values, stds, windows=3):
    """Quantities known to be so, with deviations, independent of one another; SI."""
    goal, scales = rivals.goal, rivals.goal.scales
    found = dict(zip(rivals.goal.labels, zip(values, stds, strict=True), strict=True))
    x = np.array([found.get(name, (0.0, 1.0)) for name in goal.free]) / scales[:, None]
    return KnownSoFar(goal, x[:, 0], np.diag(x[:, 1] ** -2), windows, np.zeros(len(x)))


def test_it_stops_as_soon_as_the_verdict_is_decided_and_the_false_model_is_rejected(made):
    course = made.course
    assert course.ending.kind == "reached"
    assert made.complete
    assert course.ending.sentence.startswith("the verdict is decided: theory is rejected")
    odds = [  # of two normal densities
        float(np.exp(0.5 * ((step.values[0] - 1.0) ** 2 - (step.values[0] - WEAK) ** 2) / step.stds[0] ** 2))
        for step in course.steps
    ]
    assert len(odds) >= 2
    assert all(0.01 < one < 100.0 for one in odds[:-1])
    assert odds[-1] >= 100.0
    assert "times as likely as theory (100 decide)" in progress_words(course)


def test_its_record_has_the_models_and_how_they_stand(made):
    theory, weak = json.loads((made.folder / CAMPAIGN_FILE).read_text())["course"]["models"]
    assert theory["values"] == {"drive_gain": 1.0}
    assert weak["values"] == {"drive_gain": WEAK}
    assert weak["times_less_likely"] == 1.0 < 100.0 < theory["times_less_likely"]
    assert weak["p"] > theory["p"]
    assert made.course.ending.sentence in (made.folder / "report.html").read_text()


def test_of_several_models_the_best_rival_is_told_apart_next(rivals):
    assert rivals.wanted_odds == 200.0
    weak = known(rivals, [0.91, 0.0], [0.02, 0.02])
    assert rivals.leaders(weak) == (1, 0)
    assert rivals.difference(weak) == pytest.approx([0.1, 0.0])
    damped = known(rivals, [0.99, 0.03], [0.1, 0.02])
    assert rivals.leaders(damped) == (2, 0)
    assert rivals.difference(damped) == pytest.approx([0.0, -0.05])
    assert rivals.decided(damped, 1) is None


def test_a_machine_that_is_like_no_model_named_is_said_to_be(rivals):
    ending = rivals.decided(known(rivals, [0.95, 0.025], [0.002, 0.002]), looks=3)
    assert ending.kind == "reached"
    assert ending.sentence.startswith("no model that was named holds: theory (p = ")


def test_what_lies_between_two_models_and_cannot_be_known_better_is_never_decided(rivals):
    between = known(rivals, [0.97, 0.0], [0.05, 0.005])
    assert rivals.decided(between, 5) is None
    assert rivals.exhausted(between, between.after(3.0 * between.by_noise)) is None
    ending = rivals.exhausted(between, between.after(0.02 * between.by_noise))
    assert ending.kind == "never"
    assert "the verdict is never decided: theory is " in ending.sentence


def test_a_true_model_is_seldom_rejected_however_often_one_looks(rivals):
    """Ville (1939): in one experiment of 100 at most; one that looks at p < 0.01 after each run rejects in ten."""
    one = Rivals(replace(rivals.goal), rivals.names[:2], rivals.values[:2])
    rng = np.random.default_rng(1)
    wrong, decided, experiments = 0, 0, 300
    for _ in range(experiments):
        mean = np.array([1.0, 0.0])
        for run in range(1, 61):
            mean = mean + (rng.normal([1.0, 0.0], [0.15, 0.02]) - mean) / run
            ending = one.decided(known(rivals, mean, np.array([0.15, 0.02]) / np.sqrt(run)), run)
            if ending is not None:
                decided += 1
                wrong += "theory is rejected" in ending.sentence or "no model" in ending.sentence
                break
    assert decided > 0.8 * experiments
    assert wrong <= 8  # expected 3 at most; 9 or more in one of 200 sets of experiments


@pytest.mark.parametrize(
    ("against", "words"),
    [
        ([], "a verdict wants another model"),
        ([{}], "a verdict wants another model"),
        ([{"drive_gain": 0.9}, {"drive_gain": 0.9}], "the other model with drive_gain is given twice"),
        ([{"drive_gain": 0.9}, {"drive_gain": 1.0}], "has the same drive_gain as theory"),
        ({"happiness": 1.0}, "happiness"),
    ],
)
def test_other_models_that_are_none_are_refused(against, words, tmp_path):
    with pytest.raises(InputError, match=words):
        run_campaign(plan_campaign(settings(until="verdict", against=against)), tmp_path)
