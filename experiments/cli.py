"""Command line `riderless`. Each command is one file in `commands/` and one line here.

Only what the help needs is imported here; each command imports its rooms when it is called, so that
`riderless --help` answers at once.
"""

import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from experiments.commands import (
    analyze,
    bikes,
    calibrate,
    campaign,
    check,
    design,
    eig,
    emulate,
    export,
    faults,
    identify,
    info,
    latency,
    migrate,
    modes,
    monitor,
    ports,
    replay,
    run,
    simulate,
    turns,
    warmup,
)
from experiments.commands._kernel_cache import use_kernel_cache
from firmware_interface.errors import DeviceError
from models.errors import InputError

app = typer.Typer(
    name="riderless",
    help="Balance a riderless bicycle with a steer motor and find out whether its motion has the "
    "eigenvalues that theory predicts.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from hil.logs.provenance import package_versions

        print(f"riderless {package_versions()['riderless']}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Balance a riderless bicycle and find out whether its motion has the eigenvalues that theory predicts."""


COMMANDS: dict[str, Callable[..., None]] = {
    "bikes": bikes.bikes,
    "eig": eig.eig,
    "modes": modes.modes,
    "turns": turns.turns,
    "design": design.design,
    "emulate": emulate.emulate,
    "ports": ports.ports,
    "monitor": monitor.monitor,
    "calibrate": calibrate.calibrate,
    "check": check.check,
    "run": run.run,
    "simulate": simulate.simulate,
    "campaign": campaign.campaign,
    "analyze": analyze.analyze,
    "identify": identify.identify,
    "info": info.info,
    "replay": replay.replay,
    "latency": latency.latency,
    "faults": faults.faults,
    "warmup": warmup.warmup,
    "export": export.export,
    "migrate": migrate.migrate,
}
for name, function in COMMANDS.items():
    app.command(name)(function)


def main() -> None:
    """Run the command line; bad input and absent devices end in one sentence and exit code 2."""
    use_kernel_cache()
    try:
        try:
            app()
        finally:
            _flush()
    except (InputError, DeviceError) as error:
        print(f"riderless: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:  # a full disk, a name too long, a link to itself
        where = f" at {error.filename}" if error.filename else ""
        print(f"riderless: the system refused a file{where}: {error.strerror or error}", file=sys.stderr)
        sys.exit(2)


def _flush() -> None:
    """Write out what was printed; where that fails, do not let the interpreter try again as it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


if __name__ == "__main__":
    main()
