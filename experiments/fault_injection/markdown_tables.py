"""Tables of the studies in Markdown, between marks of a page that nobody else touches."""

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from riderless.hil.output_file import OutputFile
from riderless.models.errors import InputError


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def table_arguments(description: str | None) -> argparse.ArgumentParser:
    """Begin the arguments of a study that makes a table: a page to put it into, and processes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("page", nargs="?", type=Path, help="Markdown file with the marks of the table")
    parser.add_argument("--jobs", type=int, default=None, help="processes; one a core by default")
    return parser


def put_or_print(page: Path | None, name: str, table: str) -> None:
    """Put a table between its marks in a page, as `put_tables` does, or print it where none is named."""
    if page is None:
        sys.stdout.write(f"{table}\n")
    else:
        put_tables(page, {name: table})


def require_marks(path: Path, marks: Iterable[tuple[str, str]]) -> str:
    """Read a Markdown file that has each pair of marks once.

    Raises
    ------
    InputError
        The file cannot be read, or lacks a mark.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"the table has no place in {path}, which is not text: name a Markdown file") from None
    except OSError as error:
        raise InputError(f"the table cannot be put into {path} ({error.strerror}): name a file that exists") from None
    for begin, end in marks:
        if text.count(begin) != 1 or text.count(end) != 1:
            raise InputError(f"the table has no place in {path}: give it the two lines '{begin}' and '{end}'")
    return text


def put_between_marks(path: Path, tables: Mapping[tuple[str, str], str]) -> None:
    """Put each table between two lines of a Markdown file, its first and its last mark.

    Raises
    ------
    InputError
        The file cannot be read or written, or lacks a mark.
    """
    text = require_marks(path, tables)
    for (begin, end), table in tables.items():
        before, after = text.split(begin)[0], text.split(end)[1]
        text = f"{before}{begin}\n{table}\n{end}{after}"
    OutputFile(path, "the table" if len(tables) == 1 else "the tables", force=True).write(text)


def put_tables(path: Path, tables: dict[str, str]) -> None:
    """Put each table between its marks, `<!-- name -->` and `<!-- end of name -->`, in a Markdown file.

    Raises
    ------
    InputError
        The file cannot be read or written, or lacks a mark.
    """
    put_between_marks(path, {(f"<!-- {name} -->", f"<!-- end of {name} -->"): text for name, text in tables.items()})
