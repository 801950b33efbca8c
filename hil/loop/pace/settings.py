"""Settings of speed control, and requested speeds."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from riderless.models.array_types import Array
from riderless.models.errors import InputError

SPEED_DRIVE = np.dtype(
    [
        ("on", "i8"),  # the machine keeps its speed
        ("kp", "f8"),  # 1
        ("ki", "f8"),  # 1/s
        ("trim", "f8"),  # m/s
        ("ramp", "f8"),  # m/s^2
        ("stop", "f8"),  # m/s^2
        ("lag", "f8"),  # s
        ("follow_error", "f8"),  # m/s
        ("follow_time", "f8"),  # s
        ("lost_after", "f8"),  # s
        ("fastest", "f8"),  # m/s
        ("hold", "u8"),  # address of what is compiled only for such a machine: see `riderless.hil.loop.pace.entry`
    ]
)
_RANGES = {  # least, most, unit
    "kp": (0.0, 2.0, ""),
    "ki": (0.0, 5.0, "1/s"),
    "trim": (0.0, 2.0, "m/s"),
    "ramp": (0.05, 3.0, "m/s^2"),
    "stop": (0.2, 5.0, "m/s^2"),
    "lag": (0.0, 3.0, "s"),
    "follow_error": (0.1, 2.0, "m/s"),
    "follow_time": (0.1, 5.0, "s"),
    "lost_after": (0.2, 5.0, "s"),
}
MOST_CORNERS = 1000


@dataclass(frozen=True, kw_only=True)
class SpeedDrive:
    """Loop that keeps the speed: a PI around a belt that obeys a speed.

    Parameters
    ----------
    kp, ki : float
        Of the error of the wheel's speed: 1 and 1/s.
    trim : float
        Most that the PI adds to what is asked or takes from it [m/s].
    ramp, stop : float
        Change of the asked speed under way, and where it comes to rest [m/s^2].
    lag : float
        With which the belt follows [s]: what it is expected to do.
    follow_error, follow_time : float
        Error of the wheel's speed [m/s] and its time [s] after which the drive has failed; twice that error, a fifth.
    lost_after : float
        Time without a report [s] after which it has failed.

    Raises
    ------
    InputError
        A value without meaning.
    """

    kp: float = 0.3
    ki: float = 0.5
    trim: float = 0.5
    ramp: float = 1.0
    stop: float = 1.0
    lag: float = 0.3
    follow_error: float = 0.4
    follow_time: float = 0.5
    lost_after: float = 0.5

    def __post_init__(self) -> None:
        for name, (least, most, unit) in _RANGES.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise InputError(
                    f"[speed_drive] wants a {name} from {least:g} to {most:g} {unit}, found {value:g}: correct it in "
                    "the rig"
                )

    def as_record(self, fastest: float) -> np.void:
        """Settings for the compiled loop, a record of SPEED_DRIVE; ``fastest`` [m/s] is the limit of the machine."""
        record = no_speed_drive()
        for field in fields(self):
            record[field.name] = getattr(self, field.name)
        record["on"], record["fastest"] = 1, fastest
        return record


def no_speed_drive() -> np.void:
    """Settings of a machine whose speed somebody else keeps."""
    return np.zeros(1, SPEED_DRIVE)[0]


def speed_corners(requested: Sequence[tuple[float, float]]) -> Array:
    """Corners of the asked speed as an array (n, 2): s under control, m/s; constant before and after.

    Raises
    ------
    InputError
        Not numbers, times that do not increase, or too many.
    """
    table = np.array(requested, float).reshape(-1, 2)
    right = np.isfinite(table).all() and not np.any(np.diff(table[:, 0]) <= 0.0) and not np.any(table[:, 1] < 0.0)
    if not right or len(table) > MOST_CORNERS:
        raise InputError(
            f"asked speeds want up to {MOST_CORNERS} pairs of s and m/s whose times increase, found {len(table)} "
            "pairs: correct them"
        )
    return np.ascontiguousarray(table)
