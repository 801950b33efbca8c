"""Reference of the supervisor: its table of transitions, and what bounds the values that a device reports."""

from riderless.hil.loop.transitions import OBSTACLES, RULES, Stage
from riderless.hil.rig.reported_values import REPORTED_VALUES
from site_builder.markdown import code, table

HEAD = """# What the supervisor does

[Safety](../safety.md) explains both tables.

## Transitions

The events are tried from top to bottom. The first one that leads somewhere from the present stage decides. An empty
cell means that the event changes nothing there. *Waits* means that STREAM does not go on.
"""

REPORTED = """
## Values that a device reports

No value that a device reports widens what the rig file states.
"""


def page() -> str:
    """Write both tables."""
    reported = [(code(value.name), value.meaning, value.bound) for value in REPORTED_VALUES]
    bounds = table(("reported", "what it is", "what bounds it"), reported)
    return f"{HEAD}\n{transitions_table()}{REPORTED}\n{bounds}"


def transitions_table() -> str:
    """Write a row for each event and a column for each stage."""
    rows = []
    for rule in RULES:
        cells = [rule.goes[stage].name if stage in rule.goes else "" for stage in Stage]
        if rule.event in OBSTACLES:
            cells[Stage.STREAM] = "waits"
        rows.append([rule.event, rule.when, *cells])
    return table(["event", "when", *(stage.name for stage in Stage)], rows)
