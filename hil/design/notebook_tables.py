"""Tables for a notebook: HTML, and a pandas DataFrame where pandas is installed."""

import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from models.errors import InputError


def notebook_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a small HTML table; every text is escaped."""
    from html import escape  # here because a run, which only reads gains, has no use for it

    def line(cells: Sequence[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<table><caption>{escape(caption)}</caption>{line(heads, 'th')}{body}</table>"


def pandas_frame(columns: Mapping[str, Any]) -> Any:
    """Make a pandas DataFrame of columns of one length.

    Raises
    ------
    InputError
        pandas is not installed.
    """
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        raise InputError("a data frame needs pandas, which is not installed: run `pip install pandas`") from None
    return pandas.DataFrame(dict(columns))
