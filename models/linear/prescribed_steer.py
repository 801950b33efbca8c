"""Linear bicycle under a steer rate or angle.

Its drive obeys a steer rate or a steer angle, not a torque. Where the steer is prescribed only the first row of eq. 5.3
of Meijaard et al. (2007), lean, is left to solve:

    M11 phi'' + v C1_11 phi' + (g K0_11 + v^2 K2_11) phi
        = -(M12 delta'' + v C1_12 delta' + (g K0_12 + v^2 K2_12) delta).

The second row then tells the torque that the drive must make. Two models of the same drive:

- :func:`prescribed_steer`: the steer follows the command with a lag, whatever torque that takes;
- :func:`driven_steer`: the drive makes a torque from the steer's error, and the whole bicycle answers.

They agree as the bandwidth grows. Let u be the command and I = 1 / (M^-1)_22 = M22 - M12^2 / M11 the inertia that a
quick torque turns, the bicycle being free to lean. The drive's law, and its lag on a steer of inertia I alone, are

======  ===============  ==========================================  ==============================================
kind    ``damping``      torque                                      lag
======  ===============  ==========================================  ==============================================
rate    None             T = I w (u - delta')                        delta'' = w (u - delta')
rate    zeta             T = I (w^2 e - 2 zeta w delta'),            delta''' = w^2 (u - delta') - 2 zeta w delta''
                         e' = u - delta'
angle   zeta             T = I (w^2 (u - delta) - 2 zeta w delta')   delta'' = w^2 (u - delta) - 2 zeta w delta'
======  ===============  ==========================================  ==============================================

The second is a PI controller that meets the command in its integral only, so that a step does not overshoot.
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from riderless.models.array_types import Array
from riderless.models.bicycle_file import require_reals
from riderless.models.coordinates import ANGLE_STATES, DELTA, DELTA_DOT, PHI, PHI_DOT, RATE_STATES
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import Variant

SLOWEST_BANDWIDTH, FASTEST_BANDWIDTH = 1.0, 1000.0  # rad/s; slower balances no bicycle, faster is no motor's
LEAST_DAMPING, MOST_DAMPING = 0.2, 5.0
DELTA_DDOT = 4  # further state of `prescribed_steer` under a rate drive of second order
CommandUnit = Literal["N m", "rad/s", "rad"]
COMMAND_UNITS: dict[str, CommandUnit] = {"torque": "N m", "rate": "rad/s", "angle": "rad"}  # of each kind of drive
COMMAND_NAMES = {"torque": "T_delta", "rate": "delta_dot", "angle": "delta"}


@dataclass(frozen=True, kw_only=True)
class InnerLoop:
    """Loop inside a steer drive, from its command to the steer.

    Attributes
    ----------
    kind : "rate" or "angle"
        Quantity of the steer that is commanded, rad/s or rad, positive to the right.
    bandwidth : float
        w [rad/s].
    damping : float or None
        zeta of a second-order lag. None: a first-order lag, which only a rate can have: an angle that follows
        so would jump in rate, which takes an infinite torque.

    Raises
    ------
    InputError
        Another kind, or numbers out of range.
    """

    kind: Literal["rate", "angle"]
    bandwidth: float = 50.0
    damping: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("rate", "angle"):
            raise InputError(f"the steer's inner loop follows a rate or an angle, found the kind {self.kind!r}")
        require_reals("a steer drive", bandwidth=self.bandwidth)
        if self.damping is not None:
            require_reals("a steer drive", damping=self.damping)
        if not SLOWEST_BANDWIDTH <= self.bandwidth <= FASTEST_BANDWIDTH:
            raise InputError(
                f"the bandwidth of a steer drive must be from {SLOWEST_BANDWIDTH:g} to {FASTEST_BANDWIDTH:g} rad/s, "
                f"found {self.bandwidth:g} rad/s: give 2 pi times that in Hz"
            )
        if self.damping is None and self.kind == "angle":
            raise InputError(
                "an angle drive wants its damping, found none: with a first-order lag the steer rate would jump with "
                "every command; give damping = 1 if it does not overshoot"
            )
        if self.damping is not None and not LEAST_DAMPING <= self.damping <= MOST_DAMPING:
            raise InputError(
                f"the damping of a steer drive must be from {LEAST_DAMPING:g} to {MOST_DAMPING:g}, "
                f"found {self.damping:g}: 1 does not overshoot"
            )

    @property
    def unit(self) -> str:
        """Unit of the command."""
        return COMMAND_UNITS[self.kind]

    def as_table(self) -> dict[str, Any]:
        """Kind, bandwidth and damping as a file holds them; a first-order lag has no damping."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    def lag(self) -> float:
        """Time by which the steer follows a slowly changing command late, s."""
        return (1.0 if self.damping is None else 2.0 * self.damping) / self.bandwidth

    @property
    def error_gains(self) -> tuple[float, float]:
        """Steer acceleration per error [of its unit] and per steer rate [rad/s], of the law without its sign.

        The error is that of the angle, of the rate, or of the rate's integral, as of the table above.
        """
        if self.damping is None:
            return self.bandwidth, 0.0
        return self.bandwidth**2, 2.0 * self.damping * self.bandwidth

    @property
    def integrates(self) -> bool:
        """True if the drive has an integral of the rate's error: PI."""
        return self.kind == "rate" and self.damping is not None


