"""Controller on board of the node, and what the computer knows of it.

The node asks its controller at each sampling instant, with its own readings; what that wishes holds from the next
instant on, within the bound that the computer commands. The computer hears the same samples, so it knows the wish: it
watches and records as ever, and its command is how much torque there may be. `riderless.hil.rig.controller_in_c` writes
such a controller in C; here it is made of the tick's own functions.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from riderless.firmware_interface.calibration import CALIBRATION, DEVICE_CLOCK, calibrate
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import (
    COMMAND_ENABLE,
    COMMAND_KIND_BOUND,
    COMMAND_STAGE_SHIFT,
    SAMPLE,
    STAGE_HELD,
    STAGE_OFF,
    STAGE_STEERED,
)
from riderless.hil.loop.law import LOOP_LAW, LOOP_REFERENCE, LOOP_SIGNALS, WISH, tell_signals, wished_torque
from riderless.hil.loop.observer import ESTIMATE, OBSERVER, follow_drive, observe
from riderless.hil.loop.states import State

_MOST_mNm = np.int64(32767)
_DISARMED, _RUNNING, _RAMPDOWN, _FAULT = map(int, (State.DISARMED, State.RUNNING, State.RAMPDOWN, State.FAULT))
WISHED = np.dtype([("T", "f8")])  # N m, at the latest instant


class BoardController(NamedTuple):
    """Controller that a node asks; records of their types."""

    calibration: np.void
    observer: np.void
    law: np.void
    settings: np.ndarray
    law_state: np.ndarray
    clock: np.void
    sample: np.void
    estimate: np.void
    signals: np.void
    reference: np.void  # stays zero
    wish: np.void
    wished: np.void


def board_controller(loop: Any) -> BoardController:
    """Take calibration, observer and law of a `riderless.hil.loop.tick.LoopState` on board, of nobody else's."""
    known = {name: getattr(loop, name) for name in BoardController._fields if name != "wished"}
    return BoardController(wished=np.zeros(1, WISHED)[0], **known)


def no_board_controller() -> BoardController:
    """Make what stands for one where there is none."""
    kinds = {
        "calibration": CALIBRATION,
        "observer": OBSERVER,
        "law": LOOP_LAW,
        "clock": DEVICE_CLOCK,
        "sample": SAMPLE,
        "estimate": ESTIMATE,
        "signals": LOOP_SIGNALS,
        "reference": LOOP_REFERENCE,
        "wish": WISH,
        "wished": WISHED,
    }
    records: dict[str, Any] = {name: np.zeros(1, kind)[0] for name, kind in kinds.items()}
    return BoardController(settings=np.zeros(0), law_state=np.zeros(0), **records)


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
    estimate, sample, wished = controller.estimate, controller.sample, controller.wished
    stage = fw.newest.flags >> COMMAND_STAGE_SHIFT
    steered = stage == STAGE_STEERED
    follow_drive(controller.observer, estimate, fw.T)
    calibrate(fw.raw, controller.calibration, controller.clock, sample)
    fresh = sample.valid == 1
    if fresh:
        observe(controller.observer, estimate, sample, not steered)
    if stage == STAGE_OFF:
        controller.law_state[:] = 0.0
    tell_signals(controller.signals, estimate, sample, wished.T, fresh, steered)
    wished.T = wished_torque(
        controller.law,
        controller.settings,
        controller.law_state,
        controller.signals,
        controller.reference,
        controller.wish,
    )
    fw.wish = _rounded_mNm(controller.calibration.torque_sign * wished.T)


@njit(cache=True, nogil=True)
def bound_torque(supervisor, limits, T_req, T_before):
    """Leave the torque to the node: command how much there may be, and know what the node makes of its wish.

    Under control that is up to the limit, in the ramp of a stop no more than the ramp. Runs inside the tick.

    Parameters
    ----------
    supervisor : record of SUPERVISOR, which has decided; ``bound`` is filled, and ``T_cmd`` is the node's.
    limits : record of LIMITS
    T_req, T_before : float
        Wish of this tick, and command of the one before [N m].
    """
    bound = limits.command if supervisor.state == _RUNNING else abs(supervisor.T_cmd)
    bound_mNm = _rounded_mNm(bound)
    T_mNm = min(max(_rounded_mNm(T_req), -bound_mNm), bound_mNm)
    if supervisor.flags & COMMAND_ENABLE:
        before, step = _rounded_mNm(T_before), _rounded_mNm(limits.node_step)
        T_mNm = min(max(T_mNm, before - step), before + step)
    supervisor.bound = 1e-3 * bound_mNm
    supervisor.T_cmd = 1e-3 * T_mNm


@njit(cache=True, nogil=True)
def command_bound(command, supervisor):
    """Fill a COMMAND record with the bound, and with the stage for the node's controller. Runs inside the tick."""
    state, stage = supervisor.state, STAGE_HELD
    if state in (_RUNNING, _RAMPDOWN):
        stage = STAGE_STEERED
    elif state in (_DISARMED, _FAULT):
        stage = STAGE_OFF
    command.kind = COMMAND_KIND_BOUND
    command.T_cmd = supervisor.bound
    command.flags = supervisor.flags | stage << COMMAND_STAGE_SHIFT


@njit(cache=True, nogil=True)
def _rounded_mNm(T):
    """Whole mN m of a torque [N m], as C rounds it; none of one that is no number. Runs inside the tick."""
    if math.isnan(T):
        return np.int64(0)
    return np.int64(min(max(1e3 * T, -_MOST_mNm), _MOST_mNm) + math.copysign(0.5, T))
