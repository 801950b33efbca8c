"""Faults of a rate or angle drive.

They take the place of the faults of a torque and of its reading.
"""

from collections.abc import Sequence
from dataclasses import replace

from riderless.experiments.fault_injection.threats.fault_spec import Threat
from riderless.experiments.fault_injection.threats.machine_faults import DISOBEY_CAUSES
from riderless.firmware_interface.twins.faults import FaultKind as Kind

FOUND_IN = 1.6  # s: a person may hold the bars for 0.6 s, the error is smoothed over 0.2 s, a hard push hides the rest
_OF_TORQUE = (Kind.DRIVE_GAIN, Kind.DRIVE_LIES, Kind.DRIVE_CLAMP)
_SHORT = "the steer gives it away once it is short of its commands by 0.12 rad; a smaller error is borne"
_SIZES = {  # rad/s of a rate, rad of an angle: limit of its own; zero lost by so much that it must be found; by less
    "rate": ((0.05, 1.0), (0.9, 2.5), (0.02, 0.5)),
    "angle": ((0.02, 0.3), (0.16, 0.4), (0.005, 0.1)),
}


def steer_threats(kind: str) -> tuple[Threat, ...]:
    """List the threats of a drive of kind "rate" or "angle"."""
    clamp, lost, little = _SIZES[kind]
    either = Threat("steer does not follow", Kind.DRIVE_GAIN, _SHORT, DISOBEY_CAUSES, rides=True)
    return (
        either,
        replace(either, name="steer turns the other way", sizes=(-1.0, -1.0)),
        replace(either, name="steer follows by too little or too much", sizes=(0.2, 2.0)),
        Threat("steer follows by a little less or more", Kind.DRIVE_GAIN, "feedback bears it", sizes=(0.9, 1.1)),
        replace(either, name="drive hits a limit of its own", what=Kind.DRIVE_CLAMP, sizes=clamp),
        Threat(
            "drive has lost its zero",
            Kind.DRIVE_ZERO,
            "the steer strays from its commands by more than 0.12 rad",
            DISOBEY_CAUSES,
            FOUND_IN,
            sizes=lost,
            signed=True,
        ),
        replace(either, name="drive is a little off its zero", what=Kind.DRIVE_ZERO, sizes=little, signed=True),
        replace(
            either,
            name="torque reading off",
            what=Kind.BIAS,
            why="it tells no more than that the drive is at its greatest torque, or beyond",
            sizes=(0.02, 10.0),
            signed=True,
            channels=("T",),
        ),
    )


def without_torque(threats: Sequence[Threat]) -> tuple[Threat, ...]:
    """Leave out the threats of a torque that is commanded, and of its reading alone.

    An encoder that lies may be found as a drive that disobeys: its reading is what the commands are held against.
    """
    kept = (replace(t, gross=None) for t in threats if t.what not in _OF_TORQUE and t.channels != ("T",))
    return tuple(replace(t, causes=t.causes | DISOBEY_CAUSES) if "delta" in t.channels else t for t in kept)
