"""Faults that come slowly, in every channel, and what is promised for each.

None of them makes a step that a monitor of single samples could see. All are promised what holds whatever the fault:
a bicycle that truly leans beyond its limit gets no torque for long, because the fault was found or because it is too
small to bring a bicycle there (`docs/plausibility.md` says from which size on which fault is found).
"""

from experiments.studies.fault_injection.threats.fault_spec import Shape, Threat
from experiments.studies.fault_injection.threats.machine_faults import DISOBEY_CAUSES
from experiments.studies.fault_injection.threats.sensor_faults import SPEED_CAUSES, TORQUE_CAUSES, WRONG_READING_CAUSES
from firmware_interface.twins.faults import FaultKind as Kind
from hil.loop.states import Cause

GROWING = (1.0, 20.0)  # s
SKIPPING = (0.1, 2.0)  # s from one skip to the next
MANY_STEPS = (60, 60)

_ESTIMATE = "the estimate follows it: found by what contradicts it, or too small to lean the bicycle far"
_UNUSED = "nothing rests on it"
_SPEED = "a wrong speed means gains for another speed"


def _drift(channel: str, name: str, sizes: tuple[float, float], causes: frozenset[Cause], why: str) -> Threat:
    """Drift of a reading, to either side."""
    return Threat(
        f"{name} drifts",
        Kind.DRIFT,
        why,
        causes,
        rides=True,
        sizes=sizes,
        signed=True,
        channels=(channel,),
        lasting=GROWING,
        shape=Shape.GROWS,
    )


SLOW_THREATS = (
    _drift("phi_dot", "roll gyro", (0.02, 2.0), WRONG_READING_CAUSES, _ESTIMATE),
    _drift("psi_dot", "yaw gyro", (0.02, 2.0), WRONG_READING_CAUSES, _ESTIMATE),
    _drift("theta_dot", "pitch gyro", (0.02, 2.0), frozenset(), _UNUSED),
    _drift("a_y", "lateral accelerometer", (0.2, 6.0), WRONG_READING_CAUSES, _ESTIMATE),
    _drift("a_x", "forward accelerometer", (0.2, 6.0), frozenset(), _UNUSED),
    _drift("a_z", "vertical accelerometer", (0.2, 6.0), frozenset(), _UNUSED),
    _drift("delta", "steer encoder", (0.01, 0.5), WRONG_READING_CAUSES, _ESTIMATE),
    _drift("wheel_rate", "wheel sensor", (1.0, 40.0), SPEED_CAUSES | WRONG_READING_CAUSES, _SPEED),
    _drift("T", "torque reading", (0.1, 5.0), TORQUE_CAUSES, "found out at 0.8 N m; nothing else rests on it"),
    Threat(
        "steer encoder skips",
        Kind.SLIP,
        _ESTIMATE,
        WRONG_READING_CAUSES,
        rides=True,
        sizes=(0.005, 0.06),
        signed=True,
        channels=("delta",),
        lasting=SKIPPING,
        shape=Shape.SKIPS,
        steps=(2, 14),
    ),
    Threat(
        "drive fades",
        Kind.DRIVE_GAIN,
        "its own report shows it once the torque is large; else the bicycle balances with less",
        DISOBEY_CAUSES,
        rides=True,
        sizes=(0.0, 0.8),
        lasting=GROWING,
        shape=Shape.STAIRS,
        steps=MANY_STEPS,
        right=1.0,
    ),
    Threat(
        "clamp loosens",
        Kind.DRIVE_LIES,
        "its report is what was asked for: only the bicycle can show it, by leaning too far",
        DISOBEY_CAUSES,
        rides=True,
        sizes=(0.0, 0.8),
        lasting=GROWING,
        shape=Shape.STAIRS,
        steps=MANY_STEPS,
        right=1.0,
    ),
    Threat(
        "supply sags",
        Kind.BUS,
        "out of its window sooner or later; the drive still works",
        frozenset({Cause.BUS_VOLTAGE}),
        rides=True,
        sizes=(15.0, 23.0),
        lasting=GROWING,
        shape=Shape.STAIRS,
        steps=MANY_STEPS,
        right=24.0,
    ),
    Threat(
        "device's clock goes wrong in rate",
        Kind.CLOCK_JUMP,
        "up to a tenth of its rate: elapsed time, and with it lean, is worse by as much",
        frozenset({Cause.CLOCK_STEP, Cause.DEVICE_RESTARTED, Cause.RATE_LOW, Cause.STALE_SAMPLE, Cause.DRIVE_DISOBEYS}),
        rides=True,
        sizes=(0.02, 0.1),
        signed=True,
        lasting=GROWING,
        shape=Shape.STAIRS,
        steps=MANY_STEPS,
    ),
)
