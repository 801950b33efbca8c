"""Export of a run to plain tables.

For tools that do not read the log; a format is one file and one line below.
"""

import csv
import dataclasses
import logging
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TextIO

from numpy.typing import NDArray

from riderless.hil.logs.log import RUN_FILE, Run, run_or_read
from riderless.hil.logs.stored_rows import FEW_ROWS, in_stretches
from riderless.hil.loop.tick_record import LOG_COLUMNS
from riderless.hil.output_file import OutputFile
from riderless.models.errors import InputError
from riderless.models.harmless_text import harmless_cell
from riderless.models.linear.prescribed_steer import COMMAND_UNITS

_logger = logging.getLogger("riderless.hil")
COMMAND_COLUMNS = {  # in the unit of what the drive obeys: their meaning where that is no torque
    "T_req": "steer {} the controller wished",
    "T_cmd": "steer {} the supervisor allowed",
    "T_est": "steer {} expected of the drive",
}
STATE_PREFIX = "law_"  # of a controller's states, which `riderless.hil.runners.replay.with_law_states` adds to the rows
EXPORT_KEY = "riderless"  # name under which a table carries what is not in its columns
HEADER_SUFFIX = ".header.json"  # of the file beside a table that can carry nothing
MARKERS_SUFFIX = ".markers.csv"  # of the one with what happened at known times

Told = Callable[[int, int], None]  # of rows written, of how many

# format: (suffix, module of hil, function there): (run, path, told)
EXPORT_FORMATS: dict[str, tuple[str, str, str]] = {
    "csv": (".csv", "riderless.hil.logs.export", "export_csv"),
    "parquet": (".parquet", "riderless.hil.logs.export_columns", "export_parquet"),
    "mat": (".mat", "riderless.hil.logs.export_columns", "export_mat"),
    "mcap": (".mcap", "riderless.hil.logs.export_mcap", "export_mcap"),
    "rosbag2": ("_rosbag2", "riderless.hil.logs.export_rosbag2", "export_rosbag2"),
}
FOLDERS = frozenset({"rosbag2"})  # formats that are a folder of files
NOT_IN_ONE_GO = frozenset({"mat", "mcap"})  # formats whose beginning is written last, or whose file must be new
# format: what is written beside it, for a program that opens it too: a module of `companions`, place, text
_PLOTJUGGLER = ("plotjuggler", "plotjuggler_place", "plotjuggler_layout")
COMPANIONS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "csv": (
        ("csv_parts", "markers_place", "markers_table"),
        ("csv_parts", "header_place", "header_document"),
        _PLOTJUGGLER,
    ),
    "mat": (("matlab", "matlab_place", "matlab_function"),),
    "mcap": (_PLOTJUGGLER, ("foxglove", "foxglove_place", "foxglove_layout")),
}


class _ColumnMeaning(NamedTuple):
    """Unit and meaning of a column, as exports carry them."""

    unit: str
    meaning: str


def nobody_told(done: int, total: int) -> None:
    """Show no progress."""


def export_run(
    run: Run | str | Path,
    to: str,
    path: str | Path | None = None,
    on_progress: Told = nobody_told,
    *,
    force: bool = False,
) -> tuple[Path, ...]:
    """Write a run in one of ``EXPORT_FORMATS``, by default as ``ticks`` beside it; the files written, the table first.

    Beside it are written what a CSV cannot hold, and what opens it: a function that draws it (MATLAB), layouts
    (PlotJuggler, Foxglove). A pipe, or /dev/stdout, gets the table alone.

    Parameters
    ----------
    run : Run or path
        A path is the run's folder, or its `run.mcap`.
    to : str
        Format.
    path : str or Path
        File to write; of a bag of ROS the new folder.
    on_progress : callable
        Told how many rows have been written, of how many.
    force : bool
        The files may take the place of others, but never of a log.

    Raises
    ------
    InputError
        The run cannot be read; the format is not known or needs a library that is not installed; a file is there
        already or cannot be written.
    """
    if to not in EXPORT_FORMATS:
        raise InputError(f"runs are exported to {', '.join(EXPORT_FORMATS)}, not to '{to}': choose one with --to")
    run = run_or_read(run)
    suffix, module, function = EXPORT_FORMATS[to]
    write: Callable[..., None] = getattr(import_module(module), function)
    path = run.folder / f"ticks{suffix}" if path is None else Path(path)
    if to in FOLDERS:
        _write_folder(write, run, path, on_progress)
        return (path,)
    alone = not path.name or OutputFile(path, "the export").is_stream
    companions = [] if alone else _companions(to)
    files = (path, *(place(path) for place, _ in companions))
    outputs = [OutputFile(file, "the export", force, [_log_of(run)]) for file in files]
    for output in outputs:
        output.require_free()
    with ExitStack() as stack:
        table, *beside = [stack.enter_context(output.draft()) for output in outputs]
        if alone and to in NOT_IN_ONE_GO:
            _write_through_file(write, run, table, on_progress)
        else:
            write(run, table, progress=on_progress)
        for (_, content), draft in zip(companions, beside, strict=True):
            draft.write_text(content(run, path), encoding="utf-8", newline="")
    _logger.info("exported %s to %s", run.folder, path)
    return files


