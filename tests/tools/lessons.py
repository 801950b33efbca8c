"""Run the commands and the Python of a page in their order, and set what they print beside what the page shows.

A page speaks to it by its fences:

- ``bash``: command lines. `riderless ...` runs in this process, `cd` and `mkdir` as a shell would do them.
- ``python``: runs in one namespace a page; in a ``{code-block} python`` with a ``:caption: NAME`` it becomes that file.
- ``toml`` with a caption becomes that file too.
- ``text`` after one of them is what it prints. ``...`` stands for whatever is printed there, within a line or, alone
  on one, for lines.

`python -m tests.tools.lessons --write PAGE ...` writes what is printed into the pages.
"""

import argparse
import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^(`{3,})(?P<kind>[^\n]*)\n(?P<body>.*?)^\1[ ]*$", re.MULTILINE | re.DOTALL)
CAPTION = re.compile(r"^:caption: *(\S+)\n+", re.MULTILINE)
COLUMNS = 80


@dataclass
class Block:
    """Fenced block of a page: its kind, its text, the file that it becomes, and where its text stands."""

    kind: str
    body: str
    file: str
    start: int
    end: int


def blocks(text: str) -> Iterator[Block]:
    """Fenced blocks of a page in their order."""
    for found in FENCE.finditer(text):
        kind, body = found["kind"].strip(), found["body"]
        caption = CAPTION.match(body)
        if kind.startswith("{code-block}"):
            kind = kind.removeprefix("{code-block}").strip()
            body = body[caption.end() :] if caption else body
        yield Block(kind, body, caption[1] if caption else "", found.start("body"), found.end("body"))


def printed_by(block: Block, names: dict) -> str:
    """Run a block where we are; what it prints, trailing spaces left out."""
    if block.file:
        Path(block.file).write_text(block.body, encoding="utf-8")
        return ""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        if block.kind == "python":
            exec(compile(block.body, "<page>", "exec"), names)  # noqa: S102
        else:
            for line in block.body.splitlines():
                _obey(line)
    return re.sub(r"[ \t]+$", "", out.getvalue(), flags=re.MULTILINE)


def _obey(line: str) -> None:
    """Do one command line."""
    words = shlex.split(line, comments=True)
    if not words:
        return
    if words[0] == "cd":
        os.chdir(words[1])
    elif words[0] == "mkdir":
        Path(words[-1]).mkdir(parents=True, exist_ok=True)
    elif words[0] == "riderless":
        _riderless(words)
    else:
        raise ValueError(f"a page runs cd, mkdir and riderless, found: {line}")


def _riderless(words: list[str]) -> None:
    """Run a command as a terminal of 80 columns shows it; a refusal is printed."""
    from riderless.experiments import cli
    from riderless.experiments.terminal import console

    before, console.screen._width = console.screen._width, COLUMNS
    given, sys.argv = sys.argv, words
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            cli.main()
    except SystemExit as end:
        if end.code:
            print(textwrap.fill(said.getvalue().strip().rpartition("\n")[2], COLUMNS, break_long_words=False))
    finally:
        sys.argv, console.screen._width = given, before


def agrees(shown: str, printed: str) -> bool:
    """Tell whether a page shows what was printed, where ``...`` stands for anything."""
    pattern = ""
    for line in shown.strip("\n").splitlines():
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += r"[^\n]*?".join(re.escape(part) for part in line.rstrip().split("...")) + "\n"
    return re.fullmatch(pattern, printed.strip("\n") + "\n") is not None


def walk(text: str) -> Iterator[tuple[Block, Block | None, str]]:
    """Run a page in a folder of its own: each block that runs, the block that shows its output, what it printed."""
    found = [block for block in blocks(text) if block.kind in ("bash", "python", "text") or block.file]
    names: dict = {"__name__": "__main__"}
    home, searched = Path.cwd(), list(sys.path)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for block, following in zip(found, [*found[1:], None], strict=True):
                if block.kind != "text":
                    shown = following if following is not None and following.kind == "text" else None
                    yield block, shown, printed_by(block, names)
        finally:
            os.chdir(home)
            sys.path[:] = searched
            written = Path(folder).resolve()
            for name, module in list(sys.modules.items()):  # what stood in the page is of no other test
                if written in Path(getattr(module, "__file__", None) or os.sep).resolve().parents:
                    del sys.modules[name]


def rewritten(text: str) -> str:
    """Give a page what its blocks print, but where it shows that already."""
    changes = [(shown, out) for _, shown, out in walk(text) if shown and not agrees(shown.body, out)]
    for shown, out in reversed(changes):
        text = text[: shown.start] + out.strip("\n") + "\n" + text[shown.end :]
    return text


if __name__ == "__main__":
    asked = argparse.ArgumentParser()
    asked.add_argument("--write", nargs="+", type=Path)
    for page in asked.parse_args().write:
        page.write_text(rewritten(page.read_text(encoding="utf-8")), encoding="utf-8")
        print(page)
