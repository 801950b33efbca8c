"""Readers under attack: of each, how a mutant is made and how it is read; a reader is one line of `READERS`.

A reader reads as the commands do: the file, then what is made of it before anything is fitted.
"""

import json
import tomllib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import tomli_w

from riderless.experiments.analysis.windows.find import find_windows
from riderless.experiments.analysis.windows.notes import apply_notes, read_notes
from riderless.experiments.campaigns.file import read_campaign
from riderless.experiments.campaigns.migration import migrate
from riderless.experiments.datatypes import Response
from riderless.experiments.recordings import foreign, published
from riderless.experiments.recordings.foreign.formats.registry import read_table
from riderless.experiments.recordings.foreign.formats.rosbag import METADATA
from riderless.experiments.recordings.foreign.mapping import load_mapping
from riderless.experiments.recordings.run_response import response_of_run
from riderless.firmware_interface.errors import DeviceError
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.logs import log
from riderless.hil.logs.export import HEADER_SUFFIX, MARKERS_SUFFIX, export_document
from riderless.hil.rig.file import read_rig
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError
from riderless.models.exchange.files import BICYCLE_FORMATS, bicycle_text, read_bicycle
from tests.tools.fuzz_files import seeds
from tests.tools.fuzz_files.logs import mutated_log, mutated_schema, put_together
from tests.tools.fuzz_files.mutate import encoded, mutated_bytes, mutated_text, mutated_tree

Step = Callable[[], Any]
HEADER_PARTS = (
    *(
        "bicycle",
        "rig",
        "calibration",
        "schedule",
        "scenario",
        "excitation",
        "emulation",
        "devices",
        "ports",
        "condition",
    ),
    *("controller", "label", "version", "commit", "made_by", "runner"),
)
OWN_ERRORS = (InputError, DeviceError)


class FuzzedReader(NamedTuple):
    """Way to make a mutant, and to read it."""

    suffix: str
    make: Callable[[Random], bytes]
    steps: Callable[[Path, Random], Sequence[Step]]  # each is tried, whatever became of the one before
    prepare: Callable[[Path], None] = lambda folder: None  # files that lie beside the mutant


def _toml(kind: str) -> Callable[[Random], bytes]:
    """Mutants of a kind of TOML file: mostly of what it says, now and then of its letters or bytes."""

    def make(rng: Random) -> bytes:
        text, way = rng.choice(seeds.toml_texts(kind)), rng.random()
        if way < 0.7:
            try:
                text = tomli_w.dumps(mutated_tree(rng, tomllib.loads(text)))
            except (TypeError, ValueError, RecursionError):  # not to be written as TOML: a key that is no text
                text = mutated_text(rng, text)
        elif way < 0.95:
            text = mutated_text(rng, text)
        else:
            return mutated_bytes(rng, text.encode())
        return encoded(rng, text)

    return make


def _symbrim(rng: Random) -> bytes:
    """Mutants of SymBRiM's constants: mostly of what they say."""
    text = rng.choice(seeds.exchanged_texts("symbrim"))
    if rng.random() < 0.7:
        return encoded(rng, json.dumps(mutated_tree(rng, json.loads(text))))
    return mutated_bytes(rng, text.encode()) if rng.random() < 0.2 else encoded(rng, mutated_text(rng, text))


def _converted(path: Path, rng: Random) -> Sequence[Step]:
    """Read a bicycle as `riderless convert` does, and write it for each program; what was written must read."""
    bicycle = read_bicycle(path, trust=rng.random() < 0.5)

    def written(to: str) -> None:
        copy = path.with_name(f"copy{_EXCHANGED[to]}")
        copy.write_text(bicycle_text(bicycle, to), encoding="utf-8")
        try:
            read_bicycle(copy, trust=True)
        except InputError as error:
            raise AssertionError(f"what was written as {to} is refused: {error}") from error

    return [lambda to=to: written(to) for to in BICYCLE_FORMATS]


_EXCHANGED = {"toml": ".toml", "bicycleparameters": ".txt", "symbrim": ".json"}


def _log(rng: Random) -> bytes:
    parts, way = rng.choice(seeds.log_parts()), rng.random()
    if way < 0.75:
        return mutated_log(rng, parts)
    return mutated_schema(rng, parts) if way < 0.9 else mutated_bytes(rng, put_together(parts))


