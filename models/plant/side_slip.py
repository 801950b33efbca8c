"""Side slip of the emulated bicycle's tyres.

To first order in lean and steer; of the linear model only. The motion without slip goes on as it is, under the torques
on lean and steer that the slip makes (`riderless.models.linear.side_slip`), held over a step. Kicks and wind are left
out of the side forces.
"""

from dataclasses import dataclass

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.models.coordinates import DELTA, DELTA_DOT, PHI_DOT
from riderless.models.errors import InputError
from riderless.models.linear.side_slip import roll_slip, slip_balance
from riderless.models.parameters import Bicycle
from riderless.models.plant.tyres import SLOWEST_ROLL, force_coefficients

SLIP_SETTINGS = np.dtype(
    [
        ("active", "i8"),
        ("relaxation", "f8"),  # m
        ("stiffness", "f8", (2,)),  # N, side force of rear and front tyre per angle of slip
        ("per_rate", "f8", (2, 2)),  # torques on lean and steer per slip acceleration
        ("per_slip", "f8", (2, 2)),  # ... per slip, times the speed
        ("admittance", "f8", (2, 2)),  # as of `riderless.models.linear.side_slip.SlipBalance`
        ("across", "f8", (2, 2)),
        ("M_inv", "f8", (2, 2)),
        ("yaw", "f8", (2,)),  # 1/m, yaw rate per slip
        ("force", "f8", (2, 5)),  # as `force_coefficients` has them, of rear and front wheel
    ],
    align=True,
)
SLIP_STATE = np.dtype(
    [
        ("now", "f8", (4,)),  # slip of rear and front contact [m/s], side forces of both [N]
        ("after", "f8", (4,)),  # scratch
        ("needed", "f8", (2,)),  # scratch, N
        ("rates", "f8", (2,)),  # m/s^2
        ("torque", "f8", (2,)),  # N m, on lean and steer
    ],
    align=True,
)


@dataclass(frozen=True, kw_only=True)
class SideSlip:
    """Side slip of both tyres; none by default.

    Attributes
    ----------
    compliance : float
        Angle of slip at which a side force would be as large as the load, rad; bicycle tyres have about 0.05 to 0.1.
    relaxation : float
        Path over which the force follows, m.

    Raises
    ------
    InputError
        Negative, or not finite.
    """

    compliance: float = 0.0
    relaxation: float = 0.1

    def __post_init__(self) -> None:
        if not 0.0 <= self.compliance <= 1.0:
            raise InputError(
                f"compliance of tyres that slip must be zero or more, and at most 1 rad, found {self.compliance} rad; "
                "a bicycle's tyre has about 0.1 rad"
            )
        if not 1e-3 <= self.relaxation < 10.0:
            raise InputError(
                f"relaxation of tyres that slip must be 0.001 m or more and less than 10 m, found {self.relaxation} m; "
                "a bicycle's tyre has about 0.1 m"
            )


def pack_slip(p: np.void, slip: SideSlip, bicycle: Bicycle, M_inv: np.ndarray, linear: bool) -> None:
    """Write the slip of a bicycle's tyres into a SLIP_SETTINGS record.

    Parameters
    ----------
    p : SLIP_SETTINGS record
        Written.
    slip : SideSlip
    bicycle : Bicycle
    M_inv : (2, 2) array
        Inverse of its mass matrix, 1/(kg m^2).
    linear : bool
        Is the plant the linear model?

    Raises
    ------
    InputError
        Slip of another model, or of a bicycle that stands on one wheel.
    """
    if slip.compliance == 0.0:
        return
    if not linear:
        raise InputError("tyres slip in the linear model only, found the nonlinear one; leave the slip out")
    balance = slip_balance(bicycle)
    if balance.loads.min() <= 0.0:
        raise InputError(
            f"tyres that slip want a load on both wheels, found {balance.loads[0]:.3g} N behind and "
            f"{balance.loads[1]:.3g} N in front ({bicycle.name}); emulate another bicycle"
        )
    p["active"], p["relaxation"], p["stiffness"] = 1, slip.relaxation, balance.loads / slip.compliance
    p["per_rate"], p["per_slip"], p["M_inv"], p["yaw"] = balance.P, balance.R, M_inv, balance.yaw
    p["admittance"], p["across"] = balance.admittance, balance.across
    p["force"] = [force_coefficients(bicycle, wheel) for wheel in range(2)]


@njit(cache=True, nogil=True)
def slip_on(p, s, h, v, x, x_dot):
    """Let the tyres slip on for `h` seconds; their torques hold for the next step.

    Parameters
    ----------
    p, s : SLIP_SETTINGS and SLIP_STATE records
        The state is written.
    h : float
        s.
    v : float
        Speed, m/s.
    x, x_dot : tuples
        Motion and its rate now, in the order of `riderless.models.plant.records.MOTION_STATES`.
    """
    v = max(v, SLOWEST_ROLL)
    # the accelerations that the bicycle would have without the torques of the slip
    lean = x_dot[PHI_DOT] - p.M_inv[0, 0] * s.torque[0] - p.M_inv[0, 1] * s.torque[1]
    steer = x_dot[DELTA_DOT] - p.M_inv[1, 0] * s.torque[0] - p.M_inv[1, 1] * s.torque[1]
    for wheel in range(2):
        f = p.force[wheel]
        s.needed[wheel] = (
            f[0] * lean + f[1] * steer + v * (f[2] * x[PHI_DOT] + f[3] * x[DELTA_DOT] + v * f[4] * x[DELTA])
        )
    roll_slip(h, v, p.relaxation, p.stiffness, p.admittance, p.across, s.needed, s.now, s.after)
    for i in range(2):
        s.rates[i] = (s.after[i] - s.now[i]) / h
    for i in range(2):
        s.torque[i] = 0.0
        for wheel in range(2):
            s.torque[i] -= p.per_rate[i, wheel] * s.rates[wheel]
            s.torque[i] -= v * p.per_slip[i, wheel] * s.after[wheel]
    for i in range(4):
        s.now[i] = s.after[i]


@njit(cache=True, nogil=True)
def grip_again(s):
    """Let tyres that slipped be at ease, as in a person's hands."""
    s.now[:] = 0.0
    s.rates[:] = 0.0
    s.torque[:] = 0.0
