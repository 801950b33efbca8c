"""Input and output shared by the commands.

JSON and tables out, speeds in.
"""

import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from riderless.experiments.reports.text import TextBlock, TextTable
from riderless.experiments.terminal.tables import GAP, table_blocks
from riderless.models.errors import InputError
from riderless.models.harmless_text import harmless

UNBROKEN = 10_000  # characters: a file or another program gets every table and sentence whole


class _HarmlessConsole(Console):
    """Console that obeys nothing in what it prints: no markup, no control characters; a string is one line.

    Several lines are several arguments, with ``sep``.
    """

    def print(self, *objects: Any, **how: Any) -> None:
        """Print objects as rich does, strings made harmless."""
        super().print(*(harmless(item) if isinstance(item, str) else item for item in objects), **how)

    def render(self, renderable: Any, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the parts of an object, whatever it is, made harmless but for what moves the cursor of the display."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=harmless(segment.text, keep="\n"))


# no markup: a name may hold brackets
screen = _HarmlessConsole(highlight=False, emoji=False, markup=False, width=None if sys.stdout.isatty() else UNBROKEN)
progress_screen = _HarmlessConsole(
    stderr=True, highlight=False, emoji=False, markup=False
)  # so that --json stays clean

MAX_SPEEDS = 10_001
MAX_SPEED = 200.0  # m/s, in either direction


def emit_json(data: Any) -> None:
    """Print one JSON document in full precision; what is not a number becomes null."""
    from riderless.hil.logs.json_values import plain

    print(harmless(json.dumps(plain(data), allow_nan=False)))


def print_line(text: str) -> None:
    """Print a line for a file: neither broken nor coloured."""
    print(harmless(text))


def print_written(what: str, path: object) -> None:
    """Say where something was written; the line is not broken, for its path is copied."""
    screen.print(f"{what} written to {path}", soft_wrap=True)


def print_indented(text: str, by: int, style: str = "") -> None:
    """Print a paragraph, each of its lines ``by`` characters to the right, folded to the width of the screen."""
    screen.print(Padding(Text(text, style=style), (0, 0, 0, by), expand=False))


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "", keys: int = 1
) -> None:
    """Print one table, every column of it; the first reads left, numbers right.

    Parameters
    ----------
    title : str
        Printed above.
    columns : sequence of str
        Headings.
    rows : sequence of sequences of str
        As many cells in each as there are columns.
    caption : str
        Printed below, dim.
    keys : int
        First columns that name a row; repeated where a narrow screen breaks the table into blocks.
    """
    columns, rows = [harmless(name) for name in columns], [[harmless(cell) for cell in row] for row in rows]
    if title:
        screen.print(Text(harmless(title), style="italic"))
    blocks = table_blocks(columns, rows, screen.width, keys)
    for number, block in enumerate(blocks):
        if number:
            screen.print(Text("the same rows, more columns:", style="dim"))
        t = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0))
        for i, width in zip(block.columns, block.widths, strict=True):
            to_left = i == 0 or width < max((len(row[i]) for row in rows), default=0)
            t.add_column(
                Text(columns[i]),
                justify="left" if to_left else "right",
                overflow="fold",
                min_width=width,
                max_width=width,
            )
        for row in rows:
            t.add_row(*(Text(row[i]) for i in block.columns))
        screen.print(t)
        screen.print()
    if caption:
        screen.print(Text(caption if screen.width >= UNBROKEN else " ".join(caption.split()), style="dim"))


def print_verdict(where: Console, good: bool, what: str, sentence: str, room: int) -> None:
    """Print a line that begins with a coloured ok or BAD; on a terminal what does not fit stands below its sentence.

    Parameters
    ----------
    where : Console
    good : bool
    what : str
        What was looked at.
    sentence : str
        What was found.
    room : int
        Characters for ``what``, so that the sentences of several lines stand below one another.
    """
    head = Text.assemble(("ok ", "green") if good else ("BAD", "red"), f" {harmless(what):<{room}} ")
    words = Text(harmless(sentence))
    if not where.is_terminal or len(head) > where.width // 2:  # a port may have a long path
        where.print(head + words, soft_wrap=True)
        return
    line = Table.grid()
    line.add_column(no_wrap=True)
    line.add_column()
    line.add_row(head, words)
    where.print(line)


def unmarked(text: str) -> Text:
    """Text for a status line, in which brackets are no markup."""
    return Text(harmless(text))


def print_blocks(blocks: Iterable[TextBlock]) -> None:
    """Print tables and sentences."""
    for block in blocks:
        if isinstance(block, TextTable):
            print_table(block.title, block.columns, block.rows, block.caption, block.keys)
        else:
            screen.print(block.text, soft_wrap=not block.wrapped, markup=False, style="bold" if block.strong else None)


def parse_speeds(text: str) -> list[float]:
    """Speeds [m/s] from ``A:B:STEP`` (both ends kept) or a comma-separated list.

    Raises
    ------
    InputError
        When it is neither, when B < A, when the step is not positive, when a speed stands there twice, or when one is
        beyond any bicycle's.
    """
    speeds = _speeds(text)
    if max(map(abs, speeds)) > MAX_SPEED:
        raise InputError(f"the speeds '{text}' go beyond {MAX_SPEED:g} m/s: give speeds of a bicycle in m/s")
    twice = [v for v, count in Counter(speeds).items() if count > 1]
    if twice:
        raise InputError(f"the speeds '{text}' hold {twice[0]:g} m/s more than once: give each speed once")
    return speeds


def require_speed(v: float) -> float:
    """Speed ``v`` [m/s] of a command that takes one; raises InputError beyond any bicycle's."""
    if abs(v) > MAX_SPEED:
        raise InputError(f"the speed {v:g} m/s is beyond {MAX_SPEED:g} m/s: give the speed of a bicycle in m/s")
    return v


def _speeds(text: str) -> list[float]:
    """Read a range or a list of speeds, however large."""
    wanted = "give speeds in m/s as A:B:STEP (for example 2:8:0.5) or as a list 2,3.5,5"
    try:
        if ":" not in text:
            speeds = [float(part) for part in text.split(",")]
        else:
            start, end, step = (float(part) for part in text.split(":"))
    except ValueError:
        raise InputError(f"'{text}' is not a range of speeds: {wanted}") from None
    if ":" not in text:
        if not all(math.isfinite(v) for v in speeds):
            raise InputError(f"'{text}' holds a speed that is not finite: {wanted}")
        return speeds
    if not all(map(math.isfinite, (start, end, step))) or step <= 0:
        raise InputError(f"the step of '{text}' must be a positive number of m/s: {wanted}")
    if end < start:
        raise InputError(f"the speeds '{text}' run backwards, from {start:g} to {end:g} m/s: {wanted}")
    count = math.floor((end - start) / step + 1e-9) + 1
    if count > MAX_SPEEDS:
        raise InputError(f"'{text}' asks for {count} speeds, more than {MAX_SPEEDS}: take a larger step")
    return [round(start + i * step, 12) for i in range(count)]
