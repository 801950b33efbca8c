"""Calls from the tick to tracker and path.

Only a machine with a sensor of place has them. The tick reaches both through function pointers, as it reaches a driver
(`riderless.firmware_interface.devices.link`) and a law (`riderless.hil.loop.law`): so a machine without a sensor of
place compiles neither, and its first tick comes sooner.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import carray, from_dtype, types
from numba.extending import intrinsic

from riderless.firmware_interface.by_address import address_of, call_at_address
from riderless.firmware_interface.devices.link import LINK_STATE
from riderless.firmware_interface.kernels import cfunc, njit
from riderless.firmware_interface.messages import SAMPLE
from riderless.hil.loop.law import LOOP_SIGNALS
from riderless.hil.loop.observer import ESTIMATE
from riderless.hil.loop.place.route import ON_ROUTE, ROUTE_COLUMNS, follow_route
from riderless.hil.loop.place.settings import PLACE_SETTINGS
from riderless.hil.loop.place.tracker import PLACE, tell_place, track_place

_COLUMNS = len(ROUTE_COLUMNS)
_SETTINGS, _PLACE, _LINKS, _ESTIMATE, _SAMPLE, _ON_ROUTE, _SIGNALS = (
    types.CPointer(from_dtype(dtype))
    for dtype in (PLACE_SETTINGS, PLACE, LINK_STATE, ESTIMATE, SAMPLE, ON_ROUTE, LOOP_SIGNALS)
)
_TRACK = types.int64(
    _SETTINGS, _PLACE, _LINKS, types.int64, _ESTIMATE, _SAMPLE, types.int64, types.int64, types.float64
)
_TELL = types.int64(types.CPointer(types.float64), types.int64, _ON_ROUTE, _PLACE, _SIGNALS, types.int64)


def reach_place(settings: np.void) -> np.void:
    """Settings of a machine with a sensor of place, told where its compiled tracker is; compiles, or loads, that."""
    track, tell = _compiled()
    settings["track"], settings["tell"] = address_of(track), address_of(tell)
    return settings


@cache  # which keeps the compiled code alive as well
def _compiled() -> tuple[Any, Any]:
    return cfunc(_TRACK, cache=True)(_track_entry), cfunc(_TELL, cache=True)(_tell_entry)


def _track_entry(settings, place, links, ports, estimate, sample, fresh, held, dt):
    return track_place(
        carray(settings, 1)[0],
        carray(place, 1)[0],
        carray(links, ports),
        carray(estimate, 1)[0],
        carray(sample, 1)[0],
        fresh != 0,
        held != 0,
        dt,
    )


def _tell_entry(route, rows, at, place, signals, steered):
    here, signal = carray(place, 1)[0], carray(signals, 1)[0]
    tell_place(here, signal)
    follow_route(carray(route, (rows, _COLUMNS)), carray(at, 1)[0], here, signal, steered != 0)
    return 0


@intrinsic
def _tracked(typingctx, address, settings, place, links, ports, estimate, sample, fresh, held, dt):
    number = types.int64
    arguments = (settings, place, links, number, estimate, sample, number, number, types.float64)
    return number(types.uint64, *arguments), call_at_address


@intrinsic
def _told(typingctx, address, route, rows, at, place, signals, steered):
    return types.int64(types.uint64, route, types.int64, at, place, signals, types.int64), call_at_address


@njit(cache=True, nogil=True)
def place_symptoms(settings, place, links, estimate, sample, fresh, held, dt):
    """Bring the place to the instant of this tick; as `hil.loop.place.tracker.track_place`. Runs inside the tick.

    Parameters
    ----------
    settings, place : records of PLACE_SETTINGS and PLACE (changed in place)
    links : (P,) array of LINK_STATE
    estimate, sample : records of ESTIMATE and SAMPLE
    fresh, held : bool
    dt : float
        Time since the last tick [s].
    """
    return _tracked(  # type: ignore[call-arg]
        settings.track, settings, place, links, links.size, estimate, sample, 1 if fresh else 0, 1 if held else 0, dt
    )


@njit(cache=True, nogil=True)
def tell_where(settings, route, at, place, signals, steered):
    """Tell the law heading and place, off the lane or off the path that is ridden. Runs inside the tick.

    Parameters
    ----------
    settings : record of PLACE_SETTINGS
    route, at, place, signals
        As of `riderless.hil.loop.place.route.follow_route`; ``at`` and ``signals`` are filled.
    steered : bool
    """
    _told(settings.tell, route, route.shape[0], at, place, signals, 1 if steered else 0)  # type: ignore[call-arg]
