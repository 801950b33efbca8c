"""`riderless calibrate --pull-test`: a drive's true torque.

It comes from a table of command against spring balance.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from riderless.experiments.commands._options import refuse_ignored

if TYPE_CHECKING:
    from riderless.hil.commissioning.pull_test import PullEstimate
    from riderless.hil.rig.rig import Rig

_MEANING = {
    "gain": "torque made per torque commanded",
    "offset": "added by the drive itself",
    "dead_band": "commanded without making any",
    "hysteresis": "by which it lags, up and down",
    "friction": "dry friction of drive and steer",
    "break_away": "commanded until something moves",
    "widening": "more friction at full command",
}
_UNTOLD = {"offset": "pull to both sides", "hysteresis": "pull on the way down"}


def tell_pull_test(
    context: typer.Context,
    rig_file: Path,
    rig: "Rig",
    files: list[Path],
    write: Callable[[dict[tuple[str, str], Any]], Path | None],
) -> None:
    """Print the fit with its 95 % intervals and write it to the rig; options of a measurement are refused beside it.

    Parameters
    ----------
    context : typer.Context
        Of `calibrate`.
    rig_file : Path
    rig : Rig
        As read from it.
    files : list of Path
        Tables.
    write : callable
        Puts values into the rig file, if a person wants that; returns where the old file is kept, None if nobody does.
    """
    from riderless.experiments.terminal.console import emit_json
    from riderless.hil.commissioning.pull_results import pull_test_values
    from riderless.hil.commissioning.pull_table import read_pull_table
    from riderless.hil.commissioning.pull_test import PULL_QUANTITIES, fit_pull_test
    from riderless.hil.rig.writer import rig_changes

    used = ("rig_file", "pull_test", "as_json", "yes", "dry_run")
    others = [name for name in context.params if name not in used]
    refuse_ignored(context, *others, because="--pull-test reads a table, moves nothing; leave out one of them")
    if context.params["dry_run"]:
        refuse_ignored(context, "yes", because="--dry-run writes nothing; leave one of them out")
    estimate = fit_pull_test([read_pull_table(path) for path in files])
    values = pull_test_values(estimate, rig)
    changes = rig_changes(rig_file, values)
    if not context.params["as_json"]:
        _print(estimate)
        for change in changes:
            _line(f"[{change.table}] {change.key}: {_was(change.old)} -> {change.new}")
    kept = write(values) if changes and not context.params["dry_run"] else None
    if not context.params["as_json"]:
        _line(f"Written to {rig_file}; the old file is {kept.name}." if kept else "Nothing is written to the rig.")
        return
    document = {
        name: {"value": value.value, "interval_95": estimate.interval(name), "unit": PULL_QUANTITIES[name]}
        for name, value in estimate.found.items()
    }
    emit_json(
        {
            "pull_test": document,
            "residual_Nm": estimate.residual,
            "left_out": list(estimate.left_out),
            "tables": [str(path) for path in files],
            "changes": [change._asdict() for change in changes],
            "written": kept is not None,
            "old_file": str(kept) if kept else None,
        }
    )


def _print(estimate: "PullEstimate") -> None:
    from riderless.hil.commissioning.pull_test import PULL_QUANTITIES

    for name, unit in PULL_QUANTITIES.items():
        if name not in estimate.found:
            if name in _UNTOLD:
                _line(f"{name:10} not told, counts as dead band: {_UNTOLD[name]}")
            continue
        low, high = estimate.interval(name)
        value = f"{estimate.found[name].value:5.2f} {unit}".rstrip()
        _line(f"{name:10} {value:10} ({low:.2f} to {high:.2f})  {_MEANING[name]}")
    for name in estimate.left_out:
        _line(f"left out, for a column of it is no line: {name}")
    _line(f"95 % intervals; half of the readings are within {estimate.residual:.2f} N m of the fit.")


def _line(text: str) -> None:
    from riderless.experiments.terminal.console import print_line

    print_line(text)


def _was(old: Any) -> str:
    return "not stated" if old is None else str(old)
