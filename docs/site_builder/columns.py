"""Reference of the columns of a log, read from the record that the loop fills."""

from riderless.hil.loop.tick_record import LOG_COLUMNS
from site_builder.markdown import code, table

HEAD = """# Columns of a log

One row for each tick of the loop. [The log of a run](../log-format.md) explains the endings of the names.
`riderless export RUN --to csv` writes the same units and meanings into `NAME.header.json`.
"""


def page() -> str:
    """Write name, unit and meaning of each column."""
    rows = [(code(column.name), column.unit, column.meaning) for column in LOG_COLUMNS.values()]
    return f"{HEAD}\n{table(('column', 'unit', 'meaning'), rows)}"
