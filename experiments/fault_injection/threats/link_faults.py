"""Faults of the line, and their promises.

They change the bytes between computer and node.
"""

from riderless.experiments.fault_injection.threats.fault_spec import ONE_SAMPLE, Threat
from riderless.firmware_interface.twins.faults import BOTH_WAYS, TO_COMPUTER, TO_NODE
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.hil.loop.states import Cause

SILENT_CAUSES = frozenset({Cause.STALE_SAMPLE, Cause.DRIVE_WATCHDOG, Cause.RATE_LOW})
NOISY_CAUSES = SILENT_CAUSES | {Cause.LINK_NOISY}
LATE_CAUSES = SILENT_CAUSES | {Cause.DRIVE_DISOBEYS, Cause.CLOCK_STEP}
RARE_CHANCE = (0.002, 0.01)
OFTEN_CHANCE = (0.5, 1.0)
LONG_LASTING = (0.6, 3.0)  # s
WATCHDOG_SLACK = 0.025  # s, for which the drive goes on if the order to stop is lost too: its watchdog's time

_CRC = "the CRC rejects the frame, and the next one comes 5 ms later"
_MANY = "so few frames get through that one of the monitors must speak"

LINK_THREATS = (
    Threat("one bit flipped, once", Kind.FLIP, _CRC, sizes=(1, 1), lasting=ONE_SAMPLE),
    Threat("several bits flipped, once", Kind.FLIP, _CRC, sizes=(2, 50), whole=True, lasting=ONE_SAMPLE),
    Threat("burst of garbled bytes, once", Kind.GARBLE, _CRC, sizes=(2, 40), whole=True, lasting=ONE_SAMPLE),
    Threat("bits flipped now and then", Kind.FLIP, _CRC, sizes=(1, 8), whole=True, chances=RARE_CHANCE),
    Threat(
        "bits flipped in most frames",
        Kind.FLIP,
        _MANY,
        NOISY_CAUSES,
        0.5,
        sizes=(1, 8),
        whole=True,
        chances=OFTEN_CHANCE,
        lasting=LONG_LASTING,
        slack=WATCHDOG_SLACK,
    ),
    Threat("frame cut short, once", Kind.TRUNCATE, _CRC, sizes=(1, 40), whole=True, lasting=ONE_SAMPLE),
    Threat(
        "every frame cut short",
        Kind.TRUNCATE,
        _MANY,
        NOISY_CAUSES,
        0.05,
        sizes=(1, 40),
        whole=True,
        lasting=LONG_LASTING,
        slack=WATCHDOG_SLACK,
    ),
    Threat("frame lost, once", Kind.DROP, "one gap is less than the watchdog's time", lasting=ONE_SAMPLE),
    Threat("frames lost now and then", Kind.DROP, "gaps stay short", chances=RARE_CHANCE),
    Threat(
        "most frames lost",
        Kind.DROP,
        _MANY,
        NOISY_CAUSES,
        0.5,
        chances=(0.7, 0.95),
        lasting=LONG_LASTING,
        slack=WATCHDOG_SLACK,
    ),
    Threat("short silence", Kind.DROP, "shorter than the watchdog's time", lasting=(0.006, 0.014)),
    Threat(
        "silence near the watchdog's time",
        Kind.DROP,
        "the watchdog may or may not strike first; a drive that it let go does not follow",
        SILENT_CAUSES | {Cause.DRIVE_DISOBEYS},
        rides=True,
        lasting=(0.014, 0.05),
        ways=(TO_COMPUTER, TO_NODE, BOTH_WAYS),
    ),
    Threat(
        "no samples",
        Kind.DROP,
        "silence longer than the limit",
        SILENT_CAUSES,
        0.05,
        ways=(TO_COMPUTER,),
        lasting=(0.06, 3.0),
    ),
    Threat(
        "no commands",
        Kind.DROP,
        "the node's watchdog strikes, and says so",
        SILENT_CAUSES,
        0.035,
        ways=(TO_NODE,),
        lasting=(0.06, 3.0),
    ),
    Threat(
        "link cut",
        Kind.DROP,
        "the node stops by itself, the computer by the silence",
        SILENT_CAUSES,
        0.05,
        ways=(BOTH_WAYS,),
        lasting=(0.06, 3.0),
    ),
    Threat("frames doubled", Kind.DUPLICATE, "a number that has been seen is no news", chances=(0.05, 1.0)),
    Threat("frames swapped, once", Kind.REORDER, "the older one is late, not new", lasting=ONE_SAMPLE),
    Threat(
        "frames swapped again and again",
        Kind.REORDER,
        "looks like frames lost and time going back",
        NOISY_CAUSES | {Cause.CLOCK_STEP, Cause.LEAN_LIMIT, Cause.DEVICE_RESTARTED},
        rides=True,
        chances=(0.05, 0.5),
        slack=0.005,
    ),
    Threat(
        "frames a little late", Kind.DELAY, "up to two periods", sizes=(0.001, 0.01), slack=0.01, lasting=LONG_LASTING
    ),
    Threat(
        "frames late",
        Kind.DELAY,
        "between the drive's watchdog and the limit for an answer, and the balance suffers; "
        "a node takes commands that answer samples of long ago for somebody else's",
        LATE_CAUSES | {Cause.LEAN_LIMIT, Cause.STEER_LIMIT, Cause.FOREIGN_COMMANDS},
        rides=True,
        sizes=(0.01, 0.05),
        slack=0.05,
        lasting=LONG_LASTING,
    ),
    Threat(
        "frames very late",
        Kind.DELAY,
        "the first gap is too long, or commands go unanswered for too long",
        LATE_CAUSES,
        0.1,
        sizes=(0.07, 0.1),
        slack=0.1,
        lasting=LONG_LASTING,
    ),
    Threat(
        "bursts of 16 ms",
        Kind.BURST,
        "an adapter's latency timer: three frames at a time, too late to balance some",
        SILENT_CAUSES | {Cause.LEAN_LIMIT, Cause.SATURATED},
        rides=True,
        sizes=(0.016, 0.016),
        slack=0.016,
        lasting=LONG_LASTING,
    ),
    Threat(
        "frames split in two",
        Kind.SPLIT,
        "a frame is whole when its end has come",
        sizes=(0.0005, 0.004),
        chances=(0.1, 1.0),
    ),
    Threat(
        "noise between frames now and then",
        Kind.NOISE,
        "spoils the frame behind it",
        sizes=(1, 60),
        whole=True,
        chances=RARE_CHANCE,
    ),
    Threat(
        "noise before most frames",
        Kind.NOISE,
        _MANY,
        NOISY_CAUSES,
        2.0,  # with half of the frames lost the counted rates take four of their time constants to pass a limit
        sizes=(1, 60),
        whole=True,
        chances=OFTEN_CHANCE,
        lasting=LONG_LASTING,
        slack=WATCHDOG_SLACK,
    ),
    Threat(
        "wrong protocol version",
        Kind.VERSION,
        "frames of another version are not understood",
        NOISY_CAUSES,
        0.05,
        sizes=(5, 255),
        whole=True,
        lasting=LONG_LASTING,
        slack=WATCHDOG_SLACK,
    ),
)
