"""`riderless load`: payload on or off a bicycle."""

from pathlib import Path
from typing import Annotated

import typer

from riderless.experiments.commands._options import BicycleArgument, Force, Trust
from riderless.experiments.commands._shared_options import AsJson


def load(
    bike: BicycleArgument,
    payload: Annotated[Path, typer.Argument(help="Payload: a TOML file, several bodies under [[payload]].")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the loaded bicycle to this file (TOML).")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take it off instead.")] = False,
    speeds: Annotated[str, typer.Option(help="m/s, where the weave is compared: FROM:TO:STEP or a list.")] = "4,5,6",
    force: Force = False,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Put a payload on a bicycle, with what it does to the parameters, their deviations and the weave."""
    import numpy as np

    from riderless.experiments.terminal.console import emit_json, parse_speeds, print_table, print_written
    from riderless.hil.output_file import OutputFile, files_read
    from riderless.models import catalogue
    from riderless.models.measured.measurement import weave
    from riderless.models.measured.payloads import add_payload, read_payloads
    from riderless.models.parameter_table import PARAMETERS

    place = OutputFile(out, "the bicycle", force, files_read(bike, payload)) if out else None
    if place:
        place.require_free()
    before = catalogue.load_bicycle(bike, trust)
    bodies = read_payloads(payload)
    after = add_payload(before, bodies[::-1] if remove else bodies, remove)
    at = parse_speeds(speeds)
    weaves = [(v, weave(before, v), weave(after, v)) for v in at]
    if place:
        place.write(after.to_toml())
    if as_json:
        emit_json(
            {
                "bicycle": after.as_dict(),
                "weave": [{"v": v, "before": old, "after": new} for v, old, new in weaves],
                "path": str(out) if out else None,
            }
        )
        return
    print_table(
        f"{before.name} {'without' if remove else 'with'} {', '.join(body.name for body in bodies)}",
        ["", "before", "after", "std after", "unit"],
        [
            [
                name,
                f"{getattr(before, name):.6g}",
                f"{getattr(after, name):.6g}",
                f"{after.std[name]:.2g}" if name in after.std else "-",
                unit,
            ]
            for name, (unit, _) in PARAMETERS.items()
            if getattr(before, name) != getattr(after, name)
        ],
    )

    def text(value: complex) -> str:
        return f"{value.real:.3f} ± {value.imag:.3f} i" if np.isfinite(value) else "-"

    print_table("weave 1/s", ["v m/s", "before", "after"], [[f"{v:g}", text(old), text(new)] for v, old, new in weaves])
    if place:
        print_written("bicycle", out)
