"""Theory of the loop under an excitation.

A command is played on top of the controller's; linear and sampled.

With x the states of `riderless.hil.design.closed_loop` and r the command played, x[k+1] = W x[k] + B r[k]; the command
sent is u[k] = w x[k] + r[k], and the instruments show H x[k]. Without feedback, W - B w, the response to u is that of
the plant: drive and bicycle. A command is a torque [N m], or the steer rate [rad/s] or angle [rad] that a drive obeys.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from riderless.experiments.theory.free_response import propagate_evenly
from riderless.hil.controllers.controller import Controller
from riderless.hil.design.closed_loop import MEASURED_CHANNELS, SampledLoop
from riderless.hil.design.sampled_plant import T_DRIVE, U_PREV
from riderless.hil.loop.excitation import Excitation
from riderless.hil.loop.limits import COMMAND_LIMITS
from riderless.hil.rig.rig import Rig
from riderless.models.array_types import Array, ComplexArray
from riderless.models.coordinates import DELTA, PHI
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import Variant
from riderless.models.linear.prescribed_steer import COMMAND_UNITS

CHANGE_SHARE = 0.9  # of a limit that cuts off what is played: of the command's change, of the torque behind it
OUTPUT_ROWS = {"phi_dot": MEASURED_CHANNELS.index("phi_dot_meas"), "delta": MEASURED_CHANNELS.index("delta_meas")}


@dataclass(frozen=True, eq=False, repr=False)
class ExcitedLoop:
    """Matrices of the module's equations at one speed; ``dt`` in s."""

    W: Array  # (m, m)
    B: Array  # (m,)
    w: Array  # (m,)
    H: Array  # (4, m), rows as `riderless.hil.design.closed_loop.MEASURED_CHANNELS`
    dt: float

    @property
    def stable(self) -> bool:
        """Does the response to a torque die away?"""
        return bool(np.abs(np.linalg.eigvals(self.W)).max() < 1.0)

    def loop(self, f: Array, output: str) -> ComplexArray:
        """Frequency response (m,) from the torque played to an output at ``f`` (m,) Hz: "phi_dot", "delta", "T"."""
        if output == "T":
            return _transfer_function(self.W, self.B, self.w, f, self.dt) + 1.0
        return _transfer_function(self.W, self.B, self.H[OUTPUT_ROWS[output]], f, self.dt)

    def plant(self, f: Array, output: str) -> ComplexArray:
        """Frequency response (m,) of drive and bicycle from the torque commanded to an output."""
        return _transfer_function(self.W - np.outer(self.B, self.w), self.B, self.H[OUTPUT_ROWS[output]], f, self.dt)

    def states(self, command: Sequence[float] | Array) -> Array:
        """Simulate the states (k, m) while ``command`` (k,) is played from rest."""
        return propagate_evenly(self.W, np.zeros((len(self.B), 1)), len(command), np.outer(command, self.B))[..., 0]

    def response(self, command: Sequence[float] | Array) -> dict[str, Array]:
        """Simulate the readings while ``command`` (k,) is played from rest.

        Returns
        -------
        dict of (k,)
            Lean rate "phi_dot" [rad/s] and steer "delta" [rad] as measured, the command "T" sent; the states "phi" and
            "delta_true" [rad].
        """
        return self._shown(self.states(command), command)

    def _shown(self, states: Array, command: Sequence[float] | Array) -> dict[str, Array]:
        """Readings (k,) of `response` in ``states`` (k, m)."""
        seen = {name: states @ self.H[row] for name, row in OUTPUT_ROWS.items()}
        sent = states @ self.w + np.asarray(command, float)
        return {**seen, "T": sent, "phi": states[:, PHI], "delta_true": states[:, DELTA]}

    def peaks(self, command: Sequence[float] | Array, **others: int) -> dict[str, float]:
        """Largest lean, steer [rad], command and change of it per second while ``command`` (k,) is played from rest.

        Parameters
        ----------
        command : (k,)
        **others : int
            Places of further states by the names of their peaks.
        """
        states = self.states(command)
        seen = self._shown(states, command)
        largest = {"lean": seen["phi"], "steer": seen["delta_true"], "command": seen["T"]}
        largest["command_change"] = np.diff(seen["T"], prepend=0.0) / self.dt
        largest |= {name: states[:, place] for name, place in others.items()}
        return {name: float(np.abs(y).max(initial=0.0)) for name, y in largest.items()}

    def __repr__(self) -> str:
        stable = "stable" if self.stable else "unstable"
        return f"ExcitedLoop({len(self.B)} states, {stable}, sampled every {1e3 * self.dt:.4g} ms)"


