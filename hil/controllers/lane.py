"""Law of gains with heading and place.

T = -K(v) [phi, delta, phi_dot, delta_dot, T, u_prev, psi, y_P], over speed.
"""

from riderless.firmware_interface.kernels import njit
from riderless.hil.controllers.gains import gains_table, torque_of_gains
from riderless.hil.loop.law import Law, law_entry
from riderless.models.array_types import Array


@njit(cache=True, nogil=True)
def _lane_step(settings, state, e, reference, out):
    """Wish the torque of the gains at this speed. Runs inside the tick.

    Parameters
    ----------
    settings : (9 n,) array
        One row for each speed: speed [m/s], gains on phi, delta, phi_dot, delta_dot, T, u_prev, psi, y_P.
    state : (0,) array
    e, reference, out : records of LOOP_SIGNALS, LOOP_REFERENCE and WISH
    """
    signals = (e.phi, e.delta, e.phi_dot, e.delta_dot, e.T, e.u_prev, e.psi, e.y_P)
    out.T_req = torque_of_gains(settings, e.v, signals)


def lane_law(v: Array, K: Array) -> Law:
    """Law of gains K (n, 8) at speeds v (n,) [m/s]."""
    return Law(law_entry(_lane_step), gains_table(v, K), 0, float(v[0]), float(v[-1]))
