"""Tables of the studies in Markdown, between marks of a page that nobody else touches."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from riderless.hil.output_file import OutputFile
from riderless.models.errors import InputError


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


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
