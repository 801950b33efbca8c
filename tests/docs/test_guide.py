"""The guide: its parts agree with drivers that exist, its sums are right, its drawing is that of its script."""

import re
import sys

import pytest

from riderless.firmware_interface.devices.registry import DEVICES
from tests.paths import DOCS

GUIDE = DOCS / "guide"
PARTS = (GUIDE / "1-what-to-buy.md").read_text(encoding="utf-8")
OTHER_CODE = {"riderless latency", "DRIVE_BIPOLAR=1"}


def rows(heading: str) -> list[list[str]]:
    section = PARTS.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def numbers(cell: str) -> list[int]:
    found = [int(number) for number in re.findall(r"\d+", cell)]
    return found if len(found) == 2 else found * 2


def test_every_driver_exists_and_is_marked():
    drivers = [
        (row[-1], code)
        for row in rows("For every tier") + rows("Three tiers")
        for code in re.findall("`(.*?)`", row[-1])
    ]
    assert {code for _, code in drivers} - OTHER_CODE <= set(DEVICES)
    assert all("in emulation only" in cell for cell, _ in drivers)
    assert set(re.findall("`(.*?)`", PARTS)) - OTHER_CODE <= set(DEVICES)
    assert any("none yet" in row[-1] for row in rows("Three tiers"))


def test_sums():
    *parts, total = rows("For every tier")
    assert sum(numbers(row[2])[0] for row in parts) == numbers(total[2])[0]
    for row in rows("Three tiers"):
        lowest, highest = (numbers(total[2])[0] + numbers(row[2])[i] + numbers(row[4])[i] for i in (0, 1))
        assert numbers(row[5]) == [lowest, highest]


def test_the_drawing_is_that_of_its_script(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    from site_builder.stop_circuit import DRAWING, drawing

    monkeypatch.delitem(sys.modules, "site_builder.stop_circuit")
    assert DRAWING.read_text(encoding="utf-8") == drawing()
    for name in re.findall(r"^\| ([A-Z]\w+)", (GUIDE / "2-emergency-stop.md").read_text(encoding="utf-8"), re.M):
        assert name in drawing(), name


@pytest.mark.parametrize("page", ["index.md", "../README.md"])
def test_the_front_pages_lead_to_the_guide(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert "emergency stop" in text.lower()
    assert "guide/" in text
    assert (GUIDE / "2-emergency-stop.md").read_text(encoding="utf-8").startswith("# Emergency stop\n")
