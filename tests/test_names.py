"""One word, one thing: no two public classes, constants or functions of one name."""

import ast
from collections import defaultdict

import pytest

from tests.sources import name_of, sources, tree

ASKED_OF_EACH = {  # a registry asks every module of its folder for these
    "firmware_interface/devices/": {"DEVICE", "introduce", "receive", "speak"},
    "firmware_interface/twins/": {"make"},
    "experiments/analysis/estimators/": {"NAME", "FORM", "fit"},
    "experiments/analysis/joint_fit.py": {"NAME", "fit"},
    "experiments/campaigns/protocols/": {"Settings", "plan"},
    "experiments/recordings/foreign/": {"KIND", "COLUMNS", "recorded", "fits", "read"},
    "models/plant/": {"accelerations", "front_contact", "push", "read", "track", "unbalance"},  # linear, nonlinear
}


def public_names(node: ast.stmt) -> list[tuple[str, str]]:
    """Kind and name of what a top-level statement defines for others."""
    if isinstance(node, ast.ClassDef):
        found = [("class", node.name)]
    elif isinstance(node, ast.FunctionDef):
        found = [("function", node.name)]
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        found = [("constant", n.id) for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]
    else:
        found = []
    return [(kind, name) for kind, name in found if not name.startswith("_")]


@pytest.mark.parametrize("room", ["models", "firmware_interface", "hil", "experiments"])
def test_one_word_one_thing(room):
    places = defaultdict(list)
    for path in sources():
        where = name_of(path)
        if "/commands/" in where:  # a command is a function of its own name
            continue
        asked = {name for folder, names in ASKED_OF_EACH.items() if where.startswith(folder) for name in names}
        for node in tree(path).body:
            for _, name in public_names(node):
                if name not in asked:
                    places[name].append(where)
    shared = {
        name: found
        for name, found in places.items()
        if len(found) > 1 and any(where.startswith(room + "/") for where in found)
    }
    assert shared == {}
