"""Tables of the fault campaigns in the documentation, between marks that nobody else touches."""

from collections.abc import Sequence
from pathlib import Path

from riderless.experiments.fault_injection.cases import CaseOptions
from riderless.experiments.fault_injection.markdown_tables import put_between_marks, require_marks
from riderless.experiments.fault_injection.summary_table import FaultRow, promises_markdown, summary_markdown
from riderless.experiments.fault_injection.threats.fault_list import ThreatPool

TABLE_BEGIN, TABLE_END = "<!-- table: written by `riderless faults --doc`, not by hand -->", "<!-- end of table -->"
REALTIME_TABLE_BEGIN, REALTIME_TABLE_END = (
    "<!-- table: written by `riderless faults --real-time --doc`, not by hand -->",
    "<!-- end of the table in real time -->",
)


def require_table_place(path: Path, real_time: bool = False, options: CaseOptions = CaseOptions()) -> None:
    """Refuse a file into which `put_table` could not put its table; raises InputError."""
    require_marks(path, [_marks(real_time, options)])


def _marks(real_time: bool, options: CaseOptions) -> tuple[str, str]:
    if real_time:
        return REALTIME_TABLE_BEGIN, REALTIME_TABLE_END
    if options == CaseOptions():
        return TABLE_BEGIN, TABLE_END
    begin = f"<!-- table: written by `riderless faults{options.flags} --doc`, not by hand -->"
    return begin, f"<!-- end of table{options.flags} -->"


def put_table(
    path: Path, rows: Sequence[FaultRow], seed: int, real_time: bool = False, options: CaseOptions = CaseOptions()
) -> None:
    """Put the table of a campaign between its marks in a Markdown file.

    In simulated time the reasons of the promises come with it, but not once more with every set.

    Parameters
    ----------
    path : Path
        The file.
    rows : sequence of FaultRow
    seed : int
        Of the campaign.
    real_time : bool
        The table of the campaign in real time, which has marks of its own.
    options : CaseOptions
        Of the campaign; each has marks of its own.

    Raises
    ------
    InputError
        The file cannot be read or written, or has no marks.
    """
    cases = sum(row.cases for row in rows)
    broken = sum(len(row.violations) for row in rows)
    summary = f"{cases} cases of seed {seed}, {broken} broken promises."
    told = real_time or options.together > 1 or options.pool is ThreatPool.NONE
    heading = "## Promises and reasons" if options == CaseOptions() else "Promises and reasons:"
    why = "" if told else f"\n\n{heading}\n\n{promises_markdown(options.pool)}"
    put_between_marks(path, {_marks(real_time, options): f"{summary}\n\n{summary_markdown(rows)}{why}"})
