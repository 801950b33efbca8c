"""Compiled law of a discrete state space.

With it, the table of numbers over speed that it reads. At each tick, with s the chosen inputs and the matrices
interpolated to the present speed::

    T_req = C x + D s        x <- A x + B s

and before it, under control, x <- x + L T_cut: what the supervisor cut off the last wish, so that integrators do not
wind up on its limits. States that wait stay zero as long as a person holds the bicycle. Without a fresh sample nothing
new is known: state and wish stay as they are.
"""

from collections.abc import Sequence

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.hil.controllers.gains import rows_around
from riderless.hil.loop.law import LAW_INPUTS, REFERENCES, Law, law_entry
from riderless.models.array_types import Array

_V, _T_CUT, _FRESH, _STEERED = (LAW_INPUTS.index(name) for name in ("v", "T_cut", "fresh", "steered"))
_N_SIGNALS = LAW_INPUTS.index(REFERENCES[0])
_HEAD = 3  # m states, p inputs, n speeds; then p places of inputs, m flags of states that wait, and n rows


@njit(cache=True, nogil=True)
def lti_step(settings, state, signals, reference, out):
    """Take one step of a state space over speed. Runs inside the tick.

    Parameters
    ----------
    settings : (n,) array
        As `lti_law` lays it out.
    state : (2 m,) array
        State, and room for the next one.
    signals, reference : arrays in the order of LAW_INPUTS
    out : record of WISH
    """
    if signals[_FRESH] == 0.0:
        return
    m, p, n = int(settings[0]), int(settings[1]), int(settings[2])
    places, waits = settings[_HEAD : _HEAD + p], settings[_HEAD + p : _HEAD + p + m]
    width = m + p
    first, columns = _HEAD + p + m, 1 + (m + 1) * width + m
    i, j, part = rows_around(settings, first, columns, first + (n - 1) * columns, signals[_V])
    low, high = settings[i + 1 : i + columns], settings[j + 1 : j + columns]

    L = (m + 1) * width
    for k in range(m):
        if signals[_STEERED] != 0.0:
            state[k] += (low[L + k] + part * (high[L + k] - low[L + k])) * signals[_T_CUT]
        elif waits[k] != 0.0:
            state[k] = 0.0
    for row in range(m + 1):  # the last one gives the wish
        total, at = 0.0, row * width
        for k in range(m):
            total += (low[at + k] + part * (high[at + k] - low[at + k])) * state[k]
        for k in range(p):
            place = int(places[k])
            value = signals[place] if place < _N_SIGNALS else reference[place - _N_SIGNALS]
            total += (low[at + m + k] + part * (high[at + m + k] - low[at + m + k])) * value
        if row < m:
            state[m + row] = total
        else:
            out.T_req = total
    for k in range(m):
        state[k] = state[m + k]


def lti_law(
    v: Array, A: Array, B: Array, C: Array, D: Array, L: Array, inputs: Sequence[str], waits: Sequence[bool]
) -> Law:
    """Lay a state space over speed out for the tick.

    Parameters
    ----------
    v : (n,) array
        Speeds [m/s], increasing.
    A, B, C, D : (n, m, m), (n, m, p), (n, m) and (n, p) arrays
    L : (n, m) array
        Anti-windup: change of the state per N m by which the supervisor changed the last wish.
    inputs : sequence of p str
        Names of LAW_INPUTS.
    waits : sequence of m bool
        States that stay zero until the machine is under control.
    """
    n, m, p = B.shape
    places = [LAW_INPUTS.index(name) for name in inputs]
    rows = np.concatenate([np.concatenate([A, B], axis=2), np.concatenate([C, D], axis=1)[:, None, :]], axis=1)
    table = np.column_stack([v, rows.reshape(n, -1), L])
    settings = np.concatenate([[m, p, n], places, np.asarray(waits, float), table.ravel()])
    return Law(law_entry(lti_step, by_number=True), settings, 2 * m, float(v[0]), float(v[-1]))
