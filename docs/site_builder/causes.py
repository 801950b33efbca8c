"""Reference of causes: what ended a run or kept it from starting, by the table that the loop itself writes from."""

from riderless.hil.loop.states import SENTENCES, Cause
from site_builder.markdown import table

HEAD = """# Causes: what a fault code means

The end of every run has a cause, in words on the screen and as a number in the column `cause` of the log.
What to do about each stands in [troubleshooting](../howto/troubleshooting.md).

`riderless info RUN` prints the cause of a run.
"""


def page() -> str:
    """Write number, name and sentence of each cause."""
    rows = [(cause.value, f"`{cause.name}`", SENTENCES[cause]) for cause in Cause]
    return f"{HEAD}\n{table(('code', 'name', 'meaning'), rows)}"
