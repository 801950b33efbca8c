"""Machines of the fault cases.

Bicycles, each with a controller, and the speeds at which they ride.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from riderless.hil.controllers.timing import LoopTiming
from riderless.hil.design.methods import design
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.design.steered.methods import STEER_METHODS
from riderless.hil.loop.pace.settings import SpeedDrive
from riderless.hil.loop.place.settings import PlaceSettings
from riderless.hil.rig.rig import Rig, RigPort
from riderless.models import catalogue
from riderless.models.linear.prescribed_steer import InnerLoop

STEER_DRIVES = {
    "rate": InnerLoop(kind="rate", bandwidth=100.0, damping=1.0),
    "angle": InnerLoop(kind="angle", bandwidth=40.0, damping=1.0),  # a quicker one swings with its own lag of 5 ms
}
STEER_OPTIONS = {"angle cascade": {"command": 0.02}}  # rad, large: stable though the drive is 10 ms late
PLACE_SENSORS = {  # behind a second port, and how the rig takes it: on a belt, or with a datum on the road
    "distance": (RigPort(device="distance", baud=115200, carries=("place",)), PlaceSettings(belt_width=2.0)),
    "camera": (
        RigPort(device="camera", carries=("place",), settings={"x0_mm": 500.0, "y0_mm": 200.0, "lane_deg": 3.0}),
        PlaceSettings(belt_width=2.0, z=-0.8),
    ),
    "ubx": (
        RigPort(
            device="ubx", baud=115200, carries=("place",), settings={"lat_deg": 52.0, "lon_deg": 4.36, "lane_deg": 30.0}
        ),
        PlaceSettings(gate=0.3, lost_after=0.6, bandwidth=1.5, z=-1.0),
    ),
}
SPEED_DRIVES: dict[str, dict[str, float]] = {  # behind a third port, beside a distance sensor: their settings
    "treadmill": {},
    "vesc_wheel": {"pole_pairs": 7.0, "gear_ratio": 4.0, "wheel_radius_m": 0.3},
    "odrive_wheel": {"gear_ratio": 4.0, "wheel_radius_m": 0.3},
}
CASE_GAIN_SPEEDS = tuple(3.0 + 0.5 * i for i in range(10))  # m/s, of the gains


@dataclass(frozen=True)
class RideSpace:
    """Bicycles with their controllers, and speeds [m/s], from which rides are drawn."""

    machines: tuple[tuple[str, str], ...]  # bicycle and method
    speeds: tuple[float, float]


USUAL_SPACE = RideSpace(  # of sudden faults; the limits of the slow ones were tuned on these bicycles
    (
        ("Benchmark", "lqr"),
        ("Benchmark", "poles"),
        ("Silver", "lqr"),
        ("Silver", "poles"),
        ("Silver", "lean"),
        ("Browser", "lqr"),
        ("Crescendo", "lqr"),
    ),
    (4.0, 6.0),
)
PLACED_SPACE = RideSpace(
    tuple((bicycle, f"{sensor} lane") for bicycle in ("Silver", "Benchmark", "Fisher") for sensor in PLACE_SENSORS),
    (3.5, 6.0),
)
PACED_SPACE = RideSpace(
    tuple((bicycle, f"{drive} lane") for bicycle in ("Silver", "Benchmark", "Fisher") for drive in SPEED_DRIVES),
    (3.5, 6.0),
)
VARIED_METHODS, VARIED_SPEEDS = ("lqr", "poles"), (3.5, 7.0)
VARIED_BICYCLES = ("Rigid", "DelftSbW2024", "Balanceassistv1", "Browserins", "Stratos_computed", "Fisher", "Pista")


@cache
def varied_space(bicycles: tuple[str, ...] = VARIED_BICYCLES) -> RideSpace:
    """Combine bicycles with two methods; raises InputError for one that the catalogue does not have."""
    for name in bicycles:
        catalogue.load_bicycle(name)
    return RideSpace(tuple((name, method) for name in bicycles for method in VARIED_METHODS), VARIED_SPEEDS)


def steered_space(space: RideSpace, kind: str) -> RideSpace:
    """Give the bicycles of a space drives that obey a steer rate or angle, and the two methods for those."""
    bicycles = dict.fromkeys(bicycle for bicycle, _ in space.machines)
    methods = [f"{kind} {method}" for method in STEER_METHODS[kind]]
    return RideSpace(tuple((bicycle, method) for bicycle in bicycles for method in methods), space.speeds)


@cache
def rig_and_gains(bicycle: str, method: str) -> tuple[Rig, GainSchedule]:
    """Make the emulated rig of a bicycle and design its gains.

    The method may begin with the kind of its drive, with its sensor of place, or with what keeps its speed.
    """
    kind, _, law = method.rpartition(" ")
    rig = Rig(catalogue.load_bicycle(bicycle), drive=STEER_DRIVES.get(kind))
    if kind in PLACE_SENSORS or kind in SPEED_DRIVES:
        port, place = PLACE_SENSORS.get(kind, PLACE_SENSORS["distance"])
        rig = replace(rig, ports=(*rig.ports, port), place=place)
        if kind in SPEED_DRIVES:
            keeper = RigPort(device=kind, baud=115200, carries=("speed",), settings=SPEED_DRIVES[kind])
            rig = replace(rig, ports=(*rig.ports, keeper), speed_drive=SpeedDrive())
        return rig, design(rig.bicycle, law, CASE_GAIN_SPEEDS, rig.timing)
    if rig.drive is not None:
        options: dict[str, Any] = STEER_OPTIONS.get(method, {})
        return rig, design(rig.bicycle, law, CASE_GAIN_SPEEDS, rig.timing, drive=rig.drive, **options)
    return rig, design(rig.bicycle, method, CASE_GAIN_SPEEDS, LoopTiming(rate=rig.rate, drive_lag=rig.drive_lag))
