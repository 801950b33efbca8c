"""Attacks on the line, or crashed host.

Well-formed frames that nobody meant to send now.
"""

from functools import partial

from riderless.experiments.fault_injection.threats.fault_spec import Shape, Threat
from riderless.experiments.fault_injection.threats.link_faults import LATE_CAUSES, LONG_LASTING, WATCHDOG_SLACK
from riderless.firmware_interface.twins.faults import TO_COMPUTER, TO_NODE
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.hil.loop.states import Cause

_OLD_SAMPLES = frozenset(  # what a computer that hears old samples may find wrong first
    {
        Cause.STALE_SAMPLE,
        Cause.DRIVE_WATCHDOG,
        Cause.RATE_LOW,
        Cause.RATE_HIGH,
        Cause.CLOCK_STEP,
        Cause.DEVICE_RESTARTED,
        Cause.DRIVE_OFF,
        Cause.DRIVE_DISOBEYS,
        Cause.FOREIGN_COMMANDS,
    }
)

_to_node = partial(Threat, ways=(TO_NODE,), lasting=LONG_LASTING)  # frames for the node
# old samples for the computer
_to_computer = partial(
    Threat, causes=_OLD_SAMPLES, rides=True, slack=WATCHDOG_SLACK, ways=(TO_COMPUTER,), lasting=LONG_LASTING
)

ATTACK_THREATS = (
    _to_node(
        "old frames sent again",
        Kind.REPLAY,
        "their samples are too old: the node disables and says so",
        frozenset({Cause.FOREIGN_COMMANDS}),
        0.015,
        sizes=(0.025, 0.3),
    ),
    _to_node(
        "last frames sent again and again",
        Kind.LOOP,
        "a crashed computer's buffer: no frame is newer than the last, so the watchdog strikes",
        frozenset({Cause.STALE_SAMPLE, Cause.DRIVE_WATCHDOG, Cause.FOREIGN_COMMANDS}),
        0.035,
        sizes=(1, 200),
        whole=True,
    ),
    _to_node(
        "forged commands",
        Kind.FORGE,
        "with the right session and numbers; the computer's next command contradicts them",
        frozenset({Cause.FOREIGN_COMMANDS, Cause.STALE_SAMPLE}),
        0.015,
        sizes=(0.5, 7.0),
        signed=True,
        obeyed=0.015,
    ),
    _to_computer(
        "old samples sent again",
        Kind.REPLAY,
        "their numbers and times go back: not new, or a clock that steps; what answers them is old too",
        sizes=(0.01, 0.3),
    ),
    _to_computer(
        "last samples sent again and again",
        Kind.LOOP,
        "a device whose buffer turns: no sample is new, so no command is, nor an order to stop: the watchdog strikes",
        sizes=(1, 200),
        whole=True,
    ),
    Threat(
        "frames held back more and more",
        Kind.DELAY,
        "a command counts only in answer to one of the last samples, however slowly it came to be late",
        LATE_CAUSES | {Cause.LEAN_LIMIT, Cause.STEER_LIMIT, Cause.FOREIGN_COMMANDS},
        rides=True,
        sizes=(0.02, 0.1),
        slack=0.05,
        lasting=(0.5, 15.0),
        shape=Shape.STAIRS,
        steps=(60, 60),
    ),
)
