"""docs/drives.md: its tables, taken at a few cells, and what it says of them."""

import re

import numpy as np
import pytest

from riderless.hil.design.methods import design
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError
from riderless.models.linear.prescribed_steer import InnerLoop
from tests.paths import DOCS
from tests.tools import drive_bandwidth, drive_torque

PAGE = (DOCS / "drives.md").read_text(encoding="utf-8")


def cells(cases, after):
    """Text of a table's cells by bicycle and case."""
    start = PAGE.index("\n| | ", PAGE.index(after))
    table = PAGE[start : PAGE.index("\n\n", start)]
    rows = re.findall(r"^\| (\w+) \| (.+) \|$", table, flags=re.MULTILINE)
    return {(name, case): text for name, row in rows for case, text in zip(cases, row.split(" | "), strict=False)}


@pytest.mark.parametrize(
    ("name", "case"),
    [("DelftSbW2024", "rate, PI, LQR"), ("Silver", "rate, PI, cascade"), ("Pista", "angle, PD, LQR")],
)
def test_the_bandwidths_are_the_least_of_the_grid(name, case):
    told = [float(text) for text in cells(drive_bandwidth.CASES, "## How fast is fast enough")[name, case].split(", ")]
    grid = drive_bandwidth.BANDWIDTHS.tolist()
    for share, bandwidth in zip(drive_bandwidth.SHARES, told, strict=True):
        assert drive_bandwidth.eigenvalue_error(name, case, bandwidth) < share
        assert drive_bandwidth.eigenvalue_error(name, case, grid[grid.index(bandwidth) - 1]) >= share


def test_a_proportional_drive_is_never_that_fast():
    assert cells(drive_bandwidth.CASES, "## How fast is fast enough")["Silver", "rate, P, LQR"] == "-, -, -"
    assert drive_bandwidth.eigenvalue_error("Silver", "rate, P, LQR", 1000.0) > 0.10


@pytest.mark.parametrize(
    ("name", "case"),
    [pytest.param("Rigid", "rate, PI, LQR", marks=pytest.mark.slow), ("DelftSbW2024", "angle, PD, cascade")],
)
def test_the_torque_that_catches(name, case):
    kind, method = drive_torque.CASES[case]
    loop = InnerLoop(kind=kind, bandwidth=50.0, damping=1.0)
    schedule = design(load_bicycle(name), method, drive_torque.SPEEDS, drive=loop)
    found = (drive_torque.least_torque(schedule, v) for v in drive_torque.SPEEDS)
    told = cells(drive_torque.CASES, "## How much torque")[name, case]
    assert ", ".join(f"{torque:g} ({lean:.0f})" for torque, lean in found) == told


def test_a_lag_costs_phase():
    def cascade(bandwidth, v):
        loop = InnerLoop(kind="rate", bandwidth=bandwidth, damping=1.0)
        return design(load_bicycle("Benchmark"), "cascade", [v], drive=loop)

    assert round(np.degrees(cascade(50.0, 8.0).margins[0].phase)) == 2
    assert cascade(30.0, 5.0).stable.all()
    with pytest.raises(InputError, match="no cascade"):
        cascade(30.0, 6.0)
