"""Export of a run as indexed MCAP.

Also of a cut one; for Foxglove, PlotJuggler and their like.
"""

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from riderless.hil.logs import protobuf_schema
from riderless.hil.logs.append_only import AppendOnlyFile
from riderless.hil.logs.export import Told, export_document, nobody_told, rows_told
from riderless.hil.logs.log import Run
from riderless.hil.logs.mcap_writer import McapWriter
from riderless.hil.logs.records import (
    MARKER_SCHEMA,
    MARKER_TOPIC,
    TICK_TOPIC,
    WIRE_SCHEMA,
    WIRE_TOPIC,
    nanoseconds,
    seal,
)

_ROWS_PER_BATCH = 1_000  # rows that go to the file at a time


def export_mcap(run: Run, path: Path, progress: Told = nobody_told) -> None:
    """Write header, rows, markers, raw bytes and stop record as the log has them, and the columns' units.

    A log that was cut has no index, which most tools want; this file has one. `riderless analyze` reads it as the run.

    Raises
    ------
    OSError
        The file exists already or cannot be written.
    """
    content = export_document(run)
    file = AppendOnlyFile(path)
    try:
        mcap = McapWriter(file, profile=protobuf_schema.PACKAGE)
        mcap.metadata("header", _sealed(content["header"]))
        mcap.metadata("columns", _sealed(content["columns"]))
        ticks = mcap.channel(TICK_TOPIC, "riderless.Tick", protobuf_schema.schema("Tick", run.ticks.dtype))
        marks = mcap.channel(MARKER_TOPIC, "riderless.Marker", MARKER_SCHEMA)
        tapes = mcap.channel(WIRE_TOPIC, "riderless.Wire", WIRE_SCHEMA)
        numbers: list[NDArray] = [np.zeros(0, np.uint64)]
        times: list[NDArray] = [np.zeros(0)]
        for rows in rows_told(run, progress, _ROWS_PER_BATCH):
            mcap.messages(ticks, rows["k"], nanoseconds(rows["t_host"]), protobuf_schema.encode_rows(rows))
            numbers.append(rows["k"].copy())
            times.append(rows["t_host"].copy())
        ks, t_host = np.concatenate(numbers), np.concatenate(times)
        marker_class = protobuf_schema.message_class(MARKER_SCHEMA)
        for n, marker in enumerate(run.markers, start=1):
            data = marker_class(t=marker.t, kind=marker.kind, text=marker.text).SerializeToString()
            mcap.message(marks, n, int(nanoseconds(marker.t)), data)
        wire_class = protobuf_schema.message_class(WIRE_SCHEMA)
        for k, tape in run.tapes.items():
            data = wire_class(k=k, tape=tape).SerializeToString()
            place = min(int(np.searchsorted(ks, np.uint64(k))), len(ks) - 1)  # the next row where its own is lost
            mcap.message(tapes, k, int(nanoseconds(t_host[place] if len(ks) else 0.0)), data)
        if run.stop.utc or run.stop.rows is not None:
            mcap.metadata("stop", _sealed(content["stop"]))
        mcap.finish()
        file.sync()
    finally:
        file.close()


def _sealed(content: object) -> dict[str, str]:
    """Content of a metadata record, as JSON."""
    return seal(json.dumps(content))
