"""The emulated bicycle on a stand, moved by hand, as devices on pseudo-terminals: for checks and calibrations."""

from collections.abc import MutableSequence

from firmware_interface.calibration import Calibration
from firmware_interface.virtual import VirtualProcess, spawn
from hil.emulation import emulated_machine
from hil.rig import Rig
from models.by_hand import Bars, ByHand


def start_by_hand(
    rig: Rig, posture: MutableSequence[float], bars: Bars | None = None, truth: Calibration | None = None
) -> VirtualProcess:
    """Start it and wait until it serves.

    Parameters
    ----------
    posture : shared array of 3 doubles
        What the person does, see `models.by_hand.POSTURE`; of multiprocessing's spawn context.
    bars : Bars
        By default with their stops a tenth beyond the rig's limit.
    truth : Calibration
        How the devices are really mounted and scaled; by default as the rig says.

    Raises
    ------
    DeviceError
        When it cannot start.
    """
    bars = bars or Bars(stop=1.1 * rig.limits.steer.value)
    return spawn(ByHand, emulated_machine(rig, truth), (posture, bars))
