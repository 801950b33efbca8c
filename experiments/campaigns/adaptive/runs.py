"""Runs of an adaptive experiment.

Those recorded are taken up, others chosen, rehearsed and made.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from riderless.experiments.analysis.identification.output_error import AveragedWindow
from riderless.experiments.campaigns.adaptive.course import Course, CourseStep, legs_named
from riderless.experiments.campaigns.adaptive.rival_models import Ending
from riderless.experiments.campaigns.display import CampaignDisplay
from riderless.experiments.campaigns.file import Campaign
from riderless.experiments.campaigns.folder import FinishedRun
from riderless.experiments.campaigns.protocols.condition import Condition
from riderless.experiments.campaigns.rehearsal import DryRun, dry_run
from riderless.experiments.campaigns.run import MAX_ATTEMPTS, Attempt, OperatorAnswer
from riderless.experiments.datatypes import AGREEMENT
from riderless.experiments.experiment_design.goal import OF_TORQUE
from riderless.experiments.recordings.read import read_recording
from riderless.experiments.reports.identify import averaged_windows
from riderless.experiments.reports.page.course_section import CourseRow, CourseSection
from riderless.experiments.reports.text import Sentence, TextBlock, TextTable
from riderless.hil.runners.operator import Outcome
from riderless.models.plant.steer_drive import SteerDrive

RUN_NUMBER = " run "  # between an entry of the menu and the number of its run, in a condition's name
STOPPED_BY_SOMEBODY = ("abort", "killed")  # says nothing about what was run
Asked = Callable[[Condition, Outcome | None], OperatorAnswer]


@dataclass
class LearningRuns:
    """Course of a campaign that runs itself, with the runs it is made of.

    Attributes
    ----------
    campaign : Campaign
        Whose conditions are the menu.
    course : Course
    made : list of Condition
        Whose runs were recorded with success, in order.
    rehearsals : list of DryRun
    """

    campaign: Campaign
    course: Course
    made: list[Condition] = field(default_factory=list)
    rehearsals: list[DryRun] = field(default_factory=list)

    @classmethod
    def of(cls, campaign: Campaign) -> "LearningRuns":
        """Begin the course of a campaign; raises InputError where nothing on its menu would ever do."""
        assert campaign.learning is not None, "only a campaign of the protocol auto runs itself"
        return cls(campaign, Course(campaign.conditions, campaign.learning))

    def take_up(self, runs: Sequence[FinishedRun], display: CampaignDisplay) -> None:
        """Take up the runs that lie in the folder, in the order in which they were begun."""
        for run in runs:
            label = run.name.rpartition(RUN_NUMBER)[0]
            if not legs_named(label, self.campaign.conditions):
                continue
            if run.outcome.reason == "success":
                condition = self.course.choose(recorded=label)
                assert condition is not None, "what is recorded is taken"
                self._record(condition, run.folder, display)
            else:
                self._failed(label, run.outcome, runs)

    def attempts(
        self, runs: list[FinishedRun], run: Callable[[Condition, Asked], Iterable[Attempt]], display: CampaignDisplay
    ) -> Iterator[Attempt]:
        """Choose, rehearse and make run after run until the course ends.

        Parameters
        ----------
        runs : list of FinishedRun
            In the folder so far; whoever iterates appends each run made.
        run : callable
            Makes a condition, asking a person as the given function does, where there is one.
        display : CampaignDisplay
        """
        while (condition := self._next(display)) is not None:
            answers: list[OperatorAnswer] = []
            last: Attempt | None = None
            for last in run(condition, partial(_noted, answers, display)):
                yield last
            if last is not None and last.outcome.reason == "success":
                self._record(condition, last.folder, display)
            elif "stop" in answers:
                self.course.ending = Ending("stopped", "a person stopped it")
            elif "skip" in answers and not display.unattended:
                self.course.drop(condition.label, "a person left it out")
            elif last is not None:
                self._failed(condition.label, last.outcome, runs)
            if last is not None and last.ends_campaign:
                return

    def _next(self, display: CampaignDisplay) -> Condition | None:
        """Choose the next run that its rehearsal allows; None where the course has ended."""
        while self.course.ending is None and (condition := self.course.choose()) is not None:
            if any(made.condition.label == condition.label for made in self.rehearsals):
                return condition
            honest = replace(condition.emulation, drive=SteerDrive())  # errors of an emulated machine are not known
            rehearsal = dry_run(replace(condition, emulation=honest), self.campaign.most)
            self.rehearsals.append(rehearsal)
            if not rehearsal.refusal:
                return condition
            self.course.drop(condition.label, f"its rehearsal refuses it: {rehearsal.refusal}")
            display.say(rehearsal.refusal)
        return None

    def _record(self, condition: Condition, folder: Path, display: CampaignDisplay) -> None:
        """Learn from a run."""
        self.course.record(windows_of(folder))
        self.made.append(condition)
        display.learnt(self.course)

    def _failed(self, label: str, outcome: Outcome, runs: Sequence[FinishedRun]) -> None:
        """Leave out what fails, in real time only when it has failed as often as a busy machine may spoil a run."""
        if outcome.reason in STOPPED_BY_SOMEBODY:
            return
        failed = sum(
            run.name.rpartition(RUN_NUMBER)[0] == label and run.outcome.reason not in ("success", *STOPPED_BY_SOMEBODY)
            for run in runs
        )
        if self.campaign.lockstep or failed >= MAX_ATTEMPTS:
            self.course.drop(label, f"a run ended otherwise: {outcome.cause}")


def _noted(
    answers: list[OperatorAnswer], display: CampaignDisplay, condition: Condition, last: Outcome | None
) -> OperatorAnswer:
    """Ask a person, and note the answer.

    Parameters
    ----------
    answers : list of {"go", "skip", "stop"}
    display : CampaignDisplay
    condition : Condition
    last : Outcome or None
        Of the attempt before.
    """
    answers.append(display.ask(condition, last))
    return answers[-1]


def windows_of(folder: Path) -> list[AveragedWindow]:
    """Cut what the recording of a run tells: the windows of its kicks."""
    return averaged_windows([read_recording(folder)])


# Course of an experiment that runs itself as a document, as a section of the report, and in words.


NOT_ENDED = "the course has not ended"
FAR_OFF = 10.0  # standard deviations, from which on nobody wants a decimal


def course_document(course: Course) -> dict[str, Any]:
    """Describe a course as `campaign.json` and `--json` have it; SI."""
    goal = course.goal
    return {
        "asked": [
            {"name": name, "unit": unit, "wanted": float(wanted) if np.isfinite(wanted) else None}
            for name, unit, wanted in zip(goal.labels, goal.units, goal.wanted, strict=True)
        ],
        "free": list(goal.free),
        "minutes": course.minutes,
        "values": dict(zip(goal.labels, map(float, course.values), strict=True)),
        "stds": dict(zip(goal.labels, map(float, course.known.stds), strict=True)),
        "doubts": course.doubts,
        **({"models": course.rivals.as_json(course.known)} if course.rivals else {}),
        "steps": [_step_document(course, step) for step in course.steps],
        "dropped": dict(course.dropped),
        "ended": course.ending.kind if course.ending else "",
        "sentence": course.ending.sentence if course.ending else "",
    }


def course_section(course: Course) -> CourseSection:
    """Make the section of the report that shows a course."""
    goal = course.goal
    return CourseSection(
        sentence=course.ending.sentence if course.ending else NOT_ENDED,
        beside_theory=beside_theory(course),
        doubts=course.doubts,
        off_theory=_off_theory(course),
        reached=course.ending is not None and course.ending.kind == "reached",
        labels=goal.labels,
        units=goal.units,
        nominal=course.nominal_values,
        wanted=goal.wanted,
        rows=[
            CourseRow(
                step.choice.condition.name, step.choice.why, step.choice.minutes, step.windows, step.values, step.stds
            )
            for step in course.steps
        ],
        dropped=course.dropped,
        numbers=course_document(course),
    )


def course_blocks(course: Course) -> Iterator[TextBlock]:
    """Table of the runs, of what is known after each and the gain it was chosen for, and how it ended."""
    goal = course.goal
    yield TextTable(
        "Runs chosen, and what is known after each",
        ["run", "nat/min", "min", *goal.labels],
        [
            [
                _short_name(step.choice.condition),
                f"{step.choice.rate:.3g}",
                f"{step.choice.minutes:.1f}",
                *(f"{value:.4g} +- {std:.2g}" for value, std in zip(step.values, step.stds, strict=True)),
            ]
            for step in course.steps
        ],
        "SI; nat/min: expected growth of the logarithm of the information's determinant,\nfor which a run was chosen.",
    )
    for label, why in course.dropped.items():
        yield Sentence(f"left out: {label}: {why}")
    if course.steps:
        yield Sentence(beside_theory(course))
    for doubt in course.doubts:
        yield Sentence(doubt)
    yield Sentence(course.ending.sentence if course.ending else NOT_ENDED)


def beside_theory(course: Course) -> str:
    """Say theory's value of all that was asked for, and how far off that was found."""
    parts = []
    for label, theory, value, std in zip(
        course.goal.labels, course.nominal_values, course.values, course.known.stds, strict=True
    ):
        off = abs(value - theory) / std
        parts.append(f"{label} {theory:.4g} ({off:.{0 if off >= FAR_OFF else 1}f} standard deviations off)")
    sentence = f"theory has {', '.join(parts)}"
    free = [name for name in OF_TORQUE if name in course.goal.free and name not in course.goal.labels]
    scaled = [f"{name} {course.known.quantities[name]:.4g} instead of {course.nominal[name]:.4g}" for name in free]
    return f"{sentence}; left free, the torque has {', '.join(scaled)}" if scaled else sentence


