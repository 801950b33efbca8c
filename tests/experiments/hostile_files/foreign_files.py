"""Others' files made to hurt: CSV, MAT, HDF5 and Parquet."""

import io
import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
from pyarrow import parquet
from scipy.io import savemat

ROWS = 600
BOMB = 800_000_000  # bytes that some kilobytes stand for
Columns = dict[str, np.ndarray]


def hostile_csv(folder: Path, columns: Columns) -> None:
    """Texts, each under a name that says what is wrong with it."""
    names = ",".join(columns)
    rows = [",".join(f"{value:.6f}" for value in row) for row in zip(*columns.values(), strict=True)][:ROWS]
    text = "\n".join([names, *rows]) + "\n"
    nan = "\n".join([names, *([",".join(["nan"] * len(columns))] * ROWS)])
    files: dict[str, str | bytes] = {
        "one-column": "time\n" + "\n".join(map(str, range(ROWS))),
        "no-column": "\n" * ROWS,
        "ragged": text.replace("\n", ",7\n", 300),
        "million-columns": ",".join(f"c{i}" for i in range(1_000_000)) + "\n" + ",".join(["1"] * 1_000_000),
        "wide-line": names + "\n" + "1," * 2_000_000 + "\n",
        "endless-line": names + "\n" + "1" * 5_000_000,
        "quote-never-closed": text.replace("\n", '\n"', 5),
        "quote-around-all": '"' + text,
        "zero-bytes": text.replace(",", ",\0", 500),
        "zero-bytes-later": (text + "\0" * 100).encode(),
        "utf-16": text.encode("utf-16"),
        "utf-16-unmarked": text.encode("utf-16-le"),
        "latin-1": text.replace("belt", "b\u00e9lt").encode("latin-1"),
        "latin-1-later": (text + "\u00fc" * 40).encode("latin-1"),
        "all-nan": nan,
        "all-infinite": nan.replace("nan", "inf"),
        "all-1e308": "\n".join([names, *([",".join(["1e308"] * len(columns))] * ROWS)]),
        "5000-digits": text.replace("\n", "\n" + "9" * 5000, 3),
        "formulas": text.replace("time", "=cmd|' /C calc'!A0"),
        "control-characters": text.replace("belt", "be\x1b[2Jlt"),
        "same-names": text.replace("roll", "belt"),
        "dates-for-numbers": text.replace("\n", "\n2026-11-20T00:00:00", 400),
        "hexadecimal": text.replace("\n", "\n0x1F", 4),
        "backwards": "\n".join([names, *reversed(rows)]),
        "times-of-1e300": "\n".join([names, *(f"{1e300 * k}," + row.split(",", 1)[1] for k, row in enumerate(rows))]),
        "carriage-returns": text.replace("\n", "\r"),
    }
    for name, content in files.items():
        (folder / f"{name}.csv").write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def element(kind: int, data: bytes, length: int | None = None) -> bytes:
    """Element of a MAT file, which may lie about its length."""
    return struct.pack("<II", kind, len(data) if length is None else length) + data + bytes(-len(data) % 8)


def matrix(dims: tuple[int, ...], data: bytes, *, kind: int = 6, stored: int = 9, length: int | None = None) -> bytes:
    """Variable ``time`` of any shape, whatever its data."""
    inner = element(6, struct.pack("<II", kind, 0)) + element(5, struct.pack(f"<{len(dims)}i", *dims))
    return element(14, inner + element(1, b"time") + element(stored, data, length))


def mat_file(*elements: bytes) -> bytes:
    """File of version 5."""
    return b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM" + b"".join(elements)


