"""The campaign's tables in the documentation, between two marks that nobody else touches."""

from collections.abc import Sequence
from pathlib import Path

from experiments.fault_campaign.tally import Row, markdown, reasons
from models.errors import InputError

BEGIN, END = "<!-- table: written by `riderless faults --doc`, not by hand -->", "<!-- end of table -->"


def put_table(path: Path, rows: Sequence[Row], seed: int) -> None:
    """Put the table of a campaign, and the reasons of its promises, between the marks in a Markdown file.

    Raises
    ------
    InputError
        The file cannot be read or written, or has no marks.
    """
    try:
        text = path.read_text(encoding="utf-8")
        before, rest = text.split(BEGIN)
        _, after = rest.split(END)
        cases = sum(row.cases for row in rows)
        broken = sum(len(row.violations) for row in rows)
        summary = f"{cases} cases of seed {seed}, {broken} broken promises."
        tables = f"{summary}\n\n{markdown(rows)}\n\n## Promises and reasons\n\n{reasons()}"
        path.write_text(f"{before}{BEGIN}\n{tables}\n{END}{after}", encoding="utf-8")
    except OSError as error:
        raise InputError(f"the table cannot be put into {path} ({error.strerror}): name a file that exists") from None
    except ValueError:
        raise InputError(f"the table has no place in {path}: give it the two lines '{BEGIN}' and '{END}'") from None
