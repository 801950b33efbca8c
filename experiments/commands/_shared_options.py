"""Options that mean the same in each command that has them: one spelling, one kind of value, one sentence.

An option whose sentence depends on its command stands there, spelt alike.
"""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from riderless.experiments.commands._options import complete_controller
from riderless.experiments.commands._whole_numbers import MOST_JOBS, MOST_PROCESSORS

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Emulated: TypeAlias = Annotated[bool, typer.Option("--emulated", help="A virtual bicycle in place of the machine.")]
SerialPorts: TypeAlias = Annotated[
    list[str] | None, typer.Option("--port", help="Serial port; once for each port of the rig.")
]
TcpPort: TypeAlias = Annotated[
    int, typer.Option("--tcp-port", min=0, max=65535, help="TCP port of the page; 0 for any that is free.")
]
Host: TypeAlias = Annotated[
    str,
    typer.Option(help="Address to serve on, as for a phone in the same network; what is printed has a token."),
]
Fifo: TypeAlias = Annotated[int, typer.Option(min=0, max=90, help="Real-time priority 1 to 90; 0 for none.")]
Processor: TypeAlias = Annotated[
    int | None, typer.Option("--cpu", max=MOST_PROCESSORS, help="Processor to keep the loop on; any by default.")
]
Jobs: TypeAlias = Annotated[int | None, typer.Option(max=MOST_JOBS, help="Processes; one a core by default.")]
Dask: TypeAlias = Annotated[str | None, typer.Option(help="Address of a Dask scheduler, as tcp://HOST:8786.")]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", help="Go on without asking, or waiting for Enter.")]
AllowMismatch: TypeAlias = Annotated[
    bool, typer.Option("--allow-mismatch", help="Take one made for another bicycle, delay or drive lag.")
]
TrustLogs: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Take logs as they are, though physics contradicts a unit or a sign, or a bicycle is unlike any other.",
    ),
]
DriveKind: TypeAlias = Annotated[
    str, typer.Option("--drive", help="Quantity that the steer drive obeys: torque, rate or angle.")
]
Model: TypeAlias = Annotated[str, typer.Option(help="Equations of motion: linear or nonlinear.")]
FreeQuantities: TypeAlias = Annotated[
    str,
    typer.Option("--free", help="Quantities to identify, with commas: parameters of the bicycle, drive_gain, ..."),
]
Prior: TypeAlias = Annotated[
    str, typer.Option(help="What is known before: own (measured deviations), usual (for those without), or none.")
]
RiddenController: TypeAlias = Annotated[
    str,
    typer.Option(
        "--controller",
        autocompletion=complete_controller,
        help="Controller: a file of `riderless design`, a law in Python (my_law.py), or a method: lqr, poles, lean, "
        "off, lqg, yaw_rate, lane (with --path).",
    ),
]
FollowedReference: TypeAlias = Annotated[
    str,
    typer.Option(
        "--reference",
        help="That the controller follows: psi_dot=0.2 (rad/s), psi_dot=0.2@3 from 3 s on, or a CSV file.",
    ),
]
RigFile: TypeAlias = Annotated[Path | None, typer.Argument(help="Rig file (TOML); the emulated rig by default.")]
Report: TypeAlias = Annotated[Path, typer.Argument(help="Folder of a report, or its report.json.")]
