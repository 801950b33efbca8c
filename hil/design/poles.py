"""Pole placement.

By the weave's damping and frequency and two real modes, or by four raw poles. A request is made in continuous time
[1/s] and mapped by exp(s dt). The poles of the drive and of the delay stay where they are: the four gains act on the
bicycle state *predicted* for the moment the new torque takes hold, p = x + C (T_drive, u_prev), which obeys p[k+1] = Ad
p[k] + g u[k] without them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import pi, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, null_space, solve_sylvester

from riderless.hil.design.sampled_plant import BICYCLE_PART, DRIVE_PART, SampledModel
from riderless.hil.design.stabilisability import require_stabilisable, uncontrollable_speeds
from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.linear.modes import named_modes
from riderless.models.linear.whipple import system_matrix
from riderless.models.parameters import Bicycle

Poles = NDArray[np.complex128]
Number = float | Callable[[float], float]
Numbers = Sequence[complex | str] | Callable[[float], Sequence[complex | str]]

USUAL_ZETA = 0.5  # of the weave

LEAST_DECAY = 1.0
"""[1/s] A real mode slower than this (the capsize mode, often) is asked to decay this fast instead."""

STUCK_WITHIN, FREE_BEYOND = 0.1, 0.5
"""[m/s] Nearer than STUCK_WITHIN to a stuck mode's speed its pole is left alone; farther than FREE_BEYOND it goes
where asked; between them it moves over smoothly, so that gains may be interpolated over speed."""


def place_gain(A: Array, b: Array, poles: ArrayLike) -> Array:
    """Place the ``poles`` (n,) of A - b K, for one input, by Ackermann's formula; returns K (n,).

    The characteristic polynomial of A is applied factor by factor, never expanded. For a sampled
    system pass (F - I)/dt, G/dt and (z - 1)/dt: at a high rate F itself is too near the identity.

    Raises
    ------
    LinAlgError
        The gains do not give the poles: the pair is not controllable, or too nearly so.
    """
    n, poles = len(b), np.asarray(poles, dtype=complex)
    controllability = np.column_stack([np.linalg.matrix_power(A, i) @ b for i in range(n)])
    row = np.linalg.solve(controllability.T, np.eye(n)[-1]).astype(complex)
    for pole in poles:
        row = row @ (A - pole * np.eye(n))
    K = row.real
    wanted, polynomial = np.poly(poles).real, np.poly(A - np.outer(b, K))
    if np.any(np.abs(polynomial - wanted) > 1e-6 * np.poly(-np.abs(poles))):
        raise LinAlgError("the requested poles were not reached")
    return K


def place_beside(A: Array, b: Array, poles: ArrayLike, kept: float) -> Array:
    """Place all poles but one, and leave A's real eigenvalue nearest ``kept`` where it is.

    The feedback does not act on the kept mode, so it does not matter whether the input could move it.

    Parameters
    ----------
    A : (n, n) array
    b : (n,) array
    poles : (n - 1,) complex
        Requested eigenvalues of A - b K beside the kept one.
    kept : float
        Real eigenvalue of A, about.

    Returns
    -------
    (n,) array
        Gain K.
    """
    values, vectors = np.linalg.eig(A)
    mode = vectors[:, np.argmin(np.abs(values - kept))].real
    rest = null_space(mode[None, :])  # rows of rest.T span what is left of the state
    return place_gain(rest.T @ A @ rest, rest.T @ b, poles) @ rest.T


@dataclass(frozen=True)
class PolePlacement:
    """Placement of the bicycle's four poles, given as numbers or as functions of speed.

    Parameters
    ----------
    zeta : float, callable of v [m/s] or None
        Damping ratio of the weave; None for `USUAL_ZETA`.
    omega : float, callable or None
        Natural frequency of the weave [rad/s]; None leaves it at the open loop's own.
    real : two floats, callable or None
        The other two poles [1/s]; None leaves them at the open loop's own capsize and caster,
        made to decay at LEAST_DECAY or faster.
    raw : four complex numbers (or their text), callable or None
        All four poles [1/s], instead of the above.
    """

    zeta: Number | None = None
    omega: Number | None = None
    real: Numbers | None = None
    raw: Numbers | None = None

    def __post_init__(self) -> None:
        if self.raw is None:
            object.__setattr__(self, "zeta", USUAL_ZETA if self.zeta is None else self.zeta)
        elif not (self.zeta is None and self.omega is None and self.real is None):
            raise InputError("poles are asked for either as 'raw' or as 'zeta', 'omega' and 'real', found both")

    def request(self, bicycle: Bicycle, v: float) -> Poles:
        """Poles (4,) asked for at speed ``v`` [m/s], before any stuck mode is considered.

        Raises
        ------
        InputError
            They are not four stable poles in conjugate pairs.
        """
        if self.raw is not None:
            poles = _numbers(self.raw, v, 4, "raw")
        else:
            assert self.zeta is not None  # since __post_init__
            zeta = _at(self.zeta, v, "zeta")
            omega = natural(bicycle, v)[0] if self.omega is None else _at(self.omega, v, "omega")
            others = natural(bicycle, v)[1] if self.real is None else _numbers(self.real, v, 2, "real")
            if not 0.0 < zeta <= 1.0:
                raise InputError(
                    f"the weave's damping ratio must be above 0 and at most 1, found {zeta:g} at {v:g} m/s"
                )
            if not (omega > 0.0 and np.isfinite(omega)):
                raise InputError(f"the weave's frequency must be above 0 rad/s, found {omega:g} rad/s at {v:g} m/s")
            weave = omega * complex(-zeta, sqrt(1.0 - zeta**2))
            if self.real is not None and np.any(others.imag != 0.0):
                raise InputError(f"'real' wants two real poles, found {_text(others)} 1/s: give complex ones as 'raw'")
            poles = np.array([weave, weave.conjugate(), *others])
        if np.any(np.isinf(poles)):
            raise InputError(f"poles must be finite, found {_text(poles)} 1/s at {v:g} m/s")
        if not np.all(poles.real < 0.0):
            raise InputError(f"poles must have a negative real part, found {_text(poles)} 1/s at {v:g} m/s")
        if np.any(np.sort_complex(poles) != np.sort_complex(poles.conj())):
            raise InputError(f"complex poles must come in conjugate pairs, found {_text(poles)} 1/s at {v:g} m/s")
        return poles

    def gains(self, bicycle: Bicycle, v: float, model: SampledModel) -> tuple[Array, str]:
        """Six gains at speed ``v`` [m/s] and a note that says where the poles were put.

        Raises
        ------
        InputError
            The request is not one, or the steer torque cannot meet it at this speed.
        """
        return place_poles(bicycle, v, model, self.request(bicycle, v))


def place_poles(bicycle: Bicycle, v: float, model: SampledModel, poles: Poles) -> tuple[Array, str]:
    """Six gains that give the bicycle these four poles, and a note that says where they were put.

    Parameters
    ----------
    bicycle : Bicycle
    v : float
        Speed [m/s].
    model : SampledModel
        At that speed.
    poles : (4,) complex
        In continuous time [1/s], in conjugate pairs.

    Raises
    ------
    InputError
        The steer torque cannot place them at this speed.
    """
    require_stabilisable(bicycle, v)
    fastest = float(np.max(np.abs(poles.imag)))
    if fastest >= pi / model.dt:
        raise InputError(
            f"a pole at {fastest:g} rad/s cannot be told apart at {1 / model.dt:g} Hz: "
            f"ask for less than {pi / model.dt:.0f} rad/s"
        )
    poles, kept, note = _beside_stuck(bicycle, v, poles)
    Ad, g, predict = predictor(model)
    A, b = (Ad - np.eye(len(Ad))) / model.dt, g / model.dt
    targets = np.expm1(poles * model.dt) / model.dt
    try:
        if kept is None:
            k = place_gain(A, b, targets)
        else:
            k = place_beside(A, b, targets, float(np.expm1(kept * model.dt) / model.dt))
    except LinAlgError:
        raise InputError(
            f"steer torque cannot place the poles {_text(poles)} 1/s of {bicycle.name} at {v:g} m/s: "
            "ask for others or leave this speed out"
        ) from None
    return model.widen(k @ predict), note


def natural(bicycle: Bicycle, v: float) -> tuple[float, Poles]:
    """Weave frequency [rad/s], and capsize and caster [1/s], of the open loop: the default request.

    Where the weave is two real eigenvalues its frequency is their geometric mean. Capsize and caster
    decay at LEAST_DECAY or faster; on some bicycles they are a pair over a range of speeds.
    """
    modes = named_modes(bicycle, v)
    others = np.array([modes.capsize[0], modes.caster[0]])
    paired = others[0] == others[1].conjugate()  # and not each with half the weave, as the skate's at rest
    turn = 1j * others.imag if paired else 0j
    return sqrt(abs(np.prod(modes.weave[0]))), np.minimum(others.real, -LEAST_DECAY) + turn


def predictor(model: SampledModel) -> tuple[Array, Array, Array]:
    """Predictor of the bicycle's state beyond drive and delay: Ad (4, 4), g (4,) and P (4, n), with p = P z.

    With F = [[Ad, F12], [0, F22]], P = [I, C] and the Sylvester equation Ad C - C F22 = F12 for C,
    P F = Ad P: the prediction moves as the bicycle would without drive and delay.
    """
    Ad, F12 = model.F[BICYCLE_PART, BICYCLE_PART], model.F[BICYCLE_PART, DRIVE_PART]
    F22 = model.F[DRIVE_PART, DRIVE_PART]
    C = solve_sylvester(Ad, -F22, F12) if len(F22) else np.zeros_like(F12)
    P = np.hstack([np.eye(len(Ad)), C])
    return Ad, P @ model.G, P


def _beside_stuck(bicycle: Bicycle, v: float, poles: Poles) -> tuple[Poles, float | None, str]:
    """Adapt a request to a stable mode that steer torque cannot, or can hardly, move at ``v`` [m/s].

    Near the speed of such a mode the nearest real pole of the request is put where the mode is
    anyway; at that very speed nothing else is possible, and close to it anything else asks for huge
    gains.

    Parameters
    ----------
    bicycle : Bicycle
    v : float
        Forward speed [m/s].
    poles : (4,) complex
        Poles asked for [1/s].

    Returns
    -------
    poles : (4,) or (3,) complex
        Poles to place [1/s].
    kept : float or None
        Open-loop eigenvalue to leave alone [1/s], if it is not among ``poles``.
    note : str

    Raises
    ------
    InputError
        The request has no real pole that could give way.
    """
    own = np.linalg.eigvals(system_matrix(bicycle, v))
    own = own[(own.imag == 0.0) & (own.real < 0.0)].real
    near = [s for s in uncontrollable_speeds(bicycle) if s.stable and abs(v - s.v) < FREE_BEYOND]
    if not near or not len(own):
        return poles, None, ""
    stuck = min(near, key=lambda s: abs(v - s.v))
    mode = float(own[np.argmin(np.abs(own - stuck.eigenvalue))])
    share = float(np.clip((abs(v - stuck.v) - STUCK_WITHIN) / (FREE_BEYOND - STUCK_WITHIN), 0.0, 1.0))
    share *= share * (3.0 - 2.0 * share)  # smooth at both ends
    real = np.flatnonzero(poles.imag == 0.0)
    if not len(real):
        if share > 0.0:
            return poles, None, ""
        raise InputError(
            f"near {stuck.v:.3f} m/s steer torque cannot move the pole at {mode:.2f} 1/s of {bicycle.name}: "
            f"ask for a real pole that can give way to it, found {_text(poles)} 1/s at {v:g} m/s"
        )
    i = real[np.argmin(np.abs(poles[real] - mode))]
    requested = poles[i].real
    if share == 0.0:
        instead = f", asked for {requested:.2f} 1/s" if abs(requested - mode) > 0.005 else ""
        note = f"steer torque cannot move the pole at {mode:.2f} 1/s near {stuck.v:.3f} m/s: left there{instead}"
        return np.delete(poles, i), mode, note
    put = mode + share * (requested - mode)
    note = (
        f"steer torque hardly moves the pole at {mode:.2f} 1/s near {stuck.v:.3f} m/s: "
        f"put at {put:.2f} 1/s, asked for {requested:.2f} 1/s"
    )
    return np.concatenate([np.delete(poles, i), [put]]), None, note if abs(put - requested) > 0.005 else ""


def _at(value: Number, v: float, name: str) -> float:
    """Evaluate a number, or a function of speed at ``v`` [m/s]."""
    given = value(v) if callable(value) else value
    try:
        return float(given)
    except (TypeError, ValueError):
        raise InputError(f"'{name}' wants a number or a function of speed, found {given!r}") from None


def _numbers(value: Numbers, v: float, n: int, name: str) -> Poles:
    """Read ``n`` poles from numbers, text such as "-2+3j", or a function of speed that gives either."""
    given = value(v) if callable(value) else value
    try:
        poles = np.array([complex(pole) for pole in given])
    except (TypeError, ValueError):
        raise InputError(f"'{name}' wants {n} poles such as -4 or -2+3j, found {given!r}") from None
    if len(poles) != n:
        raise InputError(f"'{name}' wants {n} poles, found {len(poles)}: {_text(poles)} 1/s")
    return poles


def _text(poles: Poles) -> str:
    """Format poles for a sentence: "-2+3j, -2-3j, -4"."""
    return ", ".join(f"{pole:.4g}" if pole.imag else f"{pole.real:.4g}" for pole in poles)
