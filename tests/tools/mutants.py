"""`make mutants`: would the tests notice a wrong supervisor?

Each mutant is the source of one module with one thing changed (a comparison, an operator, a number, a
condition turned round, a statement left out) or one entry of the supervisor's table removed or given another
cause. The tests of the supervisor run against it, uncompiled, in a process of its own; a mutant that no test notices
must stand in `EQUIVALENT` with the reason why it makes no difference. Exit code 1 if one does not.
"""

import ast
import os
import sys
from collections.abc import Iterator
from importlib import util
from importlib.machinery import ModuleSpec, SourceFileLoader
from multiprocessing import get_context
from typing import Any

os.environ["NUMBA_DISABLE_JIT"] = "1"  # a mutant is not worth compiling

import hypothesis  # noqa: F401  (imported here so that no mutant has to)
import numba  # noqa: F401
import numpy as np
import pytest
from rich.console import Console
from rich.progress import track

from tests.paths import ROOT

SOURCES = ("hil/loop/supervisor.py", "hil/loop/limits.py")
TABLE = "hil/loop/transitions.py"
TESTS = (
    "tests/hil/loop/test_supervisor_table.py",
    "tests/hil/loop/test_supervisor.py",
    "tests/hil/loop/test_limits.py",
    "tests/hil/loop/test_supervisor_edges.py",
    "tests/hil/loop/test_supervisor_promises.py",
)
SECONDS = 240  # for the tests of one mutant; one that never ends is noticed too

COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}

# What no test can notice, and why. A key is a part of a mutant's name.
EQUIVALENT: dict[str, str] = {
    "number: 1 -> 2 in record = np.zeros(1, LIMITS)[0]": "the first of one record or of two is the same record",
    "number: 1 -> 2 in s = np.zeros(1, SUPERVISOR)[0]": "the first of one record or of two is the same record",
    "operator: news.T_req + e.phi": "a difference is finite where the sum is: what is asked is whether any is not",
    "comparison: news.dt > 0.0 -> news.dt >= 0.0": "no time is no time by either branch",
    "number: 1 -> 2 in s.released = 1": "released is yes or no, and 2 is a yes",
    'number: 1 -> 2 in s["released"] = 1': "released is yes or no, and 2 is a yes",
}


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What may become of a node: words, and the node instead."""
    if isinstance(node, ast.Compare):
        for i, operator in enumerate(node.ops):
            other = COMPARISONS.get(type(operator))
            if other is not None:
                ops = [*node.ops[:i], other(), *node.ops[i + 1 :]]
                yield "comparison", ast.Compare(node.left, ops, node.comparators)
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        changed = type(node)(**{name: getattr(node, name) for name in node._fields})
        changed.op = OPERATORS[type(node.op)]()
        yield "operator", changed
    elif isinstance(node, ast.BoolOp):
        yield "and/or", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.IfExp):
        yield "branches", ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.If):
        yield "condition", ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield "number", ast.Constant(node.value + 1)
    if isinstance(node, ast.Assign | ast.AugAssign | ast.Return | ast.Raise):
        yield "left out", ast.Pass()


class Replace(ast.NodeTransformer):
    """Puts ``instead`` in the place of the node number ``index``."""

    def __init__(self, index: int, instead: ast.AST) -> None:
        self.index, self.instead, self.n = index, instead, -1

    def visit(self, node: ast.AST) -> Any:
        """Count nodes in the order of `ast.walk` of this transformer."""
        self.n += 1
        if self.n == self.index:
            return self.instead
        return self.generic_visit(node)


def numbered(tree: ast.AST) -> list[ast.AST]:
    """The nodes in the order in which `Replace` counts them."""
    seen: list[ast.AST] = []

    class Count(ast.NodeVisitor):
        def visit(self, node: ast.AST) -> None:
            seen.append(node)
            self.generic_visit(node)

    Count().visit(tree)
    return seen


def source_mutants(path: str) -> Iterator[tuple[str, str, str]]:
    """(name, module, mutated source) for all changes inside the functions of a file."""
    text = (ROOT / path).read_text(encoding="utf-8")
    tree, module = ast.parse(text), path.removesuffix(".py").replace("/", ".")
    nodes, lines = numbered(tree), text.splitlines()
    inside = {id(n) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) for s in f.body for n in ast.walk(s)}
    for index, node in enumerate(nodes):
        if id(node) not in inside:
            continue
        for kind, instead in changes(node):
            mutated = ast.unparse(ast.fix_missing_locations(Replace(index, instead).visit(ast.parse(text))))
            before = ast.unparse(node).split("\n")[0]
            after = ast.unparse(ast.fix_missing_locations(instead)).split("\n")[0]
            line = getattr(node, "lineno", 0)
            where = f" in {lines[line - 1].strip()}" if kind == "number" else ""
            yield f"{path}:{line} {kind}: {before} -> {after}{where}", module, mutated


def table_mutants() -> Iterator[tuple[str, str, str]]:
    """The table with one entry removed, or one cause exchanged."""
    from hil.loop.transitions import EVENT_CAUSE, NEXT_STAGE, RULES, STAY, Stage

    text = (ROOT / TABLE).read_text(encoding="utf-8")
    for stage, event in np.argwhere(NEXT_STAGE != STAY):
        name = f"{TABLE} entry removed: {RULES[event].event} at {Stage(int(stage)).name}"
        yield name, "hil.loop.transitions", f"{text}\nNEXT_STAGE[{stage}, {event}] = STAY\n"
    for event in np.flatnonzero(EVENT_CAUSE):
        name = f"{TABLE} another cause: {RULES[event].event}"
        yield name, "hil.loop.transitions", f"{text}\nEVENT_CAUSE[{event}] = 1 + EVENT_CAUSE[{event}] % 29\n"


class Mutated(SourceFileLoader):
    """Loads one module from another text."""

    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self.text = text

    def get_code(self, fullname: str) -> Any:
        """The code of the other text."""
        return compile(self.text, self.path, "exec")


class Finder:
    """Finds the mutated module first."""

    def __init__(self, module: str, text: str) -> None:
        self.module, self.text = module, text

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Ours for the mutated module, nothing for all others."""
        if name != self.module:
            return None
        file = str(ROOT / (name.replace(".", "/") + ".py"))
        return util.spec_from_file_location(name, file, loader=Mutated(name, file, self.text))


