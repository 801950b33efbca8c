"""`riderless envelope`: which motor does one need?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riderless.experiments.commands._options import Force, Trust, complete_bicycle, require_figure
from riderless.experiments.commands._shared_options import AsJson, Dask, Jobs
from riderless.models.errors import InputError

if TYPE_CHECKING:
    from riderless.experiments.campaigns.envelope import Envelope


def envelope(
    bike: Annotated[str, typer.Argument(autocompletion=complete_bicycle, help="Bicycle, its file, or a rig file.")],
    torque: Annotated[str, typer.Option(help="Greatest torques on the steer [N m].")] = "0.5,1,2,4,7",
    kick: Annotated[str, typer.Option("--kick-rate", help="Lean rates that a kick gives [rad/s].")] = "0.2,0.4,0.6",
    rate: Annotated[str, typer.Option(help="Rate of the loop [Hz].")] = "",
    lag: Annotated[str, typer.Option("--drive-lag-ms", help="Time constants of the drive [ms].")] = "",
    noise: Annotated[str, typer.Option(help="Noise of the instruments, times the usual one.")] = "",
    friction: Annotated[str, typer.Option(help="Dry friction of the steer [N m].")] = "",
    speeds: Annotated[str, typer.Option(help="m/s, to try, as FROM:TO:STEP or a list.")] = "1:8:0.5",
    method: Annotated[str, typer.Option(help="Method of design of each machine's gains.")] = "lqr",
    plot: Annotated[Path | None, typer.Option(help="Draw it, with one or two varied: .svg, .pdf or .png.")] = None,
    jobs: Jobs = None,
    dask: Dask = None,
    force: Force = False,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Find the lowest speed at which a kick is survived, against torque, loop, noise and friction.

    Each machine gets gains of its own and is ridden by the nonlinear equations, kicked to either side. Each option
    takes a list; all machines of the grid are ridden.
    """
    from riderless.experiments.campaigns.envelope import QUANTITIES
    from riderless.experiments.campaigns.envelope import envelope as find
    from riderless.experiments.commands._machines import named_rig
    from riderless.experiments.terminal.console import emit_json, parse_speeds, print_written, progress_screen
    from riderless.hil.rig.rig import Rig
    from riderless.models.catalogue import load_bicycle

    given = {"kick": kick, "torque": torque, "rate": rate, "lag": lag, "noise": noise, "friction": friction}
    values = {name: _values(name, text, 1e-3 if name == "lag" else 1.0) for name, text in given.items() if text}
    varied = [name for name, numbers in values.items() if len(set(numbers)) > 1]
    if plot is not None:
        if len(varied) not in (1, 2):
            raise InputError(f"a picture wants one or two options with several values, found {len(varied)}")
        require_figure(plot, force, bike)
    rig = named_rig(bike, trust) or Rig(load_bicycle(bike, trust))
    with progress_screen.status("riding") as status:
        found = find(
            rig,
            values,
            method=method,
            speeds=parse_speeds(speeds),
            jobs=jobs,
            cluster=dask,
            tell=lambda done, total: status.update(f"machine {done} of {total}"),
        )
    if plot is not None:
        from riderless.experiments.reports.envelope import plot_envelope
        from riderless.hil.design.stabilisability import uncontrollable_speeds

        labels = {name: f"{name} [{QUANTITIES[name].unit}]" if QUANTITIES[name].unit else name for name in varied}
        axes = {labels[name]: found.axes[name] for name in found.varied}
        lowest = found.lowest.reshape([len(numbers) for numbers in axes.values()])
        title = f"{found.bicycle} under {method}: lowest speed at which a kick is survived"
        plot_envelope(title, axes, lowest, stuck=uncontrollable_speeds(rig.bicycle), path=plot)
    if as_json:
        emit_json({"bike": found.bicycle, "method": method, "axes": found.axes, "lowest": found.lowest, "figure": plot})
        return
    _tell(found)
    if plot is not None:
        print_written("figure", plot)


def _values(name: str, text: str, unit: float) -> list[float]:
    """Numbers of an option, SI."""
    try:
        return [unit * float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"wanted numbers with commas for {name}, found '{text}': give them as 1,2,4") from None


def _tell(found: "Envelope") -> None:
    """Print a row for each machine, the last quantity that varies across."""
    from itertools import product

    import numpy as np

    from riderless.experiments.campaigns.envelope import QUANTITIES
    from riderless.experiments.terminal.console import print_table

    names = found.varied or ("torque",)
    *down, across = names
    lowest = np.asarray(found.lowest).reshape([len(found.axes[name]) for name in names])
    unit = {name: f" {QUANTITIES[name].unit}" if QUANTITIES[name].unit else "" for name in names}
    rows = [
        [
            *(f"{value:g}" for value in point),
            *("falls" if np.isnan(v) else f"{v:g}" for v in row),
        ]
        for point, row in zip(
            product(*(found.axes[name] for name in down)), lowest.reshape(-1, len(found.axes[across])), strict=True
        )
    ]
    print_table(
        f"{found.bicycle} under {found.method}: lowest speed [m/s] at which a kick is survived",
        [*(f"{name}{unit[name]}" for name in down), *(f"{across} {value:g}" for value in found.axes[across])],
        rows,
        f"Tried: {found.speeds[0]:g} to {found.speeds[-1]:g} m/s, nonlinear equations. falls: at the highest too.",
    )
