"""Chosen runs beside grids of the same length: how well a machine is known after each, and whether intervals hold.

A machine whose drive makes some other torque than it is told is emulated once for each seed. The same minutes go to an
experiment that runs itself, to the best equally spaced grid (of all controllers, kicks and numbers of speeds the one
that theory says is best), and to all runs of the menu in turn.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from riderless.experiments.campaigns.adaptive.course import Course
from riderless.experiments.campaigns.adaptive.runs import windows_of
from riderless.experiments.campaigns.file import Campaign, plan_campaign
from riderless.experiments.campaigns.run import run_conditions_in_lockstep
from riderless.experiments.experiment_design.choice import Measurement, time_taken
from riderless.experiments.experiment_design.plan import known_after, spread_evenly
from riderless.experiments.fault_injection.summary_table import markdown_table
from riderless.models.array_types import Array
from riderless.models.noise_statistics import STDS_95

PLANS = ("chosen", "best grid", "all in turn")
GAIN_SPREAD = 0.05  # of the drives drawn
USUAL_STUDY: Mapping[str, Any] = {
    "name": "chosen runs",
    "bicycles": ["Silver"],
    "belt": {"width_m": 1.2},
    "controller": [
        {"name": "soft", "method": "lane", "options": {"weights": {"T_delta": 0.03}}},
        {"name": "lane", "method": "lane"},
        {"name": "stiff", "method": "lane", "options": {"weights": {"T_delta": 0.2}}},
    ],
    "protocol": [
        {
            "kind": "auto",
            "until": "drive_gain, steer_damping",
            "minutes": 2.0,
            "speeds_m_s": [3.0, 4.0, 5.0, 6.0, 7.0],
        }
    ],
}


@dataclass(frozen=True, eq=False)
class StudiedPlan:
    """Values and standard deviations (q,) that one plan ended with for one seed, beside the truth; SI.

    ``by_noise`` (q,) are the deviations without the model's own error.
    """

    seed: int
    plan: str
    runs: int
    truth: Array
    values: Array
    stds: Array
    by_noise: Array

    @property
    def z(self) -> Array:
        """Found minus true in standard deviations, (q,)."""
        return (self.values - self.truth) / self.stds


def study_chosen_runs(
    seeds: Sequence[int], model: str = "linear", most_lean_deg: float = 2.5, plans: Sequence[str] = PLANS
) -> Iterator[StudiedPlan]:
    """Run plans for each seed, which draws a drive gain and the noise, in simulated time.

    Parameters
    ----------
    seeds : sequence of int
    model : {"linear", "nonlinear"}
        Of the emulated bicycle.
    most_lean_deg : float
        By a kick.
    plans : sequence of str
        Those of `PLANS` to be run; what is chosen first, for the table divides by it.
    """
    (protocol,) = USUAL_STUDY["protocol"]
    study = {**USUAL_STUDY, "model": model, "protocol": [{**protocol, "most_lean_deg": most_lean_deg}]}
    for seed in seeds:
        gain = 1.0 + GAIN_SPREAD * float(np.random.default_rng(seed).standard_normal())
        campaign = plan_campaign({**study, "seed": seed, "emulated": {"drive_gain": gain}})
        assert campaign.learning is not None, "the study is of campaigns that run themselves"
        first = Course(campaign.conditions, campaign.learning)
        truth = np.array([{**first.nominal, "drive_gain": gain}[label] for label in first.goal.labels])
        labels = {"chosen": None, "best grid": best_grid(campaign, first), "all in turn": all_in_turn(first)}
        for plan in plans:
            course = course_by_labels(campaign, labels[plan])
            known = course.known
            by_noise = course.goal.stds(known.by_noise)
            yield StudiedPlan(seed, plan, len(course.steps), truth, course.values, known.stds, by_noise)


def course_by_labels(campaign: Campaign, labels: Sequence[str] | None) -> Course:
    """Make the runs of a menu that are named, or those that the experiment chooses, in simulated time."""
    assert campaign.learning is not None, "only a campaign of the protocol auto runs itself"
    course = Course(campaign.conditions, campaign.learning)
    left = list(labels) if labels is not None else None
    with TemporaryDirectory() as folder:
        while left is None or left:
            condition = course.choose(left.pop(0) if left else "")
            if condition is None:
                break
            for attempt in run_conditions_in_lockstep([condition], Path(folder), lambda *_: None):
                course.record(windows_of(attempt.folder) if attempt.outcome.reason == "success" else [])
    return course


def best_grid(campaign: Campaign, course: Course) -> list[str]:
    """Labels of the equally spaced grid of speeds that theory says is best, for the minutes of the campaign."""
    entries, foretold = campaign.conditions, {one.name: one for one in course.measurements()}
    found: list[list[Measurement]] = []
    for kind in dict.fromkeys((one.controller, one.tag) for one in entries):
        own = sorted((one for one in entries if (one.controller, one.tag) == kind), key=lambda one: one.v)
        for n in range(2, len(own) + 1):
            places = np.round(np.linspace(0, len(own) - 1, n)).astype(int)
            found.append(_filled([foretold[own[i].label] for i in places], course))
    return [
        one.name
        for one in max(found, key=lambda plan: course.goal.criterion.value(known_after(course.goal, plan).by_noise))
    ]


def all_in_turn(course: Course) -> list[str]:
    """Labels of all runs of the menu, spread evenly over the minutes of the campaign."""
    return [one.name for one in _filled(sorted(course.measurements(), key=lambda one: one.v), course)]


def _filled(order: Sequence[Measurement], course: Course) -> list[Measurement]:
    """Take as many of the measurements in order, evenly, as there are minutes for."""
    n = 1
    while time_taken(spread_evenly(order, n + 1), course.costs) <= 60.0 * course.settings.minutes:
        n += 1
    return spread_evenly(order, n)


def chosen_runs_table(found: Sequence[StudiedPlan], labels: Sequence[str]) -> str:
    """Table in Markdown: deviation of each quantity, how many times that of chosen runs, and intervals that hold."""
    head = ["runs", "n", *(cell for x in labels for cell in (f"std of {x}", "times chosen", "95 % holds", "mean z"))]
    rows = []
    of = {plan: [one for one in found if one.plan == plan] for plan in PLANS}
    least = np.array([one.stds for one in of["chosen"]])
    for plan, own in ((plan, own) for plan, own in of.items() if own):
        stds, z = np.array([one.stds for one in own]), np.array([one.z for one in own])
        cells = [plan, f"{np.mean([one.runs for one in own]):.1f}"]
        for i in range(len(labels)):
            ratio = np.median(stds[:, i] / least[: len(stds), i])
            held = int(np.sum(np.abs(z[:, i]) < STDS_95))
            cells += [f"{np.median(stds[:, i]):.2g}", f"{ratio:.2f}", f"{held} of {len(own)}", f"{z[:, i].mean():+.1f}"]
        rows.append(cells)
    return markdown_table(head, rows)
