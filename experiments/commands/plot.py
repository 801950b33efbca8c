"""`riderless plot`: one recording over time."""

from pathlib import Path
from typing import Annotated

import typer

from riderless.experiments.commands._options import (
    DEFAULT,
    BicycleOfLogs,
    Force,
    LawFileOption,
    MappingOption,
    MaxMemory,
    Preset,
    know_law,
    require_law_of,
)
from riderless.experiments.commands._shared_options import AsJson, TrustLogs
from riderless.hil.memory import use_memory


def plot(
    run: Annotated[Path, typer.Argument(help="Run folder, or a file that `riderless analyze` reads.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write to this file: .png, .svg or .pdf; by default the run's name and .png."),
    ] = None,
    mapping: MappingOption = "",
    preset: Preset = "",
    bicycle: BicycleOfLogs = "",
    controller: LawFileOption = None,
    trust: TrustLogs = False,
    force: Force = False,
    max_memory: MaxMemory = DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Draw lean, steer, torque and speed over time, with states, kicks, and the windows with the verdict of each."""
    from riderless.experiments.reports.analysis_text import remark_blocks
    from riderless.experiments.reports.timeline.plot import plot_recording
    from riderless.experiments.terminal.console import emit_json, print_blocks, print_written, screen

    use_memory(max_memory)
    know_law(controller)
    require_law_of(controller, [run])

    path, result = plot_recording(run, out, mapping=mapping, preset=preset, bicycle=bicycle, trust=trust, force=force)
    if as_json:
        emit_json({"path": str(path), **result.as_json()})
        return
    screen.print(result.answer.headline)
    print_blocks(remark_blocks(result.responses))
    print_written("figure", path)
