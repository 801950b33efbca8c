"""Layout of Foxglove and Lichtblick (JSON).

It has the panels of an exported MCAP file; Lichtblick is Foxglove's free relative. What a layout holds is told by
Lichtblick's own types (LayoutData; panels/Plot/utils/config.ts): configurations by panel, and a tree of panels, two to
a branch.
"""

import json
from pathlib import Path
from typing import Any

from riderless.hil.logs.companions.panels import LINE_COLOURS, Panel, panels_of
from riderless.hil.logs.log import Run
from riderless.hil.logs.records import TICK_TOPIC


def foxglove_place(path: Path) -> Path:
    """Place of the layout beside the data file."""
    return path.with_name(f"{path.name}.foxglove.json")


def foxglove_layout(run: Run, path: Path) -> str:
    """Write the layout; ``path`` is not in it, as the program opens data and layout apart."""
    panels = panels_of(run.ticks.dtype.names or (), run.header.drive_kind)
    configs = {f"Plot!riderless{number}": _plot(panel) for number, panel in enumerate(panels, start=1)}
    layout = {
        "configById": configs,
        "globalVariables": {},
        "userNodes": {},
        "playbackConfig": {"speed": 1},
        "layout": _column(list(configs)),
    }
    return json.dumps(layout, indent=1)


def _plot(panel: Panel) -> dict[str, Any]:
    """Configuration of a panel over time."""
    return {
        "foxglovePanelTitle": panel.title,
        "paths": [
            {
                "value": f"{TICK_TOPIC}.{column}",
                "label": column,
                "enabled": True,
                "timestampMethod": "receiveTime",
                "color": colour,
            }
            for column, colour in zip(panel.columns, LINE_COLOURS, strict=False)
        ],
        "xAxisVal": "timestamp",
        "isSynced": True,
        "showLegend": True,
        "legendDisplay": "left",
        "showPlotValuesInLegend": False,
        "showXAxisLabels": True,
        "showYAxisLabels": True,
        "sidebarDimension": 200,
    }


def _column(names: list[str]) -> Any:
    """Panels one below the other, all of one height."""
    if len(names) == 1:
        return names[0]
    return {
        "direction": "column",
        "first": names[0],
        "second": _column(names[1:]),
        "splitPercentage": 100.0 / len(names),
    }
