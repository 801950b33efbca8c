"""Steps that compile everything."""

import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from riderless.experiments.analysis.comparison.compare import compare
from riderless.experiments.analysis.estimators.uncertainty import fit_window
from riderless.experiments.analysis.identification.identifiability import emulated_loop
from riderless.experiments.analysis.windows.cut import make_window
from riderless.experiments.datatypes import Response, Segment
from riderless.firmware_interface.child_processes import end_with_parent
from riderless.hil.design.methods import design
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.garbage import collecting_seldom
from riderless.hil.logs.log import read_run
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.replay import replay
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.hil.runners.warmup import warm_up
from riderless.models import catalogue
from riderless.models.plant.scenario import Scenario


def compile_aside(*steps: Callable[[], None]) -> None:
    """Take steps in a process of their own; what goes wrong there does so in the one that waits, too, which says it."""
    end_with_parent()
    with suppress(Exception), collecting_seldom():  # in the compiler it takes a tenth of the time and finds little
        for step in steps:
            step()


def compile_loop() -> None:
    """Compile the loop in real time, which runs on Linux alone."""
    if sys.platform != "linux":
        return
    warm_up(*_machine())


def compile_bicycle() -> None:
    """Compile the emulated bicycle and the replay: simulate a moment in lockstep, and replay it."""
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "run"
        run_lockstep(folder, *_machine(), Scenario(speed=((0.0, 5.0),)), 0.1)
        replay(read_run(folder))


def compile_fits() -> None:
    """Compile the fits: fit and predict a window at a speed that changes."""
    t = np.arange(0.0, 2.0, 0.02)
    response = Response("warm-up", "kooijman", t, np.exp(-t) * np.cos(5.0 * t), 5.0 - 0.1 * t)
    segment = Segment(response, make_window(response, 0, len(t), "all"))
    compare(segment, fit_window(segment))


def compile_design() -> None:
    """Compile the design: read the observer off, as `riderless design` does at each speed."""
    emulated_loop(_machine()[1]).matrix(5.0)


def _machine() -> tuple[Rig, GainSchedule]:
    rig = Rig(catalogue.load_bicycle("Benchmark"))
    return rig, design(rig.bicycle, "lqr", (5.0,), rig.timing)
