"""Limits of the guard in our node that follow from those of the rig: a little wider, for the loop goes first."""

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.devices.link import ROLE_DRIVE
from riderless.firmware_interface.node.guard_limits import GuardLimits
from riderless.hil.rig.rig import Rig

NO_GUARD = "this drive has no guard of its own against wrong commands: only the computer, and the stop button"
_STEER_MARGIN = 0.035  # rad, 2 deg
_LEAN_MARGIN = 0.087  # rad, 5 deg: as much may the node's lean be wrong
_CHANGE_MARGIN = 1.2  # a tick may come late, and then allows more


def has_guard(rig: Rig) -> bool:
    """Tell whether the drive is behind our node, which guards itself."""
    return any(port.device == "node" for port in rig.ports if port.role & ROLE_DRIVE)


def end_of_old_commands(rig: Rig) -> str:
    """Say what apart from the drive's own watchdog ends torque by old commands on this rig."""
    drive = next(port.device for port in rig.ports if port.role & ROLE_DRIVE)
    if rig.heartbeat:
        board = "our node, which is armed with the drive," if rig.heartbeat == "node" else "another board"
        return f"a relay in the enable line of the {drive}, closed while {board} makes a heartbeat"
    if drive == "node":
        return "our node, which knows each session and sample"
    return f"nothing: the {drive} obeys an old command until its own watchdog ends it, and has no heartbeat relay"


def guard_of_rig(rig: Rig, calibration: Calibration) -> GuardLimits:
    """Limits for the node of a rig, with the calibration agreed on with its devices."""
    limits = rig.limits
    return GuardLimits(
        steer=limits.steer.value + _STEER_MARGIN,
        lean=limits.lean.value + _LEAN_MARGIN,
        torque_step=_CHANGE_MARGIN * limits.torque_rate.value * rig.dt,
        rate_hz=round(rig.rate),
        calibration=calibration,
    )
