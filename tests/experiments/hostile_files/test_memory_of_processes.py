"""Bombs in real processes: peak memory as the system counts it, and what `--max-memory` lets through."""

import os
import subprocess
import sys

import h5py
import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from riderless.hil.logs.mcap_writer import CHUNK_BYTES
from tests.experiments.commands.odd_inputs.litter import MAPPING
from tests.experiments.commands.test_cli import riderless, run_folder  # noqa: F401
from tests.experiments.hostile_files.foreign_files import FAMILIES
from tests.experiments.hostile_files.log_contents import hostile_records
from tests.experiments.hostile_files.log_parts import taken_apart
from tests.experiments.recordings.foreign_log import in_their_units, signals, write_csv
from tests.paths import ROOT
from tests.process_usage import usage_of

SCRIPT = os.path.join(os.path.dirname(sys.executable), "riderless")
MOST = 500_000_000  # bytes that the docs promise
LONGEST = 600.0  # s, however busy the machine
BOMBS = {
    "csv": (),
    "mat": ("bomb.mat", "bomb-of-nothing-known.mat", "cells-without-end.mat"),
    "h5": ("chunk-bomb.h5", "fill-values.h5", "wide-texts.h5"),
    "parquet": ("zeros.parquet", "one-text-a-million-times.parquet"),
}
LOG_BOMBS = {
    "chunk: a bomb of zeros": "analyze",
    "chunk: a bomb of zeros that states little": "info",
    "chunk: a bomb of lz4": "analyze",
}


def ended(folder, *arguments, stdin=subprocess.DEVNULL):
    """Exit code, words and greatest memory [bytes] of a process."""
    used = usage_of([SCRIPT, *arguments], cwd=folder, stdin=stdin, stderr=subprocess.STDOUT)
    assert "Traceback" not in used.said
    return used.code, used.said, used.memory


def test_a_toml_bomb_takes_little_more_than_a_right_file(tmp_path):
    """A key of 20 000 parts took 11 s and 1.6 GB: tomllib keeps every beginning of a key."""
    text = (ROOT / "models/bicycles/Silver.toml").read_text(encoding="utf-8")
    (tmp_path / "right.toml").write_text(text)
    (tmp_path / "bomb.toml").write_text(text + ".".join(["a"] * 20_000) + " = 1\n")
    right, bomb = (usage_of([SCRIPT, "eig", f"{name}.toml"], cwd=tmp_path) for name in ("right", "bomb"))
    assert (right.code, bomb.code) == (0, 2)
    assert bomb.seconds <= right.seconds + 1.0
    assert bomb.memory <= right.memory + 100_000_000


@pytest.mark.parametrize("family", [family for family, names in BOMBS.items() if names])
@pytest.mark.parametrize("which", [slice(1), pytest.param(slice(1, None), marks=pytest.mark.slow)], ids=["one", "more"])
def test_bombs_of_others_files_take_no_more_than_promised(tmp_path, family, which):
    FAMILIES[family](tmp_path, in_their_units(signals()))
    (tmp_path / "mapping.toml").write_text(MAPPING)
    for name in BOMBS[family][which]:
        code, words, memory = ended(tmp_path, "analyze", name, "-m", "mapping.toml")
        assert code == 2, words
        assert words.count("riderless: ") == 1
        assert memory <= MOST, f"{name}: {memory / 1e6:.0f} MB"


def test_bombs_of_logs_take_no_more_than_promised(tmp_path, run_folder):  # noqa: F811
    logs = hostile_records(taken_apart(run_folder))
    (tmp_path / "x").mkdir()
    for name, command in LOG_BOMBS.items():
        (tmp_path / "x/run.mcap").write_bytes(logs[name])
        _, _, memory = ended(tmp_path, command, "x")
        assert memory <= MOST, f"{name}, {command}: {memory / 1e6:.0f} MB"


def test_a_large_table_is_read_where_more_memory_is_given(tmp_path):
    """A right file above the bound is refused with the amount that lets it through, and then read."""
    mapped = {name: values for name, values in in_their_units(signals()).items() if f'"{name}"' in MAPPING}
    columns = {name: np.tile(values, 4000) for name, values in mapped.items()}
    columns["time"] = 10.0 * np.arange(len(columns["time"]))

    parquet.write_table(pyarrow.table(columns), tmp_path / "long.parquet")
    (tmp_path / "mapping.toml").write_text(MAPPING)
    code, words, memory = ended(tmp_path, "analyze", "long.parquet", "-m", "mapping.toml", "--window", "9:12")
    assert code == 2
    assert memory <= MOST
    assert "--max-memory 1GB" in " ".join(words.split())


@pytest.mark.parametrize("name", ["wide.parquet", pytest.param("wide.h5", marks=pytest.mark.slow)])
def test_of_a_wide_table_only_the_mapped_columns_are_read(tmp_path, name):
    """Hundreds of columns that nobody asked for take no memory; they are still named where one is missed."""
    columns = in_their_units(signals())
    rows = 40 * len(columns["time"])
    columns = {key: np.tile(values, 40) for key, values in columns.items()} | {"time": 10.0 * np.arange(rows)}
    more = {f"board.channel_{i}": np.full(rows, 0.5) for i in range(700)}
    assert 8 * rows * len(more) > 0.8 * MOST
    if name.endswith("parquet"):
        parquet.write_table(pyarrow.table(columns | more), tmp_path / name)
    else:
        with h5py.File(tmp_path / name, "w") as file:
            for key, values in (columns | more).items():
                file.create_dataset(key, data=values, compression="gzip")
    (tmp_path / "mapping.toml").write_text(MAPPING)
    code, words, memory = ended(tmp_path, "analyze", name, "-m", "mapping.toml", "--window", "9:12")
    assert code == 0, words
    assert memory <= MOST
    (tmp_path / "mapping.toml").write_text(MAPPING.replace('column = "time"', 'column = "channel_70x"'))
    code, words, _ = ended(tmp_path, "analyze", name, "-m", "mapping.toml")
    assert code == 2
    assert "board.channel_70" in words


def test_an_amount_that_is_none(riderless, tmp_path):  # noqa: F811
    write_csv(tmp_path / "log.csv", in_their_units(signals()))
    for amount, told in (("much", "an amount of memory such as 2GB"), ("1MB", "at least 300 MB"), ("-5GB", "")):
        code, _, words = riderless("analyze", str(tmp_path / "log.csv"), "--max-memory", amount)
        assert code == 2
        assert told in " ".join(words.split())


def test_closed_input_and_output(tmp_path):
    """Commands that ask nothing work without standard input; a reader that goes away is no fault."""
    (tmp_path / "mapping.toml").write_text(MAPPING)
    write_csv(tmp_path / "log.csv", in_their_units(signals()))
    done = subprocess.run(
        ["sh", "-c", f"{SCRIPT} analyze log.csv -m mapping.toml <&- | head -1"],
        cwd=tmp_path, capture_output=True, text=True, timeout=LONGEST,
    )  # fmt: skip
    assert done.stdout
    assert "Traceback" not in done.stderr


def test_chunks_of_ours_are_small():
    """What may be left in the file of a long log is bounded far above what we write."""
    from riderless.hil.logs.mcap_reader import MOST_STORED

    assert 100 * CHUNK_BYTES < MOST_STORED