def felt_inertia(plant: Variant) -> float:
    """Inertia I [kg m^2] that a quick steer torque turns: 1 / (M^-1)_22."""
    mass = plant.matrices(0.0)[0]
    return float(mass[DELTA, DELTA] - mass[PHI, DELTA] ** 2 / mass[PHI, PHI])


def prescribed_steer(plant: Variant, v: float, loop: InnerLoop) -> tuple[Array, Array]:
    """Matrix A [1/s] and vector b of x' = A x + b u: lean under a steer that follows its command with a lag.

    Parameters
    ----------
    plant : Variant
        Only the lean row of its equations counts.
    v : float
        Measured forward speed [m/s].
    loop : InnerLoop

    Returns
    -------
    A : (4, 4) or (5, 5) array
    b : (4,) or (5,) array
        State (phi, delta, phi_dot, delta_dot), and delta_ddot under a rate drive with damping; u in ``loop.unit``.
    """
    mass, damping, stiffness = plant.matrices(v)
    n = 5 if loop.integrates else 4
    A, b = np.zeros((n, n)), np.zeros(n)
    A[PHI, PHI_DOT] = A[DELTA, DELTA_DOT] = 1.0
    per_error, per_rate = loop.error_gains
    if loop.integrates:
        A[DELTA_DOT, DELTA_DDOT], jerk, acceleration = 1.0, np.zeros(n), np.eye(n)[DELTA_DDOT]
        jerk[[DELTA_DOT, DELTA_DDOT]] = -per_error, -per_rate
        A[DELTA_DDOT], b[DELTA_DDOT] = jerk, per_error
    else:
        acceleration = np.zeros(n)
        acceleration[DELTA if loop.kind == "angle" else DELTA_DOT] = -per_error
        acceleration[DELTA_DOT] -= per_rate
        A[DELTA_DOT], b[DELTA_DOT] = acceleration, per_error
    A[PHI_DOT, ANGLE_STATES], A[PHI_DOT, RATE_STATES] = -stiffness[PHI], -damping[PHI]
    A[PHI_DOT] = (A[PHI_DOT] - mass[PHI, DELTA] * acceleration) / mass[PHI, PHI]
    b[PHI_DOT] = -mass[PHI, DELTA] * (0.0 if loop.integrates else per_error) / mass[PHI, PHI]
    return A, b


def driven_steer(plant: Variant, v: float, loop: InnerLoop) -> tuple[Array, Array]:
    """Matrix A [1/s] and vector b of x' = A x + b u: the whole bicycle under the torque of its drive.

    Parameters
    ----------
    plant : Variant
        Machine as it really is; the drive was tuned for the bicycle as designed.
    v : float
        Measured forward speed [m/s].
    loop : InnerLoop

    Returns
    -------
    A : (4, 4) or (5, 5) array
    b : (4,) or (5,) array
        State (phi, delta, phi_dot, delta_dot), and the integral e [rad] of a PI; u in ``loop.unit``.
    """
    A, b = plant.system(v)
    per_state, per_command = inner_torque(plant, loop)
    n = len(per_state)
    whole, command = np.zeros((n, n)), np.zeros(n)
    whole[: len(A), : len(A)] = A
    whole[: len(A)] += np.outer(b, per_state)
    command[: len(A)] = b * per_command
    if loop.integrates:
        whole[-1, DELTA_DOT], command[-1] = -1.0, 1.0
    return whole, command


def inner_torque(plant: Variant, loop: InnerLoop) -> tuple[Array, float]:
    """Torque that the drive asks of itself [N m]: a row on the states of `driven_steer`, and per unit of command."""
    inertia = felt_inertia(Variant(plant.bicycle))
    per_error, per_rate = (inertia * gain for gain in loop.error_gains)
    row = np.zeros(5 if loop.integrates else 4)
    row[DELTA_DOT] -= per_rate
    if loop.integrates:
        row[-1] = per_error
        return row, 0.0
    row[DELTA if loop.kind == "angle" else DELTA_DOT] -= per_error
    return row, per_error
