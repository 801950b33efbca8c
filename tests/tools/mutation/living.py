"""A mutant put into modules that are loaded already, so that neither they nor the tests are loaded again.

A change inside a function becomes the code of every function that has the old one; the number of a name becomes the
value of that name wherever it was imported; a changed entry of the supervisor's table is written into it.
"""

import ast
import gc
import sys
import types
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.paths import ROOT
from tests.sources import module_of, tree
from tests.tools.mutation.changes import Mutant, numbered


class Living:
    """A loaded module, whose functions and names may be exchanged."""

    def __init__(self, path: str) -> None:
        self.path, self.file = path, str(ROOT / path)
        self.tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        self.module = sys.modules[module_of(ROOT / path)]
        self.nodes = numbered(self.tree)
        self.functions: dict[str, list[types.FunctionType]] = defaultdict(list)
        for thing in gc.get_objects():
            if isinstance(thing, types.FunctionType) and thing.__code__.co_filename == self.file:
                self.functions[thing.__code__.co_qualname].append(thing)
        self._names: dict[int, str] = {}  # node to the name whose value it is part of
        for statement in self.tree.body:
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                self._names |= dict.fromkeys(map(id, ast.walk(statement)), statement.targets[0].id)

    def is_value(self, mutant: Mutant) -> bool:
        """Whether a mutant changes a value of the module, which any function may read."""
        return mutant.node < 0 or id(self.nodes[mutant.node]) in self._names

    def put(self, mutant: Mutant) -> bool:
        """Exchange what a mutant changes; False where this cannot be done in place."""
        if mutant.node < 0:
            exec(mutant.appended, vars(self.module))  # noqa: S102
            return True
        code = compile(mutant.text(), self.file, "exec")
        name = self._names.get(id(self.nodes[mutant.node]))
        if name is not None:
            return self._put_value(code, name)
        done = False
        for there in _codes(code):
            for function in self.functions.get(there.co_qualname, ()):
                if len(there.co_freevars) != len(function.__code__.co_freevars):
                    return False
                function.__code__ = there
                done = True
        return done

    def _put_value(self, code: types.CodeType, name: str) -> bool:
        """Give a name of the module the value that it has in another text, in all modules that have it from here."""
        other = types.ModuleType(self.module.__name__)
        other.__file__ = self.file
        was = vars(self.module).get(name)
        exec(code, vars(other))  # noqa: S102
        if was is None or not isinstance(was, int | float | str | tuple):
            return False
        for module in list(sys.modules.values()):
            if module is self.module or _has_from(module, name, was, self.module.__name__):
                setattr(module, name, vars(other)[name])
        return True

    def header_of(self, mutant: Mutant) -> range:
        """Lines of the statement that a mutant changes; of an ``if`` or a loop, those above its body."""
        found = range(mutant.line, mutant.line + 1)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.stmt) and node.lineno <= mutant.line <= (node.end_lineno or node.lineno):
                body = getattr(node, "body", None)
                last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
                if mutant.line <= max(last, node.lineno):  # the innermost comes last
                    found = range(node.lineno, max(last, node.lineno) + 1)
        return found


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code of a module's functions, those of classes and inner ones too."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _codes(constant)


def _has_from(module: Any, name: str, value: Any, origin: str) -> bool:
    """Whether a module of ours imported a name from ``origin``."""
    file = str(getattr(module, "__file__", None) or "")
    if vars(module).get(name) is not value or not file.startswith(str(ROOT)):
        return False
    imports = (n for n in ast.walk(tree(Path(file))) if isinstance(n, ast.ImportFrom) and n.module == origin)
    return any(alias.name == name for node in imports for alias in node.names)
