"""Runs of an experiment that runs itself: those recorded are taken up, others chosen, rehearsed and made."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from riderless.experiments.analysis.identification.output_error import Segment
from riderless.experiments.campaigns.adaptive.course import Course
from riderless.experiments.campaigns.display import CampaignDisplay
from riderless.experiments.campaigns.file import Campaign
from riderless.experiments.campaigns.folder import FinishedRun
from riderless.experiments.campaigns.learning.endings import Ending
from riderless.experiments.campaigns.learning.legs import legs_named
from riderless.experiments.campaigns.protocols.condition import Condition
from riderless.experiments.campaigns.rehearsal import DryRun, dry_run
from riderless.experiments.campaigns.run import MAX_ATTEMPTS, Attempt, OperatorAnswer
from riderless.experiments.recordings.read import read_recording
from riderless.experiments.reports.identify import segments_of
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
        self,
        runs: list[FinishedRun],
        run: Callable[[Condition, Asked], Iterable[Attempt]],
        display: CampaignDisplay,
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
            if any(one.condition.label == condition.label for one in self.rehearsals):
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
            one.name.rpartition(RUN_NUMBER)[0] == label and one.outcome.reason not in ("success", *STOPPED_BY_SOMEBODY)
            for one in runs
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


def windows_of(folder: Path) -> list[Segment]:
    """Cut what the recording of a run tells: the windows of its kicks."""
    return segments_of([read_recording(folder)])
