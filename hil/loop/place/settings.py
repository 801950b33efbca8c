"""Settings of place sensor, belt and lost place.

They stand in the rig.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from riderless.models.errors import InputError
from riderless.models.parameters import Bicycle

PLACE_SETTINGS = np.dtype(
    [
        ("on", "i8"),  # the machine has a sensor of place
        ("dt", "f8"),  # s, nominal period of the loop
        ("bandwidth", "f8"),  # rad/s
        ("delay", "f8"),  # s
        ("gate", "f8"),  # m
        ("lost_after", "f8"),  # s
        ("balances", "i8"),  # it goes on without its place
        ("half_belt", "f8"),  # m; infinite where there is no edge
        ("inner_edge", "f8"),  # m, likewise, less the margin
        ("torque_gone", "f8"),  # s, until a torque that is cut at once is gone: a wheel beyond the edge then is off it
        ("x", "f8"),  # m
        ("z", "f8"),  # m
        ("w", "f8"),  # m, wheelbase: the front wheel is on the belt as well
        (
            "track",
            "u8",
        ),  # addresses of what is compiled only for such a machine: see `riderless.hil.loop.place.entries`
        ("tell", "u8"),
    ]
)
_RANGES = {  # least, most, unit
    "margin": (0.0, 1.0, "m"),
    "delay": (0.0, 0.25, "s"),
    "gate": (0.01, 2.0, "m"),
    "lost_after": (0.05, 5.0, "s"),
    "bandwidth": (0.2, 20.0, "rad/s"),
    "x": (-3.0, 3.0, "m"),
    "z": (-3.0, 3.0, "m"),
}


@dataclass(frozen=True, kw_only=True)
class PlaceSettings:
    """Sensor of place, belt and what a lost place means.

    Parameters
    ----------
    lost : {"stop", "balance"}
        What a place that is lost does to a run: ramp down, or balance on without it, wherever that leads.
    belt_width : float or None
        Width of the belt [m], in whose middle y is 0; None: no edge.
    margin : float
        From the edge [m]: an estimate of either wheel beyond it ramps down, and one that will be beyond the edge itself
        before a torque is gone cuts it at once.
    delay : float
        Age of a fix [s] beyond what the sensor tells of itself.
    gate : float
        Fix farther than this from where it was expected [m] is an outlier.
    lost_after : float
        Time without a usable fix [s] after which the place is lost.
    bandwidth : float
        With which fixes correct place, heading and the yaw gyro's bias [rad/s].
    x, z : float
        What the sensor sees of the rear frame: m forward of the rear contact, m below the ground (negative above).

    Raises
    ------
    InputError
        A value without meaning.
    """

    lost: Literal["stop", "balance"] = "stop"
    belt_width: float | None = None
    margin: float = 0.05
    delay: float = 0.0
    gate: float = 0.15
    lost_after: float = 0.3
    bandwidth: float = 2.0
    x: float = 0.0
    z: float = -0.5

    def __post_init__(self) -> None:
        if self.lost not in ("stop", "balance"):
            raise InputError(f'[place] wants lost = "stop" or "balance", found {self.lost!r}: correct it in the rig')
        for name, (least, most, unit) in _RANGES.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise InputError(
                    f"[place] wants a {name} from {least:g} to {most:g} {unit}, found {value:g} {unit}: correct it in "
                    "the rig"
                )
        if self.belt_width is not None and not 2.0 * self.margin < self.belt_width <= 20.0:
            raise InputError(
                f"[place] wants a belt_width above twice its margin of {self.margin:g} m and at most 20 m, found "
                f"{self.belt_width:g} m: measure it, or leave it out where there is no edge"
            )

    @property
    def half_belt(self) -> float:
        """Distance of the edge from the middle [m]; infinite without an edge."""
        return math.inf if self.belt_width is None else 0.5 * self.belt_width

    @property
    def edge(self) -> float:
        """Largest distance of a wheel from the middle [m]; infinite without an edge."""
        return self.half_belt - self.margin

    def as_record(self, bicycle: Bicycle, dt: float, torque_gone: float = 0.0) -> np.void:
        """Settings for the compiled tracker, a record of PLACE_SETTINGS.

        Parameters
        ----------
        bicycle : Bicycle
        dt : float
            Period of the loop [s].
        torque_gone : float
            Time until a torque that is cut at once is gone [s]; of use at an edge only.
        """
        record = no_place()
        for name in ("bandwidth", "delay", "gate", "lost_after", "x", "z", "half_belt"):
            record[name] = getattr(self, name)
        record["on"], record["balances"], record["inner_edge"] = 1, self.lost == "balance", self.edge
        record["dt"], record["w"], record["torque_gone"] = dt, bicycle.w, torque_gone
        return record


def no_place() -> np.void:
    """Settings of a machine without a sensor of place."""
    return np.zeros(1, PLACE_SETTINGS)[0]
