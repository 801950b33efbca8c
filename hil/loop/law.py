"""Interface of a control law in the tick.

The signals it receives, the wish it returns, and the call to a law unknown to the tick. Every law is one compiled, pure
function::

    step(settings, state, signals, reference, out)

``settings`` (n,) float64 is constant during a run, ``state`` (m,) float64 is all that the law remembers, ``signals`` is
a record of LOOP_SIGNALS, ``reference`` one of LOOP_REFERENCE, and ``out`` one of WISH, which it fills. The tick reaches
it through a function pointer, as it reaches a driver (`riderless.firmware_interface.by_address`): so the tick is
compiled once for all laws, a run compiles only the law it has, and a new law touches nothing but its own file and a
line of the registry. State is plain float64 so that the tick can tell whether it is still finite, and start it anew.
"""

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import carray, from_dtype, types
from numba.extending import intrinsic

from riderless.firmware_interface.by_address import address_of, call_at_address, entry_of
from riderless.firmware_interface.kernels import njit
from riderless.models.array_types import Array

ESTIMATED_SIGNALS = ("phi", "delta", "phi_dot", "delta_dot", "T", "u_prev", "v", "psi_dot")  # as of ESTIMATE
MEASURED_SIGNALS = ("phi_dot_meas", "psi_dot_meas", "delta_meas", "a_y_meas", "v_meas", "T_meas")  # as of SAMPLE
LANE_SIGNALS = ("psi", "y_P")  # rad, m: heading and place off the lane; zero where no place is known
REFERENCES = ("psi_dot_ref", "phi_ref", "delta_ref")  # rad/s, rad, rad; zero before the machine is RUNNING

LOOP_SIGNALS = np.dtype(
    [
        *((name, "f8") for name in (*ESTIMATED_SIGNALS, *MEASURED_SIGNALS)),
        ("T_cut", "f8"),  # N m, what the supervisor added to the last wish to make it the torque commanded; often 0
        ("dt", "f8"),  # s, nominal period
        ("fresh", "f8"),  # 1 where a usable sample came in since the last tick, else 0
        ("steered", "f8"),  # 1 where the machine is under control or ramps down, else 0: a person holds it
        *((name, "f8") for name in LANE_SIGNALS),
    ]
)
LAW_INPUTS = (*(LOOP_SIGNALS.names or ()), *REFERENCES)  # in the order of a law that takes them by number
_N_SIGNALS = len(LAW_INPUTS) - len(REFERENCES)
LOOP_REFERENCE = np.dtype([(name, "f8") for name in REFERENCES])
WISH = np.dtype([("T_req", "f8")])  # N m, positive to the right
LOOP_LAW = np.dtype(
    [
        ("step", "u8"),  # address of the compiled law
        ("slowest", "f8"),  # m/s, first and last speed that it was made for; infinite where it suits every speed
        ("fastest", "f8"),
    ]
)


class Law(NamedTuple):
    """Compiled law with its settings, as a loop takes it."""

    step: int  # address, of `law_entry`
    settings: Array  # (n,)
    states: int  # m, numbers that it remembers
    slowest: float  # m/s
    fastest: float  # m/s


_ONE = {
    name: types.CPointer(from_dtype(dtype)) for name, dtype in (("s", LOOP_SIGNALS), ("r", LOOP_REFERENCE), ("o", WISH))
}
_NUMBERS = types.CPointer(types.float64)
_STEP = types.int64(_NUMBERS, types.int64, _NUMBERS, types.int64, _ONE["s"], _ONE["r"], _ONE["o"])
_STEP_BY_NUMBER = types.int64(_NUMBERS, types.int64, _NUMBERS, types.int64, _NUMBERS, _NUMBERS, _ONE["o"])


@cache
def law_entry(step: Any, by_number: bool = False) -> int:
    """Compile a law for calls by address, once in a process; returns its address.

    Parameters
    ----------
    step : compiled function
    by_number : bool
        It takes signals and reference as plain arrays, because it chooses its inputs by number.
    """
    entry, signature = (_entry_by_number, _STEP_BY_NUMBER) if by_number else (_entry, _STEP)
    return address_of(entry_of(step, entry, signature, {"_step": step, "_S": _N_SIGNALS, "_R": len(REFERENCES)}))


def guarded_entry(step: Any) -> Any:
    """Compile a law of which nobody knows what it may raise, for calls by address; returns numba's CFunc.

    Whatever it raises becomes a wish that is not a number, without the interpreter. Its code is kept nowhere: numba
    tells files apart by their date, and a person may change one twice within its resolution.
    """
    return entry_of(step, _guarded_entry, _STEP, {"_step": step, "_NAN": math.nan}, cache=False)


