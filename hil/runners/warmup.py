"""Everything compiled or loaded before anything is armed.

Where the cache is cold, a second process compiles the tick's parts from its end while this one
compiles them from its beginning; whoever comes to a part second finds it in the cache.
"""

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np

from firmware_interface.calibration import CALIBRATION, DEVICE_CLOCK, calibrate
from firmware_interface.devices import own_node
from firmware_interface.devices.link import new_link
from firmware_interface.messages import COMMAND, RAW, SAMPLE
from hil.design.schedule import GainSchedule
from hil.logs.log import warm_up_log
from hil.loop.limits import LIMITS
from hil.loop.observer import ESTIMATE, OBSERVER, follow_drive, observe
from hil.loop.plausibility import judge, new_monitor
from hil.loop.supervisor import NEWS, SUPERVISOR, supervise
from hil.loop.tick import LoopState
from hil.loop.wire_tape import lay_down, new_wire
from hil.rig.rig import Rig
from hil.runners import realtime
from hil.runners.assembly import new_loop

_FROM_THE_END = "from hil.runners.warmup import compile_from_the_end; compile_from_the_end()"


def warm_up(rig: Rig, schedule: GainSchedule) -> None:
    """Compile and load everything a run needs; on return the loop may be armed."""
    compile_loop(new_loop(rig, schedule, rig.calibrated().as_record()))
    warm_up_log()


def compile_loop(loop: LoopState) -> None:
    """Compile the loop, on two processors if there is no trace of it in the cache."""
    cache = os.environ.get("NUMBA_CACHE_DIR")
    done = Path(cache or ".") / f"loop-{numba.__version__}-{sys.version_info.minor}"
    if done.exists() or not cache or (os.cpu_count() or 1) < 2:
        realtime.warm_up(loop)
        return
    other = subprocess.Popen([sys.executable, "-c", _FROM_THE_END], stdin=subprocess.DEVNULL)
    try:
        realtime.warm_up(loop)
    finally:
        other.kill()  # what it has not finished is not needed any more
        other.wait()
    done.touch()


def compile_from_the_end() -> None:
    """The parts that a tick calls, last ones first, on empty records."""
    estimate, sample, command = _empty(ESTIMATE), _empty(SAMPLE), _empty(COMMAND)
    wire = new_wire()
    lay_down(wire, np.zeros(8, np.uint8), 0)
    supervise(_empty(SUPERVISOR), _empty(LIMITS), _empty(NEWS), sample, estimate)
    observe(_empty(OBSERVER), estimate, sample, False)
    own_node.speak(new_link(), command, 1, wire.tx[0])
    follow_drive(_empty(OBSERVER), estimate, 0.0)
    judge(_empty(LIMITS), _empty(OBSERVER), new_monitor(), _empty(RAW), sample, estimate, 0, 0, False, 0.0)
    calibrate(_empty(RAW), _empty(CALIBRATION), _empty(DEVICE_CLOCK), sample)


def _empty(dtype: np.dtype) -> np.void:
    return np.zeros(1, dtype)[0]
