"""Design of gain schedules.

Off line, at the loop's own rate and with its own delay, into a `GainSchedule`.

A method is a frozen dataclass whose fields are its options and whose
``gains(bicycle, v, model) -> (K (6,), note)`` gives the gains of T_delta = -K z at one speed.
Adding one is a new file and a line in ``METHODS``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from math import isfinite
from typing import Any, Protocol

import numpy as np

from riderless.hil.design.lane import LaneKeeping
from riderless.hil.design.lqr import LQR
from riderless.hil.design.margins import margins_of_gains
from riderless.hil.design.match import Match
from riderless.hil.design.poles import PolePlacement
from riderless.hil.design.sampled_plant import LOOP_STATES, LoopTiming, SampledModel, continuous, sampled_model
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.design.steered.methods import STEER_METHODS
from riderless.hil.design.steered.sampled_steer import sampled_steer
from riderless.models.array_types import Array
from riderless.models.coordinates import PHI_DOT
from riderless.models.errors import InputError
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.parameters import Bicycle, require_bicycle

# Torque off: zero gains, the uncontrolled bicycle.


@dataclass(frozen=True)
class Off:
    """Zero steer torque at every speed; the uncontrolled bicycle may fall."""

    may_be_unstable = True  # not annotated: a fact of the law, not one of its options

    def gains(self, bicycle: Bicycle, v: float, model: SampledModel) -> tuple[Array, str]:
        """Six zeros and a note."""
        return np.zeros(len(LOOP_STATES)), "torque off"


# Steer-into-the-lean control.


@dataclass(frozen=True)
class SteerIntoLean:
    """Lean-rate feedback T_delta = k (v0 - v) phi_dot below the speed v0, nothing above it.

    Parameters
    ----------
    k : float
        Gain [N s^2/rad]; 2 on the Delft bicycle.
    v0 : float
        Forward speed from which the bicycle is left alone [m/s]; 6.5 on the Delft bicycle.

    Raises
    ------
    InputError
        A value is not a finite number, or ``v0`` is negative.
    """

    k: float = 2.0
    v0: float = 6.5

    def __post_init__(self) -> None:
        if not isfinite(self.k):
            raise InputError(f"the lean law's gain k must be a number (N s^2/rad), found {self.k}: 2 is usual")
        if not (isfinite(self.v0) and self.v0 >= 0.0):
            raise InputError(f"the lean law's speed v0 must be 0 m/s or more, found {self.v0} m/s: 6.5 is usual")

    def gains(self, bicycle: Bicycle, v: float, model: SampledModel) -> tuple[Array, str]:
        """Six gains at speed ``v`` [m/s], all zero but that on the lean rate, and a note."""
        K = np.zeros(len(LOOP_STATES))
        K[PHI_DOT] = -self.k * max(self.v0 - v, 0.0)  # T = -K z
        return K, f"no torque from {self.v0:g} m/s up" if v >= self.v0 else ""


__all__ = ["METHODS", "GainSchedule", "LoopTiming", "Method", "design"]


class Method(Protocol):
    """Design method; one that may leave the bicycle unstable says ``may_be_unstable = True``."""

    def gains(self, bicycle: Bicycle, v: float, model: SampledModel) -> tuple[Array, str]: ...


METHODS: dict[str, Callable[..., Method]] = {
    "lqr": LQR,
    "poles": PolePlacement,
    "lean": SteerIntoLean,
    "off": Off,
    "match": Match,
    "lane": LaneKeeping,
}
DESIGN_SPEEDS = tuple(np.arange(2.0, 8.25, 0.5).tolist())  # m/s, as of `riderless design`


def method_of(methods: Mapping[str, Any], name: str, **options: Any) -> Any:
    """Make the method of that name among ``methods``, with its options.

    Raises
    ------
    InputError
        No such method, one of another function, no such option of it, or a value it refuses.
    """
    if not isinstance(name, str) or name not in methods:
        from riderless.hil.design.compensators.registry import COMPENSATORS  # which loads more than gains need

        others = [other for other in COMPENSATORS if other not in methods]
        if name in others:
            raise InputError(
                f"{name} has states of its own, which `design` does not make: call design_compensator(bicycle, "
                f"'{name}', speeds), or take one of {', '.join(methods)}"
            )
        also = f", or with states of its own {' or '.join(others)}" if others else ""
        raise InputError(f"the design method must be one of {', '.join(methods)}{also}, found {name!r}")
    known = [item.name for item in fields(methods[name])]
    for option in options:
        if option not in known:
            has = f"has the options {', '.join(known)}" if known else "has no options"
            raise InputError(f"the design method {name} {has}, found {option!r}")
    try:
        return methods[name](**options)
    except TypeError as error:
        raise InputError(f"the design method {name} cannot use the options {options} ({error})") from None


def design(
    bicycle: Bicycle,
    method: str = "lqr",
    speeds: Sequence[float] = DESIGN_SPEEDS,
    timing: LoopTiming = LoopTiming(),
    *,
    allow_unstable: bool = False,
    drive: InnerLoop | None = None,
    **options: Any,
) -> GainSchedule:
    """Design gains of T_delta = -K z (or of a steer rate or angle) for every speed of a grid.

    Parameters
    ----------
    bicycle : Bicycle
        As of ``models.load_bicycle``.
    method : str
        "lqr", "poles", "lean", "off", "match" or "lane", the names of ``METHODS``; of a rate or
        angle drive "lqr", "cascade" or "lane". What has states of its own, "lqg" and "yaw_rate", is made by
        `riderless.hil.design.compensators.methods.design_compensator`.
    speeds : sequence of float
        Forward speeds [m/s], 0 or more, strictly increasing; by default 2 to 8 m/s every 0.5 m/s.
    timing : LoopTiming
        Rate, delay and drive lag of the loop, such as ``rig.timing``; by default 200 Hz, one sample and 5 ms.
    allow_unstable : bool
        Keep gains under which the bicycle falls instead of refusing them.
    drive : InnerLoop or None
        Of a drive that is commanded a steer rate or angle; the lag of ``timing`` is then not used. None: a torque.
    **options
        Of the method: for "lqr" ``weights`` (see `riderless.hil.design.lqr.Weights`); for "poles" ``zeta``, ``omega``
        and ``real``, or ``raw`` (see `riderless.hil.design.poles.PolePlacement`); for "lean" ``k`` and ``v0`` (see
        `riderless.hil.design.methods.SteerIntoLean`); for "off" none; for "match" ``like`` and ``what``; for "lane"
        ``weights`` (see `riderless.hil.design.lane.LaneWeights`). Under a rate or angle drive for "lqr" `SteerWeights`,
        for "cascade" those of `riderless.hil.design.steered.cascade.LeanCascade`, for "lane" ``weights`` (see
        `riderless.hil.design.steered.lane.SteerLaneWeights`).

    Returns
    -------
    GainSchedule
        Gains K (n, 6), or (n, 8) of "lane", closed-loop eigenvalues, margins and a note at each of the n speeds.

    Raises
    ------
    InputError
        The bicycle, method, an option or a speed is not possible, or the closed loop is not stable.
    """
    require_bicycle(bicycle)
    if not isinstance(timing, LoopTiming):
        raise InputError(f"a design wants a LoopTiming, found {timing!r}: give for example LoopTiming(rate=200)")
    law: Any = method_of(METHODS if drive is None else STEER_METHODS[drive.kind], method, **options)
    if drive is not None:
        timing = replace(timing, drive_lag=0.0)
    v = checked_speeds(speeds)
    tolerant = allow_unstable or getattr(law, "may_be_unstable", False)
    K, closed_loop, margins, notes = [], [], [], []
    for speed in v.tolist():
        model = _model(law, bicycle, speed, timing, drive)
        gains, note = law.gains(bicycle, speed, model)
        eigenvalues = continuous(model.closed_loop(gains), timing.dt)
        if eigenvalues[0].real >= 0.0 and not tolerant:
            raise InputError(
                f"{method} does not balance {bicycle.name} at {speed:g} m/s, where the closed loop has the "
                f"eigenvalue {eigenvalues[0]:.3f} 1/s: leave this speed out or change the method's options"
            )
        K.append(gains)
        closed_loop.append(eigenvalues)
        margins.append(margins_of_gains(model, gains))
        notes.append(note)
    return GainSchedule(
        method=method,
        options=plain_options(law),
        bicycle=bicycle,
        loop=timing,
        v=v,
        K=np.array(K),
        closed_loop=np.array(closed_loop),
        margins=tuple(margins),
        notes=tuple(notes),
        drive=drive,
    )


def _model(law: Any, bicycle: Bicycle, v: float, timing: LoopTiming, drive: InnerLoop | None) -> SampledModel:
    """Sampled model of which a method wants to know the gains: its own, where it has one."""
    if drive:
        return sampled_steer(bicycle, v, timing, drive, in_lane=getattr(law, "keeps_lane", False))
    own: Callable[..., SampledModel] | None = getattr(law, "sampled", None)
    return own(bicycle, v, timing) if own else sampled_model(bicycle, v, timing)


def checked_speeds(speeds: Sequence[float]) -> Array:
    """Check the speeds and copy them into an array."""
    try:
        v = np.array(speeds, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"a design wants a list of speeds in m/s, found {speeds!r}: give numbers") from None
    if v.ndim != 1 or not len(v):
        raise InputError(f"a design wants a list of speeds in m/s, found {speeds!r}: give at least one")
    if not np.all(np.isfinite(v)) or np.any(v < 0.0):
        raise InputError(f"a design wants speeds of 0 m/s or more, found {v[~(v >= 0.0) | np.isinf(v)][0]:g} m/s")
    if np.any(np.diff(v) <= 0.0):
        i = int(np.flatnonzero(np.diff(v) <= 0.0)[0])
        raise InputError(f"a design wants increasing speeds, found {v[i + 1]:g} m/s after {v[i]:g} m/s: sort them")
    return v


def plain_options(value: Any) -> Any:
    """Convert a method, whose fields are its options, to values that a TOML file can hold; None is left out."""
    if isinstance(value, Bicycle):
        return value.as_dict()
    if is_dataclass(value):
        return plain_options({item.name: getattr(value, item.name) for item in fields(value)})
    if isinstance(value, Mapping):
        return {key: plain_options(item) for key, item in value.items() if item is not None}
    if callable(value):
        return "a function of speed"
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain_options(item) for item in value]
    if isinstance(value, complex):
        return str(value)
    return value.item() if isinstance(value, np.generic) else value
