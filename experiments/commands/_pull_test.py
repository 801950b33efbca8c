"""`riderless calibrate --pull-test`: what a drive really makes, from a table of command against spring balance."""

from pathlib import Path

import typer

_MEANING = {
    "gain": "torque made per torque commanded",
    "dead_band": "commanded without making any",
    "friction": "dry friction of drive and steer",
    "break_away": "commanded until something moves",
    "hysteresis": "between the branches, at full command",
}


def tell_pull_test(context: typer.Context, files: list[Path], as_json: bool) -> None:
    """Print the fit with its 95 % intervals; every option of a measurement is refused beside it."""
    from experiments.commands._ignored_options import refuse_ignored
    from experiments.terminal.console import emit_json, print_line
    from hil.commissioning.pull_test import PULL_QUANTITIES, fit_pull_test, read_pull_table

    others = [name for name in context.params if name not in ("rig_file", "pull_test", "as_json")]
    refuse_ignored(context, *others, because="--pull-test reads a table, moves nothing; leave out one of them")
    found = fit_pull_test([read_pull_table(path) for path in files])
    if as_json:
        document = {
            name: {"value": found.found[name].value, "interval_95": found.interval(name), "unit": unit}
            for name, unit in PULL_QUANTITIES.items()
        }
        emit_json({"pull_test": document, "residual_Nm": found.residual, "tables": [str(path) for path in files]})
        return
    for name, unit in PULL_QUANTITIES.items():
        low, high = found.interval(name)
        said = f"{found.found[name].value:5.2f} {unit}".rstrip()
        print_line(f"{name:10} {said:10} ({low:.2f} to {high:.2f})  {_MEANING[name]}")
    print_line(f"95 % intervals; half of the readings are within {found.residual:.2f} N m of the fit.")
    print_line("Nothing is written to the rig.")