def _off_theory(course: Course) -> bool:
    """Does what was asked for, or the torque where it was left free, lie farther from theory than chance explains?"""
    goal, known = course.goal, course.known
    wanted = np.abs(course.values - course.nominal_values) > AGREEMENT * known.stds
    nominal = np.array([course.nominal[name] for name in goal.free]) / goal.scales
    free = np.abs(known.values - nominal) > AGREEMENT * np.sqrt(np.diag(known.covariance))
    return bool(wanted.any() or free[np.isin(goal.free, OF_TORQUE)].any())


def progress_words(course: Course) -> str:
    """Say in a line what is known: "drive_gain 0.932 +- 0.004 (wanted 0.01); 3 runs, 1.2 of 10 min"."""
    runs = f"{len(course.steps)} run{'s' * (len(course.steps) != 1)}"
    return f"{course.so_far}; {runs}, {course.minutes:.1f} of {course.settings.minutes:g} min"


def _short_name(condition: Condition) -> str:
    """Name a run of one bicycle for a table: "lane 6 m/s, 0.2 s, run 2"."""
    kick = condition.tag.removeprefix("kicked ").replace(" kicked", ",")
    return f"{condition.controller} {condition.v:g} m/s, {kick}, run {condition.repeat}"


def _step_document(course: Course, step: CourseStep) -> dict[str, Any]:
    labels, choice = course.goal.labels, step.choice
    return {
        "condition": choice.condition.name,
        "why": choice.why,
        "expected_gain": choice.gain,
        "minutes": choice.minutes,
        "windows": step.windows,
        "values": dict(zip(labels, map(float, step.values), strict=True)),
        "stds": dict(zip(labels, map(float, step.stds), strict=True)),
        "stds_foretold": dict(zip(labels, map(float, choice.foretold), strict=True)),
    }
