"""The recipe for conda names what pyproject.toml does."""

import re
import tomllib

import pytest

from tests.paths import ROOT

RECIPE = (ROOT / ".ci/conda/recipe.yaml").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
OTHER_NAMES = {"matplotlib": "matplotlib-base"}  # there with all backends, of which we need none


def requirements(part):
    """List the packages of one part of the requirements, as pyproject writes them."""
    found = re.search(rf"^ *{part}:\n((?:    - .*\n)+)", RECIPE[RECIPE.index("requirements:") :], re.MULTILINE)[1]
    return [line.strip("- ").replace(" ", "") for line in found.splitlines()]


def one(key):
    """Value of a key that stands once in the recipe."""
    (value,) = re.findall(rf'^ *{key}: "?([^"\n]*)"?$', RECIPE, re.MULTILINE)
    return value


def test_it_needs_what_the_package_needs():
    wanted = [
        re.sub(r"^[\w-]+", lambda m: OTHER_NAMES.get(m[0], m[0]), each) for each in PROJECT["project"]["dependencies"]
    ]
    assert requirements("run") == ["python>=${{python_min}}", *wanted]
    assert requirements("host") == ["python${{python_min}}.*", "pip", *PROJECT["build-system"]["requires"]]


def test_it_is_of_this_version_and_installs_the_command():
    project = PROJECT["project"]
    assert f">={one('python_min')}" == project["requires-python"]
    assert re.search(r"^  version: (.*)$", RECIPE, re.MULTILINE)[1] == project["version"]
    assert f"- riderless = {project['scripts']['riderless']}\n" in RECIPE
    assert one("summary") == project["description"]
    assert [f"    - {name}" for name in project["license-files"]] == re.findall(
        "^    - LICENSE.*$", RECIPE, re.MULTILINE
    )


def test_the_builder_takes_it():
    builder = pytest.importorskip("rattler_build")
    assert len(builder.Stage0Recipe.from_yaml(RECIPE).render(builder.VariantConfig())) == 1
