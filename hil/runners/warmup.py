"""Compilation of everything a run needs.

All is compiled and loaded before anything is armed.
"""

from riderless.hil.controllers.controller import Controller
from riderless.hil.garbage import collecting_seldom
from riderless.hil.logs.log import warm_up_log
from riderless.hil.rig.rig import Rig
from riderless.hil.runners import realtime
from riderless.hil.runners.assembly import new_loop


def warm_up(rig: Rig, schedule: Controller) -> None:
    """Compile and load everything a run needs; on return the loop may be armed."""
    with collecting_seldom():  # in the compiler it takes a tenth of the time and finds little
        realtime.warm_up_loop(new_loop(rig, schedule, rig.calibrated().as_record()))
        warm_up_log()
