"""What the commands share: JSON or table on the way out, speeds and folders on the way in."""

import json
import math
import sys
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from models.errors import InputError

screen = Console(highlight=False, emoji=False, width=None if sys.stdout.isatty() else 120)
progress_screen = Console(stderr=True, highlight=False, emoji=False)  # so that --json stays clean

MAX_SPEEDS = 10_001


def emit_json(data: Any) -> None:
    """Print one JSON document in full precision; what is not a number becomes null."""
    from hil.logs.json_values import plain

    print(json.dumps(plain(data), allow_nan=False))


def table(title: str, columns: list[str], rows: list[list[str]], caption: str = "") -> None:
    """Print one table; the first column reads left and may wrap, numbers right."""
    t = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for i, column in enumerate(columns):
        first = i == 0
        t.add_column(column, justify="left" if first else "right", no_wrap=not first, min_width=16 if first else None)
    for row in rows:
        t.add_row(*row)
    screen.print(t)
    if caption:
        screen.print(caption, style="dim")


def number(value: float | None, digits: int = 3) -> str:
    """A number for a table; a dash where there is none."""
    return "-" if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def eigenvalue(value: complex, digits: int = 2) -> str:
    """An eigenvalue for a table, a pair by its upper member."""
    if abs(value.imag) < 1e-9:
        return f"{value.real:.{digits}f}"
    return f"{value.real:.{digits}f}±{abs(value.imag):.{digits}f}i"


def parse_speeds(text: str) -> list[float]:
    """Speeds [m/s] from ``A:B:STEP`` (both ends kept) or a comma-separated list.

    Raises
    ------
    InputError
        When it is neither, when B < A, or when the step is not positive.
    """
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
