"""Foreign recordings, read as a Response.

Through a mapping file, or as a kind that is known. A format is one file and one line of
`formats.registry.FILE_FORMATS`. A kind is one file and one line below; it is recognised by its columns alone, in
whatever format; the file's name is only a label.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from riderless.experiments.datatypes import Response
from riderless.experiments.recordings.foreign import delft, exported, kooijman, mapped, mapping
from riderless.experiments.recordings.foreign.formats.registry import read_table
from riderless.experiments.recordings.foreign.labs import chalmers, peterson
from riderless.experiments.recordings.foreign.table import Table
from riderless.experiments.recordings.quality.checked import Recorded
from riderless.experiments.recordings.quality.inspection import inspect_recording
from riderless.models import catalogue
from riderless.models.errors import InputError, did_you_mean
from riderless.models.parameters import Bicycle


class _KnownKind(NamedTuple):
    """Kind of log: columns it is recognised by, and its reader, which may want a bicycle that the logs do not name."""

    columns: tuple[str, ...]
    read: Callable[..., Recorded]
    wants_bicycle: bool = False


KNOWN_KINDS: dict[str, _KnownKind] = {
    kooijman.KIND: _KnownKind(kooijman.COLUMNS, kooijman.recorded),
    delft.KIND: _KnownKind(delft.COLUMNS, delft.recorded),
    exported.KIND: _KnownKind(exported.COLUMNS, exported.recorded),
    chalmers.KIND: _KnownKind(chalmers.COLUMNS, chalmers.recorded, wants_bicycle=True),
    peterson.KIND: _KnownKind(peterson.COLUMNS, peterson.recorded, wants_bicycle=True),
}


def read_foreign(
    path: str | Path,
    mapping_file: str | Path = "",
    preset: str = "",
    bicycle: str | Path | Bicycle = "",
    trust: bool = False,
) -> Response:
    """Response recorded in a file of a known format, with remarks on its flaws.

    Parameters
    ----------
    path
    mapping_file
        A mapping (TOML), or the name of a shipped one; without it the columns must be those of a kind.
    preset
        A kind of ``KNOWN_KINDS``, instead of recognising it.
    bicycle
        Of the catalogue, a file, or the bicycle itself; instead of the one that the mapping names.
    trust
        Units and signs that physics contradicts become remarks, and an unusual bicycle a warning.

    Raises
    ------
    InputError
        The file is missing, empty, of no known kind, cut short, holds something that is not a number, or
        a unit or sign in it is clearly wrong.
    """
    return inspect_recording(read_uninspected(path, mapping_file, preset, bicycle, trust), refuse=not trust)


def read_uninspected(
    path: str | Path,
    mapping_file: str | Path = "",
    preset: str = "",
    bicycle: str | Path | Bicycle = "",
    trust: bool = False,
) -> Recorded:
    """Read as `read_foreign` does, without inspecting what was read.

    Parameters
    ----------
    path, mapping_file, preset, bicycle, trust
        As `read_foreign` takes them.
    """
    if mapping_file and preset:
        raise InputError(
            f"the columns of the mapping {mapping_file} would be ignored beside the preset {preset}: give one of them; "
            f'a mapping may say kind = "{preset}" itself'
        )
    name = bicycle.name if isinstance(bicycle, Bicycle) else bicycle
    given = mapping.load_mapping(mapping_file, trust) if mapping_file else None
    kind = preset or (given.kind if given else "")
    if bicycle and given and kind and not _known(kind).wants_bicycle:
        raise InputError(
            f"the bicycle {name} would be ignored: the mapping {mapping_file} is of the kind {given.kind}, which "
            "brings its own; leave the bicycle out"
        )
    if bicycle and given and not kind:
        given = replace(given, bicycle=catalogue.bicycle_of(bicycle, trust))
    if given and not kind:
        return mapped.read(path, given)
    table = read_table(path, **(given.text if given else {}))
    layout = _known(kind) if kind else _recognised(table)
    if bicycle and not (layout and layout.wants_bicycle):
        raise InputError(f"wanted a mapping to use the bicycle {name} with, found none; known kinds bring their own")
    if layout and not layout.wants_bicycle:
        return layout.read(table.with_rows()).remarked(*table.remarks)
    if layout:
        whose = catalogue.bicycle_of(bicycle, trust) if bicycle else given.bicycle if given else None
        if whose is None:
            raise InputError(
                f"wanted the bicycle that {table.source} was recorded with, found none, for such logs name none; "
                "give --bicycle, a name of `riderless bikes` or a file"
            )
        return layout.read(table.with_rows(), whose).remarked(*table.remarks)
    wanted = "; or ".join(f"{name}: {', '.join(columns[:2])} ..." for name, (columns, *_) in KNOWN_KINDS.items())
    raise InputError(
        f"wanted the columns of a known kind ({wanted}), found {', '.join(table.columns)[:80]} in {path}; "
        "say with --mapping which column is what (docs/foreign-logs.md), or add the header"
    )


def _recognised(table: Table) -> _KnownKind | None:
    return next((kind for kind in KNOWN_KINDS.values() if all(table.has(column) for column in kind.columns)), None)


def _known(kind: str) -> _KnownKind:
    if kind not in KNOWN_KINDS:
        hint = did_you_mean(kind, KNOWN_KINDS, "give one of those, or a mapping file")
        raise InputError(f"wanted a kind out of {', '.join(KNOWN_KINDS)}, found {kind!r}; {hint}")
    return KNOWN_KINDS[kind]
