"""Display of a campaign, by default silent.

It tells what a person is shown and asked while the campaign goes on.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

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
    without_stop_proof : bool
        A real bicycle is armed though its hardware stop was not pressed today; the logs say so.
    feed : LiveFeed or None
        Memory by which others look on; of one display alone.
    """

    unattended = False
    without_stop_proof = False
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


# Questions to the person beside a real bicycle, before each run of a campaign.


KEY_HELP = "Enter arms, n skips it, q stops the campaign"
ANSWERS: dict[str, OperatorAnswer] = {"": "go", "n": "skip", "q": "stop"}


def operator_prompt(
    say: Callable[[str], None],
    listen: Callable[[], str],
    aside: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Callable[[Condition, Outcome | None], OperatorAnswer]:
    """Make the function that says what to prepare and waits for the answer.

    Parameters
    ----------
    say, listen : callable
        Print a line; read one, raising EOFError where nobody is there.
    aside : callable
        Makes a context in which question and answer have the screen for themselves.
    """

    def ask(condition: Condition, last: Outcome | None) -> OperatorAnswer:
        with aside():
            if last is not None:
                say(f"it ended otherwise ({last.reason}: {last.cause}); once more?")
            say(f"next: {condition.name}, {condition.duration:.0f} s. {_as_sentence(condition.instruction)}")
            say(f"{KEY_HELP}; while it runs k marks a kick, any other key stops it")
            while True:
                try:
                    answer = listen().strip().lower()
                except EOFError:
                    say("nobody answers: the campaign stops here")
                    return "stop"
                if answer in ANSWERS:
                    return ANSWERS[answer]
                say(f"found '{answer}': {KEY_HELP}")

    return ask


def _as_sentence(text: str) -> str:
    """Give a text a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:]}." if text else ""


# Campaign so far, for whoever looks on: runs made of each condition, time left, what comes next.


def campaign_so_far(
    conditions: Sequence[Condition], good: Iterable[str], now: str = "", outcomes: dict[str, str] | None = None
) -> dict[str, Any]:
    """Describe how far a campaign is, as a page takes it.

    Parameters
    ----------
    conditions : sequence of Condition
        All of the campaign, in order.
    good : iterable of str
        Names of those that were run well.
    now : str
        Name of the one that runs; empty where none does.
    outcomes : dict
        Reason for which the last run of a condition ended, by its label.
    """
    done = set(good)
    rows: dict[str, dict[str, Any]] = {}
    for condition in conditions:
        row = rows.setdefault(
            condition.label,
            {"label": condition.label, "done": 0, "planned": 0, "now": False, "speed": condition.v, "outcome": ""},
        )
        row["planned"] += 1
        row["done"] += condition.name in done
        row["now"] = row["now"] or condition.name == now
        row["outcome"] = (outcomes or {}).get(condition.label, "")
    remaining = [condition for condition in conditions if condition.name not in done]
    following = [condition for condition in remaining if condition.name != now]
    return {
        "type": "campaign",
        "conditions": list(rows.values()),
        "time_left": float(sum(condition.duration for condition in remaining)),
        "next": following[0].name if following else "",
    }