def survives(mutant: tuple[str, str, str]) -> bool:
    """Whether all tests pass with the mutant; runs in a fresh fork."""
    import signal

    _, module, text = mutant
    signal.alarm(SECONDS)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    sys.meta_path.insert(0, Finder(module, text))  # type: ignore[arg-type]
    tests = [str(ROOT / test) for test in TESTS if (ROOT / test).exists()]
    return pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"--rootdir={ROOT}", *tests]) == 0


def outcome(mutant: tuple[str, str, str]) -> tuple[str, bool]:
    """A mutant's name, and whether it survived; each in a process of its own."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if survives(mutant) else 1
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return mutant[0], status == 0


def main() -> int:
    """Try every mutant, tell those that no test noticed."""
    screen = Console()
    mutants = [*(m for path in SOURCES for m in source_mutants(path)), *table_mutants()]
    for module in [name for name in sys.modules if name.split(".")[0] in ("hil", "tests", "models", "experiments")]:
        if module != "tests":
            del sys.modules[module]
    only = sys.argv[1:]
    mutants = [m for m in mutants if all(word in m[0] for word in only)]
    if not survives_unchanged():
        screen.print("the tests do not pass without a mutant: nothing can be said")
        return 2
    with get_context("fork").Pool(os.cpu_count()) as pool:
        results = track(pool.imap_unordered(outcome, mutants), "mutants", len(mutants), console=screen)
        survivors = sorted(name for name, alive in results if alive)
    unexplained = [name for name in survivors if not any(key in name for key in EQUIVALENT)]
    killed = len(mutants) - len(survivors)
    screen.print(f"{len(mutants)} mutants: {killed} noticed, {len(survivors) - len(unexplained)} make no difference")
    for name in unexplained:
        screen.print(f"NOT NOTICED: {name}", soft_wrap=True, markup=False)
    return 1 if unexplained else 0


def survives_unchanged() -> bool:
    """The tests pass on the code as it is."""
    return outcome(("nothing", "nothing", ""))[1]


if __name__ == "__main__":
    sys.exit(main())
