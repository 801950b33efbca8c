"""Controller on board of the node, as the compiled tick has it: what `riderless.hil.rig.controller_in_c` writes in C.

The node asks it at each sampling instant, with its own readings; what it wishes holds from the next instant on, within
the bound that the computer commands.
"""

import math
from typing import NamedTuple

import numpy as np

from riderless.firmware_interface.calibration import calibrate
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import (
    COMMAND_KIND_BOUND,
    COMMAND_STAGE_SHIFT,
    STAGE_OFF,
    STAGE_STEERED,
)
from riderless.hil.loop.law import tell_signals, wished_torque
from riderless.hil.loop.observer import follow_drive, observe
from riderless.hil.loop.tick import LoopState

_MOST_mNm = np.int64(32767)
WISHED = np.dtype([("on", "i8"), ("before", "f8")])  # 1: the node has such a controller; N m, its wish at this instant


class BoardController(NamedTuple):
    """Controller that a node asks: a loop's calibration, observer and law, apart from the computer's."""

    loop: LoopState
    wished: np.void  # a record of WISHED


def new_board_controller(loop: LoopState, on: bool = True) -> BoardController:
    """Make one that has heard nothing; ``loop`` is its own."""
    wished = np.zeros(1, WISHED)[0]
    wished["on"] = on
    return BoardController(loop, wished)


@njit(cache=True, nogil=True)
def rounded_mNm(T):
    """Whole mN m of a torque [N m], as C rounds it; none of one that is no number."""
    if not math.isfinite(T):
        return _MOST_mNm * np.int64(np.sign(T)) if math.isinf(T) else np.int64(0)
    return np.int64(min(max(1e3 * T, -_MOST_mNm), _MOST_mNm) + math.copysign(0.5, T))


@njit(cache=True, nogil=True)
def ask_board_controller(controller, fw):
    """Tell it the torque that holds from this instant on, and let it wish for the next.

    Parameters
    ----------
    controller : BoardController
    fw : record of FIRMWARE, which has measured; its ``wish`` is filled.
    """
    if fw.session == 0 or fw.kind != COMMAND_KIND_BOUND:
        return
    loop, wished = controller.loop, controller.wished
    estimate, sample, stage = loop.estimate, loop.sample, fw.newest.flags >> COMMAND_STAGE_SHIFT
    steered = stage == STAGE_STEERED
    follow_drive(loop.observer, estimate, fw.T)
    calibrate(fw.raw, loop.calibration, loop.clock, sample)
    fresh = sample.valid == 1
    if fresh:
        observe(loop.observer, estimate, sample, not steered)
    if stage == STAGE_OFF:
        loop.law_state[:] = 0.0
    tell_signals(loop.signals, estimate, sample, wished.before, fresh, steered)
    wished.before = wished_torque(loop.law, loop.settings, loop.law_state, loop.signals, loop.reference, loop.wish)
    fw.wish = rounded_mNm(loop.calibration.torque_sign * wished.before)
