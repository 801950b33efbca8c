"""Compilation and loading of everything a run needs, before anything is armed.

Where the cache is cold, a second process compiles the loop's parts from its end while this one
compiles drivers and parts from the beginning; whoever comes to a part second finds it in the cache.
"""

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numba
import numpy as np

from firmware_interface.calibration import CALIBRATION, DEVICE_CLOCK, calibrate
from firmware_interface.devices import own_node
from firmware_interface.devices.link import LINK_STATE
from firmware_interface.messages import COMMAND, RAW, SAMPLE
from hil.controllers.controller import Controller
from hil.controllers.gains import gains_law
from hil.logs.log import warm_up_log
from hil.loop.excitation import is_released
from hil.loop.limits import LIMITS
from hil.loop.observer import ESTIMATE, OBSERVER, follow_drive, observe
from hil.loop.plausibility import judge_plausibility, new_monitor
from hil.loop.supervisor import NEWS, SUPERVISOR, supervise
from hil.loop.tick import LOOP_PULSE
from hil.loop.wire_tape import new_wire, tape_length, write_tape
from hil.rig.rig import Rig
from hil.runners import libc, realtime
from hil.runners.assembly import new_loop

_FROM_THE_END = "from hil.runners.warmup import compile_from_the_end; compile_from_the_end()"


def warm_up(rig: Rig, schedule: Controller, helped: bool = True) -> None:
    """Compile and load everything a run needs; on return the loop may be armed.

    Parameters
    ----------
    rig : Rig
    schedule : Controller
    helped : bool
        By a second process; False where one is at work already.
    """
    with compiling_meanwhile("loop", _FROM_THE_END) if helped else nullcontext(), collector_off():
        realtime.warm_up_loop(new_loop(rig, schedule, rig.calibrated().as_record()))
        warm_up_log()


@contextmanager
def compiling_meanwhile(what: str, code: str) -> Iterator[None]:
    """Let a second process run ``code`` to compile, where ``what`` was not compiled before and a processor is free."""
    cache = os.environ.get("NUMBA_CACHE_DIR")
    done = Path(cache or ".") / f"{what}-{numba.__version__}-{sys.version_info.minor}"
    if done.exists() or not cache or (os.cpu_count() or 1) < 2:
        yield
        return
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        other.kill()  # what it has not finished is not needed any more
        other.wait()
    if done.parent.exists():
        done.touch()


@contextmanager
def collector_off() -> Iterator[None]:
    """Keep Python's garbage collector out of the compiler, where it takes a tenth of the time and finds little."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def compile_from_the_end() -> None:
    """Compile the parts of the loop, last ones first; empty records tell their types."""
    estimate, sample, observer, limits = _empty(ESTIMATE), _empty(SAMPLE), _empty(OBSERVER), _empty(LIMITS)
    raw, pulse, wire, ports = _empty(RAW), _empty(LOOP_PULSE), new_wire(), libc.poll_set([0])
    numbers, scratch, flow = np.zeros(1), np.zeros(1, libc.TIMESPEC), np.zeros(1, np.int64)
    links, count = np.zeros(1, LINK_STATE), np.zeros(1, np.int32)
    with collector_off():
        _compile(own_node.speak, links[0], _empty(COMMAND), 1, wire.tx[0])  # most machines have our node
        _compile(supervise, _empty(SUPERVISOR), limits, _empty(NEWS), sample, estimate)
        _compile(judge_plausibility, limits, observer, new_monitor(), raw, sample, estimate, 0, 0, False, 0.0)
        _compile(realtime.await_sample, ports, wire, links, 0, 0, scratch, flow, count)
        _compile(write_tape, wire, np.zeros(8, np.uint8), 0)
        _compile(tape_length, wire)
        _compile(follow_drive, observer, estimate, 0.0)
        gains_law(np.zeros(1), np.zeros((1, 6)))
        _compile(is_released, pulse, numbers, 0, limits, estimate)
        _compile(observe, observer, estimate, sample, False)
        _compile(calibrate, raw, _empty(CALIBRATION), _empty(DEVICE_CLOCK), sample)


def _compile(function: Any, *examples: Any) -> None:
    """Compile a function for arguments such as these, as compiled code calls it."""
    function.compile_bare(tuple(numba.typeof(example) for example in examples))


def _empty(dtype: np.dtype) -> np.void:
    return np.zeros(1, dtype)[0]
