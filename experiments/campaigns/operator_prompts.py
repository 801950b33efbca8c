"""Questions to the person beside a real bicycle, before each run of a campaign."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from riderless.experiments.campaigns.protocols.condition import Condition
from riderless.experiments.campaigns.run import OperatorAnswer
from riderless.hil.runners.operator import Outcome

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
            say(f"next: {condition.name}, {condition.duration:.0f} s. {as_sentence(condition.instruction)}")
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


def as_sentence(text: str) -> str:
    """Give a text a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:]}." if text else ""