def _log_steps(path: Path, rng: Random) -> Sequence[Step]:
    """Read it whole or in stretches, with the raw bytes or without, and whatever is asked of a run."""
    log.LONG_LOG_BYTES = rng.choice((0, 32_000_000))
    run = log.read_run(path, everything=rng.random() < 0.5, stored=rng.random() < 0.5)
    header = run.header
    asked = [lambda part=part: getattr(header, part) for part in HEADER_PARTS]
    return [
        *asked,
        lambda: (repr(run), run._repr_html_(), run.duration, repr(header)),
        lambda: json.dumps(export_document(run)),
        lambda: sum(len(rows) + len(tape) for _, rows, tape in run.batches()),
        lambda: response_of_run(run),
    ]


def _text(texts: Callable[[], list[str]]) -> Callable[[Random], bytes]:
    def make(rng: Random) -> bytes:
        text = rng.choice(texts())
        return mutated_bytes(rng, text.encode()) if rng.random() < 0.2 else encoded(rng, mutated_text(rng, text))

    return make


def _binary(files: Callable[[], list[bytes]], ends: float = 0.5) -> Callable[[Random], bytes]:
    """Mutants of binary files; the share ``ends`` of them is hit where names, types and sizes stand."""

    def make(rng: Random) -> bytes:
        data = rng.choice(files())
        way = rng.random()
        if way < ends / 2:
            return mutated_bytes(rng, data[:1500]) + data[1500:]
        return data[:-1500] + mutated_bytes(rng, data[-1500:]) if way < ends else mutated_bytes(rng, data)

    return make


def _table_steps(path: Path, rng: Random) -> Sequence[Step]:
    """Read a table by its columns, as what `riderless export` wrote, and through a mapping."""
    routes: list[Step] = [
        lambda: published.read_published(path) if published.is_table(path) else foreign.read_foreign(path, trust=True),
        lambda: foreign.read_foreign(path, "riderless-ticks", bicycle="Silver", trust=True),
        lambda: foreign.read_foreign(path, path.parent / "given.toml", trust=True),
    ]
    return [rng.choice(routes)]


def _beside_a_table(folder: Path) -> None:
    """Mapping, and what an export leaves beside its table."""
    (folder / "given.toml").write_text(seeds.MAPPING.replace("DelftSbW2024", "Silver"), encoding="utf-8")
    for suffix in (HEADER_SUFFIX, MARKERS_SUFFIX):
        (folder / f"mutant{suffix}").write_bytes(seeds.exports()[suffix])


def _topic_steps(path: Path, rng: Random) -> Sequence[Step]:
    """Read all topics of a file, or those of a mapping."""
    if rng.random() < 0.3:
        return [lambda: read_table(path)]
    return [lambda: foreign.read_foreign(path, path.parent / "given.toml", trust=True)]


def _beside_topics(folder: Path) -> None:
    (folder / "given.toml").write_text(seeds.TOPIC_MAPPING, encoding="utf-8")


def _bag_metadata(rng: Random) -> bytes:
    """Mutants of what a folder of rosbag2 says of itself."""
    text = seeds.topic_files("bag")[0].decode()
    return mutated_bytes(rng, text.encode()) if rng.random() < 0.3 else encoded(rng, mutated_text(rng, text))


def _bag_beside(folder: Path) -> None:
    """The files of the folder that the metadata is about."""
    _beside_topics(folder)
    (folder / "bag").mkdir()
    (folder / "bag/bag.mcap").write_bytes(seeds.topic_files("ros")[0])


def _bag_steps(path: Path, rng: Random) -> Sequence[Step]:
    bag = path.parent / "bag"
    (bag / METADATA).write_bytes(path.read_bytes())
    return _topic_steps(bag, rng)


def _mapping_steps(path: Path, rng: Random) -> Sequence[Step]:
    table = path.parent / "log.csv"
    return [lambda: foreign.read_foreign(table, path, trust=True), lambda: load_mapping(path)]


def _header(rng: Random) -> bytes:
    """Header beside an exported table."""
    text = json.dumps(mutated_tree(rng, seeds.header_document()))
    return encoded(rng, text if rng.random() < 0.85 else mutated_text(rng, text))


