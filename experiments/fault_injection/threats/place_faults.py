"""Faults of the sensor of place.

Each is promised to be found in time, or borne on the belt. The machine is one of three: a distance sensor or a camera
over a belt, or a satellite receiver with RTK on the road. A promise must hold for each, so a time is that of the
slowest: ten fixes a second, lost after 0.6 s. Whatever the fault, no wheel leaves the belt under torque, unless nothing
aboard shows the fault (`Threat.unseen`).
"""

from dataclasses import replace
from functools import partial

from riderless.experiments.fault_injection.threats.fault_spec import PlaceKind, Threat
from riderless.hil.loop.states import Cause

PLACE_CAUSES = frozenset({Cause.PLACE_LOST, Cause.BELT_EDGE, Cause.OFF_BELT})
GONE_WITHIN = 0.8  # s: 0.6 s without a fix, and those that were under way
DOUBTED_WITHIN = 3.0  # s: so many fixes far off that the rest are no better
_GATE = "farther from where it was expected than the gate"
_LITTLE = "followed: the lane moves by as much"
_DRIFTS = "followed: nothing aboard contradicts a place that drifts slowly"

_followed = partial(Threat, causes=PLACE_CAUSES, rides=True)  # borne, or found

PLACE_THREATS = (
    Threat("fixes lost", PlaceKind.SILENT, "no fix for longer than lost_after", PLACE_CAUSES, GONE_WITHIN),
    Threat("fixes lost for a moment", PlaceKind.SILENT, "gyro and speed go on", lasting=(0.02, 0.15)),
    _followed("fixes come later", PlaceKind.LATE, "an error of the heading's change in that time", sizes=(0.01, 0.1)),
    _followed("fixes come much later", PlaceKind.LATE, "a gap first, then fixes of elsewhere", sizes=(0.2, 1.0)),
    Threat("place jumps", PlaceKind.JUMP, _GATE, PLACE_CAUSES, GONE_WITHIN, sizes=(0.5, 3.0), signed=True),
    Threat("place jumps for a moment", PlaceKind.JUMP, _GATE, sizes=(0.5, 3.0), signed=True, lasting=(0.005, 0.05)),
    _followed("place jumps a little", PlaceKind.JUMP, _LITTLE, sizes=(0.02, 0.3), signed=True),
    Threat("place drifts a little", PlaceKind.DRIFT, _DRIFTS, rides=True, sizes=(0.002, 0.02), signed=True),
    _followed(
        "place drifts", PlaceKind.DRIFT, f"{_DRIFTS}, off the belt too", sizes=(0.05, 0.3), signed=True, unseen=True
    ),
    Threat("some fixes far off", PlaceKind.OUTLIERS, _GATE, sizes=(0.01, 0.1)),
    Threat("most fixes far off", PlaceKind.OUTLIERS, _GATE, PLACE_CAUSES, DOUBTED_WITHIN, sizes=(0.8, 1.0)),
    _followed("noisy fixes", PlaceKind.NOISY, "smoothed, or beyond the gate", sizes=(2.0, 50.0)),
    Threat("fixes of nothing but noise", PlaceKind.NOISY, _GATE, PLACE_CAUSES, DOUBTED_WITHIN, sizes=(150.0, 1000.0)),
    _followed("the same place again and again", PlaceKind.FROZEN, "found once it has moved, on a belt sideways"),
    _followed("fixed solution lost", PlaceKind.FLOAT, "no fix, or a noisy one"),
    replace(Threat("nothing wrong with the place", PlaceKind.SILENT, "it is there"), lasting=(0.0, 0.0)),
)
