"""Call from the tick to speed control.

Only a machine with a speed drive has it. The tick reaches it through a function pointer, as it reaches a driver: see
`riderless.hil.loop.place.entries`.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import carray, from_dtype, types
from numba.extending import intrinsic

from riderless.firmware_interface.by_address import address_of, call_at_address
from riderless.firmware_interface.devices.link import LINK_STATE
from riderless.firmware_interface.kernels import cfunc, njit
from riderless.hil.loop.pace.settings import SPEED_DRIVE
from riderless.hil.loop.pace.speed_hold import PACING, hold_speed

_SETTINGS, _PACING, _LINKS = (types.CPointer(from_dtype(dtype)) for dtype in (SPEED_DRIVE, PACING, LINK_STATE))
_WHOLE, _REAL = types.int64, types.float64
_HOLD = _WHOLE(_SETTINGS, _PACING, types.CPointer(_REAL), _WHOLE, _LINKS, _WHOLE, _REAL, _WHOLE, _REAL, _REAL)


def reach_pace(settings: np.void) -> np.void:
    """Settings of a machine that keeps its speed, told where its compiled loop is; compiles, or loads, that."""
    settings["hold"] = address_of(_compiled_hold())
    return settings


@cache
def _compiled_hold() -> Any:
    return cfunc(_HOLD, cache=True)(_hold_entry)


def _hold_entry(p, s, corners, n_corners, links, ports, v, state, t, dt):
    return hold_speed(
        carray(p, 1)[0], carray(s, 1)[0], carray(corners, (n_corners, 2)), carray(links, ports), v, state, t, dt
    )


@intrinsic
def _held(typingctx, address, p, s, corners, n_corners, links, ports, v, state, t, dt):
    given = (types.uint64, p, s, corners, _WHOLE, links, _WHOLE, _REAL, _WHOLE, _REAL, _REAL)
    return _WHOLE(*given), call_at_address


@njit(cache=True, nogil=True)
def pace_symptoms(p, s, corners, links, v, state, t, dt):
    """Keep the speed; as `riderless.hil.loop.pace.speed_hold.hold_speed`. Runs inside the tick.

    Parameters
    ----------
    p, s : records of SPEED_DRIVE and PACING (changed in place)
    corners : (n, 2) array
        Asked speed over the time under control [s, m/s].
    links : (P,) array of LINK_STATE
    v : float
        Speed of the bicycle's wheel [m/s].
    state : int
        Of the supervisor, before this tick.
    t, dt : float
        Time under control, and since the last tick [s].
    """
    return _held(p.hold, p, s, corners, corners.shape[0], links, links.size, v, state, t, dt)  # type: ignore[call-arg]
