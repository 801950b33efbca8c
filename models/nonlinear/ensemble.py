"""Ensemble of nonlinear bicycles, advanced together.

Each lies in a lane of the processor's vector registers. Bicycles lie in blocks of `LANES`. Within a block every
quantity is a row of that many floats, and the compiler turns the loop over the lanes into vector instructions; that
needs a body without branches, so a bicycle that leaves the domain of the model is held where it was by a selection, not
by an if. Sixteen lanes, because the compiler takes shorter loops as not worth the check that the arrays do not overlap.
"""

from collections.abc import Sequence
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riderless.models.array_types import Array
from riderless.models.bicycle_file import is_number, shortened
from riderless.models.coordinates import Q_DELTA, Q_PHI, Q_THETA_R, REAR_TORQUE, U_DELTA, U_PHI
from riderless.models.errors import InputError
from riderless.models.nonlinear.contact_forces import OUTSIDE, inside
from riderless.models.nonlinear.integrator import lower_front_wheel, rk4
from riderless.models.nonlinear.parameters import Packed, pack_bicycle
from riderless.models.nonlinear.simulation import initial_state
from riderless.models.nonlinear.vectors import compiled, inlined
from riderless.models.parameters import Bicycle

LANES = 16
_PARAMETERS = len(Packed._fields)
_STATES = (
    12  # the eleven of `riderless.models.nonlinear.integrator`, and whether the bicycle is still riding (1) or held (0)
)
_COORDINATES, _SPEEDS, _RIDING = slice(8), slice(U_PHI, U_DELTA + 1), 11  # where they are among these
_ROLL_R = Packed._fields.index("roll_R")
_L = LANES


@inlined
def _packed(p, j):
    """`Packed` of lane ``j`` of a block."""
    return Packed(
        p[j], p[j + _L], p[j + 2 * _L], p[j + 3 * _L], p[j + 4 * _L], p[j + 5 * _L], p[j + 6 * _L],
        p[j + 7 * _L], p[j + 8 * _L], p[j + 9 * _L], p[j + 10 * _L], p[j + 11 * _L], p[j + 12 * _L], p[j + 13 * _L],
        p[j + 14 * _L], p[j + 15 * _L], p[j + 16 * _L], p[j + 17 * _L], p[j + 18 * _L], p[j + 19 * _L],
        p[j + 20 * _L], p[j + 21 * _L], p[j + 22 * _L], p[j + 23 * _L], p[j + 24 * _L], p[j + 25 * _L],
    )  # fmt: skip


@inlined
def _state(x, j):
    """Read the eleven states of lane ``j`` of a block."""
    return (
        x[j], x[j + _L], x[j + 2 * _L], x[j + 3 * _L], x[j + 4 * _L], x[j + 5 * _L], x[j + 6 * _L],
        x[j + 7 * _L], x[j + 8 * _L], x[j + 9 * _L], x[j + 10 * _L],
    )  # fmt: skip


@compiled
def _ride_block(p, x, T, dt, n):
    """Advance one block by ``n`` steps; flat arrays of rows of `LANES`."""
    for _ in range(n):
        for j in range(_L):
            b, s = _packed(p, j), _state(x, j)
            y = rk4(b, s, T[j], T[j + _L], T[j + 2 * _L], dt)
            q5, _ = lower_front_wheel(b, y[3], y[4], y[6])
            q5, o = lower_front_wheel(b, y[3], q5, y[6])
            fits = inside(y[3], q5, y[6], y[8], y[9], y[10], o.p, o.g1) and x[j + 11 * _L] > 0.5
            x[j] = y[0] if fits else s[0]
            x[j + _L] = y[1] if fits else s[1]
            x[j + 2 * _L] = y[2] if fits else s[2]
            x[j + 3 * _L] = y[3] if fits else s[3]
            x[j + 4 * _L] = q5 if fits else s[4]
            x[j + 5 * _L] = y[5] if fits else s[5]
            x[j + 6 * _L] = y[6] if fits else s[6]
            x[j + 7 * _L] = y[7] if fits else s[7]
            x[j + 8 * _L] = y[8] if fits else s[8]
            x[j + 9 * _L] = y[9] if fits else s[9]
            x[j + 10 * _L] = y[10] if fits else s[10]
            x[j + 11 * _L] = 1.0 if fits else 0.0