def _entry(settings, n, state, m, signals, reference, out):
    _step(carray(settings, n), carray(state, m), carray(signals, 1)[0], carray(reference, 1)[0], carray(out, 1)[0])  # type: ignore[name-defined]  # noqa: F821
    return 0


def _entry_by_number(settings, n, state, m, signals, reference, out):
    _step(carray(settings, n), carray(state, m), carray(signals, _S), carray(reference, _R), carray(out, 1)[0])  # type: ignore[name-defined]  # noqa: F821
    return 0


def _guarded_entry(settings, n, state, m, signals, reference, out):
    # only the call stands in the try: numba takes twice as long to compile where the five arrays are made in it too
    known, memory = carray(settings, n), carray(state, m)
    readings, wanted, wish = carray(signals, 1)[0], carray(reference, 1)[0], carray(out, 1)[0]
    try:
        _step(known, memory, readings, wanted, wish)  # type: ignore[name-defined]  # noqa: F821
    except Exception:
        wish.T_req = _NAN  # type: ignore[name-defined]  # noqa: F821
    return 0


@intrinsic
def _stepped(typingctx, address, settings, n, state, m, signals, reference, out):
    number = types.int64
    return number(types.uint64, settings, number, state, number, signals, reference, out), call_at_address


@njit(cache=True, nogil=True)
def wished_torque(law, settings, state, signals, reference, wish):
    """Let the law take one step; its wish [N m], or NaN where its state is not finite. Runs inside the tick.

    Parameters
    ----------
    law : record of LOOP_LAW
    settings, state : (n,) and (m,) float64 arrays
        ``state`` is changed in place.
    signals, reference, wish : records of LOOP_SIGNALS, LOOP_REFERENCE and WISH
    """
    _stepped(law.step, settings, settings.size, state, state.size, signals, reference, wish)  # type: ignore[call-arg]
    for number in state:
        if not math.isfinite(number):
            return math.nan  # the supervisor answers it like any wish that is not a number
    return wish.T_req


@njit(cache=True, nogil=True)
def tell_signals(signals, estimate, sample, wished, fresh, steered):
    """Tell the law what the loop knows. Runs inside the tick.

    Parameters
    ----------
    signals, estimate, sample : records of LOOP_SIGNALS (filled), ESTIMATE and SAMPLE
    wished : float
        Wish of the last tick [N m], excitation included; ``u_prev`` is what became of it.
    fresh, steered : bool
    """
    signals.phi = estimate.phi
    signals.delta = estimate.delta
    signals.phi_dot = estimate.phi_dot
    signals.delta_dot = estimate.delta_dot
    signals.T = estimate.T
    signals.u_prev = estimate.u_prev
    signals.v = estimate.v
    signals.psi_dot = estimate.psi_dot
    signals.phi_dot_meas = sample.phi_dot_meas
    signals.psi_dot_meas = sample.psi_dot_meas
    signals.delta_meas = sample.delta_meas
    signals.a_y_meas = sample.a_y_meas
    signals.v_meas = sample.v_meas
    signals.T_meas = sample.T_meas
    signals.T_cut = estimate.u_prev - wished if math.isfinite(wished) else 0.0
    signals.fresh = 1.0 if fresh else 0.0
    signals.steered = 1.0 if steered else 0.0


@njit(cache=True, nogil=True)
def follow_reference(reference, played, place, steered):
    """Take the reference of this tick: that at ``place``, the last one beyond the end. Runs inside the tick.

    Parameters
    ----------
    reference : record of LOOP_REFERENCE, filled
    played : (n, 3) array
        One row a period under control, columns as REFERENCES; often none.
    place : int
        As `riderless.hil.loop.excitation.excitation_place` found it.
    steered : bool
        Where not, the reference is zero.
    """
    last = played.shape[0] - 1
    if last < 0 or not steered:
        reference.psi_dot_ref = reference.phi_ref = reference.delta_ref = 0.0
        return
    row = played[min(place, last)]
    reference.psi_dot_ref = row[0]
    reference.phi_ref = row[1]
    reference.delta_ref = row[2]


@njit(cache=True, nogil=True)
def is_elsewhere(law, v, reach):
    """Tell whether a law is of speeds farther than ``reach`` from ``v`` [m/s]. Runs inside the tick."""
    return v < law.slowest - reach or v > law.fastest + reach
