"""Recordings read through a mapping."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riderless.experiments.datatypes import Marker, Response
from riderless.experiments.dynamics import Theory
from riderless.experiments.recordings.foreign import times, units
from riderless.experiments.recordings.foreign.formats.registry import read_table
from riderless.experiments.recordings.foreign.mapping import DATE_TIME, Mapping
from riderless.experiments.recordings.foreign.merged import draw_lines, fill_between, join_rows, stack_topics
from riderless.experiments.recordings.foreign.table import Table
from riderless.experiments.recordings.quality.checked import BESIDE_SIGNALS, MIN_RECORDING_ROWS, Recorded
from riderless.experiments.recordings.torque_law import controlling_torque
from riderless.experiments.theories import feedback, open_loop, with_stated_resistance
from riderless.models.array_types import Array
from riderless.models.bicycle_file import shortened
from riderless.models.errors import InputError
from riderless.models.text_file import why_unreadable

KIND = "mapped"
SLOWEST_SPEED = 0.26  # s from value to value, as of a receiver at 4 Hz: a speed changes little meanwhile


def recorded(table: Table, mapping: Mapping) -> Recorded:
    """Convert the columns of a file by a mapping, on an even grid, in SI.

    Raises
    ------
    InputError
        A column is missing, not as long as the others, or not of numbers; times that no grid can be made of.
    """
    if len(mapping.times) > 1:
        table, mapping = _one_time(table, mapping)
    if table.topics and mapping.times:
        table = stack_topics(table, mapping.times[0], mapping.columns)
    table = _chosen(table, mapping)
    if mapping.times:
        table = join_rows(table, mapping.times[0], mapping.columns)
    grid = _grid(table, mapping)
    signals = {quantity: _signal(table, mapping, quantity, grid) for quantity in mapping.quantities}
    markers, remarks = _kicks(table, mapping, grid)
    beside = {name: signals.pop(name) for name in BESIDE_SIGNALS if name in signals}
    response = Response(
        source=table.source,
        kind=KIND,
        t=grid.t,
        free=_free(table, mapping, grid) & ~grid.gap,
        markers=markers,
        bicycle=mapping.bicycle,
        theory=_mapped_theory(mapping),
        label=mapping.label or table.source,
        remarks=(*table.remarks, *grid.remarks, *remarks),
        **signals,  # type: ignore[arg-type]
    )
    columns = {name: column.column or f"the constant {name}" for name, column in mapping.quantities.items()}
    response = replace(response, remarks=(*response.remarks, *_unstated_law(response, mapping)))
    return Recorded(response, columns, beside, mapping.law)


def _unstated_law(response: Response, mapping: Mapping) -> tuple[str, ...]:
    """Doubt a bicycle that the mapping calls uncontrolled, where its logged torque answers its motion."""
    reached = controlling_torque(response) if mapping.law is None else 0.0
    if not reached:
        return ()
    remark = (
        f"{mapping.quantities['T_delta'].column}: the logged torque reaches {reached:.2g} N m while free and answers "
        f"the motion, but {mapping.name} states no law, so theory takes the bicycle alone; state it as [law], or leave "
        "[T_delta] out if no such torque acted"
    )
    return (remark,)


def _mapped_theory(mapping: Mapping) -> Theory | None:
    """Theory of the bicycle alone, or under its law; None where the bicycle is not known."""
    if mapping.bicycle is None:
        return None
    theory = open_loop(mapping.bicycle) if mapping.law is None else feedback(mapping.bicycle, mapping.law)
    moved = {"drive_gain": mapping.losses.gain} if mapping.losses.gain != 1.0 else {}
    theory = replace(theory, std=mapping.std, losses=mapping.losses, moved=moved)
    return (
        with_stated_resistance(theory, mapping.resistance, f"{mapping.name} [resistance]")
        if mapping.resistance
        else theory
    )


def _chosen(table: Table, mapping: Mapping) -> Table:
    """Select the rows that the mapping wants."""
    if not mapping.rows:
        return table
    where = f"{mapping.name} [rows]"
    keep = _flag(table, mapping.rows, where)
    if table.topics:
        keep |= ~table.told(mapping.rows["column"])  # rows of other topics
    if not keep.any():
        wanted = shortened(mapping.rows["equals"]) if "equals" in mapping.rows else "not 0"
        raise InputError(
            f"{where}: wanted rows of {table.source} in which column {mapping.rows['column']} is {wanted}, found none; "
            "correct it"
        )
    columns = {name: values[keep] if len(values) == len(keep) else values for name, values in table.columns.items()}
    return replace(table, columns=columns)


def _one_time(table: Table, mapping: Mapping) -> tuple[Table, Mapping]:
    """Table and mapping with one column of times [s], or of date-times, instead of several that tell them together."""
    name, unit, topics = " + ".join(mapping.times), mapping.time_units[0], table.topics
    if topics:
        topic = topics[table.whole_name(mapping.times[0])]
        name = f"{topic} {name}"
        topics = {**topics, name: topic}
    if len(rows := {len(table.raw(column)) for column in mapping.times}) > 1:
        raise InputError(
            f"{mapping.name} [time]: wanted columns of the same length, found {', '.join(map(str, sorted(rows)))} rows "
            f"of {table.source}; name columns of one table"
        )
    if unit == DATE_TIME:
        parts = zip(*(table.raw(column) for column in mapping.times), strict=True)
        whole = np.array([" ".join(str(part).strip() for part in row) for row in parts], dtype=object)
    else:
        unit = "s"
        factors = [units.unit_factor(part, units.TIME_UNITS, mapping.name) for part in mapping.time_units]
        whole = np.array(factors) @ np.array([table.numbers(column) for column in mapping.times])
    table = replace(table, columns={**table.columns, name: whole}, topics=topics)
    return table, replace(mapping, times=(name,), time_units=(unit,))


def _grid(table: Table, mapping: Mapping) -> times.EvenGrid:
    if not mapping.times:
        name = mapping.quantities["phi_dot"].column
        if not name:
            raise InputError(f"{mapping.name} [phi_dot]: wanted a column, found a constant; a response must move")
        assert mapping.rate is not None
        return times.grid_at_rate(len(table.raw(name)), mapping.rate)
    where = f"column {mapping.times[0]} of {table.source}"
    t, origin = _seconds(table, mapping, mapping.times[0])
    if len(t) < MIN_RECORDING_ROWS:
        raise InputError(f"{where}: wanted at least {MIN_RECORDING_ROWS} rows, found {len(t)}; record it again")
    finite = _lean_rate_rows(table, mapping, t)
    if finite.all():
        grid = times.grid_of_times(t, where, mapping.rate)
    else:
        grid = times.grid_of_sensor(t, finite, where, mapping.rate)
    return replace(grid, remarks=(*origin, *grid.remarks))


def _times(table: Table, mapping: Mapping, name: str) -> Any:
    """Column of times, as numbers or date-times."""
    values = table.raw(name)
    return table.numbers(name) if DATE_TIME not in mapping.time_units and values.dtype.kind == "O" else values


def _seconds(table: Table, mapping: Mapping, name: str) -> tuple[Array, tuple[str, ...]]:
    """Column of times in seconds from where those of the recording begin, and what is to be said of that."""
    (whole,), (unit,) = mapping.times, mapping.time_units
    factor = 1.0 if unit == DATE_TIME else units.unit_factor(unit, units.TIME_UNITS, mapping.name)
    origin = None if name == whole else _times(table, mapping, whole)
    where = f"column {name} of {table.source}"
    return times.times_in_seconds(_times(table, mapping, name), factor, where, origin, mapping.wraps)


def _lean_rate_rows(table: Table, mapping: Mapping, t: Array) -> NDArray[np.bool_]:
    """Rows (n,) that the lean rate belongs to: all, unless it is missing where other sensors told something."""
    name = mapping.quantities["phi_dot"].column
    every = np.ones(len(t), bool)
    if not name or len(table.raw(name)) != len(t):
        return every
    finite = table.told(name)
    if finite.all():
        return every
    others = ~finite & np.isfinite(fill_between(t, table.numbers(name), times.LONGEST_STEP))
    return finite if others.any() else every


def _signal(table: Table, mapping: Mapping, quantity: str, grid: times.EvenGrid) -> Array:
    column, where = mapping.quantities[quantity], f"{mapping.name} [{quantity}]"
    if column.constant is not None:
        return np.full(len(grid.t), column.constant)
    values, slowest = table.numbers(column.column), _slowest(quantity)
    if column.time:
        at, _ = _seconds(table, mapping, column.time)
        if len(at) != len(values):
            raise InputError(
                f"{where}: wanted column {column.column} of {table.source} as long as its times {column.time} "
                f"({len(at)} rows), found {len(values)} rows; name the times of the same table"
            )
        read = draw_lines(grid.t, at, values, slowest)
    else:
        read = grid.even(_as_long(table, column.column, values, grid, where), slowest)
    return column.sign * column.factor * (read - column.zero) + column.offset


def _slowest(quantity: str) -> float:
    """Longest time [s] from value to value of a quantity whose sensor is slower than the rows."""
    return SLOWEST_SPEED if quantity == "v" else times.LONGEST_STEP


def _as_long(table: Table, name: str, values: Any, grid: times.EvenGrid, where: str) -> Any:
    if len(values) != grid.length:
        raise InputError(
            f"{where}: wanted column {name} of {table.source} as long as the times ({grid.length} rows), "
            f"found {len(values)} rows; it belongs to another table of the file: a quantity may have its own times "
            "(time), a flag may not"
        )
    return values


def _flag(table: Table, given: Any, where: str) -> NDArray[np.bool_]:
    """Rows (n,) where a column is what it should be: equal to something, else not zero."""
    if "column" not in given:
        raise InputError(f"{where}: wanted a column, found {', '.join(given)}; add it")
    values = table.raw(given["column"])
    if "equals" not in given:
        return np.nan_to_num(table.numbers(given["column"])) != 0.0
    equals = given["equals"]
    if isinstance(equals, str):
        return np.array([str(value) == equals for value in values])
    return np.isin(table.numbers(given["column"]), np.atleast_1d(equals))


def _free(table: Table, mapping: Mapping, grid: times.EvenGrid) -> NDArray[np.bool_]:
    where, given = f"{mapping.name} [free]", mapping.free
    free = np.ones(len(grid.t), bool)
    if "column" in given:
        flag = _as_long(table, given["column"], _flag(table, given, where), grid, where)
        free &= grid.nearest(flag, table.told(given["column"]))
        if free.any():
            free &= grid.t >= grid.t[int(np.argmax(free))] + given.get("after", 0.0)
    if "intervals" in given:
        inside, half = np.zeros(len(grid.t), bool), 0.5 * (grid.t[1] - grid.t[0])
        for interval in given["intervals"]:
            rows = (grid.t >= interval[0] - half) & (grid.t <= interval[1] + half)
            if not rows.any():
                raise InputError(
                    f"{where}: wanted intervals of {table.source}, which runs from {grid.t[0]:.3f} to "
                    f"{grid.t[-1]:.3f} s, found {interval[0]:g} to {interval[1]:g} s; correct it"
                )
            inside |= rows
        free &= inside
    return free


def _kicks(table: Table, mapping: Mapping, grid: times.EvenGrid) -> tuple[tuple[Marker, ...], tuple[str, ...]]:
    """Markers from a list of times, from a column that rises, or from a file beside the recording."""
    where, given = f"{mapping.name} [kicks]", mapping.kicks
    texts: list[str] = []
    if "times" in given:
        times_of_kicks = [float(t) for t in given["times"]]
    elif "column" in given and "beside" not in given:
        values = _as_long(table, given["column"], np.nan_to_num(table.numbers(given["column"])), grid, where)
        kicked = grid.nearest(values, table.told(given["column"])) > 0.0
        times_of_kicks = [float(t) for t in grid.t[1:][kicked[1:] & ~kicked[:-1]]]
    elif "beside" in given:
        path = table.path.with_suffix("." + str(given["beside"]).lstrip("."))
        if not path.exists():
            return (), (f"no kicks are marked: there is no {path.name} beside {table.source}",)
        times_of_kicks, texts = _marked(path, str(given.get("column", "t")), given.get("kind", "kick"))
        if "clock" in given:
            clock = _as_long(table, given["clock"], table.numbers(given["clock"]), grid, where)
            times_of_kicks = [float(t) for t in np.interp(times_of_kicks, grid.even(clock), grid.t)]
    else:
        return (), ()
    outside = [t for t in times_of_kicks if not grid.t[0] <= t <= grid.t[-1]]
    if outside and "times" in given:
        raise InputError(
            f"{where}: wanted times of {table.source}, which runs from {grid.t[0]:.3f} to {grid.t[-1]:.3f} s, "
            f"found {outside[0]:g} s; correct it"
        )
    texts_of_kicks = zip(times_of_kicks, texts or [""] * len(times_of_kicks), strict=True)
    return tuple(Marker(t, "kick", text) for t, text in texts_of_kicks if t not in outside), ()


def _marked(path: Path, column: str, kind: str) -> tuple[list[float], list[str]]:
    """Times and texts of the markers of one kind in a file of markers, as `riderless export` writes it."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        chosen = [row for row in rows if row["kind"] == kind]
        return [float(row[column]) for row in chosen], [row.get("text") or "" for row in chosen]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"wanted a file of markers, found {path}: {why_unreadable(error)}; check the path") from None
    except (KeyError, ValueError, TypeError, csv.Error) as error:
        raise InputError(
            f"wanted numbers under {column} and a column kind in {path}, found {error}; correct it"
        ) from None


def read(path: str | Path, mapping: Mapping) -> Recorded:
    """Read a file of any known format through a mapping. Raises as `recorded` and `read_table` do."""
    return recorded(read_table(path, mapping.columns, **mapping.text).with_rows(), mapping)
