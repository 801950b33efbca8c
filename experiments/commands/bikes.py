"""`riderless bikes`: what the catalogue holds."""

from typing import Annotated

import typer


def bikes(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List the bicycles of the catalogue with their speeds of stability and sources."""
    from experiments.console import emit_json, number, table
    from models import catalogue
    from models.modes import critical_speeds

    rows = []
    for name in catalogue.names():
        bicycle, speeds = catalogue.load(name), None
        speeds = critical_speeds(bicycle)
        rows.append(
            {
                "name": name,
                "weave": speeds.weave,
                "capsize": speeds.capsize,
                "has_std": bool(bicycle.std),
                "source": bicycle.source,
                "note": bicycle.note,
            }
        )
    if as_json:
        emit_json({"bikes": rows})
        return
    table(
        "Bicycles",
        ["name", "v_weave m/s", "v_capsize m/s", "std", "source"],
        [
            [
                r["name"],
                number(r["weave"]),
                number(r["capsize"]),
                "yes" if r["has_std"] else "no",
                r["source"],
            ]
            for r in rows
        ],
        "Uncontrolled and upright, a bicycle is stable between its weave and capsize speeds; a dash where there is none.",
    )