def excited_loop(
    rig: Rig,
    schedule: Controller,
    v: float,
    steer_age: float = 0.0,
    real: Variant | None = None,
    more_delay: float = 0.0,
) -> ExcitedLoop:
    """Loop of a rig under a schedule at one speed.

    Parameters
    ----------
    rig : Rig
    schedule : Controller
    v : float
        Speed [m/s].
    steer_age : float
        Age of the steer angle beyond that of the inertial readings [s].
    real : Variant, optional
        The machine that the loop really moves; by default it is as designed.
    more_delay : float
        Delay of the drive beyond the one known [s].
    """
    loop = SampledLoop.of_rig(rig, schedule, steer_age=steer_age, real=real, more_delay=more_delay)
    W = loop.matrix(v)
    return ExcitedLoop(W, B=loop.input_vector(v), w=W[U_PREV].copy(), H=loop.instruments(v), dt=rig.dt)


def _transfer_function(A: Array, b: Array, c: Array, f: Array, dt: float) -> ComplexArray:
    """Frequency response c (z I - A)^-1 b at z = exp(2 pi i f dt), (m,).

    Parameters
    ----------
    A : (n, n)
        Transition matrix over one sample.
    b : (n,)
        Input column.
    c : (n,)
        Output row.
    f : (m,)
        Frequencies [Hz].
    dt : float
        Sampling interval [s].
    """
    z = np.exp(2j * np.pi * np.asarray(f, float) * dt)
    states = np.linalg.solve(z[:, None, None] * np.eye(len(b)) - A, np.broadcast_to(b, (len(z), len(b)))[..., None])
    return np.asarray(states[..., 0] @ c, complex)


def amplitude_within_limits(rig: Rig, schedule: Controller, v: float, signal: Excitation, share: float) -> float:
    """Amplitude [N m, rad/s or rad] at which theory keeps lean, steer and command within a share of the rig's limits.

    And the torque of a drive that obeys a steer rate or angle. The command changes a tenth more slowly than the
    supervisor lets it: what is cut off would not be played.

    Parameters
    ----------
    rig, schedule, v, signal
        As of `_amplitudes_at_limits`.
    share : float
        Of each limit, 0 to 1.

    Raises
    ------
    InputError
        As of `_amplitudes_at_limits`.
    """
    at_limit = _amplitudes_at_limits(rig, schedule, v, signal)
    return min((CHANGE_SHARE if name == "command_change" else share) * most for name, most in at_limit.items())


def require_played_whole(rig: Rig, schedule: Controller, v: float, signal: Excitation) -> None:
    """Refuse an amplitude of which, after theory, a limit of the command's change or of the drive's torque cuts some.

    Parameters
    ----------
    rig, schedule, v, signal
        As of `_amplitudes_at_limits`; here the amplitude counts.

    Raises
    ------
    InputError
    """
    most = {name: CHANGE_SHARE * at for name, at in _amplitudes_at_limits(rig, schedule, v, signal).items()}
    first = min(most, key=lambda name: most[name])
    if first not in ("command_change", "torque") or signal.amplitude <= most[first]:
        return  # a rehearsal tells of the others
    limit = COMMAND_LIMITS[rig.drive_kind][1] if first == "command_change" else first
    unit = COMMAND_UNITS[rig.drive_kind]
    bound = getattr(rig.limits, limit)
    raise InputError(
        f"an amplitude of {signal.amplitude:.3g} {unit} at {v:g} m/s meets the limit {limit} of {bound.value:g} "
        f"{bound.unit}, so that not all of it would be played: give at most {most[first]:.2g} {unit}"
    )


def _amplitudes_at_limits(rig: Rig, schedule: Controller, v: float, signal: Excitation) -> dict[str, float]:
    """Amplitude at which theory meets each limit: lean, steer, command, command_change; torque of a stiff drive.

    Parameters
    ----------
    rig : Rig
    schedule : Controller
    v : float
        Speed [m/s].
    signal : Excitation
        Its amplitude and delay do not count.

    Raises
    ------
    InputError
        When the loop is not stable at ``v``, so that no amplitude is small enough.
    """
    loop = excited_loop(rig, schedule, v)
    if not loop.stable:
        raise InputError(
            f"the controller {schedule.method} does not balance {rig.bicycle.name} at {v:g} m/s, so nothing can be "
            "played there: choose another speed or controller"
        )
    unit = replace(signal, amplitude=1.0, delay=0.0).samples(rig.rate)
    record = rig.limits.as_record(rig.drive_kind)
    peaks = loop.peaks(unit, **({} if rig.drive is None else {"torque": T_DRIVE}))
    return {name: float(record[name]) / peak for name, peak in peaks.items()}


def crest_factor(torque: Array) -> float:
    """Largest value over root mean square; 1.41 for a sine, and the less the better for a given limit."""
    return float(np.abs(torque).max() / np.sqrt(np.mean(np.square(torque))))
