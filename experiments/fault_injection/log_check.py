"""Check of a case's log on disk.

It is written as a run writes it, read back, and put through the tick again.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from riderless.experiments.fault_injection.cases import FaultCase
from riderless.experiments.fault_injection.simulate import Played, task_of
from riderless.hil.logs.header import new_header
from riderless.hil.logs.log import RunWriter, read_run
from riderless.hil.runners.log_sink import Keeper
from riderless.hil.runners.replay import replay

WRITTEN_EVERY = 41  # cases of which one is written: often enough to meet every threat in a campaign of thousands


def is_written(case: FaultCase) -> bool:
    """Choose the cases whose log goes to disk and comes back; the choice walks through all threats."""
    return not case.code and case.index % WRITTEN_EVERY == case.seed % WRITTEN_EVERY


def check_written_log(case: FaultCase, played: Played) -> list[str]:
    """Write the log of a case, read and replay it, and list what is wrong; nothing, if all is well."""
    with TemporaryDirectory() as folder:
        run = read_run(_write(Path(folder) / "run", case, played))
        wrong = []
        if not run.complete:
            wrong.append(f"the log is not complete: {run.recovered}")
        if not np.array_equal(run.ticks.view(np.uint8), played.rows.view(np.uint8)):
            wrong.append("the rows read are not the rows written")
        if b"".join(run.tapes.values()) != b"".join(played.tapes):
            wrong.append("the bytes read are not the bytes written")
        again = replay(run)
        if not again.identical or again.ticks != len(played.rows):
            wrong.append(f"the replay differs at tick {again.first}: {again.difference}")
    return wrong


def _write(folder: Path, case: FaultCase, played: Played) -> Path:
    assert played.calibration is not None, "a session that was refused has no log"
    head = new_header(
        played.rig,
        played.schedule,
        played.calibration,
        runner="lockstep",
        simulated=True,
        task=task_of(case, played.rig),
    )
    with RunWriter(folder, head, simulated=True) as writer:
        keep = Keeper(writer)
        for first, last, tape in zip(played.looks, [*played.looks[1:], len(played.rows)], played.tapes, strict=True):
            keep(played.rows[first:last], np.frombuffer(tape, np.uint8))
        writer.close("fault" if case.all_faults else "success", case.name)
    return folder
