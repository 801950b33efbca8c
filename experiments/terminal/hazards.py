"""Hazards on a screen: a paragraph a cause, folded to the width there is."""

from riderless.experiments.reports.hazards import Hazard
from riderless.experiments.terminal.console import print_indented, screen

_INDENT = 5  # characters


def show_hazards(hazards: list[Hazard]) -> None:
    """Print each hazard with its causes; below each cause its guard and what is left."""
    for hazard in hazards:
        print_indented(f"{hazard.number} {hazard.name}", 0, style="bold")
        print_indented(f"harm: {hazard.harm} ({hazard.severity})", _INDENT)
        for row in hazard.rows:
            print_indented(f"{row.number}  {row.cause}", 0)
            print_indented(f"guard: {row.guard}", _INDENT)
            print_indented(f"left:  {row.left}", _INDENT)
        screen.print()
