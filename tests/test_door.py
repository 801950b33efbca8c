"""Doors of the rooms and the one at the top: every name resolves, is offered once, and loads nothing heavy."""

import ast
import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest

import riderless
from tests.paths import ROOT
from tests.sources import ROOMS

HEAVY = ("numpy", "scipy", "numba", "matplotlib", "pandas", "control", "pydantic", "rich")


def offered(room: str) -> list[str]:
    """Names that a room lists."""
    return list(getattr(import_module(f"riderless.{room}"), "__all__", ()))


@pytest.mark.parametrize("room", ROOMS)
def test_every_name_of_a_room_is_a_thing(room):
    module = import_module(f"riderless.{room}")
    assert len(set(offered(room))) == len(offered(room))
    for name in offered(room):
        found = getattr(module, name)
        assert callable(found) or not isinstance(found, ModuleType), f"{room}.{name} is a file, not what it defines"
    assert set(offered(room)) <= set(dir(module))
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        _ = module.no_such_name


@pytest.mark.parametrize("room", ROOMS)
def test_type_checkers_see_what_is_offered(room):
    tree = ast.parse((ROOT / room / "__init__.py").read_text(encoding="utf-8"))
    guarded = [
        node for node in tree.body if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
    ]
    imports = [node for block in guarded for node in block.body if isinstance(node, ast.ImportFrom)]
    homes = {alias.name: node.module for node in imports for alias in node.names}
    assert sorted(homes) == sorted(offered(room))
    for name, home in homes.items():
        assert hasattr(import_module(home), name)


def test_no_two_rooms_offer_one_name():
    names = [name for room in ROOMS for name in offered(room)]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_the_door_at_the_top_gathers_the_rooms():
    assert riderless.__all__ == sorted(name for room in ROOMS for name in offered(room))
    assert dir(riderless) == riderless.__all__
    for room in ROOMS:
        for name in offered(room):
            there = getattr(import_module(f"riderless.{room}"), name)
            if not isinstance(there, ModuleType):  # a folder of the room that has the name
                assert getattr(riderless, name) is there
    assert riderless.design.__module__ == "riderless.hil.design.methods"  # help(riderless.design) is the function's
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        _ = riderless.no_such_name


def test_importing_the_doors_loads_nothing_heavy():
    rooms = ", ".join(f"riderless.{room}" for room in ROOMS)
    code = f"import sys, riderless, {rooms}; dir(riderless); print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"