def _write_through_file(write: Callable[..., None], run: Run, stream: Path, progress: Told) -> None:
    """Hand a whole file over to a pipe, which takes bytes in their order only.

    Parameters
    ----------
    write : callable
        As in ``EXPORT_FORMATS``.
    run : Run
    stream : Path
    progress : callable
        As `export_run` takes it.
    """
    with TemporaryDirectory() as folder:
        whole = Path(folder) / "ticks"
        write(run, whole, progress=progress)
        with whole.open("rb") as file, stream.open("wb") as out:
            shutil.copyfileobj(file, out)


def _write_folder(write: Callable[..., None], run: Run, path: Path, progress: Told) -> None:
    """Make a new folder, which is there when all went well.

    Parameters
    ----------
    write : callable
        As in ``EXPORT_FORMATS``.
    run : Run
    path : Path
    progress : callable
        As `export_run` takes it.
    """
    output = OutputFile(path, "the export")
    if path.exists() or output.is_stream:
        raise InputError(f"the export cannot be written to {path}, for it is a new folder: name one that is not there")
    output.require_free()
    with output.failing(), TemporaryDirectory(dir=path.parent, prefix=".riderless-") as beside:
        whole = Path(beside) / path.name
        write(run, whole, progress=progress)
        whole.rename(path)


def _companions(to: str) -> list[tuple[Callable[[Path], Path], Callable[[Run, Path], str]]]:
    """Place and text of each file beside a format."""
    companions = []
    for name, place, content in COMPANIONS.get(to, ()):
        module = import_module(f"riderless.hil.logs.companions.{name}")
        companions.append((getattr(module, place), getattr(module, content)))
    return companions


def _log_of(run: Run) -> Path:
    """File that a run was read from."""
    return run.folder / RUN_FILE if run.folder.is_dir() else run.folder


def export_csv(run: Run, path: Path, progress: Told = nobody_told) -> None:
    """Write the ticks; what they leave out stands beside them (`riderless.hil.logs.companions.csv_parts`).

    The first line names the columns, the rest are numbers in SI units (docs/log-format.md), written so that they read
    back as the same numbers.

    Parameters
    ----------
    run : Run
    path : Path
    progress : callable
        Told of rows, as `export_run` tells it.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    rows = (row for some in rows_told(run, progress) for row in some.tolist())
    with path.open("w", newline="", encoding="utf-8") as file:
        write_csv(file, run.ticks.dtype.names or (), rows)


def export_document(run: Run) -> dict[str, Any]:
    """Collect what a table of ticks leaves out: header, markers, stop record, units and meanings of the columns."""
    return {
        "header": run.header.to_json(),
        "markers": [dataclasses.asdict(marker) for marker in run.markers],
        "stop": dataclasses.asdict(run.stop),
        "columns": {name: meaning._asdict() for name, meaning in column_meanings(run).items()},
    }


def column_meanings(run: Run) -> dict[str, _ColumnMeaning]:
    """Unit and meaning of each column of a run, by name; those of the command in what its drive obeyed."""
    return {name: _column_meaning(name, run.header.drive_kind) for name in run.ticks.dtype.names or ()}


def _column_meaning(column: str, drive_kind: str = "torque") -> _ColumnMeaning:
    """Unit and meaning of a column, also of one that only another version writes.

    Parameters
    ----------
    column : str
        Its name.
    drive_kind : {"torque", "rate", "angle"}
        Quantity that the drive obeyed.
    """
    if column.startswith(STATE_PREFIX):
        return _ColumnMeaning("", f"state {column.removeprefix(STATE_PREFIX)} of the controller, after the tick")
    known = LOG_COLUMNS.get(column)
    if known and column in COMMAND_COLUMNS and drive_kind != "torque":
        return _ColumnMeaning(COMMAND_UNITS[drive_kind], COMMAND_COLUMNS[column].format(drive_kind))
    return _ColumnMeaning(known.unit, known.meaning) if known else _ColumnMeaning("", "not a column of this version")


def rows_told(run: Run, progress: Told, most: int = FEW_ROWS) -> Iterator[NDArray]:
    """Rows of a run in stretches; each is told when the next one is asked for."""
    done = 0
    for rows in in_stretches(run.ticks, most):
        yield rows
        done += len(rows)
        progress(done, len(run.ticks))


def write_csv(file: TextIO, names: Iterable[str], rows: Iterable[Iterable[Any]], end: str = "\r\n") -> None:
    """Write names and rows of a table, no cell of which a spreadsheet takes for a formula.

    Parameters
    ----------
    file : text file
    names : iterable of str
        Of the columns.
    rows : iterable of iterables
    end : str
        Of a line; by default that of the standard of CSV.
    """
    writer = csv.writer(file, lineterminator=end)
    writer.writerow(harmless_cell(name) for name in names)
    writer.writerows([harmless_cell(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
