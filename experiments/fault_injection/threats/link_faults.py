"""Faults of the line, and their promises.

They change the bytes between computer and node.
"""

from functools import partial

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

# so few frames get through that a monitor must speak
_noisy = partial(Threat, why=_MANY, causes=NOISY_CAUSES, lasting=LONG_LASTING, slack=WATCHDOG_SLACK)
_gap = partial(Threat, what=Kind.DROP, causes=SILENT_CAUSES, lasting=(0.06, 3.0))  # silence longer than any limit
_late = partial(Threat, what=Kind.DELAY, lasting=LONG_LASTING)  # frames that come late

LINK_THREATS = (
    Threat("one bit flipped, once", Kind.FLIP, _CRC, sizes=(1, 1), lasting=ONE_SAMPLE),
    Threat("several bits flipped, once", Kind.FLIP, _CRC, sizes=(2, 50), whole=True, lasting=ONE_SAMPLE),
    Threat("burst of garbled bytes, once", Kind.GARBLE, _CRC, sizes=(2, 40), whole=True, lasting=ONE_SAMPLE),
    Threat("bits flipped now and then", Kind.FLIP, _CRC, sizes=(1, 8), whole=True, chances=RARE_CHANCE),
    _noisy("bits flipped in most frames", Kind.FLIP, detected=0.5, sizes=(1, 8), whole=True, chances=OFTEN_CHANCE),
    Threat("frame cut short, once", Kind.TRUNCATE, _CRC, sizes=(1, 40), whole=True, lasting=ONE_SAMPLE),
    _noisy("every frame cut short", Kind.TRUNCATE, detected=0.05, sizes=(1, 40), whole=True),
    Threat("frame lost, once", Kind.DROP, "one gap is less than the watchdog's time", lasting=ONE_SAMPLE),
    Threat("frames lost now and then", Kind.DROP, "gaps stay short", chances=RARE_CHANCE),
    _noisy("most frames lost", Kind.DROP, detected=0.5, chances=(0.7, 0.95)),
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
    _gap("no samples", why="silence longer than the limit", detected=0.05, ways=(TO_COMPUTER,)),
    _gap("no commands", why="the node's watchdog strikes, and says so", detected=0.035, ways=(TO_NODE,)),
    _gap("link cut", why="the node stops by itself, the computer by the silence", detected=0.05, ways=(BOTH_WAYS,)),
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
    _late("frames a little late", why="up to two periods", sizes=(0.001, 0.01), slack=0.01),
    _late(
        "frames late",
        why="between the drive's watchdog and the limit for an answer, and the balance suffers; "
        "a node takes commands that answer samples of long ago for somebody else's",
        causes=LATE_CAUSES | {Cause.LEAN_LIMIT, Cause.STEER_LIMIT, Cause.FOREIGN_COMMANDS},
        rides=True,
        sizes=(0.01, 0.05),
        slack=0.05,
    ),
    _late(
        "frames very late",
        why="the first gap is too long, or commands go unanswered for too long",
        causes=LATE_CAUSES,
        detected=0.1,
        sizes=(0.07, 0.1),
        slack=0.1,
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
