"""Slow faults of the instruments, and rides on which one of them comes, drawn from a seed and a number."""

import math
from dataclasses import dataclass

import numpy as np

from experiments.studies.fault_injection.cases import CASE_RELEASE_DELAY, RUN_AT
from experiments.studies.fault_injection.slow_rides.healthy import (
    TUNING,
    RideSpace,
    draw_about,
    draw_kicks,
    draw_machine,
)
from experiments.studies.fault_injection.slow_rides.ride import Ride
from firmware_interface.twins.faults import Fault, Faults
from firmware_interface.twins.faults import FaultKind as Kind
from models.plant.plant import Scenario

ONSETS = (0.5, 12.0)  # s under control, between which a fault begins
_DEG = math.pi / 180


@dataclass(frozen=True)
class SlowFault:
    """Kind of slow fault; sizes are drawn evenly over their logarithm, of either sign.

    Attributes
    ----------
    name : str
    channel : str
        The reading.
    sizes : (float, float)
        In the reading's unit: what a drift has added in the end, or one skip.
    times : (float, float)
        s: of a drift, or between two skips.
    seen : float
        From this size of all of it on, in the reading's unit, it must be found within `FOUND_WITHIN`; infinite for
        what cannot be seen from aboard.
    skips : (int, int)
        How many skips; a drift has none.
    """

    name: str
    channel: str
    sizes: tuple[float, float]
    times: tuple[float, float]
    seen: float = math.inf
    skips: tuple[int, int] | None = None

    @property
    def unit(self) -> str:
        """Unit of its size."""
        return {"delta": "rad", "a_y": "m/s^2", "a_x": "m/s^2", "T": "N m"}.get(self.channel, "rad/s")


SLOW_FAULTS = (
    SlowFault("steer encoder skips", "delta", (0.5 * _DEG, 2.0 * _DEG), (0.2, 2.0), 5.0 * _DEG, (3, 12)),
    SlowFault("steer encoder creeps", "delta", (2.0 * _DEG, 30.0 * _DEG), (1.0, 20.0), 5.0 * _DEG),
    SlowFault("steer encoder slips in some samples", "delta", (2.0 * _DEG, 12.0 * _DEG), (0.01, 0.1), 5.0 * _DEG),
    SlowFault("lateral accelerometer drifts", "a_y", (0.5, 8.0), (2.0, 20.0), 3.5),
    SlowFault("yaw gyro drifts", "psi_dot", (0.05, 2.0), (2.0, 20.0), 0.3),
    SlowFault("roll gyro drifts", "phi_dot", (0.02, 1.0), (2.0, 20.0), 0.2),
    SlowFault("wheel sensor drifts", "wheel_rate", (0.5, 14.0), (2.0, 20.0)),
    SlowFault("torque reading drifts", "T", (0.1, 3.0), (2.0, 20.0), 1.0),
    SlowFault("forward accelerometer drifts", "a_x", (0.5, 8.0), (2.0, 20.0)),
)
SLOW_FAULT_NAMED = {fault.name: fault for fault in SLOW_FAULTS}
FOUND_WITHIN = 6.0  # s after all of it is there: two and a half time constants of the biases


def draw_slow_ride(seed: int, index: int, space: RideSpace = TUNING) -> Ride:
    """Draw ride number ``index`` of a seed; the faults take turns, all else is drawn from ``space``."""
    rng = np.random.default_rng([seed, index])
    fault = SLOW_FAULTS[index % len(SLOW_FAULTS)]
    machine, v = draw_machine(rng, space)
    kicks = draw_kicks(rng, machine[0], 0.25)
    about = draw_about(rng, machine, v, space) if rng.random() < 0.5 else {}
    onset = RUN_AT + float(rng.uniform(*ONSETS))
    low, high = np.log(fault.sizes)
    size = float(rng.choice((-1.0, 1.0)) * math.exp(rng.uniform(low, high)))
    soon, late = np.log(fault.times)
    step = math.exp(rng.uniform(soon, late))
    if fault.skips:
        n = int(rng.integers(fault.skips[0], fault.skips[1] + 1))
        faults: Faults = tuple(Fault(Kind.SLIP, size, onset + i * step, channel=fault.channel) for i in range(n))
        size, grown = n * size, onset + (n - 1) * step
    else:
        grown = onset + step
        faults = (Fault(Kind.DRIFT, size, onset, grown, channel=fault.channel),)
    scenario = Scenario(
        speed=about.pop("speed", ((0.0, v),)),
        kicks=about.pop("kicks", kicks),
        release_after=CASE_RELEASE_DELAY,
        surface=about.pop("surface", "treadmill"),
        seed=int(rng.integers(2**31)),
    )
    about.pop("name", None)
    return Ride(
        name=fault.name, machine=machine, scenario=scenario, faults=faults, size=size, onset=onset, grown=grown, **about
    )
