"""Cases: one bicycle, one controller, one fault at one moment, all drawn from a seed and a number."""

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

import numpy as np

from experiments.campaigns.protocols.condition import hand_kick
from experiments.studies.fault_injection.fault_list import THREATS
from experiments.studies.fault_injection.fault_spec import SAMPLE_PERIOD, Order, Threat
from firmware_interface.twins.faults import Fault, Faults
from firmware_interface.twins.faults import FaultKind as Kind
from hil.design.methods import LoopTiming, design
from hil.design.schedule import GainSchedule
from hil.loop.states import Demand
from hil.rig.rig import Rig
from models import catalogue
from models.plant.scenario import Scenario

CASE_MACHINES = (
    ("Benchmark", "lqr"),
    ("Benchmark", "poles"),
    ("Silver", "lqr"),
    ("Silver", "poles"),
    ("Silver", "lean"),
    ("Browser", "lqr"),
    ("Crescendo", "lqr"),
)
CASE_SPEEDS = (4.0, 6.0)  # m/s, drawn between
CASE_GAIN_SPEEDS = tuple(3.5 + 0.5 * i for i in range(7))  # m/s, of the gains

FOREVER = 1e5  # s

# The plan of every case, s since power-up.
ARM_AT, RUN_AT, STOP_AT, END_AT = 0.3, 1.7, 3.6, 4.4
CASE_RELEASE_DELAY = 0.4  # s after the drive was enabled
CASE_KICK_DELAY = 0.4  # s after the release


class FaultOnset(StrEnum):
    """Moment at which a fault begins."""

    BEFORE = "before CHECK"
    CHECK = "during CHECK"
    ARMED = "ARMED"
    RUNNING = "RUNNING"
    IN_A_KICK = "in a kick"
    RAMPDOWN = "RAMPDOWN"


ONSET_WINDOWS = {  # s, in which a fault that begins at that moment begins
    FaultOnset.BEFORE: (0.05, 0.28),
    FaultOnset.CHECK: (0.32, 1.33),
    FaultOnset.ARMED: (1.42, 1.66),
    FaultOnset.RUNNING: (1.85, 2.1),
    FaultOnset.IN_A_KICK: (2.17, 2.24),
    FaultOnset.RAMPDOWN: (3.62, 3.78),
}


@dataclass(frozen=True, kw_only=True)
class FaultCase:
    """Everything that is to happen in a case."""

    seed: int
    index: int
    threat: Threat
    machine: tuple[str, str]  # bicycle and method
    scenario: Scenario
    kick: float  # N s, positive to the right
    moment: FaultOnset
    onset: float  # s since power-up
    faults: Faults
    orders: tuple[tuple[float, Demand], ...]  # s since power-up, and what the operator demands from then on

    def __repr__(self) -> str:
        return f"<FaultCase {self.index} of seed {self.seed}: {self.threat.name}, {self.moment.value}>"

    @property
    def over(self) -> float:
        """End of the fault [s since power-up]; infinite if it lasts."""
        end = max((fault.stop for fault in self.faults), default=math.inf)
        return end if end < FOREVER else math.inf

    @property
    def replay(self) -> str:
        """Command that plays it again, with all details."""
        return f"riderless faults --seed {self.seed} --case {self.index}"


@cache
def rig_and_gains(bicycle: str, method: str) -> tuple[Rig, GainSchedule]:
    """Make the emulated rig of a bicycle and design its gains."""
    rig = Rig(catalogue.load_bicycle(bicycle))
    return rig, design(rig.bicycle, method, CASE_GAIN_SPEEDS, LoopTiming(rate=rig.rate, drive_lag=rig.drive_lag))


def draw_case(seed: int, index: int) -> FaultCase:
    """Draw case number ``index`` of the campaign with this seed; the threats take turns, all else is drawn."""
    rng = np.random.default_rng([seed, index])
    threat = THREATS[index % len(THREATS)]
    bicycle, method = CASE_MACHINES[rng.integers(len(CASE_MACHINES))]
    moment = list(FaultOnset)[rng.integers(len(FaultOnset))]
    onset = 0.0 if threat.refused else float(rng.uniform(*ONSET_WINDOWS[moment]))
    kick = hand_kick(rig_and_gains(bicycle, method)[0].bicycle, CASE_KICK_DELAY, int(rng.choice((-1, 1))), rng)
    scenario = Scenario(
        speed=((0.0, float(rng.uniform(*CASE_SPEEDS))),),
        kicks=(kick,),
        release_after=CASE_RELEASE_DELAY,
        seed=int(rng.integers(2**31)),
    )
    orders = [(0.0, Demand.OFF), (ARM_AT, Demand.ARM), (RUN_AT, Demand.RUN), (STOP_AT, Demand.STOP)]
    faults: Faults = ()
    if isinstance(threat.what, Order):
        onset = round(onset / SAMPLE_PERIOD) * SAMPLE_PERIOD  # a person is heard at the next tick
        demand = Demand.STOP if threat.what is Order.STOP else Demand.OFF
        orders = [order for order in orders if order[0] < onset] + [(onset, demand)]
    else:
        faults = (_fault(threat, threat.what, onset, rng),)
    return FaultCase(
        seed=seed,
        index=index,
        threat=threat,
        machine=(bicycle, method),
        scenario=scenario,
        kick=kick.impulse,
        moment=moment,
        onset=onset,
        faults=faults,
        orders=tuple(orders),
    )


def _fault(threat: Threat, kind: Kind, onset: float, rng: np.random.Generator) -> Fault:
    channel = str(rng.choice(threat.channels))
    return Fault(
        kind,
        size=_size(threat, channel, rng),
        start=onset,
        stop=onset + float(rng.uniform(*threat.lasting)),
        chance=float(rng.uniform(*threat.chances)),
        channel=channel,
        way=int(rng.choice(threat.ways)),
        seed=int(rng.integers(2**31)),
    )


def _size(threat: Threat, channel: str, rng: np.random.Generator) -> float:
    """Draw the size of a fault, evenly over the logarithm where both ends are positive."""
    low, high = threat.sizes
    if not math.isfinite(low):
        return low
    size = math.exp(rng.uniform(math.log(low), math.log(high))) if low > 0.0 else rng.uniform(low, high)
    if threat.whole:
        size = round(size)
    sign = rng.choice((-1.0, 1.0)) if threat.signed else 1.0
    return float(sign * size)
