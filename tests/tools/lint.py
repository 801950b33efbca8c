"""Laws of the house that no known linter has; `python -m tests.tools.lint` is part of `make lint`.

No import circles, one public name for one thing, plain first lines of docstrings, a description of each argument from
four on, names in docstrings that exist, an encoding for each text, nothing that Windows lacks imported with a file.
Each finding is a line `file:line: sentence`.
"""

import ast
import builtins
import re
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from numpydoc.docscrape import NumpyDocString

from tests.paths import ROOT
from tests.sources import ROOMS, imported, module_of, name_of, sources

Finding = tuple[str, int, str]  # path, line, sentence

REQUIRED_BY_A_REGISTRY = {  # of every module of these folders
    "firmware_interface/devices/": {"DEVICE", "introduce", "receive", "speak"},
    "firmware_interface/twins/": {"QUICK", "make"},
    "experiments/analysis/estimators/": {"NAME", "FORM", "fit"},
    "experiments/analysis/identification/four_state.py": {"NAME", "fit"},
    "experiments/campaigns/protocols/": {"Settings", "plan"},
    "experiments/recordings/foreign/": {"KIND", "COLUMNS", "recorded", "fits", "read"},
    "models/plant/": {  # linear, nonlinear
        "accelerations",
        "along_road",
        "front_contact",
        "push",
        "read",
        "track",
        "unbalance",
    },
}
NOT_ON_WINDOWS = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}
LINUX_ALONE = (  # imported where a loop in real time is measured, nowhere else
    "experiments/fault_injection/realtime/",
    "hil/commissioning/floor.py",
    "hil/commissioning/latency_measure.py",
)
RIDDLES = {"A", "An", "The", "What", "Which", "Who", "Whose", "How", "Where", "When", "Whether", "Why"}
DESCRIBED_FROM = 4  # arguments
QUOTED = re.compile(r"(?<!`)`([A-Za-z_][\w.]*)`(?!`)")  # in single backticks; in double ones it may be anybody's
TYPES = re.compile(r"^\w+(?:, \w+)* : (.*)$", re.M)  # of an entry of Parameters, Attributes or Returns


class Docstring(NamedTuple):
    """A docstring, what has it, and its lines in the file."""

    node: ast.AST
    first: int
    last: int
    text: str


class File:
    """A source file: its path from the root of the checkout, its statements at any depth, and its docstrings."""

    def __init__(self, path: str, text: str):
        self.path = path
        self.text = text
        self.module = ast.parse(text)
        self.dotted = module_of(ROOT / path)
        self.statements = list(statements(self.module))
        self.docstrings = [
            Docstring(node, node.body[0].lineno, node.body[0].end_lineno or 0, text)
            for node in self.statements
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node))
        ]

    def code_words(self) -> set[str]:
        """Words of the code: of all but docstrings and comments."""
        lines = self.text.splitlines()
        for found in self.docstrings:
            lines[found.first - 1 : found.last] = [""] * (found.last - found.first + 1)
        return set(re.findall(r"\w+", re.sub(r"#.*", "", "\n".join(lines))))


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all statements in it; a walk through expressions too would take ten times as long."""
    yield node
    for block in ("body", "handlers", "cases", "orelse", "finalbody"):
        for inner in getattr(node, block, ()):
            yield from statements(inner)


def import_circles(files: list[File]) -> Iterator[Finding]:
    """Circles of imports, lazy and type-checking ones included; doors of the rooms apart, which name what is inside."""
    paths = {file.dotted: file.path for file in files}
    arrows = {
        f.dotted: paths.keys() & imported(f.statements, paths)
        for f in files
        if f.dotted.removeprefix("riderless.") not in ROOMS
    }
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        circle = error.args[1]
        yield paths[circle[0]], 1, f"imports go in a circle: {' <- '.join(circle)}"


def shared_names(files: list[File]) -> Iterator[Finding]:
    """Public classes, functions and constants that share a name."""
    first: dict[str, str] = {}
    for file in files:
        if "/commands/" in file.path:  # a command is a function of its own name
            continue
        required = [names for where, names in REQUIRED_BY_A_REGISTRY.items() if file.path.startswith(where)]
        for node in file.module.body:
            for name in defined(node):
                if name.startswith("_") or any(name in names for names in required):
                    continue
                if first.setdefault(name, file.path) != file.path:
                    yield file.path, node.lineno, f"{name} is something else in {first[name]}: one word, one thing"


def defined(node: ast.stmt) -> list[str]:
    """Names that a top-level statement defines."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]
    return []


def first_lines(files: list[File]) -> Iterator[Finding]:
    """First lines that begin like a riddle."""
    for file in files:
        for found in file.docstrings:
            if found.text.split()[0] in RIDDLES:
                yield file.path, found.first, f"begin with an imperative or a noun: {found.text.splitlines()[0]!r}"


def parameters(files: list[File]) -> Iterator[Finding]:
    """Public functions of many arguments whose Parameters section, as numpydoc reads it, is not their signature."""
    for file in files:
        if "/commands/" in file.path:
            continue
        for node, line, _, text in file.docstrings:
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
                continue
            given = node.args
            extra = [a for a in (given.vararg, given.kwarg) if a]
            arguments = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs, *extra)]
            arguments = [name for name in arguments if name not in ("self", "cls")]
            if len(arguments) < DESCRIBED_FROM:
                continue
            described = [n.lstrip("*") for p in NumpyDocString(text)["Parameters"] for n in p.name.split(", ")]
            if described != arguments:
                yield file.path, line, f"{node.name} takes {arguments}, its Parameters section has {described}"


def unknown_names(files: list[File]) -> Iterator[Finding]:
    """Names in single backticks, and capitalised types, that are nowhere in the code of the house."""
    known = {*dir(builtins), *(part for file in files for part in file.dotted.split("."))}
    known.update(*(file.code_words() for file in files))
    for file in files:
        for found in file.docstrings:
            names = QUOTED.findall(found.text)
            for entry in TYPES.findall(found.text):
                names += re.findall(r"\b[A-Z]\w+\b", entry.split(". ")[0])
            for name in names:
                if name.split(".")[-1] not in known:
                    yield (
                        file.path,
                        found.first,
                        f"{name} is no name of the code: in double backticks it may be any",
                    )


def encodings(files: list[File]) -> Iterator[Finding]:
    """Texts of files in the encoding of the computer; ruff sees those alone whose path it can tell to be one."""
    for file in files:
        for node in ast.walk(file.module) if "_text(" in file.text else ():
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            method = node.func.attr
            if method in ("read_text", "write_text") and "encoding" not in [keyword.arg for keyword in node.keywords]:
                yield file.path, node.lineno, f"{method} without an encoding takes that of the computer"


def systems(files: list[File]) -> Iterator[Finding]:
    """Modules that Windows lacks, imported before a device or a loop in real time needs them."""
    for file in files:
        if file.path.startswith(LINUX_ALONE):
            continue
        for node in file.module.body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            for name in set(names) & NOT_ON_WINDOWS:
                yield file.path, node.lineno, f"{name} is imported with the file: import it where a device is opened"


def findings(files: list[File]) -> list[Finding]:
    """Everything that is against a law."""
    laws = (import_circles, shared_names, first_lines, parameters, unknown_names, encodings, systems)
    return sorted(finding for law in laws for finding in law(files))


def main() -> int:
    """Print what is found in the house; 1 where that is something."""
    found = findings([File(name_of(path), path.read_text(encoding="utf-8")) for path in sources()])
    for path, line, sentence in found:
        print(f"{path}:{line}: {sentence}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
