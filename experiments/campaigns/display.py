"""Display of a campaign: what a person is shown, told and asked while it goes on; by default nothing."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

import numpy as np

from riderless.experiments.analysis.analyze import Analysis, analyze_responses
from riderless.experiments.campaigns.adaptive.course import Course
from riderless.experiments.campaigns.folder import FinishedRun
from riderless.experiments.campaigns.protocols.condition import Condition
from riderless.experiments.campaigns.rehearsal import DryRun
from riderless.experiments.campaigns.run import Attempt, OperatorAnswer
from riderless.experiments.datatypes import Response
from riderless.hil.live.feed import LiveFeed
from riderless.hil.runners.operator import Operator, Outcome


class CampaignDisplay:
    """Silent display, without a person; `riderless.experiments.terminal.campaign_display` has the terminal's.

    Attributes
    ----------
    unattended : bool
        A real bicycle is armed with nobody at a terminal; the logs say so.
    feed : LiveFeed or None
        Memory by which others look on; of one display alone.
    """

    unattended = False
    feed: LiveFeed | None = None

    def say(self, text: str) -> None:
        """Tell a person a sentence."""

    @contextmanager
    def rehearsing(self) -> Iterator[Callable[[DryRun], None]]:
        """Show that conditions are rehearsed; yields what to call with each rehearsal made."""
        yield lambda rehearsal: None

    @contextmanager
    def foreseeing(self) -> Iterator[Callable[[str], None]]:
        """Show that the power of a campaign is computed; yields what to call with what is worked on."""
        yield lambda what: None

    def running(
        self, conditions: Sequence[Condition], runs: Sequence[FinishedRun], person: bool
    ) -> AbstractContextManager[object]:
        """Show the runs of a campaign as long as the context lasts.

        Parameters
        ----------
        conditions : sequence of Condition
            All of the campaign, in order.
        runs : sequence of FinishedRun
            Made before, good or not.
        person : bool
            Somebody stands beside a real bicycle, to be told what to do when.
        """
        return nullcontext()

    def learning(self, course: Course) -> AbstractContextManager[object]:
        """Show an experiment that runs itself as long as the context lasts."""
        return nullcontext()

    def learnt(self, course: Course) -> None:
        """Show what is known after a run of an experiment that runs itself."""

    def watch(self, condition: Condition, row: np.void) -> None:
        """Show the newest row (TICK) of the run that is being made."""

    def made(self, attempt: Attempt) -> None:
        """Show a run that has ended."""

    def ask(self, condition: Condition, last: Outcome | None) -> OperatorAnswer:
        """Ask the person beside a real bicycle whether to run; with nobody there the campaign stops."""
        return "stop"

    def keys(self) -> AbstractContextManager[Callable[[], str]]:
        """Open the keyboard; the context gives a function for the keys pressed since it was last called."""
        return nullcontext(lambda: "")

    def heed(self, pressed: str, operator: Operator) -> None:
        """Let keys act on the operator of a run."""

    def analyze(self, responses: list[Response]) -> Analysis:
        """Analyse the recordings and show how far it is."""
        return analyze_responses(responses)
