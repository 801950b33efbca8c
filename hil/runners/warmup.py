"""Compilation and loading of everything a run needs, before anything is armed.

Where the cache is cold, a second process compiles the loop's parts from its end while this one
compiles drivers and parts from the beginning; whoever comes to a part second finds it in the cache.
"""

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
from firmware_interface.child_processes import start_python
from firmware_interface.devices import own_node
from firmware_interface.devices.link import LINK_STATE
from firmware_interface.kernel_folder import kernel_folder
from firmware_interface.messages import COMMAND, RAW, SAMPLE
from hil.controllers.controller import Controller
from hil.controllers.gains import gains_law
from hil.garbage import collecting_seldom
from hil.logs.log import warm_up_log
from hil.loop.clock_offset import TIMEBASE
from hil.loop.drives.following import follow_command
from hil.loop.excitation import is_held_back, is_released
from hil.loop.law import (
    LOOP_LAW,
    LOOP_REFERENCE,
    LOOP_SIGNALS,
    WISH,
    follow_reference,
    tell_signals,
    wished_torque,
)
from hil.loop.limits import LIMITS
from hil.loop.observer import ESTIMATE, OBSERVER, follow_drive, observe
from hil.loop.pace.settings import SPEED_DRIVE
from hil.loop.pace.speed_hold import PACING
from hil.loop.place.route import ON_ROUTE, ROUTE_COLUMNS
from hil.loop.place.settings import PLACE_SETTINGS
from hil.loop.place.tracker import PLACE
from hil.loop.plausibility import MONITOR, judge_plausibility
from hil.loop.resting import RESTING, judge_rest
from hil.loop.supervisor import NEWS, SUPERVISOR, supervise
from hil.loop.tick import LOOP_COUNTERS, LOOP_PULSE, ORDERS, LoopState, farewell
from hil.loop.wire_tape import new_wire, tape_length, write_tape
from hil.rig.rig import Rig
from hil.runners import libc, realtime
from hil.runners.assembly import new_loop

_RECORDS = {
    "calibration": CALIBRATION,
    "observer": OBSERVER,
    "limits": LIMITS,
    "tracking": PLACE_SETTINGS,
    "pace": SPEED_DRIVE,
    "law": LOOP_LAW,
    "clock": DEVICE_CLOCK,
    "timebase": TIMEBASE,
    "raw": RAW,
    "sample": SAMPLE,
    "estimate": ESTIMATE,
    "place": PLACE,
    "on_route": ON_ROUTE,
    "pacing": PACING,
    "signals": LOOP_SIGNALS,
    "reference": LOOP_REFERENCE,
    "wish": WISH,
    "monitor": MONITOR,
    "resting": RESTING,
    "news": NEWS,
    "supervisor": SUPERVISOR,
    "command": COMMAND,
    "counters": LOOP_COUNTERS,
    "pulse": LOOP_PULSE,
    "orders": ORDERS,
}
_ARRAYS = {
    "asked_speeds": (0, 2),
    "settings": 0,
    "route": (0, len(ROUTE_COLUMNS)),
    "references": (0, 3),
    "excitation": 0,
    "freedom": 0,
    "law_state": 0,
}
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
    with compiling_meanwhile("loop", _FROM_THE_END) if helped else nullcontext(), collecting_seldom():
        realtime.warm_up_loop(new_loop(rig, schedule, rig.calibrated().as_record()))
        warm_up_log()


@contextmanager
def compiling_meanwhile(what: str, code: str) -> Iterator[None]:
    """Let a second process run ``code`` to compile, where ``what`` was not compiled before and a processor is free."""
    done = Path(kernel_folder()) / f"{what}-{numba.__version__}-{sys.version_info.minor}"
    if done.exists() or (os.cpu_count() or 1) < 2:
        yield
        return
    other = start_python("-c", code, stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        other.kill()  # what it has not finished is not needed any more
        other.wait()
    if done.parent.exists():
        done.touch()


def compile_from_the_end() -> None:
    """Compile the parts of the loop, last ones first; empty records tell their types."""
    estimate, sample, observer, limits = _empty(ESTIMATE), _empty(SAMPLE), _empty(OBSERVER), _empty(LIMITS)
    raw, pulse, wire, ports = _empty(RAW), _empty(LOOP_PULSE), new_wire(), libc.poll_set([0])
    signals, reference, wish, news = _empty(LOOP_SIGNALS), _empty(LOOP_REFERENCE), _empty(WISH), _empty(NEWS)
    numbers, scratch, flow = np.zeros(1), np.zeros(1, libc.TIMESPEC), np.zeros(1, np.int64)
    links, count = np.zeros(1, LINK_STATE), np.zeros(1, np.int32)
    with collecting_seldom():  # in the compiler it takes a tenth of the time and finds little
        _compile(own_node.speak, links[0], _empty(COMMAND), 1, wire.tx[0])  # most machines have our node
        gains_law(np.zeros(1), np.zeros((1, 6)))
        _compile(farewell, empty_loop(), wire)
        _compile(supervise, _empty(SUPERVISOR), limits, news, sample, estimate)
        _compile(judge_plausibility, limits, observer, _empty(MONITOR), raw, sample, estimate, 0, 0, False, 0.0)
        _compile(realtime.await_sample, ports, wire, links, 0, 0, scratch, flow, count)
        _compile(write_tape, wire, np.zeros(8, np.uint8), 0)
        _compile(tape_length, wire)
        _compile(follow_drive, observer, estimate, 0.0)
        _compile(follow_command, observer, estimate, 0.0, 0, False)
        _compile(wished_torque, _empty(LOOP_LAW), numbers, numbers, signals, reference, wish)
        _compile(follow_reference, reference, np.zeros((1, 3)), 0, False)
        _compile(tell_signals, signals, estimate, sample, 0.0, news["fresh"], False)
        _compile(is_held_back, pulse, numbers, 0, _empty(PLACE_SETTINGS), _empty(PLACE))
        _compile(is_released, pulse, numbers, 0, limits, estimate)
        _compile(judge_rest, limits, 0.0, _empty(RESTING), sample, news["fresh"], False, 0.0)
        _compile(observe, observer, estimate, sample, False)
        _compile(calibrate, raw, _empty(CALIBRATION), _empty(DEVICE_CLOCK), sample)


def empty_loop() -> LoopState:
    """Loop of no machine, for its types alone."""
    records = {name: _empty(dtype) for name, dtype in _RECORDS.items()}
    arrays = {name: np.zeros(shape) for name, shape in _ARRAYS.items()}
    return LoopState(links=np.zeros(1, LINK_STATE), **records, **arrays)  # type: ignore[arg-type]


def _compile(function: Any, *examples: Any) -> None:
    """Compile a function for arguments such as these, as compiled code calls it."""
    function.compile_bare(tuple(numba.typeof(example) for example in examples))


def _empty(dtype: np.dtype) -> np.void:
    return np.zeros(1, dtype)[0]