def _notes_steps(path: Path, rng: Random) -> Sequence[Step]:
    response, found = _noted_recording()
    recordings = ["a.csv", "b.csv"] if rng.random() < 0.5 else ["a.csv"]

    def apply() -> None:
        notes = read_notes(path, recordings).get("a.csv", ())
        apply_notes(replace(response, notes=notes), found)

    return [apply]


@cache
def _noted_recording() -> tuple[Response, Any]:
    """Recording that the notes are about, and what is found in it."""
    response = replace(response_of_run(log.read_run(seeds.OLD_RUNS / "lockstep_lqr")), source="a.csv")
    return response, find_windows(response)


def _one(read: Callable[[Path], Any], migrated: bool = True) -> Callable[[Path, Random], Sequence[Step]]:
    """Read by one function; one in ten is migrated too."""

    def steps(path: Path, rng: Random) -> Sequence[Step]:
        more: list[Step] = [lambda: migrate(path)] if migrated and rng.random() < 0.1 else []
        return [lambda: read(path), *more]

    return steps


def _table_for_mapping(folder: Path) -> None:
    (folder / "log.csv").write_text(seeds.csv_texts()[0], encoding="utf-8")


READERS: dict[str, FuzzedReader] = {
    "log": FuzzedReader(".mcap", _log, _log_steps),
    "rig": FuzzedReader(".toml", _toml("rig"), _one(lambda path: read_rig(path).calibrated())),
    "bicycle": FuzzedReader(".toml", _toml("bicycle"), _one(load_bicycle, migrated=False)),
    "bicycleparameters": FuzzedReader(".txt", _text(lambda: seeds.exchanged_texts("bicycleparameters")), _converted),
    "symbrim": FuzzedReader(".json", _symbrim, _converted),
    "gains": FuzzedReader(".toml", _toml("gains"), _one(GainSchedule.from_toml)),
    "campaign": FuzzedReader(".toml", _toml("campaign"), _one(read_campaign)),
    "mapping": FuzzedReader(".toml", _toml("mapping"), _mapping_steps, _table_for_mapping),
    "csv": FuzzedReader(".csv", _text(seeds.csv_texts), _table_steps, _beside_a_table),
    "mat": FuzzedReader(".mat", _binary(seeds.mat_files), _table_steps, _beside_a_table),
    "hdf5": FuzzedReader(".h5", _binary(seeds.hdf5_files), _table_steps, _beside_a_table),
    "parquet": FuzzedReader(".parquet", _binary(seeds.parquet_files, 0.8), _table_steps, _beside_a_table),
    **{
        f"{name}{suffix}": FuzzedReader(
            suffix, _binary(partial(seeds.topic_files, name), 0.6), _topic_steps, _beside_topics
        )
        for name, suffix in seeds.TOPIC_FILES.items()
    },
    "bag": FuzzedReader(".yaml", _bag_metadata, _bag_steps, _bag_beside),
    "export-header": FuzzedReader(
        HEADER_SUFFIX,
        _header,
        lambda path, rng: [lambda: foreign.read_foreign(path.parent / "mutant.csv", trust=True)],
        lambda folder: (folder / "mutant.csv").write_bytes(seeds.exports()[".csv"]) and None,
    ),
    "markers": FuzzedReader(
        MARKERS_SUFFIX,
        _text(lambda: [seeds.exports()[MARKERS_SUFFIX].decode() + "1.5,kick,hard\n"]),
        lambda path, rng: [
            lambda: foreign.read_foreign(path.parent / "mutant.csv", "riderless-ticks", bicycle="Silver", trust=True)
        ],
        lambda folder: (folder / "mutant.csv").write_bytes(seeds.exports()[".csv"]) and None,
    ),
    "notes": FuzzedReader(".txt", _text(lambda: [seeds.NOTES, 'veto 1.2 "x"\nadd 0.2-1.5 "y"\n']), _notes_steps),
}

warnings.simplefilter("ignore")  # an unusual bicycle: the commands say it in a line
warnings.simplefilter("error", RuntimeWarning)  # two lines of numpy, where a person looks for a sentence
