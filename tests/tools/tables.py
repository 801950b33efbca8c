"""Tables of the studies, written to a file or printed."""

import argparse
import sys
from pathlib import Path

from riderless.hil.output_file import OutputFile


def table_arguments(description: str | None) -> argparse.ArgumentParser:
    """Begin the arguments of a study that makes a table: a file for it, and processes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("page", nargs="?", type=Path, help="Markdown file for the table")
    parser.add_argument("--jobs", type=int, default=None, help="processes; one a core by default")
    return parser


def write_or_print(page: Path | None, name: str, table: str) -> None:
    """Write a table to a Markdown file, or print it where none is named."""
    if page is None:
        sys.stdout.write(f"{table}\n")
    else:
        write_tables(page, {name: table})


def write_tables(path: Path, tables: dict[str, str]) -> None:
    """Write each table under its name to a Markdown file of their own."""
    page = "\n\n".join(f"## {name}\n\n{table}" for name, table in tables.items())
    OutputFile(path, "the tables", force=True).write(f"{page}\n")
