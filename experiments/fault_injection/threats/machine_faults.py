"""Faults of node, drive, supply and person.

Each with what is promised for it.
"""

from functools import partial

from riderless.experiments.fault_injection.threats.fault_spec import Order, Threat
from riderless.experiments.fault_injection.threats.link_faults import LONG_LASTING, SILENT_CAUSES
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.hil.loop.states import Cause

CLOCK_CAUSES = frozenset({Cause.CLOCK_STEP, Cause.DEVICE_RESTARTED})
FALL_CAUSES = frozenset(  # what sensors may show of a bicycle that falls
    {
        Cause.LEAN_LIMIT,
        Cause.NODE_GUARD,
        Cause.STEER_LIMIT,
        Cause.SATURATED,
        Cause.SENSORS_DISAGREE,
        Cause.SENSOR_JUMP,
        Cause.SENSOR_RANGE,
    }
)
DISOBEY_CAUSES = FALL_CAUSES | {Cause.DRIVE_DISOBEYS}
GROSS_TORQUE_ERROR = 1.6  # N m, twice the limit between torque asked for and torque reported

_SHOWN = (
    "its own report gives it away once that is off by 1.6 N m for 0.1 s; a smaller lie is borne, or ends at a limit"
)
_HIDDEN = "its report is what was asked for: only the bicycle can show it, by leaning too far"

# a drive that makes another torque than it should
_drive = partial(Threat, why=_SHOWN, causes=DISOBEY_CAUSES, rides=True, gross=GROSS_TORQUE_ERROR)
_seen = partial(Threat, detected=0.005, lasting=LONG_LASTING)  # what the next sample tells

MACHINE_THREATS = (
    Threat(
        "device slows down",
        Kind.SLOWING,
        "its numbers do not go with its clock any more",
        SILENT_CAUSES | CLOCK_CAUSES,
        0.5,
        sizes=(0.1, 0.5),
        chances=(0.8, 1.0),
    ),
    Threat(
        "device restarts",
        Kind.RESET,
        "its clock and numbers begin again, and it comes back switched off",
        SILENT_CAUSES | CLOCK_CAUSES | {Cause.DRIVE_OFF, Cause.CHECK_ENABLE},
        0.055,
        sizes=(0.01, 1.5),
        sudden=True,
    ),
    Threat(
        "clock jumps",
        Kind.CLOCK_JUMP,
        "two samples in a row cannot be that far apart",
        CLOCK_CAUSES,
        0.01,
        sizes=(0.003, 1000.0),
        signed=True,
        sudden=True,
    ),
    Threat("clock wraps", Kind.CLOCK_WRAP, "after 71.6 minutes, as the protocol says"),
    Threat("numbers wrap", Kind.SEQ_WRAP, "after 65536 samples, as the protocol says"),
    Threat("hello without a scale", Kind.HELLO_NAN, "a calibration that is not a number is refused", refused=True),
    Threat(
        "watchdog dead",
        Kind.WATCHDOG_DEAD,
        "proven before arming; if it dies later, nothing shows it until it is needed",
        frozenset({Cause.CHECK_WATCHDOG}),
        rides=True,
    ),
    _seen(
        "low supply",
        Kind.BUS,
        "outside the window; the drive still works",
        frozenset({Cause.BUS_VOLTAGE}),
        sizes=(0.5, 19.9),
    ),
    _seen(
        "high supply",
        Kind.BUS,
        "outside the window; the drive still works",
        frozenset({Cause.BUS_VOLTAGE}),
        sizes=(30.1, 65.0),
    ),
    _seen("stop button", Kind.STOP_BUTTON, "the node switches off by itself", frozenset({Cause.STOP_BUTTON})),
    Threat("operator stops", Order.STOP, "the ramp a person expects", frozenset({Cause.OPERATOR_STOP}), 0.005),
    Threat(
        "operator switches off",
        Order.OFF,
        "obeyed from every state within one tick",
        frozenset({Cause.OPERATOR_OFF}),
        0.005,
    ),
    _seen("drive trips", Kind.DRIVE_TRIPS, "the node disables it and says so", frozenset({Cause.DEVICE_FAULT})),
    _drive("drive makes no torque", Kind.DRIVE_GAIN),
    _drive("drive reverses", Kind.DRIVE_GAIN, sizes=(-1.0, -1.0)),
    _drive("drive saturates early", Kind.DRIVE_CLAMP, sizes=(0.05, 2.0)),
    _drive("drive too weak or too strong", Kind.DRIVE_GAIN, sizes=(0.2, 3.0)),
    Threat(
        "drive a little weak or strong", Kind.DRIVE_GAIN, "well within what the report may be off", sizes=(0.85, 1.18)
    ),
    Threat("clamp slips", Kind.DRIVE_LIES, _HIDDEN, DISOBEY_CAUSES, rides=True),
    Threat("drive wired in reverse", Kind.DRIVE_LIES, _HIDDEN, DISOBEY_CAUSES, rides=True, sizes=(-1.0, -1.0)),
    Threat(
        "drive deaf",
        Kind.DRIVE_HOLDS,
        "it holds its torque even when switched off: no program helps, only cutting its supply",
        DISOBEY_CAUSES | {Cause.CHECK_UPRIGHT},
        rides=True,
        gross=GROSS_TORQUE_ERROR,
        deaf=True,
    ),
)
