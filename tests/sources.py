"""The project's own source files and what they import, for the tools that hold the house to its laws."""

import ast
from collections.abc import Container, Iterable, Iterator
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
    """Dotted name by which a file is imported; a package's is that of its folder."""
    name = name_of(path)[:-3].replace("/", ".").removesuffix(".__init__")
    return f"riderless.{name}" if name.partition(".")[0] in ROOMS else name


def imported(statements: Iterable[ast.AST], known: Container[str]) -> Iterator[str]:
    """Modules that statements import; a name from a package that is itself one of the ``known`` modules is that."""
    for node in statements:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in known else node.module or ""
