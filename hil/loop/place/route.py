"""Path following in the loop.

It finds the bicycle's place on the path and gives the law its motion relative to the path. The law that keeps a lane
knows lean, steer, their rates, torque, heading and place as they are off a straight lane. On a path it is told each of
them less what the path asks for there, and what the path asks of the torque is added to its wish (of a drive that obeys
a steer rate or angle, of that)::

    T_req = T_path(s) + law(phi - phi_path(s), delta - delta_path(s), ..., psi - psi_path(s), lateral)

with s the length at the nearest point of the path, found from where it was a tick ago. The path lies along the lane
from where the bicycle came under control.
"""

import math

import numpy as np

from riderless.firmware_interface.kernels import njit

ROUTE_COLUMNS = ("s", "x", "y", "psi", "kappa", "phi", "delta", "phi_dot", "delta_dot", "T")
_S, _X, _Y, _PSI, _KAPPA, _PHI, _DELTA, _PHI_DOT, _DELTA_DOT, _T = range(len(ROUTE_COLUMNS))
_MOST_STEPS = 50  # rows that are gone through in a tick

ON_ROUTE = np.dtype(
    [
        ("row", "i8"),  # of the route, where the bicycle is
        ("begin", "f8"),  # m, way of the bicycle along the lane when it came under control
        ("s", "f8"),  # m, along it
        ("lateral", "f8"),  # m, to the right of it
        ("heading", "f8"),  # rad, off it
        ("T", "f8"),  # command that it asks for there: N m, or rad/s or rad as the drive obeys
    ]
)


@njit(cache=True, nogil=True)
def follow_route(route, at, place, signals, steered):
    """Find where on the route the bicycle is, and tell the law how far it is off; fills ``at``. Runs inside the tick.

    Parameters
    ----------
    route : (n, 10) array
        Columns as ROUTE_COLUMNS; no row: a straight lane.
    at : record of ON_ROUTE
    place : record of PLACE
    signals : record of LOOP_SIGNALS
        Lean, steer, their rates, torque, heading and place become those off the route.
    steered : bool
        Where not, the route begins anew.
    """
    at.T = 0.0
    if not steered:
        at.row, at.begin = 0, place.x
    if route.shape[0] < 2 or place.lost or not steered:
        return
    i, along, here = at.row, 0.0, place.x - at.begin
    for _ in range(_MOST_STEPS):
        c, d = math.cos(route[i, _PSI]), math.sin(route[i, _PSI])
        along = (here - route[i, _X]) * c + (place.y - route[i, _Y]) * d
        if along >= route[i + 1, _S] - route[i, _S] and i < route.shape[0] - 2:
            i += 1
        elif along < 0.0 and i > 0:
            i -= 1
        else:
            break
    part = min(max(along / (route[i + 1, _S] - route[i, _S]), 0.0), 1.0)
    a, b = route[i], route[i + 1]
    at.row, at.s = i, a[_S] + part * (b[_S] - a[_S])
    psi = a[_PSI] + part * (b[_PSI] - a[_PSI])
    x, y = a[_X] + part * (b[_X] - a[_X]), a[_Y] + part * (b[_Y] - a[_Y])
    at.lateral = (place.y - y) * math.cos(psi) - (here - x) * math.sin(psi)
    at.heading = place.psi - psi
    at.T = a[_T] + part * (b[_T] - a[_T])
    signals.psi, signals.y_P = at.heading, at.lateral
    signals.phi -= a[_PHI] + part * (b[_PHI] - a[_PHI])
    signals.delta -= a[_DELTA] + part * (b[_DELTA] - a[_DELTA])
    signals.phi_dot -= a[_PHI_DOT] + part * (b[_PHI_DOT] - a[_PHI_DOT])
    signals.delta_dot -= a[_DELTA_DOT] + part * (b[_DELTA_DOT] - a[_DELTA_DOT])
    signals.psi_dot -= signals.v * (a[_KAPPA] + part * (b[_KAPPA] - a[_KAPPA]))
    signals.T -= at.T
    signals.u_prev -= at.T
