"""Code in the readme and the docs: what it imports is there, and the page on constraints runs from top to bottom."""

import ast
import importlib
import re
from textwrap import dedent

from tests.paths import DOCS, ROOT

PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md")))
OURS = ("riderless", "models", "firmware_interface", "hil", "experiments")  # the last four are names of before


def blocks(page):
    """Blocks of Python on a page, in their order."""
    return [dedent(code) for code in re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.M)]


def imported(code):
    """(module, name) of everything of ours that a block imports."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in OURS:
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names if alias.name.split(".")[0] in OURS)


def test_what_a_page_imports_is_there():
    wanted = [(page.name, *names) for page in PAGES for code in blocks(page) for names in imported(code)]
    assert len(wanted) > 25
    for page, module, name in wanted:
        found = importlib.import_module(module)
        assert name is None or hasattr(found, name), f"{page}: {module} has no {name}"


def test_the_page_on_constraints_runs():
    names = {}
    for code in blocks(DOCS / "constrained.md"):
        exec(compile(code, "constrained.md", "exec"), names)  # noqa: S102
    assert names["states"].shape == (3, len(names["x"]))
    torque = names["ahead"].T_delta
    assert torque.shape == (21,)
    assert torque.any()
