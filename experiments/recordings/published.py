"""Published eigenvalues as tables.

They have the columns v_start, v_end, re, im.
"""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np

from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.text_file import read_text_file, why_unreadable

EIGENVALUE_COLUMNS = ("v_start", "v_end", "re", "im")
_HEAD = 65_536  # characters, in which the header stands


@dataclass(frozen=True)
class Figure7:
    """Weave of an uncontrolled bicycle in n runs, as in Kooijman, Schwab, Meijaard (2008), figure 7; (n,)."""

    v_start: Array  # m/s, lower end of the run's speeds
    v_end: Array  # m/s, upper end
    re: Array  # 1/s
    im: Array  # rad/s

    @property
    def v_mean(self) -> Array:
        """Middle of each run's speed range [m/s]."""
        return 0.5 * (self.v_start + self.v_end)


def figure7() -> Figure7:
    """Read the 26 published points, taken off the vector figure to about 0.01."""
    return _parse(
        files("riderless.experiments.recordings").joinpath("data/kooijman2008_figure7.csv").read_text(encoding="utf-8")
    )


def is_table(path: Path) -> bool:
    """Is this a table of eigenvalues, by its header?"""
    try:
        with path.open(encoding="utf-8") as file:  # not by lines: what is no text may have none that ends
            lines = (line for line in file.read(_HEAD).splitlines() if not line.startswith("#"))
            return tuple(next(lines, "").strip().split(",")) == EIGENVALUE_COLUMNS
    except (OSError, UnicodeDecodeError):
        return False


def read_published(path: Path) -> Figure7:
    """Read a table of eigenvalues in a CSV file.

    Raises
    ------
    InputError
        When it holds no rows, or something that is not a number.
    """
    try:
        return _parse(read_text_file(path))
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({why_unreadable(error)}): give a table of eigenvalues in CSV"
        ) from None
    except ValueError as error:
        raise InputError(
            f"{path} wants rows of four numbers under {','.join(EIGENVALUE_COLUMNS)} (m/s, m/s, 1/s, rad/s), "
            f"found: {error}; correct that row"
        ) from None


def _parse(text: str) -> Figure7:
    rows = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if len(rows) < 2:
        raise ValueError("no rows")
    table = np.loadtxt(rows[1:], delimiter=",", ndmin=2)
    if table.shape[1] != len(EIGENVALUE_COLUMNS) or not np.isfinite(table).all():
        raise ValueError(f"an array {table.shape} of numbers")
    return Figure7(*table.T)
