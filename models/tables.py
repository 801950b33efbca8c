"""Tables of results: HTML and pandas data frames.

HTML is for notebooks; data frames need an installed pandas.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from riderless.models.errors import InputError

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,unused-ignore]

ROWS_SHOWN = 12  # of a longer table its beginning and its end


def plain_number(value: float, digits: int) -> str:
    """Write a number in so many digits, without an exponent where that reads: "110", not "1.1e+02"."""
    return f"{float(f'{value:.{digits}g}'):g}"


def require_pandas() -> Any:
    """Import pandas, which is needed for data frames alone; raises InputError where it is not installed."""
    try:
        import pandas
    except ImportError:
        raise InputError(
            "a data frame needs pandas, which is not installed; install it: python -m pip install pandas"
        ) from None
    return pandas


def data_frame(
    columns: Mapping[str, Any], index: str | None = None, units: Mapping[str, str] = MappingProxyType({})
) -> "pandas.DataFrame":
    """Make a pandas data frame of columns of one length, the one called ``index``, if any, as its index.

    Its ``attrs["units"]`` has the unit of each column that ``units`` names.

    Raises
    ------
    InputError
        When pandas is not installed.
    """
    frame = require_pandas().DataFrame(dict(columns))
    frame = frame if index is None else frame.set_index(index)
    frame.attrs["units"] = {name: unit for name, unit in units.items() if name in columns}
    return frame


def html_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Make a small HTML table for a notebook; numbers to six digits, long tables without their middle."""
    cells = [[_cell(value) for value in row] for row in rows]
    half = ROWS_SHOWN // 2
    if len(cells) > ROWS_SHOWN:
        cells = [*cells[:half], ["&hellip;"] * len(heads), *cells[-half:]]
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in cells)
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def describe_range(values: Sequence[float] | Any, unit: str) -> str:
    """Put the range of some numbers into words, ``2 ... 8 m/s``; of none, nothing."""
    if len(values) == 0:
        return ""
    low, high = min(values), max(values)
    return f"{low:.4g} {unit}" if low == high else f"{low:.4g} ... {high:.4g} {unit}"


def _cell(value: Any) -> str:
    if isinstance(value, bool | str) or value is None:
        return escape("" if value is None else str(value))
    if isinstance(value, complex):
        return escape(f"{value.real:.6g}" if value.imag == 0.0 else f"{value:.6g}")
    return escape(f"{value:.6g}")
