"""The package as it is released: metadata that agree, licences, types, lowest versions."""

import re
import tomllib

from tests.paths import ROOT
from tests.sources import ROOMS

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_citation_and_package_have_one_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", citation, re.MULTILINE)[1] == PROJECT["project"]["version"]


def test_every_room_ships_its_types():
    assert all((ROOT / room / "py.typed").exists() for room in ROOMS)
    assert PROJECT["tool"]["setuptools"]["package-data"]["*"] == ["py.typed"]


def test_lowest_versions_are_those_that_the_package_allows():
    held = dict(re.findall(r"^([\w-]+)==([\d.]+)\.\*$", (ROOT / "constraints-oldest.txt").read_text(), re.MULTILINE))
    wanted = dict(re.match(r"([\w-]+)>=([\d.]+)", one).groups() for one in PROJECT["project"]["dependencies"])
    assert wanted.items() <= held.items()


def test_every_source_of_a_bicycle_has_its_licence_told():
    told = (ROOT / "LICENSES.md").read_text(encoding="utf-8")
    for path in (ROOT / "models/bicycles").glob("*.toml"):
        source = tomllib.loads(path.read_text(encoding="utf-8"))["source"]
        assert "BicycleParameters" in source or path.name in told, path.name
    assert "LICENSES.md" in PROJECT["project"]["license-files"]


def test_a_wheel_holds_one_thing_at_the_top():
    assert PROJECT["tool"]["check-wheel-contents"]["toplevel"] == ["riderless"]


def test_every_command_that_contributing_names_exists():
    rules = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"`make ([\w-]+)`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))
    assert named <= rules
