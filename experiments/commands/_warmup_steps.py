"""Steps that compile everything, in the order in which a session needs it."""

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
from numba import typeof

from experiments.analysis.compare import compare
from experiments.analysis.estimators.uncertainty import fit_window
from experiments.analysis.measurable import emulated_loop
from experiments.analysis.windows.cut import make_window
from experiments.datatypes import Response
from firmware_interface.twins.faulty_link import post
from firmware_interface.twins.faulty_node import new_faulty_node, sampling_instant
from hil.design.methods import design
from hil.design.schedule import GainSchedule
from hil.garbage import collecting_seldom
from hil.logs.log import read_run
from hil.rig.rig import Rig
from hil.runners.emulation import emulated_node
from hil.runners.replay import replay
from hil.runners.simulated_run import run_lockstep
from hil.runners.warmup import compiling_meanwhile, warm_up
from models import catalogue
from models.plant.scenario import Scenario

_MEANWHILE = "from experiments.commands._warmup_steps import compile_loop_and_fits; compile_loop_and_fits()"


def compiling_for_campaigns() -> AbstractContextManager[None]:
    """Let a second process compile loop and fits while this one compiles the bicycle that a campaign simulates."""
    return compiling_meanwhile("campaign", _MEANWHILE)


def compile_loop_and_fits() -> None:
    """Compile the loop, then the emulated node, which a simulated run reaches last, then the fits, in one process."""
    with collecting_seldom():
        warm_up(*_machine(), helped=False)
        _node()
        _fits()


def _machine() -> tuple[Rig, GainSchedule]:
    rig = Rig(catalogue.load_bicycle("Benchmark"))
    return rig, design(rig.bicycle, "lqr", (5.0,), rig.timing)


def _loop() -> None:
    warm_up(*_machine())


def _bicycle() -> None:
    """Simulate a moment in lockstep, and replay it."""
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "run"
        run_lockstep(folder, *_machine(), Scenario(speed=((0.0, 5.0),)), 0.1)
        replay(read_run(folder))


def _fits() -> None:
    """Fit and predict a window at a speed that changes."""
    t = np.arange(0.0, 2.0, 0.02)
    response = Response("warm-up", "kooijman", t, np.exp(-t) * np.cos(5.0 * t), 5.0 - 0.1 * t)
    window = make_window(response, 0, len(t), "all")
    compare(response, [window], [fit_window(response, window)])


def _node() -> None:
    """Compile the emulated node and its line, for the types of a simulated run."""
    node = new_faulty_node(emulated_node(_machine()[0]).new_firmware(), ())
    posted = (node.down, node.faults, 0, np.zeros(1, np.uint8), 0, 0.0, 0.0)
    sampled = (node, np.zeros(1), 0.0, 0.0, 0.0)
    for function, arguments in ((post, posted), (sampling_instant, sampled)):
        function.compile_bare(tuple(typeof(argument) for argument in arguments))


def _closed_loop() -> None:
    """Read the observer off, as `riderless design` does at each speed."""
    emulated_loop(_machine()[1]).matrix(5.0)


LOOP: dict[str, Callable[[], None]] = {"the loop": _loop}
EMULATION: dict[str, Callable[[], None]] = {"the emulated bicycle and the replay": _bicycle}
ANALYSIS: dict[str, Callable[[], None]] = {"the fits": _fits, "the design": _closed_loop}
