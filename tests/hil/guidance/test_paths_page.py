"""docs/paths.md: its table of what paths ask of two bicycles, each number made anew."""

import re

import numpy as np
import pytest

from riderless.hil.guidance.demand import path_demand
from riderless.hil.guidance.shapes import circle, figure_of_eight, lane_change, obstacle_avoidance, slalom
from riderless.models import load_bicycle
from tests.paths import DOCS

PAGE = (DOCS / "paths.md").read_text(encoding="utf-8")
SHAPES = {
    "circle of {} m": circle,
    "figure of eight of {} m": figure_of_eight,
    "lane change of {} m in {} m": lane_change,
    "ISO 3888-2 for a width of {} m": obstacle_avoidance,
    "slalom of {} m, {} m": slalom,
}


def rows():
    """Words of each row's path, and its two cells."""
    start = PAGE.index("| | Silver: lean, steer, torque | Benchmark |")
    return [row.strip("| ").split(" | ") for row in PAGE[start : PAGE.index("\n\n", start)].splitlines()[2:]]


def test_the_table_has_a_row_of_each_shape():
    assert [re.sub(r"(?<= )[\d.]+(?= m)", "{}", row[0].rpartition(", ")[0]) for row in rows()] == list(SHAPES)


@pytest.mark.parametrize(("ridden", "silver", "benchmark"), rows())
def test_each_number_of_the_table_is_what_the_path_asks_for(ridden, silver, benchmark):
    words, _, speed = ridden.rpartition(", ")
    sizes = [float(size) for size in re.findall(r"(?<= )[\d.]+(?= m)", words)]
    path = SHAPES[re.sub(r"(?<= )[\d.]+(?= m)", "{}", words)](*sizes)
    for name, cell in (("Silver", silver), ("Benchmark", benchmark)):
        d = path_demand(load_bicycle(name), path, float(speed.removesuffix(" m/s")))
        lean, steer, torque = (float(np.max(np.abs(each))) for each in (d.phi, d.delta, d.T_delta))
        assert cell == f"{np.degrees(lean):.1f} deg, {np.degrees(steer):.1f} deg, {torque:.1f} N m"
