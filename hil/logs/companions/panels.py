"""Panels of a first look at a run.

For any program: from top to bottom, with the columns in each.
"""

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


_COMMAND = next(i for i, panel in enumerate(PANELS) if "T_cmd" in panel.columns)


def panels_of(columns: Iterable[str], drive_kind: str = "torque") -> list[Panel]:
    """Panels of a run that has these columns; what an older run does not have is left out.

    Parameters
    ----------
    columns : iterable of str
    drive_kind : {"torque", "rate", "angle"}
        Quantity that the drive obeyed; the torque it reported has a panel of its own where that is another.
    """
    there, panels = set(columns), list(PANELS)
    if drive_kind != "torque":
        commanded = Panel(f"steer {drive_kind} commanded", ("T_req", "T_cmd", "T_est"))
        panels[_COMMAND : _COMMAND + 1] = [commanded, Panel("torque that the drive reports", ("T_meas",))]
    kept = [Panel(title, tuple(name for name in names if name in there)) for title, names in panels]
    return [panel for panel in kept if panel.columns]
