"""Mutants: the source of one module with one thing changed, or the supervisor's table with one entry changed."""

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tests.paths import ROOT

TABLE = "hil/loop/transitions.py"

COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
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
CALLS = {"min": "max", "max": "min"}


class Mutant(NamedTuple):
    """One change. Its ``words`` do not hold the line, so that they outlive changes elsewhere in the file."""

    path: str
    line: int
    words: str
    node: int  # number of the changed node, -1 for a text that is appended
    choice: int  # which of its changes
    appended: str = ""

    @property
    def name(self) -> str:
        """File, line and words."""
        return f"{self.path}:{self.line} {self.words}"

    def text(self) -> str:
        """Source of the mutated module."""
        source = (ROOT / self.path).read_text(encoding="utf-8")
        if self.node < 0:
            return f"{source}\n{self.appended}\n"
        tree = ast.parse(source)
        _, instead = list(changes(numbered(tree)[self.node]))[self.choice]
        return ast.unparse(ast.fix_missing_locations(_Replace(self.node, instead).visit(tree)))


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What may become of a node: the kind of change, and the node instead."""
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
        for i in range(len(node.values)):
            rest = [*node.values[:i], *node.values[i + 1 :]]
            yield "term left out", ast.BoolOp(node.op, rest) if len(rest) > 1 else rest[0]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield "sign", node.operand
    elif isinstance(node, ast.IfExp):
        yield "branches", ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.If):
        yield "condition", ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield "number", ast.Constant(node.value + 1)
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield "truth", ast.Constant(not node.value)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id == "abs":
            yield "one side", node.args[0]
        elif node.func.id in CALLS:
            yield "least/most", ast.Call(ast.Name(CALLS[node.func.id], ast.Load()), node.args, node.keywords)
    if isinstance(node, ast.AugAssign):
        yield "overwritten", ast.Assign([node.target], node.value)
    if isinstance(node, ast.Assign | ast.AugAssign | ast.Return | ast.Raise) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield "left out", ast.Pass()


class _Replace(ast.NodeTransformer):
    """Puts ``instead`` in the place of the node number ``index``."""

    def __init__(self, index: int, instead: ast.AST) -> None:
        self.index, self.instead, self.n = index, instead, -1

    def visit(self, node: ast.AST) -> Any:
        """Count nodes in the order of `numbered`."""
        self.n += 1
        if self.n == self.index:
            return self.instead
        return self.generic_visit(node)


def numbered(tree: ast.AST) -> list[ast.AST]:
    """The nodes in the order in which `_Replace` counts them."""
    seen: list[ast.AST] = []

    class Count(ast.NodeVisitor):
        def visit(self, node: ast.AST) -> None:
            seen.append(node)
            self.generic_visit(node)

    Count().visit(tree)
    return seen


def source_mutants(path: str) -> Iterator[Mutant]:
    """All changes inside the functions of a file, and of the numbers that stand under a name of their own."""
    source = (ROOT / path).read_text(encoding="utf-8")
    tree, lines = ast.parse(source), source.splitlines()
    functions = [f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)]
    inside = {id(n): f.name for f in functions for s in f.body for n in ast.walk(s)}
    told = {id(n) for a in ast.walk(tree) if isinstance(a, ast.AnnAssign) for n in ast.walk(a.annotation)}
    named = {id(s.value): "the module" for s in tree.body if isinstance(s, ast.Assign)}
    for index, node in enumerate(numbered(tree)):
        function = inside.get(id(node)) or named.get(id(node))
        if function is None or id(node) in told:
            continue
        for choice, (kind, instead) in enumerate(changes(node)):
            before, after = (ast.unparse(ast.fix_missing_locations(n)).split("\n")[0] for n in (node, instead))
            line = getattr(node, "lineno", 0)
            where = lines[line - 1].strip()
            words = f"{function}: {kind}: {before} -> {after}" + (f" in {where}" if where != before else "")
            yield Mutant(path, line, words, index, choice)


def table_mutants() -> Iterator[Mutant]:
    """The supervisor's table with one entry removed, or one cause exchanged."""
    from riderless.hil.loop.transitions import EVENT_CAUSE, NEXT_STAGE, RULES, STAY, Stage

    for stage, event in np.argwhere(NEXT_STAGE != STAY):
        words = f"entry removed: {RULES[event].event} at {Stage(int(stage)).name}"
        yield Mutant(TABLE, 0, words, -1, 0, f"NEXT_STAGE[{stage}, {event}] = STAY")
    for event in np.flatnonzero(EVENT_CAUSE):
        words = f"another cause: {RULES[event].event}"
        yield Mutant(TABLE, 0, words, -1, 0, f"EVENT_CAUSE[{event}] = 1 + EVENT_CAUSE[{event}] % 29")