def compressed_zeros(head: bytes, size: int) -> bytes:
    """Bytes and so many zeros, compressed piece by piece."""
    packer = zlib.compressobj(1)
    out = [packer.compress(head)]
    out += [packer.compress(bytes(10**6)) for _ in range(size // 10**6)]
    return b"".join([*out, packer.flush()])


def hostile_mat(folder: Path, columns: Columns) -> None:
    """Files of version 4 and 5."""
    zeros = np.zeros(ROWS)
    deep: dict = {"a": zeros}
    for _ in range(60):
        deep = {"a": deep}
    big = BOMB // 8
    bomb_inner = element(6, struct.pack("<II", 6, 0)) + element(5, struct.pack("<ii", big, 1)) + element(1, b"time")
    bomb = struct.pack("<II", 14, len(bomb_inner) + 8 + BOMB) + bomb_inner + struct.pack("<II", 9, BOMB)
    files = {
        "dims-lie": mat_file(matrix((2**31 - 1, 2**31 - 1), bytes(80))),
        "dims-negative": mat_file(matrix((-5, 10), bytes(80))),
        "length-lies": mat_file(matrix((10, 1), bytes(80), length=2**31 - 8)),
        "element-longer-than-the-file": mat_file(struct.pack("<II", 14, 2**32 - 8) + bytes(200)),
        "no-element": mat_file(),
        "unknown-kind": mat_file(element(77, bytes(80))),
        "cells-without-end": mat_file(matrix((2**30, 1), b"", kind=1)),
        "struct-without-end": mat_file(matrix((2**30, 1), b"", kind=2)),
        "bomb": mat_file(struct.pack("<II", 15, 0x7FFFFFF0) + compressed_zeros(bomb, BOMB)),
        "bomb-of-nothing-known": mat_file(element(15, compressed_zeros(b"", BOMB))),
        "compressed-rubbish": mat_file(element(15, bytes(range(256)))),
        "version-4-lies": struct.pack("<IIIII", 0, 2**31 - 1, 2**31 - 1, 0, 5) + b"time\0" + bytes(80),
        "version-4-cut": struct.pack("<IIIII", 0, 1000, 1000, 0, 5) + b"time\0" + bytes(80),
    }
    for name, content in files.items():
        (folder / f"{name}.mat").write_bytes(content)
    cells = np.empty((5, 5), object)
    cells[:] = [[zeros] * 5] * 5
    savemat(folder / "cells.mat", {"log": cells, "deep": deep})
    savemat(folder / "all-nan.mat", {name: np.full((ROWS, 1), np.nan) for name in columns})
    savemat(folder / "complex.mat", {name: np.ones((ROWS, 1)) * 1j for name in columns})
    savemat(folder / "cubes.mat", {name: np.ones((10, 10, 10)) for name in columns})


def hostile_hdf5(folder: Path, columns: Columns) -> None:
    """HDF5 files, also such as MATLAB's version 7.3 makes."""

    def new(name: str, fill: Callable[[h5py.File], object]) -> None:
        with h5py.File(folder / f"{name}.h5", "w") as file:
            fill(file)

    def chunk_bomb(file: h5py.File) -> None:
        one = file.create_dataset("time", (ROWS,), "f8", maxshape=(None,), chunks=(BOMB // 8,), compression="gzip")
        one.id.write_direct_chunk((0,), compressed_zeros(b"", BOMB))

    def loops(file: h5py.File) -> None:
        file["a"] = h5py.SoftLink("/b")
        file["b"] = h5py.SoftLink("/a")
        group = file.create_group("c")
        group["again"] = file["/"]
        group["time"] = np.zeros(ROWS)

    def virtual(file: h5py.File) -> None:
        layout = h5py.VirtualLayout((ROWS,), "f8")
        layout[:] = h5py.VirtualSource("../elsewhere.h5", "time", (ROWS,))
        file.create_virtual_dataset("time", layout)

    def long_texts(file: h5py.File) -> None:
        file.create_dataset("time", data=["x" * 10_000_000] * 3, dtype=h5py.string_dtype())

    new("external-link", lambda file: file.__setitem__("time", h5py.ExternalLink("../elsewhere.h5", "/time")))
    new("external-values", lambda file: file.create_dataset("time", (8,), "f8", external=[("/etc/passwd", 0, 64)]))
    new("virtual", virtual)
    new("fill-value", lambda file: file.create_dataset("time", (2**40,), "f8", chunks=(2**16,), fillvalue=1.0))
    new("fill-values", lambda file: [file.create_dataset(name, (10**7,), "f8", chunks=(1000,)) for name in columns])
    new("chunk-bomb", chunk_bomb)
    new("loops", loops)
    new("long-texts", long_texts)
    new("wide-texts", lambda file: file.create_dataset("time", (ROWS,), "S10000000", chunks=(1,)))
    new("wide-compound", lambda file: file.create_dataset("t", (9,), [("a", "f8", (10**8,))], chunks=(1,)))
    new("no-values", lambda file: file.create_dataset("time", data=h5py.Empty("f8")))
    new("enumerated", lambda file: file.create_dataset("time", (ROWS,), h5py.enum_dtype({"a": 1})))
    new("references", lambda file: file.create_dataset("time", (ROWS,), h5py.ref_dtype))
    new("all-nan", lambda file: [file.create_dataset(name, data=np.full(ROWS, np.nan)) for name in columns])
    new("million-groups", lambda file: [file.create_group(f"g{i}/a/b") for i in range(2000)])


def hostile_parquet(folder: Path, columns: Columns) -> None:
    """Parquet files."""
    n = 1_000_000

    def new(name: str, table: dict | pa.Table, **how: object) -> None:
        made = table if isinstance(table, pa.Table) else pa.table(table)
        parquet.write_table(made, folder / f"{name}.parquet", **how)

    word = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, "i4")), pa.array(["x" * 100_000]))
    new("one-text-a-million-times", {"time": word})
    new("zeros", {name: pa.array(np.zeros(8 * n)) for name in columns}, compression="zstd")
    new("no-rows", {name: pa.array([], pa.float64()) for name in columns})
    new("no-columns", pa.table({}))
    new("nulls", {name: pa.nulls(ROWS) for name in columns})
    new("lists", {name: pa.array([[1.0, 2.0]] * ROWS) for name in columns})
    new("maps", {"time": pa.array([[("a", 1.0)]] * ROWS, pa.map_(pa.string(), pa.float64()))})
    new("structs", {"log": pa.array([{"time": {"a": {"b": {"c": 1.0}}}}] * ROWS)})
    new("decimals", {name: pa.array(np.arange(ROWS)).cast(pa.decimal128(38, 2)) for name in columns})
    new("zones", {"time": pa.array(np.arange(ROWS), pa.timestamp("ms", "Europe/Berlin"))})
    new("durations", {name: pa.array(np.arange(ROWS), pa.duration("ns")) for name in columns})
    new("dates", {name: pa.array(np.arange(ROWS, dtype="i4"), pa.date32()) for name in columns})
    new("bytes", {name: pa.array([b"\xff\x00"] * ROWS) for name in columns})
    new("flags", {name: pa.array([True, None] * (ROWS // 2)) for name in columns})
    new("all-nan", {name: pa.array(np.full(ROWS, np.nan)) for name in columns})
    new("million-columns", pa.table({f"c{i}": pa.array([1.0]) for i in range(12_000)}))
    good = io.BytesIO()
    parquet.write_table(pa.table({name: values[:ROWS] for name, values in columns.items()}), good)
    whole = good.getvalue()
    (folder / "footer-lies.parquet").write_bytes(whole[:-8] + struct.pack("<I", 2**31 - 1) + b"PAR1")
    (folder / "cut.parquet").write_bytes(whole[: len(whole) // 2] + whole[-8:])


def hostile_exports(folder: Path, table: Path, document: dict) -> None:
    """Tables that `riderless export` wrote, with another header beside them."""
    rows = table.read_text().splitlines()
    spoilt: dict[str, object] = {
        "list": [],
        "empty": {},
        "header-gone": {key: value for key, value in document.items() if key != "header"},
        "header-is-a-list": document | {"header": [1]},
        "columns-is-a-list": document | {"columns": ["t"]},
        "columns-empty": document | {"columns": {}},
        "columns-few": document | {"columns": {"t": {}, "k": {}}},
        "stop-is-a-text": document | {"stop": "success"},
        "markers-of-numbers": document | {"markers": [1, 2]},
        "markers-of-texts": document | {"markers": [{"t": "soon", "kind": 1, "text": 2}]},
        "rate-is-a-text": document | {"header": document["header"] | {"rig": "mine"}},
    }
    for name, content in spoilt.items():
        (folder / f"export-{name}.csv").write_text("\n".join(rows))
        (folder / f"export-{name}.header.json").write_text(json.dumps(content))
    text = [*rows[:200], rows[200].replace(rows[200].split(",")[3], "fast", 1), *rows[201:]]
    for name, lines in {"text": text, "whole": rows}.items():
        (folder / f"export-{name}.csv").write_text("\n".join(lines))
        (folder / f"export-{name}.header.json").write_text(json.dumps(document))
    (folder / "export-deep.csv").write_text("\n".join(rows))
    (folder / "export-deep.header.json").write_text("[" * 100_000)


FAMILIES = {"csv": hostile_csv, "mat": hostile_mat, "h5": hostile_hdf5, "parquet": hostile_parquet}
