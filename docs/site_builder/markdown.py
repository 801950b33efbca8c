"""Tables of Markdown."""

from collections.abc import Iterable, Sequence


def cell(text: object) -> str:
    """One cell: bars and breaks do not end it."""
    return " ".join(str(text).split()).replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Table with its head; empty where there is no row."""
    lines = [f"| {' | '.join(cell(one) for one in row)} |" for row in rows]
    if not lines:
        return ""
    return "\n".join([f"| {' | '.join(head)} |", "|" + "---|" * len(head), *lines]) + "\n"


def code(text: object) -> str:
    """Text between backquotes, or nothing."""
    return f"`{text}`" if str(text) else ""
