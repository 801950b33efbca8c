"""Display of a campaign on a terminal.

Board, progress of rehearsals and analysis, and the person's keys.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import numpy as np

from riderless.experiments.analysis.analyze import Analysis
from riderless.experiments.analysis.power.expected_power import FORESEEN_LEVEL, FORESEEN_POWER
from riderless.experiments.campaigns.adaptive.course import Course
from riderless.experiments.campaigns.adaptive.runs import course_blocks, progress_words
from riderless.experiments.campaigns.display import CampaignDisplay, campaign_so_far, operator_prompt
from riderless.experiments.campaigns.findings import FREQUENCY_FILE, CampaignFindings
from riderless.experiments.campaigns.folder import FinishedRun
from riderless.experiments.campaigns.power_report import Foresight, error_rows, foresight_caption, foresight_head
from riderless.experiments.campaigns.protocols.condition import Condition
from riderless.experiments.campaigns.rehearsal import DryRun
from riderless.experiments.campaigns.run import Attempt, OperatorAnswer
from riderless.experiments.datatypes import Response
from riderless.experiments.reports.analysis_text import analysis_blocks, answer_blocks, frequency_blocks
from riderless.experiments.terminal.console import emit_json, print_blocks, print_table, progress_screen, screen
from riderless.experiments.terminal.operator import keys, mark_echo
from riderless.experiments.terminal.progress import Board, RunProgress, analysed, board_of, telling, watching
from riderless.hil.runners.operator import Operator, Outcome


class TerminalDisplay(CampaignDisplay):
    """Show a campaign on a terminal, and ask the person who sits there.

    Parameters
    ----------
    heed : callable
        What the keys pressed mean to the operator of a run.
    listen : callable
        Reads a line, and raises EOFError where nobody is there.
    """

    def __init__(self, heed: Callable[[str, Operator], None], listen: Callable[[], str] = input) -> None:
        self._heed, self._listen = heed, listen
        self._board: Board | None = None
        self._watch: Callable[[Condition, np.void], None] | None = None
        self._watched: Callable[[RunProgress], None] | None = None
        self._planned: Sequence[Condition] = ()
        self._good: list[str] = []
        self._outcomes: dict[str, str] = {}
        self._now = ""
        self._t = float("nan")  # s, of the newest row

    def say(self, text: str) -> None:
        """Print a sentence."""
        progress_screen.print(text, soft_wrap=True)

    @contextmanager
    def rehearsing(self) -> Iterator[Callable[[DryRun], None]]:
        """Show a line that tells which condition was rehearsed last."""
        with telling(progress_screen, "rehearsing every condition in simulated time") as tell:
            yield lambda rehearsal: tell(f"rehearsed {rehearsal.condition.label}: {rehearsal.said()}")

    @contextmanager
    def foreseeing(self) -> Iterator[Callable[[str], None]]:
        """Show a line that tells what is worked on."""
        with telling(progress_screen, "which errors this campaign would show") as tell:
            yield tell

    @contextmanager
    def running(self, conditions: Sequence[Condition], runs: Sequence[FinishedRun], person: bool) -> Iterator[None]:
        """Show the board of the campaign."""
        self._planned = conditions
        self._good = [run.name for run in runs if run.outcome.reason == "success"]
        self._tell_page()
        with board_of(progress_screen, conditions, runs, person) as self._board:
            yield

    @contextmanager
    def learning(self, course: Course) -> Iterator[None]:
        """Show a line with what runs, and a sentence after each run."""
        with watching(progress_screen, course.menu[:0], "runs itself") as (self._watch, self._watched):
            yield
        self._watch = self._watched = None

    def learnt(self, course: Course) -> None:
        """Print what is known after a run, and why it was made."""
        last = course.steps[-1].choice
        self.say(f"{last.condition.name}: {last.why}")
        self.say(f"  {progress_words(course)}")

    def watch(self, condition: Condition, row: np.void) -> None:
        """Show the newest row on the board."""
        self._t = float(row["t"])
        if condition.name != self._now:
            self._now = condition.name
            self._tell_page()
        if self._board:
            self._board.watch(condition, row)
        if self._watch:
            self._watch(condition, row)

    def made(self, attempt: Attempt) -> None:
        """Enter a run that has ended on the board."""
        self._outcomes[attempt.condition.label] = attempt.outcome.reason
        if attempt.outcome.reason == "success":
            self._good.append(attempt.condition.name)
        self._now = ""
        self._tell_page()
        if self._board:
            self._board.made(attempt)
        if self._watched:
            self._watched(attempt)

    def _tell_page(self) -> None:
        """Tell whoever looks on how far the campaign is."""
        if self.feed is not None and self._planned:
            self.feed.tell_campaign(campaign_so_far(self._planned, self._good, self._now, self._outcomes))

    def ask(self, condition: Condition, last: Outcome | None) -> OperatorAnswer:
        """Ask beside the board whether to run."""
        aside = self._board.aside if self._board else nullcontext
        return operator_prompt(self.say, self._listen, aside)(condition, last)

    def keys(self) -> AbstractContextManager[Callable[[], str]]:
        """Open the keyboard of the terminal."""
        return keys()

    def heed(self, pressed: str, operator: Operator) -> None:
        """Let keys act on the operator of a run."""
        self._heed(pressed, operator)
        if echo := mark_echo(pressed, self._t):
            self.say(echo)

    def analyze(self, responses: list[Response]) -> Analysis:
        """Analyse the recordings with a bar."""
        return analysed(progress_screen, responses)


class UnattendedDisplay(TerminalDisplay):
    """Show a campaign on a real bicycle beside which nobody sits: every condition is tried once."""

    unattended = True

    def ask(self, condition: Condition, last: Outcome | None) -> OperatorAnswer:
        """Answer by itself: run it, and leave it when that has failed."""
        return "go" if last is None else "skip"


# Campaigns in the terminal: rehearsals before, and what was found after.


def show_rehearsals(made: Sequence[DryRun], foreseen: Sequence[Foresight], as_json: bool) -> None:
    """Print peaks as shares of the limits, what is refused, and which errors the campaign would show."""
    if as_json:
        emit_json(
            {
                "rehearsals": [rehearsal.as_json() for rehearsal in made],
                "would_see": [size.as_json() for size in foreseen],
            },
        )
        return
    rehearsed = [name for rehearsal in made for name in rehearsal.shares]
    names = [name for name in ("torque", "steer_rate", "steer_command", "lean", "steer") if name in rehearsed]
    print_table(
        "Rehearsals: largest values as shares of the limits",
        ["condition", *(name.replace("_", " ") for name in names), ""],
        [
            [
                rehearsal.condition.label,
                *(f"{100 * rehearsal.shares[name]:.0f} %" if name in rehearsal.shares else "-" for name in names),
                "refused" if rehearsal.refusal else "",
            ]
            for rehearsal in made
        ],
    )
    for rehearsal in made:
        if rehearsal.refusal:
            screen.print(rehearsal.refusal)

    for table in foreseen:
        _show_foresight(table)


def _show_foresight(table: Foresight) -> None:
    """Print the smallest errors that the campaign would show of one bicycle, and what would make it show smaller."""
    print_table(
        f"Errors of {table.bicycle} that this campaign would show: the smallest rejected in "
        f"{10 * FORESEEN_POWER:.0f} of 10 (p < {FORESEEN_LEVEL:g})",
        foresight_head(),
        error_rows(table),
        caption=foresight_caption(table),
    )
    screen.print(table.advice())


def show_course(course: Course, findings: CampaignFindings) -> None:
    """Print what an experiment that ran itself chose and knows, and where the rest is."""
    print_blocks(course_blocks(course))
    if findings.page:
        screen.print(f"report: {findings.page}", soft_wrap=True)


def show_finished(findings: CampaignFindings, folder: Path) -> None:
    """Print windows, frequency responses, and where the rest is."""
    print_blocks(answer_blocks(findings.analysis, findings.responses, findings.missing))
    if findings.analysis.responses:
        print_blocks(analysis_blocks(findings.analysis))
    print_blocks(frequency_blocks(findings.responses, findings.unusable))
    if findings.responses:
        screen.print(f"frequency responses: {folder / FREQUENCY_FILE}", soft_wrap=True)
    if findings.page:
        screen.print(f"report: {findings.page}", soft_wrap=True)
