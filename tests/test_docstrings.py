"""Docstrings: each public thing has one, its first line is plain, and four arguments or more are described."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.sources import name_of, sources, tree

RIDDLES = [  # as a first word
    "A",
    "An",
    "The",
    "What",
    "Which",
    "Who",
    "Whose",
    "How",
    "Where",
    "When",
    "Whether",
    "Why",
]
DESCRIBED_FROM = 4  # arguments


def documented(path) -> Iterator[tuple[ast.AST, str]]:
    """Everything in a file that has a docstring, with it."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield node, text


def arguments(node: ast.FunctionDef) -> list[str]:
    """Names of a function's arguments, without self and cls."""
    given = node.args
    found = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    extra = [argument for argument in (given.vararg, given.kwarg) if argument]
    return [a.arg for a in (*found, *extra) if a.arg not in ("self", "cls")]


def described(text: str) -> list[str]:
    """Names in the Parameters section of a numpydoc docstring."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", text, re.M | re.S)
    if not section:
        return []
    heads = re.findall(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: ?:.*|, filled\..*|)$", section[1], re.M)
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


@pytest.mark.parametrize("path", sources(), ids=name_of)
def test_every_public_thing_has_a_docstring(path):
    if not path.read_text(encoding="utf-8").strip():
        return
    assert ast.get_docstring(tree(path)), f"{path} does not say what it is"
    for node in tree(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            assert ast.get_docstring(node), f"{path}:{node.lineno} {node.name} has no docstring"


@pytest.mark.parametrize("path", sources(), ids=name_of)
def test_first_lines_are_plain(path):
    riddles = [
        f"{getattr(node, 'lineno', 1)}: {text.splitlines()[0]}"
        for node, text in documented(path)
        if text.split()[0] in RIDDLES
    ]
    assert riddles == [], "begin with an imperative or a noun, not with an article or a question word"


@pytest.mark.parametrize("path", sources(), ids=name_of)
def test_four_arguments_or_more_are_described(path):
    for node in ast.walk(tree(path)):
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_") or "/commands/" in name_of(path):
            continue
        given = arguments(node)
        if len(given) >= DESCRIBED_FROM:
            assert described(ast.get_docstring(node) or "") == given, f"{path}:{node.lineno} {node.name}"
