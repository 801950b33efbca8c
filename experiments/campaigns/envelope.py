"""Lowest speed at which a machine survives a kick, against what its motor, loop and instruments can do.

Each machine is designed for and ridden by the nonlinear equations, under the supervisor: a ride that a limit ends is
no survival. From the highest speed down, until one of the rides of a speed ends.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np

from riderless.experiments.campaigns.sweeps import spread
from riderless.experiments.emulation.hand import KICK_LEAN_RATE, hand_kick
from riderless.hil.design.compensators.methods import design_compensator
from riderless.hil.design.compensators.registry import COMPENSATORS
from riderless.hil.design.methods import design
from riderless.hil.loop.limits import WATCHDOG_RANGE, Limit
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.simulated_run import simulate
from riderless.models.array_types import Array
from riderless.models.errors import InputError

_KICK_AT, _AFTER = 0.6, 4.0  # s after the release, and from the kick to the end
MOST_MACHINES = 400


class MachineQuantity(NamedTuple):
    """Quantity of a machine that an envelope varies; SI."""

    unit: str
    least: float
    most: float
    meaning: str


QUANTITIES = {
    "torque": MachineQuantity("N m", 0.1, 50.0, "greatest torque on the steer"),
    "kick": MachineQuantity("rad/s", 0.05, 3.0, "lean rate that a kick gives"),
    "rate": MachineQuantity("Hz", 20.0, 1000.0, "of the loop"),
    "lag": MachineQuantity("s", 0.0005, 0.3, "time constant of the drive's torque"),
    "noise": MachineQuantity("", 0.1, 100.0, "of the instruments, times the emulated ones'"),
    "friction": MachineQuantity("N m", 0.0, 5.0, "dry friction of the steer"),
}


@dataclass(frozen=True)
class Envelope:
    """Lowest speed of survival of each machine.

    Attributes
    ----------
    bicycle, method : str
    speeds : (n,)
        That were tried [m/s].
    axes : mapping of str to tuple of float
        Values of each quantity, SI; of those that were not varied one.
    lowest : array
        One axis for each quantity [m/s]; nan where no speed is survived.
    """

    bicycle: str
    method: str
    speeds: Array
    axes: Mapping[str, tuple[float, ...]]
    lowest: Array

    @property
    def varied(self) -> tuple[str, ...]:
        """Quantities with more than one value."""
        return tuple(name for name, values in self.axes.items() if len(values) > 1)


def envelope(
    rig: Rig,
    values: Mapping[str, Sequence[float]],
    *,
    method: str = "lqr",
    speeds: Sequence[float],
    seeds: int = 2,
    jobs: int | None = None,
    cluster: str | None = None,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Envelope:
    """Find the lowest speed at which each of a grid of machines survives a kick to either side.

    Parameters
    ----------
    rig : Rig
        Machine that is varied, with a drive that obeys a torque.
    values : mapping of str to sequence of float
        Values of some of `QUANTITIES`, SI; the others are the rig's own.
    method : str
        With which gains are designed for each machine.
    speeds : sequence of float
        To try [m/s]; the gains are designed for these.
    seeds : int
        Rides at each speed, the kick to either side in turns.
    jobs, cluster
        As of `riderless.experiments.campaigns.sweeps.spread`.
    tell : callable
        Called with how many machines are done, of how many.

    Raises
    ------
    InputError
        A quantity is unknown or out of its range, or there are too many machines.
    """
    if rig.drive is not None:
        raise InputError(f"an envelope wants a drive that obeys a torque, found {rig.drive_kind}: take another rig")
    for name, given in values.items():
        if name not in QUANTITIES:
            raise InputError(f"wanted a quantity among {', '.join(QUANTITIES)}, found '{name}'")
        unit, least, most, _ = QUANTITIES[name]
        if wrong := [value for value in given if not least <= value <= most]:
            raise InputError(f"wanted {name} from {least:g} to {most:g} {unit}, found {wrong[0]:g}: correct it")
    own = {
        "kick": KICK_LEAN_RATE["nonlinear"],
        "torque": rig.limits.torque.value,
        "rate": rig.rate,
        "lag": rig.drive_lag,
        "noise": 1.0,
        "friction": rig.losses.friction,
    }
    axes = {name: tuple(sorted({float(x) for x in values.get(name, (own[name],))})) for name in QUANTITIES}
    points = list(product(*axes.values()))
    if len(points) > MOST_MACHINES:
        raise InputError(f"wanted at most {MOST_MACHINES} machines, found {len(points)}: give fewer values")
    v = np.unique(np.asarray(speeds, float))
    if len(v) < 2 or v[0] <= 0.0:
        raise InputError(f"wanted two speeds or more above 0 m/s, found {v.tolist()}: give them as 1:8:0.25")
    lowest = np.full(len(points), np.nan)
    work = [_Machine(rig, dict(zip(axes, point, strict=True)), method, v, seeds) for point in points]
    for done, (i, found) in enumerate(spread(_lowest, work, jobs, cluster), 1):
        lowest[i] = found
        tell(done, len(points))
    shape = [len(values) for values in axes.values()]
    return Envelope(rig.bicycle.name, method, v, axes, lowest.reshape(shape))


class _Machine(NamedTuple):
    rig: Rig
    values: dict[str, float]
    method: str
    speeds: Array
    seeds: int


def _lowest(machine: _Machine) -> float:
    """Lowest speed [m/s] from which on upwards each is survived; nan for none."""
    rig, values = machine.rig, machine.values
    if values["rate"] != rig.rate:
        time_out = max(min(5.0 / values["rate"], WATCHDOG_RANGE[1]), rig.watchdog)
        stale = max(rig.limits.stale, Limit(time_out, "s", "five periods of the loop"), key=lambda x: x.value)
        limits = replace(rig.limits, stale=stale)
        rig = replace(rig, rate=values["rate"], command_delay=None, watchdog=time_out, limits=limits)
    torque = Limit(values["torque"], "N m", "of the motor asked for")
    rig = replace(
        rig,
        drive_lag=values["lag"],
        losses=replace(rig.losses, friction=values["friction"]),
        limits=replace(rig.limits, torque=torque),
    )
    make = design_compensator if machine.method in COMPENSATORS else design
    gains = make(rig.bicycle, machine.method, tuple(machine.speeds), rig.timing)
    lowest = np.nan
    for v in machine.speeds[::-1].tolist():
        for seed in range(machine.seeds):
            side = 1 if seed % 2 == 0 else -1
            rng = np.random.default_rng(seed)
            kick = hand_kick(rig.bicycle, _KICK_AT, side, rng, "nonlinear", values["kick"])
            run = simulate(
                rig.bicycle,
                gains,
                speed=v,
                kicks=[kick],
                duration=_KICK_AT + _AFTER,
                seed=seed,
                noise=values["noise"],
                rig=rig,
            )
            if run.stop.reason != "success":
                return lowest
        lowest = v
    return lowest
