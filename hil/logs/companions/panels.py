"""Panels of a first look at a run, in whatever program: from top to bottom, with the columns in each."""

from collections.abc import Iterable
from typing import NamedTuple


class Panel(NamedTuple):
    """One plot over time."""

    title: str
    columns: tuple[str, ...]


PANELS = (
    Panel("lean", ("phi_est",)),
    Panel("steer", ("delta_meas", "delta_est")),
    Panel("lean rate and steer rate", ("phi_dot_meas", "phi_dot_est", "delta_dot_est")),
    Panel("steer command", ("T_req", "T_cmd", "T_meas")),
    Panel("forward speed", ("v_meas", "v_est")),
    Panel("state of the supervisor, cause of a stop", ("state", "cause")),
)
LINE_COLOURS = ("#0072b2", "#d55e00", "#009e73")  # told apart by those who see few colours, and in grey


def panels_of(columns: Iterable[str]) -> list[Panel]:
    """Panels of a run that has these columns; what an older run does not have is left out."""
    there = set(columns)
    kept = [Panel(title, tuple(name for name in names if name in there)) for title, names in PANELS]
    return [panel for panel in kept if panel.columns]
