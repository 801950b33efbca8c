"""Tables and sentences before they are printed.

The same for a terminal, a plain text and a notebook.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby


@dataclass(frozen=True)
class TextTable:
    """Table of words: its first column is aligned to the left, the others to the right; ``keys`` columns name a row."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    keys: int = 1

    def as_text(self) -> str:
        """Lay it out in plain characters."""
        cells = [list(self.columns), *(list(row) for row in self.rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        lines = [
            "  ".join(
                cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
            for row in cells
        ]
        rule = "-" * len(lines[0])
        title, caption = [self.title] if self.title else [], [self.caption] if self.caption else []
        return "\n".join([*title, "", lines[0], rule, *lines[1:], "", *caption])

    def as_html(self) -> str:
        """Lay it out for a notebook."""
        head = "".join(f"<th>{escape(column)}</th>" for column in self.columns)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self.rows)
        return f"<table><caption>{escape(self.title)}</caption><tr>{head}</tr>{body}</table>"


@dataclass(frozen=True)
class Sentence:
    """Line of text for a person; ``wrapped`` at the width of the screen, or left whole because it holds a path."""

    text: str
    wrapped: bool = True
    strong: bool = False


TextBlock = TextTable | Sentence


def plain_text(blocks: Iterable[TextBlock]) -> str:
    """Join tables and sentences to one plain text."""
    return "\n".join(block.as_text() if isinstance(block, TextTable) else block.text for block in blocks)


def number_text(value: float | None, digits: int = 3) -> str:
    """Format a number for a table; a dash where there is none."""
    return "-" if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def eigenvalue_text(value: complex, digits: int = 2) -> str:
    """Format an eigenvalue for a table, a complex pair by its upper member."""
    if abs(value.imag) < 1e-9:
        return f"{value.real:.{digits}f}"
    return f"{value.real:.{digits}f}±{abs(value.imag):.{digits}f}i"


def consecutive(numbers: Sequence[int]) -> list[list[int]]:
    """Group numbers that follow one another: [1, 2, 3, 7] -> [[1, 2, 3], [7]]."""
    groups = groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])  # constant where both count up
    return [[number for _, number in group] for _, group in groups]
