"""Certificate of stability at a changing speed, for any controller on any rig.

Proved is the linear sampled loop that is flown: delay, drive lag, observer and interpolated gains. Of the deviations of
bicycle and machine, the few directions that move the loop most are proved as a box; the rest is drawn.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np

from riderless.experiments.dynamics import Theory
from riderless.experiments.emulation.margins import with_tangent
from riderless.experiments.theory.run_theory import loop_theory
from riderless.experiments.theory.uncertainty_bands import draw_machine
from riderless.hil.controllers.controller import Controller
from riderless.hil.design.certificate.certificate import Certificate
from riderless.hil.design.certificate.loops import LoopBox
from riderless.hil.design.certificate.synthesis import NoCertificateError, prove
from riderless.hil.design.certificate.verify import FORMAT
from riderless.hil.design.closed_loop import MEASURED_CHANNELS, SampledLoop
from riderless.hil.rig.fitting import QUICKEST_DRIVE
from riderless.hil.rig.rig import Rig
from riderless.models.array_types import Array
from riderless.models.coordinates import PHI
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import Variant

MOST_ACCELERATION, MOST_STD, MOST_DIRECTIONS = 5.0, 6.0, 4  # m/s^2; standard deviations
MACHINES_DRAWN = 200
_LOOKS = 25  # speeds at which a kept speed is looked at
_SLOW = 0.25  # of the acceleration wanted, at which what fails is tried again
_FIRST_LEAN, _FALLEN, _LONGEST = np.radians(1.0), np.radians(30.0), 60.0  # rad, rad, s
_GROWN = 10.0  # times the first motion: a course of speed that shakes a bicycle up


@dataclass(frozen=True)
class CounterExample:
    """Motion that grows, simulated in the linear sampled loop.

    Attributes
    ----------
    v : float
        Speed [m/s] at which it begins, or is kept.
    growth : float
        1/s at a kept speed; of a changing speed nan.
    falls_after : float
        s, until a lean of 1 deg is 30 deg; inf of one that only grows.
    machine : mapping of str to float
        Deviations of the machine, in standard deviations; empty of the one as it is thought to be.
    """

    v: float
    growth: float
    falls_after: float
    machine: Mapping[str, float]


@dataclass(frozen=True)
class Certification:
    """Result of a search for a certificate.

    Attributes
    ----------
    certificate : Certificate or None
    reason : str
        Why there is none.
    counter_example : CounterExample or None
    instead : Certificate or None
        What does hold: without deviations, or at a smaller acceleration.
    drawn, shrunk, stable : int
        Machines drawn from all deviations; of these, those whose V shrinks as well, and those that are stable at each
        kept speed.
    """

    certificate: Certificate | None
    reason: str = ""
    counter_example: CounterExample | None = None
    instead: Certificate | None = None
    drawn: int = 0
    shrunk: int = 0
    stable: int = 0


def certify(
    controller: Controller,
    rig: Rig | None = None,
    speeds: tuple[float, float] | None = None,
    *,
    acceleration: float = 1.0,
    std: float = 2.0,
    directions: int = 2,
    allow_mismatch: bool = False,
    tell: Callable[[str], None] = lambda text: None,
) -> Certification:
    """Search for a proof that a bicycle stays upright at a speed that changes.

    Parameters
    ----------
    controller : Controller
        Of any kind; a law in Python is taken by its tangent at rest.
    rig : Rig
        Machine; by default the emulated one that the controller was made for.
    speeds : (2,)
        Range [m/s]; by default that of the controller.
    acceleration : float
        Largest rate of change of the speed [m/s^2], 0 to 5.
    std : float
        Standard deviations of bicycle and machine up to which it is to hold, 0 to 6.
    directions : int
        Of all deviations, how many directions are proved, 0 to 4; each takes two to three times longer.
    allow_mismatch : bool
        The controller may be for another bicycle, delay or drive lag.
    tell : callable
        Called with what is being done.

    Raises
    ------
    InputError
        Controller and rig do not fit, a number is out of its range, or cvxpy is not installed.
    """
    controller, rig = with_tangent(controller, rig, allow_mismatch)
    low, high = _range(controller, speeds)
    for name, value, most in (
        ("acceleration", acceleration, MOST_ACCELERATION),
        ("std", std, MOST_STD),
        ("directions", directions, MOST_DIRECTIONS),
    ):
        if not 0.0 <= value <= most:
            raise InputError(f"wanted {name} from 0 to {most:g}, found {value:g}: correct it")
    _require_solver()
    rig = replace(rig, drive_lag=max(rig.drive_lag, QUICKEST_DRIVE))
    deviations = Deviations(rig, controller, (low + high) / 2.0, std, directions)
    tell("looking at kept speeds")
    falls = deviations.falls_at(np.linspace(low, high, _LOOKS))
    if falls is not None:
        return Certification(None, "a motion grows at a kept speed", falls)

    def attempt(box: LoopBox, own: Deviations) -> Certificate:
        return Certificate(_head(rig, controller, own, box.acceleration), prove(box, low, high, controller.v))

    try:
        tell("searching for a Lyapunov function")
        certificate = attempt(deviations.box(acceleration), deviations)
    except NoCertificateError as error:
        tell("searching for a course of speed that shakes it up")
        shaken = deviations.shaken(low, high, acceleration)
        less, none = (Deviations(rig, controller, (low + high) / 2.0, share * std, directions) for share in (0.5, 0.0))
        for own, a in ((less, acceleration), (none, acceleration), (none, _SLOW * acceleration)):
            if own.directions == deviations.directions == 0 and a == acceleration:
                continue
            tell(f"searching again, up to {own.std:g} standard deviations and {a:g} m/s2")
            try:
                return Certification(None, str(error), shaken, attempt(own.box(a), own))
            except NoCertificateError:
                pass
        return Certification(None, str(error), shaken)
    tell("drawing machines")
    drawn, shrunk, stable = deviations.draw(certificate)
    return Certification(certificate, drawn=drawn, shrunk=shrunk, stable=stable)


class Deviations:
    """Deviations of bicycle and machine, and the directions in which they move a loop most.

    Parameters
    ----------
    rig : Rig
    controller : Controller
    v : float
        Speed [m/s] at which the directions are chosen.
    std : float
        Standard deviations at the end of a direction.
    directions : int
    """

    def __init__(self, rig: Rig, controller: Controller, v: float, std: float, directions: int) -> None:
        self._rig, self._controller, self.std = rig, controller, std
        self._theory: Theory = loop_theory(rig, controller, controller.method, np.zeros(len(MEASURED_CHANNELS)))
        self.names = tuple(self._theory.uncertain) if std > 0.0 else ()
        self._nominal = np.array([self._theory.nominal(name) for name in self.names])
        self.directions = min(directions, len(self.names))
        self._basis = self._chosen(v)[:, : self.directions] if self.directions else np.zeros((len(self.names), 0))

    def _chosen(self, v: float) -> Array:
        """Directions (q, q) of independent deviations, that which moves the loop most first."""

        def effect(row: Array) -> Array:
            low, high = (self._loop(self._machine(sign * row)).matrix(v) for sign in (-1.0, 1.0))
            return np.asarray((high - low) / scale).ravel()

        scale = np.abs(self._loop(self._machine(np.zeros(len(self.names)))).matrix(v)) + 1.0
        effects = np.array([effect(row) for row in np.eye(len(self.names))])
        return np.asarray(np.linalg.svd(effects, full_matrices=True)[0])

    def _machine(self, normal: Array) -> tuple[Variant, float]:
        """Machine at ``normal`` (q,) independent deviations of `std`."""
        if not self.names:
            return self._theory.variant({})
        moved = self._nominal + self.std * self._theory.spread @ normal
        try:
            return self._theory.variant(dict(zip(self.names, moved.tolist(), strict=True)))
        except InputError as error:
            raise InputError(f"{self.std:g} standard deviations make a machine that cannot be: {error}") from error

    def _loop(self, machine: tuple[Variant, float]) -> SampledLoop:
        variant, more_delay = machine
        return SampledLoop.of_rig(self._rig, self._controller, real=variant, more_delay=more_delay)

    def box(self, acceleration: float) -> LoopBox:
        """Box of its directions and of an acceleration [m/s^2] of either sign."""
        return LoopBox(
            self._rig, self._controller, lambda z: self._machine(self._basis @ z), self.directions, acceleration
        )

    def largest(self, direction: int) -> str:
        """Name of the quantity that most of a direction is."""
        return self.names[int(np.argmax(np.abs(self._basis[:, direction])))]

    def _values(self, z: Array) -> dict[str, float]:
        """Largest deviations at a point of the box, in standard deviations."""
        if not self.directions:
            return {}
        root = self._theory.spread / np.array(list(self._theory.uncertain.values()))[:, np.newaxis]
        deviations = self.std * root @ self._basis @ z
        most = np.argsort(-np.abs(deviations))[:3]
        return {self.names[i]: float(deviations[i]) for i in most if abs(deviations[i]) > 0.1}

    def falls_at(self, speeds: Array) -> CounterExample | None:
        """Kept speed and machine of the box at which a motion grows fastest; None where none grows."""
        box = self.box(0.0)
        points = [np.zeros(self.directions), *box.points[box.outer]] if self.directions else [np.zeros(0)]
        worst: tuple[float, float, Array] | None = None
        for z in points:
            loop = self._loop(self._machine(self._basis @ z))
            for v in speeds.tolist():
                growth = float(np.log(np.abs(np.linalg.eigvals(loop.matrix(v))).max()) / self._rig.dt)
                if growth >= 0.0 and (worst is None or growth > worst[0]):
                    worst = growth, v, z
            if worst is not None and not z.any():
                break  # the machine as it is thought to be
        if worst is None:
            return None
        growth, v, z = worst
        loop = self._loop(self._machine(self._basis @ z))
        return CounterExample(v, growth, _falls_after(loop, v), self._values(z))

    def shaken(self, low: float, high: float, acceleration: float) -> CounterExample | None:
        """Course of speed that lets a motion grow, if the worst next step always does."""
        loops = LoopBox(self._rig, self._controller, lambda z: self._theory.variant({}), 0, acceleration)
        v, dt, axes = (low + high) / 2.0, self._rig.dt, np.linspace(low, high, _LOOKS)
        tables = np.array([loops.corners(u) for u in axes])
        signs = loops.points[:, 0] if acceleration else np.zeros(1)
        x = self._loop(self._theory.variant({})).embed(v) @ [_FIRST_LEAN, 0.0, 0.0, 0.0]
        first, start = float(np.linalg.norm(x)), v
        for k in range(round(_LONGEST / dt)):
            i = int(np.argmin(np.abs(axes - v)))
            after = tables[i] @ x
            reached = v + acceleration * dt * signs
            size = np.where((reached >= low) & (reached <= high), np.linalg.norm(after, axis=1), -1.0)
            best = int(np.argmax(size))
            x, v = after[best], float(np.clip(reached[best], low, high))
            if abs(x[PHI]) > _FALLEN:
                return CounterExample(start, np.nan, k * dt, {})
        return CounterExample(start, np.nan, np.inf, {}) if float(np.linalg.norm(x)) > _GROWN * first else None

    def draw(self, certificate: Certificate) -> tuple[int, int, int]:
        """Draw machines from all deviations: how many, how many whose V shrinks, how many stable at kept speeds."""
        if not self.names:
            return 0, 0, 0
        rng = np.random.default_rng(1)
        low, high = certificate.speeds
        v = certificate.arrays["speed"]
        looks = [int(np.argmin(np.abs(v - u))) for u in np.linspace(low, high, _LOOKS)]
        shrunk = stable = 0
        for _ in range(MACHINES_DRAWN):
            loop = self._loop(self._theory.variant(draw_machine(self._theory, rng)))
            A = np.array([loop.matrix(float(v[i])) for i in looks])
            L = np.linalg.cholesky(certificate.arrays["P"][looks])
            turned = np.swapaxes(L, 1, 2) @ A @ np.swapaxes(np.linalg.inv(L), 1, 2)
            shrunk += bool(np.all(np.linalg.norm(turned, 2, axis=(1, 2)) < 1.0))
            stable += bool(np.all(np.abs(np.linalg.eigvals(A)) < 1.0))
        return MACHINES_DRAWN, shrunk, stable


def _falls_after(loop: SampledLoop, v: float) -> float:
    """Time [s] until a lean of 1 deg has become one of 30 deg at a kept speed [m/s]; inf beyond a minute."""
    A, x = loop.matrix(v), loop.embed(v) @ [_FIRST_LEAN, 0.0, 0.0, 0.0]
    for k in range(round(_LONGEST / loop.dt)):
        if abs(x[PHI]) > _FALLEN:
            return k * loop.dt
        x = A @ x
    return np.inf


def _range(controller: Controller, speeds: Sequence[float] | None) -> tuple[float, float]:
    """Range of speeds; raises InputError."""
    low, high = (float(controller.v[0]), float(controller.v[-1])) if speeds is None else (speeds[0], speeds[-1])
    if not (np.isfinite([low, high]).all() and 0.0 < low < high):
        raise InputError(
            f"wanted a range of speeds above 0 m/s, found {low:g} to {high:g} m/s: give two speeds as --speeds 2,8, or "
            "gains for more than one"
        )
    return low, high


def _require_solver() -> None:
    from importlib.util import find_spec

    if not (find_spec("cvxpy") and find_spec("clarabel")):
        raise InputError(
            "the search for a certificate wants cvxpy with Clarabel, which are not installed: "
            "python -m pip install 'riderless[certify]'"
        )


def _head(rig: Rig, controller: Controller, deviations: Deviations, acceleration: float) -> dict[str, Any]:
    """Description of what is certified, in words and numbers."""
    return {
        "format": FORMAT,
        "riderless": version("riderless"),
        "bicycle": rig.bicycle.name,
        "rig": rig.name,
        "rate_Hz": rig.rate,
        "controller": controller.method,
        "states": SampledLoop.of_rig(rig, controller).states,
        "acceleration": acceleration,
        "std": deviations.std if deviations.directions else 0.0,
        "directions": [deviations.largest(i) for i in range(deviations.directions)],
        "deviations": len(deviations.names),
    }
