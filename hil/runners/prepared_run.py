"""Preparation of a run in real time: what can be known to be in its way is looked for here, before a port is opened."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riderless.hil.controllers.controller import Controller
from riderless.hil.rig.armable import require_armable
from riderless.hil.rig.certified import require_certificate
from riderless.hil.rig.fitting import require_fitting, require_task
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.stable import require_stable
from riderless.hil.rig.task import Task
from riderless.hil.runners.disk_room import require_disk_room
from riderless.hil.runners.latency_certificate import LatencyResult, find_latency_test
from riderless.hil.runners.place_proof import require_place_proof
from riderless.hil.runners.scheduling import require_existing
from riderless.hil.runners.stop_proof import WITHOUT, require_stop_proof


@dataclass(frozen=True)
class PreparedRun:
    """Run that may be armed as far as can be known beforehand; made by `prepare_run`.

    Attributes
    ----------
    folder : Path
        Of the log; its disk has room for it.
    rig, schedule, task
        They fit each other, and the gains balance the bicycle.
    fifo, cpu
        Priority and processor of the loop; this computer has them.
    latency : LatencyResult or None
        The test that vouches for this computer; None where the rig asks for none.
    about : mapping
        What else the header of the log says.
    """

    folder: Path
    rig: Rig
    schedule: Controller
    task: Task
    fifo: int
    cpu: int | None
    latency: LatencyResult | None
    about: Mapping[str, Any]


def prepare_run(
    folder: Path,
    rig: Rig,
    schedule: Controller,
    paths: Sequence[str],
    duration: float,
    task: Task,
    fifo: int,
    cpu: int | None,
    speeds: Sequence[float],
    about: Mapping[str, Any],
    allow_mismatch: bool,
    allow_unstable: bool,
) -> PreparedRun:
    """Check all of a run that can be checked while nothing moves; nothing of it is checked again.

    Parameters
    ----------
    folder, rig, schedule, paths, duration, task, fifo, cpu, speeds
        As of `riderless.hil.runners.session.run_realtime`.
    about : mapping
        What else the header is to say: of an ``emulation``, whose sensor of place does not lie, and which has no
        hardware stop; or that the run was made `WITHOUT` the proof of that stop.
    allow_mismatch, allow_unstable
        As of `riderless.hil.runners.session.run_realtime`.

    Raises
    ------
    InputError
    """
    require_existing(fifo, cpu)
    require_fitting(rig, schedule, allow_mismatch)
    require_task(rig, schedule, task, linear=getattr(about.get("emulation"), "model", "") == "linear")
    require_armable(rig, schedule, *speeds[:1])
    require_stable(rig, schedule, speeds, allow_unstable)
    if "emulation" not in about:
        require_proofs(rig, paths, WITHOUT in about)
        require_certificate(rig, schedule, speeds)
    latency = find_latency_test(rig, fifo)
    require_disk_room(folder, [(rig, duration)])
    return PreparedRun(folder, rig, schedule, task, fifo, cpu, latency, about)


def require_proofs(rig: Rig, paths: Sequence[str], without_stop_proof: bool) -> None:
    """Refuse a wired machine without the proofs that its rig asks for; raises InputError."""
    require_place_proof(rig)
    if not without_stop_proof:
        require_stop_proof(rig, paths)
