"""Layout of PlotJuggler (XML) for an export.

It opens the export and shows its panels. What the program reads of a layout is told by its own code (mainwindow.cpp,
plot_docker.cpp, plotwidget.cpp and the loaders of CSV and MCAP): tabs with a splitter of areas, curves by name, and the
data file by a path that is relative to the layout, with the settings of its loader, so that no question is asked.
"""

import xml.etree.ElementTree as ET
from pathlib import Path

from riderless.hil.logs.companions.panels import LINE_COLOURS, panels_of
from riderless.hil.logs.log import Run
from riderless.hil.logs.records import TICK_TOPIC
from riderless.models.harmless_text import harmless

_LOADERS = {  # suffix of a data file: loader, its settings, what stands before a column's name
    ".csv": ("DataLoad CSV", {"time_axis": "t_host", "delimiter": "0", "skip_rows": "0"}, ""),
    ".mcap": (
        "DataLoad MCAP",
        {
            "use_timestamp": "0",
            "use_mcap_log_time": "1",
            "clamp_large_arrays": "1",
            "max_array_size": "500",
            "selected_topics": TICK_TOPIC,
        },
        f"{TICK_TOPIC}/",
    ),
}


def plotjuggler_place(path: Path) -> Path:
    """Place of the layout beside the data file."""
    return path.with_name(f"{path.name}.plotjuggler.xml")


def plotjuggler_layout(run: Run, path: Path) -> str:
    """Write the layout for the data file at ``path`` (CSV, or MCAP by any other suffix)."""
    loader, settings, before = _LOADERS.get(path.suffix.lower(), _LOADERS[".mcap"])
    panels = panels_of(run.ticks.dtype.names or (), run.header.drive_kind)
    root = ET.Element("root")
    tabs = ET.SubElement(root, "tabbed_widget", {"parent": "main_window", "name": "Main Window"})
    tab = ET.SubElement(tabs, "Tab", containers="1", tab_name="run")
    sizes = ";".join([f"{1.0 / len(panels):.6f}"] * len(panels))
    splitter = ET.SubElement(
        ET.SubElement(tab, "Container"), "DockSplitter", orientation="-", count=str(len(panels)), sizes=sizes
    )
    for panel in panels:
        area = ET.SubElement(splitter, "DockArea", name=panel.title)
        plot = ET.SubElement(area, "plot", mode="TimeSeries", style="Lines", flip_x="false", flip_y="false")
        ET.SubElement(plot, "limitY")
        for column, colour in zip(panel.columns, LINE_COLOURS, strict=False):
            ET.SubElement(plot, "curve", name=f"{before}{column}", color=colour)
    ET.SubElement(tabs, "currentTabIndex", index="0")
    ET.SubElement(root, "use_relative_time_offset", enabled="1")
    files = ET.SubElement(root, "previouslyLoaded_Datafiles")
    data = ET.SubElement(files, "fileInfo", filename=harmless(path.name), prefix="")
    ET.SubElement(ET.SubElement(data, "plugin", ID=loader), "parameters", settings)
    ET.indent(root)
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{ET.tostring(root, encoding='unicode')}\n"
