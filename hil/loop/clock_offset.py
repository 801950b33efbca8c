"""Clock offset between device and host.

It gives the age of a sample.

A sample is stamped by the device at ``t`` and seen by the host at ``t_host``. Transport only ever adds
delay, so the difference of the two clocks is the *smallest* ``t_host - t`` of late, the lower envelope of the
delays (as in the estimation of clock skew from one-way delays: Moon, Skelly and Towsley 1999). It is
kept over the present and the previous `OFFSET_WINDOW`, which takes two numbers and no memory. Quartz clocks part by
at most 100 ppm, 40 us in two windows, and that bounds its error as long as one sample a window is
fast; an emulated clock, which stands still where a busy computer keeps it waiting for long, is followed too.
"""

import math

import numpy as np

from riderless.firmware_interface.kernels import njit

OFFSET_WINDOW = 0.2  # s
CLOCK_JUMP = 0.2  # s; a difference that changes by more is another clock, not delay

TIMEBASE = np.dtype(
    [
        ("offset", "f8"),  # s, host clock minus device clock, of the fastest samples
        ("age", "f8"),  # s, of the last sample, beyond that of the fastest
        ("least", "f8"),  # s, smallest difference in this window
        ("least_before", "f8"),  # s, and in the one before
        ("until", "f8"),  # s, device clock, end of this window
        ("started", "i8"),
        ("steps", "i8"),  # how often a clock has jumped
    ],
    align=True,
)


@njit(cache=True, nogil=True)
def follow_clock(tb, t, t_host):
    """Take note of a sample stamped ``t`` and seen at ``t_host`` [s]. Runs inside the tick.

    Parameters
    ----------
    tb : record of TIMEBASE, changed in place: offset and age [s].
    """
    seen = t_host - t
    if not math.isfinite(seen):
        return
    if not tb.started or abs(seen - tb.offset) > CLOCK_JUMP:
        tb.steps += tb.started
        tb.started = 1
        tb.least = tb.least_before = seen
        tb.until = t + OFFSET_WINDOW
    elif t >= tb.until:
        tb.least_before = tb.least
        tb.least = seen
        tb.until = t + OFFSET_WINDOW
    tb.least = min(tb.least, seen)
    tb.offset = min(tb.least, tb.least_before)
    tb.age = seen - tb.offset