@compiled
def ride(p, x, T, dt, n):
    """Advance all blocks of bicycles by ``n`` steps of ``dt`` [s], in place.

    Parameters
    ----------
    p : flat array
        Parameters, `Packed`, in blocks of `LANES`.
    x : flat array
        States in such blocks, changed in place.
    T : flat array
        Torques (roll, rear wheel as a force at the rim [N], steer) in such blocks, N m.
    dt : float
        Step, s.
    n : int
        Number of steps.
    """
    for i in range(x.size // (_STATES * _L)):
        _ride_block(
            p[i * _PARAMETERS * _L : (i + 1) * _PARAMETERS * _L],
            x[i * _STATES * _L : (i + 1) * _STATES * _L],
            T[i * 3 * _L : (i + 1) * 3 * _L],
            dt,
            n,
        )


class Ensemble:
    """Ensemble of N bicycles that ride together, from states of `riderless.models.nonlinear.simulation.initial_state`.

    Parameters
    ----------
    bicycles : sequence of N Bicycle
    q, u : (N, 8) arrays
        Coordinates and speeds, as `riderless.models.coordinates`.

    Raises
    ------
    InputError
        For no bicycle at all, or states that are not one a bicycle.
    """

    def __init__(self, bicycles: Sequence[Bicycle], q: ArrayLike, u: ArrayLike) -> None:
        q, u = np.array(q, dtype=float), np.array(u, dtype=float)
        n = len(bicycles)
        if n == 0 or q.shape != (n, 8) or u.shape != (n, 8):
            raise InputError(f"wanted states ({n}, 8), one or more, found {q.shape} and {u.shape}; give one a bicycle")
        packed = np.array([pack_bicycle(bicycle) for bicycle in bicycles])
        speeds = np.stack([u[:, Q_PHI], -packed[:, _ROLL_R] * u[:, Q_THETA_R], u[:, Q_DELTA]], axis=1)
        self.n = n
        self._packed = packed
        self._p = _in_lanes(packed)
        self._x = _in_lanes(np.hstack([q, speeds, np.ones((n, 1))]))

    def __repr__(self) -> str:
        return f"Ensemble({self.n} bicycle{'s' * (self.n != 1)})"

    @classmethod
    def starting(cls, bicycles: Sequence[Bicycle], **states: ArrayLike) -> "Ensemble":
        """Start bicycles from the arguments of `simulation.initial_state`, one number for all or one each.

        Raises
        ------
        InputError
            As of `initial_state`, for a bicycle in place of several, or numbers for another count of bicycles.
        """
        if not isinstance(bicycles, Sequence):
            raise InputError(f"wanted a list of bicycles, found {shortened(bicycles)}: write [bicycle] * 100")
        n = len(bicycles)
        for key, value in states.items():
            if np.shape(value) not in ((), (1,), (n,)):
                raise InputError(f"wanted one {key} or {n}, one a bicycle, found the shape {np.shape(value)}")
        columns = {key: np.broadcast_to(np.asarray(value, dtype=float), n) for key, value in states.items()}
        rows = [
            initial_state(bicycle, **{key: float(column[m]) for key, column in columns.items()})
            for m, bicycle in enumerate(bicycles)
        ]
        return cls(bicycles, np.array([q for q, _ in rows]), np.array([u for _, u in rows]))

    def picked(self, rows: NDArray[np.int64]) -> "Ensemble":
        """Make an ensemble of the bicycles in these rows, each in its present state."""
        other = object.__new__(Ensemble)
        other.n, other._packed = len(rows), self._packed[rows]
        other._p = _in_lanes(other._packed)
        other._x = _in_lanes(_rows(self._x, _STATES, self.n)[rows])
        return other

    def restart(self, places: NDArray[np.int64], starts: "Ensemble", rows: NDArray[np.int64]) -> None:
        """Let the bicycles in ``places`` (m,) begin anew, as those in ``rows`` (m,) of another ensemble stand."""
        self._packed[places] = starts._packed[rows]
        for width, flat, source in ((_PARAMETERS, self._p, starts._p), (_STATES, self._x, starts._x)):
            blocks, others = flat.reshape(-1, width, LANES), source.reshape(-1, width, LANES)
            blocks[places // LANES, :, places % LANES] = others[rows // LANES, :, rows % LANES]

    def advance(self, dt: float, steps: int, torque: ArrayLike = 0.0) -> None:
        """Ride on for ``steps`` fourth-order steps of ``dt`` [s].

        ``torque`` [N m], held meanwhile, is anything that broadcasts to (N, 3): roll, rear wheel, steer. Other
        threads run meanwhile.

        Raises
        ------
        InputError
            A step that is no time, a number of steps that is none, or torques of another shape or not finite. Nobody
            has moved then.
        """
        if not (is_number(dt) and dt > 0.0):
            raise InputError(f"wanted a step above zero, found {shortened(dt)} s; give seconds, for example 0.001")
        if not isinstance(steps, Integral) or isinstance(steps, bool) or steps < 0:
            raise InputError(
                f"wanted a whole number of steps, zero or more, found {shortened(steps)}; give duration/dt"
            )
        T = _torques(torque, self.n)
        T[:, REAR_TORQUE] /= -self._packed[:, _ROLL_R]
        ride(self._p, self._x, _in_lanes(T), dt, steps)

    @property
    def q(self) -> Array:
        """Coordinates (N, 8), rad and m."""
        return _rows(self._x, _STATES, self.n)[:, _COORDINATES]

    @property
    def speeds(self) -> Array:
        """Independent speeds (N, 3): roll rate [rad/s], forward speed at the rear rim [m/s], steer rate [rad/s]."""
        return _rows(self._x, _STATES, self.n)[:, _SPEEDS]

    @property
    def status(self) -> NDArray[np.int64]:
        """Status (N,): 0, or `OUTSIDE` for a bicycle that has left the domain and is held at its last good state."""
        return np.where(_rows(self._x, _STATES, self.n)[:, _RIDING] > 0.5, 0, OUTSIDE)


def _torques(torque: ArrayLike, n: int) -> Array:
    """Torques (n, 3) of what was given."""
    try:
        given = np.asarray(torque, dtype=float)
        T = np.array(np.broadcast_to(given, (n, 3)))
    except (TypeError, ValueError):
        raise InputError(
            f"wanted torques in N m that broadcast to ({n}, 3), found {shortened(torque)}; give roll, rear wheel and "
            "steer, for all or a row a bicycle"
        ) from None
    if not np.isfinite(T).all():
        raise InputError(f"wanted finite torques in N m, found {T[~np.isfinite(T)][0]}; give 0 for none")
    return T


def _in_lanes(rows: Array) -> Array:
    """One row a bicycle into blocks of `LANES`, flat; the last bicycle fills the last block."""
    blocks = -(-len(rows) // LANES)
    filled = np.vstack([rows, np.repeat(rows[-1:], blocks * LANES - len(rows), axis=0)])
    return np.ascontiguousarray(filled.reshape(blocks, LANES, -1).swapaxes(1, 2)).ravel()


def _rows(flat: Array, width: int, n: int) -> Array:
    """Rows (n, width) from blocks of `LANES`; the inverse of `_in_lanes`."""
    return flat.reshape(-1, width, LANES).swapaxes(1, 2).reshape(-1, width)[:n].copy()
