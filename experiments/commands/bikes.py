"""`riderless bikes`: what the catalogue holds."""

from typing import Any

from riderless.experiments.commands._shared_options import AsJson


def bikes(as_json: AsJson = False) -> None:
    """List the bicycles of the catalogue with their speeds of stability and sources."""
    from riderless.experiments.reports.text import number_text
    from riderless.experiments.terminal.console import emit_json, print_table
    from riderless.models import catalogue
    from riderless.models.linear.modes import critical_speeds

    rows: list[dict[str, Any]] = []
    for name in catalogue.bicycle_names():
        bicycle = catalogue.load_bicycle(name)
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
    print_table(
        "Bicycles",
        ["name", "weave m/s", "capsize m/s", "std"],
        [
            [r["name"], number_text(r["weave"]), number_text(r["capsize"]), "yes" if r["has_std"] else "no"]
            for r in rows
        ],
        "Upright and uncontrolled, a bicycle is stable from its weave to its capsize speed; a dash where there is\n"
        "none. std: standard deviations are known. Sources: --json.",
    )
