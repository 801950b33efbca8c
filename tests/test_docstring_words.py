"""Names in docstrings: what stands in backticks is somewhere in the house, and a type is the one of the annotation."""

import ast
import builtins
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from tests.paths import ROOT
from tests.sources import module_of, name_of, sources, tree
from tests.test_docstrings import documented

QUOTED = re.compile(r"(?<!`)`([A-Za-z_][\w.]*)`(?!`)")  # in single backticks; in double ones it may be anybody's
TYPED = re.compile(r"^(\w+(?:, \w+)*) : (.*)$", re.M)  # an entry of Parameters, Attributes or Returns
CLASS_WORD = re.compile(r"\b[A-Z]\w+\b")


@lru_cache(None)
def docstrings(path: Path) -> list[tuple[ast.AST, str]]:
    """Everything in a file that has a docstring, with it."""
    return list(documented(path))


@lru_cache(None)
def house_names() -> frozenset[str]:
    """Words in the code of the house and of its tests, without comments and docstrings, and names of its files."""
    found = {*dir(builtins), *(part for path in sources() for part in module_of(path).split("."))}
    for path in (*sources(), *(ROOT / "tests").rglob("*.py")):
        count = Counter(words_in(path.read_text(encoding="utf-8")))
        count.subtract(word for _, text in docstrings(path) for word in words_in(text))
        found.update(+count)
    return frozenset(found)


def words_in(code: str) -> list[str]:
    """Words of a text or a file, its comments left out."""
    return re.findall(r"\w+", re.sub(r"#.*", "", code))


def names_in(node: ast.AST) -> set[str]:
    """Names in an expression, and in the texts of annotations that are written as such."""
    return set(words_in(ast.unparse(node)))


@lru_cache(None)
def meanings() -> dict[str, set[str]]:
    """Names of types in the house, and what each stands for; nothing where it is a protocol, which anybody may keep."""
    found = defaultdict[str, set[str]](set)
    for node in (node for path in sources() for node in tree(path).body):
        if isinstance(node, ast.ClassDef) and "Protocol" not in map(ast.unparse, node.bases):
            found[node.name].add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name):
                found[target.id] |= names_in(node.value)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.asname not in (None, alias.name):
                    found[alias.asname].add(alias.name)
    return found


def meant(names: set[str]) -> set[str]:
    """Types of the house that the names of an annotation stand for, through other names of them."""
    more = names.union(*(meanings().get(name, set()) for name in names))
    return meant(more) if more > names else {name for name in names if name in meanings().get(name, set())}


def annotations(node: ast.AST) -> dict[str, ast.expr]:
    """Annotations of a function's arguments, or of a class's fields and of what it is made from."""
    if isinstance(node, ast.FunctionDef):
        given = node.args
        return {a.arg: a.annotation for a in (*given.posonlyargs, *given.args, *given.kwonlyargs) if a.annotation}
    body = node.body if isinstance(node, ast.ClassDef) else []
    fields = {
        n.target.id: n.annotation for n in body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
    }
    made = [annotations(n) for n in body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    return {**fields, **(made[0] if made else {})}


def typed(node: ast.AST, text: str) -> Iterator[tuple[str, set[str], set[str]]]:
    """Entries of a docstring whose types have capitals: the line, those words, and the names of its annotations."""
    known = annotations(node)
    for line in TYPED.finditer(text):
        words = set(CLASS_WORD.findall(line[2].partition(". ")[0])) - {"None"}
        for name in line[1].split(", "):
            if words:
                yield line[0], words, names_in(known[name]) if name in known else set()


def test_what_stands_in_backticks_is_in_the_house():
    lost = [
        f"{name_of(path)}: `{name}`"
        for path in sources()
        for _, text in docstrings(path)
        for name in QUOTED.findall(text)
        if name.split(".")[-1] not in house_names()
    ]
    assert lost == []


def test_types_are_those_of_the_annotations():
    """Where an annotation leaves the type open, or there is none, it is some name of the house."""
    lost = [
        f"{name_of(path)}: {line}"
        for path in sources()
        for node, text in docstrings(path)
        for line, words, names in typed(node, text)
        if words - (names | of_annotation if (of_annotation := meant(names)) else house_names())
    ]
    assert lost == []
