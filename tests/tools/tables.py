"""Tables of the studies, put between the marks of a page or printed."""

import argparse
import sys
from pathlib import Path

from riderless.experiments.fault_injection.markdown_tables import put_between_marks


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


def put_tables(path: Path, tables: dict[str, str]) -> None:
    """Put each table between its marks, `<!-- name -->` and `<!-- end of name -->`, in a Markdown file.

    Raises
    ------
    InputError
        The file cannot be read or written, or lacks a mark.
    """
    put_between_marks(path, {(f"<!-- {name} -->", f"<!-- end of {name} -->"): text for name, text in tables.items()})
