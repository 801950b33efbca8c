"""Faults of what keeps the speed.

Each is promised to be found in time, or to be harmless. The machine keeps a lane over a belt with edges, on a treadmill
or with a VESC or an ODrive at its rear wheel. A promise must hold for each of the three, so a time is that of the
slowest. Whatever the fault, no wheel leaves the belt under torque.
"""

from dataclasses import replace

from riderless.experiments.fault_injection.threats.fault_spec import SpeedKind, Threat
from riderless.hil.loop.states import Cause

PACE_CAUSES = frozenset({Cause.SPEED_DRIVE})
UNHEARD_WITHIN = 0.7  # s: 0.5 s without a report, and one that was under way
OBEYS_NOBODY_WITHIN = 1.5  # s: its own time-out of 0.5 s, then a wheel off what is expected for 0.5 s
ASTRAY_WITHIN = 1.0  # s
SAID_WITHIN = 0.2  # s: the next report
_WHEEL = "the wheel is off the speed that it should have"

SPEED_THREATS = (
    Threat("speed drive silent", SpeedKind.SILENT, "no report", PACE_CAUSES, UNHEARD_WITHIN),
    Threat("speed drive silent for a moment", SpeedKind.SILENT, "it goes on", lasting=(0.02, 0.25)),
    Threat("speed drive hears nothing", SpeedKind.DEAF, "its own time-out", PACE_CAUSES, OBEYS_NOBODY_WITHIN),
    Threat(
        "speed drive says the same",
        SpeedKind.FROZEN,
        "a treadmill's reports have numbers; the wheel's own sensor shows the others",
        PACE_CAUSES,
        rides=True,
    ),
    Threat("speed drive stands still", SpeedKind.STANDS, _WHEEL, PACE_CAUSES, ASTRAY_WITHIN),
    Threat(
        "speed drive slow by a fifth",
        SpeedKind.SLOW,
        "made up for, where the trim is enough; else the wheel is off",
        PACE_CAUSES,
        rides=True,
    ),
    Threat("speed drive runs away", SpeedKind.RUNS_AWAY, _WHEEL, PACE_CAUSES, ASTRAY_WITHIN),
    Threat("speed drive reports a fault", SpeedKind.FAULT, "it says so", PACE_CAUSES, SAID_WITHIN),
    Threat("speed drive is stopped by hand", SpeedKind.STOP_BUTTON, "it says so", PACE_CAUSES, SAID_WITHIN),
    replace(Threat("nothing wrong with the speed", SpeedKind.SILENT, "it is there"), lasting=(0.0, 0.0)),
)
