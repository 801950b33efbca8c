"""Trial steps of a law outside the tick.

One compiled loop over many steps with signals of their own.
"""

from typing import NamedTuple

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.hil.loop.law import (
    LAW_INPUTS,
    LOOP_LAW,
    LOOP_REFERENCE,
    LOOP_SIGNALS,
    REFERENCES,
    WISH,
    Law,
    wished_torque,
)
from riderless.models.array_types import Array

_N_SIGNALS = len(LAW_INPUTS) - len(REFERENCES)
_FRESH = LAW_INPUTS.index("fresh")
OTHER_WISH = 7.0  # N m, that stands in the wish before the second of two steps that must agree
IN_ORDER, FORGETS_NOT, WRITES = 0, 1, 2


class Trial(NamedTuple):
    """Outcome of n steps."""

    wishes: Array  # (n,) N m, NaN also where the state is not finite
    after: Array  # (n, m) state after each step
    wrong: Array  # (n,) IN_ORDER, FORGETS_NOT or WRITES


def try_law(law: Law, states: Array, rows: Array, ride: int = 1) -> Trial:
    """Take n steps.

    Parameters
    ----------
    law : Law
    states : (n, m) array
        State before each step that begins a ride.
    rows : (n, k) array
        Signals and references before each step, in the order of `LAW_INPUTS`.
    ride : int
        Steps in which the state goes on.
    """
    if np.shape(states) != (len(rows), law.states):  # the law would write beyond its memory
        raise ValueError(f"wanted states ({len(rows)}, {law.states}), found {np.shape(states)}")
    signals, reference, wish = np.zeros(1, LOOP_SIGNALS), np.zeros(1, LOOP_REFERENCE), np.zeros(1, WISH)
    record, trial = np.zeros(1, LOOP_LAW)[0], Trial(np.zeros(len(rows)), np.array(states, float), np.zeros(len(rows)))
    record["step"] = law.step
    _try_steps(
        record,
        law.settings.copy(),
        np.ascontiguousarray(states, float),
        np.ascontiguousarray(rows, float),
        ride,
        signals[0],
        signals.view("f8"),
        reference[0],
        reference.view("f8"),
        wish[0],
        trial.wishes,
        trial.after,
        trial.wrong,
    )
    return trial


@njit(cache=True, nogil=True)
def _try_steps(law, settings, states, rows, ride, signals, heard, reference, requested, wish, wishes, after, wrong):
    state, again, kept = np.zeros(states.shape[1]), np.zeros(states.shape[1]), settings.copy()
    for i in range(rows.shape[0]):
        if i % ride == 0:
            state[:] = states[i]
        again[:] = state
        heard[:] = rows[i, :_N_SIGNALS]
        requested[:] = rows[i, _N_SIGNALS:]
        before = wish.T_req
        wishes[i] = wished_torque(law, settings, state, signals, reference, wish)
        if _differ(settings, kept) or _differ(heard, rows[i, :_N_SIGNALS]) or _differ(requested, rows[i, _N_SIGNALS:]):
            wrong[i] = WRITES
            settings[:] = kept
            heard[:] = rows[i, :_N_SIGNALS]
            requested[:] = rows[i, _N_SIGNALS:]
        if rows[i, _FRESH] == 1.0:
            wish.T_req = before + OTHER_WISH
            second = wished_torque(law, settings, again, signals, reference, wish)
            if wishes[i] == wishes[i] and (second != wishes[i] or _differ(state, again)):
                wrong[i] = FORGETS_NOT
        wish.T_req = wishes[i]
        after[i] = state


@njit(cache=True, nogil=True)
def _differ(a, b):
    for i in range(a.size):  # noqa: SIM110 - the compiler knows no any()
        if a[i] != b[i]:
            return True
    return False
