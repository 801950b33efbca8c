"""Layout of tables on a screen.

Every column is shown, in one block where it fits and in several where it does not. A narrow screen first folds headings
and long cells. Where that is not enough the table goes into blocks that stand below one another, each with the columns
that name a row.
"""

from collections.abc import Sequence
from dataclasses import dataclass

GAP = 2  # characters between two columns
NAME_FOLDED = 12  # characters to which the first column folds at most
LONG_FOLDED = 24  # characters; only cells longer than this fold in the other columns


@dataclass(frozen=True)
class _TableBlock:
    """Columns of a table that stand beside one another, by number, with their widths in characters."""

    columns: tuple[int, ...]
    widths: tuple[int, ...]


def table_blocks(columns: Sequence[str], rows: Sequence[Sequence[str]], room: int, keys: int = 1) -> list[_TableBlock]:
    """Choose blocks and widths so that nothing is lost.

    Parameters
    ----------
    columns : sequence of str
        Headings.
    rows : sequence of sequences of str
        As many cells in each as there are columns.
    room : int
        Width of the screen, characters.
    keys : int
        First columns that name a row; they begin every block.
    """
    cells = [[len(row[i]) for row in rows] for i in range(len(columns))]
    natural = [max([len(name), *lengths]) for name, lengths in zip(columns, cells, strict=True)]
    every = range(len(columns))
    if _width(natural) <= room:
        return [_TableBlock(tuple(every), tuple(natural))]
    least = [_folded(columns[i], cells[i], NAME_FOLDED if i == 0 else LONG_FOLDED) for i in every]
    if _width(least) <= room:
        return [_widened(every, natural, least, room)]
    blocks: list[_TableBlock] = []
    now = list(range(keys))
    for i in every[keys:]:
        if (
            len(now) > keys
            and _width([*(least[k] for k in now[:keys]), *(natural[k] for k in (*now[keys:], i))]) > room
        ):
            blocks.append(_widened(now, natural, least, room))
            now = list(range(keys))
        now.append(i)
    return [*blocks, _widened(now, natural, least, room)]


def _width(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _folded(name: str, lengths: Sequence[int], longest: int) -> int:
    """Least width of a column: headings fold at words, cells only where they are longer than ``longest``."""
    return max([*map(len, name.split()), min(max(lengths, default=0), longest)], default=0)


def _widened(chosen: Sequence[int], natural: Sequence[int], least: Sequence[int], room: int) -> _TableBlock:
    """Give the room that is left to the columns that fold, from the left."""
    widths = [least[i] for i in chosen]
    for k, i in enumerate(chosen):
        widths[k] += max(0, min(natural[i] - least[i], room - _width(widths)))
    return _TableBlock(tuple(chosen), tuple(widths))
