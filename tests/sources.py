"""The project's own source files and what they import, for the tests that hold the house to its laws."""

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from tests.paths import ROOT

ROOMS = ("models", "firmware_interface", "hil", "experiments")


@lru_cache(None)
def sources() -> tuple[Path, ...]:
    """Every source file of the four rooms."""
    return tuple(path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")))


@lru_cache(None)
def tree(path: Path) -> ast.Module:
    """Syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    """Path from the root of the checkout, with slashes."""
    return path.relative_to(ROOT).as_posix()


def module_of(path: Path) -> str:
    """Dotted name of a file; a package's is that of its folder."""
    return name_of(path)[:-3].replace("/", ".").removesuffix(".__init__")


def imported(path: Path) -> Iterator[str]:
    """Modules a file imports, wherever in the file, type-checking and lazy imports included."""
    known = _modules()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the arrows"
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                yield module if module in known else node.module or ""


@lru_cache(None)
def _modules() -> frozenset[str]:
    return frozenset(module_of(path) for path in sources())


def circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """Groups of two and more that reach each other along the arrows (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in arrows.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in arrows:
        if node not in index:
            visit(node)
    return found
