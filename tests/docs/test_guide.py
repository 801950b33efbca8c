"""The guide: its parts agree with drivers that exist, its sums are right, its drawings are those of their scripts."""

import math
import re
import sys

import pytest

from riderless.firmware_interface.devices.registry import DEVICES
from tests.paths import DOCS

GUIDE = DOCS / "guide"
FIRMWARE = DOCS.parent / "firmware_interface/firmware"


def page(name: str) -> str:
    return (GUIDE / name).read_text(encoding="utf-8")


PARTS, SUPPLY = page("1-what-to-buy.md"), page("5-supply.md")
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


def test_sums():
    *parts, total = rows("For every tier")
    assert sum(numbers(row[2])[0] for row in parts) == numbers(total[2])[0]
    for row in rows("Three tiers"):
        lowest, highest = (numbers(total[2])[0] + numbers(row[2])[i] + numbers(row[4])[i] for i in (0, 1))
        assert numbers(row[5]) == [lowest, highest]


@pytest.fixture
def drawings(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    from site_builder.circuits import DRAWINGS

    yield DRAWINGS
    for name in [name for name in sys.modules if name.startswith("site_builder")]:
        monkeypatch.delitem(sys.modules, name)


def test_the_drawings_are_those_of_their_scripts(drawings):
    assert {path.name for path in GUIDE.glob("*.svg")} == set(drawings)
    for name, drawing in drawings.items():
        assert (GUIDE / name).read_text(encoding="utf-8") == drawing()
    for name in re.findall(r"^\| ([A-Z]\w+)", page("2-emergency-stop.md"), re.M):
        assert name in drawings["emergency-stop.svg"](), name


def test_the_pins_are_those_of_the_firmware(drawings):
    wired = (FIRMWARE / "README.md").read_text(encoding="utf-8").split("## Wiring\n")[1].split("\n## ")[0]
    pins = {pin for row in re.findall(r"^\| (P.*?) \|", wired, re.M) for pin in re.findall(r"P[A-C]\d+", row)}
    assert set(re.findall(r"P[A-C]\d+", drawings["wiring.svg"]())) == pins - {"PC13"}


def test_the_charge_pump():
    first, second, resistance, period = 0.22e-6, 0.47e-6, 100e3, 0.01
    swing = 3.3 - 2 * 0.3  # V, less the drop of both diodes
    gate, pulses, closed = 0.0, 0, 0
    while pulses < 100:  # of a diode that conducts at once: pin high, charge shared; it then feeds the gate too
        top = (first * swing + second * gate) / (first + second)
        middle = top * math.exp(-period / 2 / (resistance * (first + second)))
        gate = middle * math.exp(-period / 2 / (resistance * second))
        pulses += 1
        closed = closed or pulses * (top > 1.45)
    shortest = 1e3 * resistance * second * math.log(middle / 1.45)  # stuck low, highest threshold
    longest = 1e3 * resistance * (first + second) * math.log(top / 0.65)  # stuck high, lowest
    text = page("2-emergency-stop.md")
    assert closed == 3
    for words in (
        f"The gate has {gate:.1f} to {top:.1f} V after three pulses",
        f"K3 drops {shortest:.0f} to {longest:.0f} ms after the last edge",
        f"the line is open {25 + longest + 10:.0f} ms after the last command",
    ):
        assert words in text, words


def test_fuses(drawings):
    table = re.findall(r"^\| (F\d).*? \| (\S+) \| (\S+) \| (\S+) \| \S+ \|$", SUPPLY, re.M)
    loads = {name: float(load) for name, load, _, _ in table}
    assert loads["F1"] == pytest.approx(loads["F2"] + loads["F3"] + loads["F4"])
    for name, load, larger, fuse in table:
        assert float(larger) == pytest.approx(1.25 * float(load), abs=0.06)
        assert float(fuse) == min(size for size in (1, 2, 3, 5, 7.5, 10, 15, 20, 25, 30) if size >= float(larger))
        assert f"{name} {fuse} A" in drawings["supply.svg"]()


def test_sums_of_the_supply():
    per_ampere = 8.27 / 90 * 8  # N m at the steer
    current = 10.0 / per_ampere
    heat = 1.5 * 0.2 * current**2
    braking_torque = 6.0 / (2 * heat / 100)
    braking_power = braking_torque * 6.0 / 2
    capacity = 3e-3

    def charged(energy: float) -> float:
        return math.sqrt(25.0**2 + 2 * energy / capacity)

    for number in (
        f"{current:.1f} A in the motor",
        f"winding {heat:.0f} W | {(60 + heat) / 21:.1f} |",
        f"{40 / 0.9 / 21:.1f} |",
        f"at most {braking_power:.0f} W ({braking_torque:.1f} N m at 6 rad/s)",
        f"in {1e3 * capacity / 2 * (27.0**2 - 25.2**2) / braking_power:.0f} ms",
        f"| {0.5 * 0.2 * 6**2:.1f} J (0.2 kg m² at 6 rad/s) | {charged(3.6):.0f} V |",
        f"| {0.5 * 25 * 6**2:.0f} J | {charged(450.0):.0f} V |",
        f"{2.5 / 47 * 1e3:.0f} mA, of which a bleeder of 1 kΩ takes 25",
        f"more than {2.5 / 47 * 1e3 - 25:.0f} mA",
        f"47 Ω bear {25**2 / 47:.0f} W",
        f"take {27**2 / 10:.0f} W at 27 V",
        f"below 10 % in {math.log(10) * 1e3 * capacity:.0f} s",
        f"{5 * 21.6 * 0.7:.0f} Wh: {60 * 5 * 21.6 * 0.7 / 94:.0f} minutes at 94 W; on a belt, at 54 W, "
        f"{60 * 5 * 21.6 * 0.7 / 54:.0f}",
    ):
        assert number in SUPPLY, number


def test_every_page_is_listed_and_says_that_nobody_has_built_it():
    for path in GUIDE.glob("[0-9]*.md"):
        assert f"]({path.name})" in page("index.md")
        assert re.search("nobody|never run on hardware|in emulation only", page(path.name), re.I), path.name


@pytest.mark.parametrize("front", ["index.md", "../README.md"])
def test_the_front_pages_lead_to_the_guide(front):
    text = (DOCS / front).read_text(encoding="utf-8")
    assert "emergency stop" in text.lower()
    assert "guide/" in text
    assert page("2-emergency-stop.md").startswith("# Emergency stop\n")
