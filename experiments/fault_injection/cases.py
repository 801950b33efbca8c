"""Cases of the fault campaign.

One bicycle, one controller, one fault or a few at their moments, all drawn from a seed and a number.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import numpy as np

from riderless.experiments.emulation.hand import hand_kick
from riderless.experiments.fault_injection.circumstances import (
    BESIDE_FAULTS,
    USUAL_CIRCUMSTANCES,
    Circumstances,
    draw_circumstances,
)
from riderless.experiments.fault_injection.machines import (
    PACED_SPACE,
    PLACED_SPACE,
    STEER_DRIVES,
    USUAL_SPACE,
    VARIED_BICYCLES,
    RideSpace,
    rig_and_gains,
    steered_space,
    varied_space,
)
from riderless.experiments.fault_injection.ride_plan import ARM_AT, CASE_RELEASE_DELAY, RUN_AT, FaultOnset, RidePlan
from riderless.experiments.fault_injection.threats.fault_list import ThreatPool, threats_of
from riderless.experiments.fault_injection.threats.fault_spec import (
    SAMPLE_PERIOD,
    Order,
    PlaceKind,
    Shape,
    SpeedKind,
    Threat,
)
from riderless.firmware_interface.twins.faults import Fault, Faults
from riderless.firmware_interface.twins.place.sensor import PlaceFault
from riderless.firmware_interface.twins.speed.belt import BeltFault
from riderless.hil.loop.states import Demand
from riderless.models.errors import InputError
from riderless.models.parameters import Bicycle
from riderless.models.plant.scenario import Kick, Scenario

# Random draw of a threat's faults.

FOREVER = 1e5  # s
SEED_RANGE = 2**31


class Draws(Protocol):
    """Source of numbers: a generator of random ones, or the genes of a search."""

    def integers(self, high: int, /) -> Any:
        """Whole number from 0 to below ``high``."""

    def uniform(self, low: float, high: float, /) -> Any:
        """Number between two others."""

    def choice(self, options: Sequence[Any], /) -> Any:
        """One of several."""


def _draw_faults(threat: Threat, onset: float, draws: Draws) -> Faults:
    """Draw the faults of a threat that begins at ``onset`` [s since power-up]; none where none is in the machine."""
    if threat.what is None or isinstance(threat.what, (Order, PlaceKind, SpeedKind)):
        return ()
    channel = str(draws.choice(threat.channels))
    size = _size(threat, draws)
    lasting = float(draws.uniform(*threat.lasting))
    chance = float(draws.uniform(*threat.chances))
    way = int(draws.choice(threat.ways))
    seed = int(draws.integers(SEED_RANGE))

    def fault(part: float, start: float, stop: float) -> Fault:
        return Fault(threat.what, part, start, stop, chance, channel, way, seed)  # type: ignore[arg-type]

    if threat.shape in (Shape.AT_ONCE, Shape.GROWS):
        return (fault(size, onset, onset + lasting),)
    low, high = threat.steps
    steps = low + int(draws.integers(high - low + 1))
    if threat.shape is Shape.SKIPS:
        return tuple(fault(size / steps, onset + lasting * i, FOREVER) for i in range(steps))
    ends = [onset + lasting * i / steps for i in range(steps)] + [FOREVER]
    sizes = [threat.right + (size - threat.right) * (i + 1) / steps for i in range(steps)]
    return tuple(fault(part, *ends[i : i + 2]) for i, part in enumerate(sizes))


def _with_alike(threat: Threat, faults: Faults, bicycle: Bicycle, v: float) -> Faults:
    """Add to the faults of a threat what the same cause does elsewhere in the machine.

    Parameters
    ----------
    threat : Threat
    faults : tuple of Fault
    bicycle : Bicycle
    v : float
        Speed at which the ride begins [m/s].
    """
    beside = (
        replace(fault, kind=other.what, size=other.size(fault, bicycle, v), channel=other.channel)
        for fault in faults
        for other in threat.alike
    )
    return (*faults, *beside)


def _draw_place_faults(threat: Threat, onset: float, draws: Draws) -> tuple[PlaceFault, ...]:
    """Draw the faults of the sensor of place; none where the threat is another."""
    if not isinstance(threat.what, PlaceKind):
        return ()
    size, lasting = _size(threat, draws), float(draws.uniform(*threat.lasting))
    return (PlaceFault(threat.what.value, onset, onset + lasting, size),) if lasting > 0.0 else ()


def _draw_speed_faults(threat: Threat, onset: float, draws: Draws) -> tuple[BeltFault, ...]:
    """Draw the faults of what keeps the speed [s since power-up]; none where the threat is another."""
    if not isinstance(threat.what, SpeedKind):
        return ()
    lasting = float(draws.uniform(*threat.lasting))
    return (BeltFault(threat.what.value, onset, onset + lasting),) if lasting > 0.0 else ()


def _size(threat: Threat, draws: Draws) -> float:
    """Draw the size of a fault, evenly over the logarithm where both ends are positive."""
    low, high = threat.sizes
    if not math.isfinite(low):
        return low
    size = math.exp(draws.uniform(math.log(low), math.log(high))) if low > 0.0 else draws.uniform(low, high)
    if threat.whole:
        size = round(size)
    sign = draws.choice((-1.0, 1.0)) if threat.signed else 1.0
    return float(sign * size)


MOST_TOGETHER = 3
AT_ONCE_WITHIN = 0.3  # s, between the faults of a set where they come together


@dataclass(frozen=True)
class CaseOptions:
    """Options of a campaign, beside seed and number.

    Parameters
    ----------
    length : float or None
        s under control, see `RidePlan`; None: the pool's usual.
    together : int
        Faults in a set, from 1 to `MOST_TOGETHER`.
    pool : ThreatPool
        Threats that the faults are drawn from.
    bicycles : tuple of str
        Of the catalogue; none: the campaign's own.
    drive : "torque", "rate" or "angle"
        Quantity that the steer drive obeys.

    Raises
    ------
    InputError
        For what no campaign can play.
    """

    length: float | None = None
    together: int = 1
    pool: ThreatPool = ThreatPool.SUDDEN
    bicycles: tuple[str, ...] = ()
    drive: str = "torque"

    def __post_init__(self) -> None:
        if self.drive not in ("torque", *STEER_DRIVES):
            raise InputError(f"--drive must be torque, {' or '.join(STEER_DRIVES)}, found {self.drive!r}; choose one")
        _ = self.plan, self.space  # which refuse a length and a bicycle of nonsense
        if self.pool.own_machines and (self.bicycles or self.drive != "torque" or self.together != 1):
            raise InputError(
                f"--threats {self.pool} has bicycles and devices of its own, one fault each and a torque drive: leave "
                "out --bicycles, --drive and --together"
            )
        if self.pool.healthy and self.together != 1:
            raise InputError(f"with no faults none come together, found {self.together}: leave one of the two out")
        if not 1 <= self.together <= MOST_TOGETHER:
            raise InputError(f"faults come together by 1 to {MOST_TOGETHER}, found {self.together}")

    @property
    def plan(self) -> RidePlan:
        """Times of the rides."""
        return RidePlan(self.pool.usual_length if self.length is None else self.length)

    @property
    def space(self) -> RideSpace:
        """Bicycles and speeds that the rides are drawn from."""
        if self.pool is ThreatPool.PLACE:
            return PLACED_SPACE
        if self.pool is ThreatPool.SPEED:
            return PACED_SPACE
        usual = USUAL_SPACE
        if self.bicycles or self.pool.varied:
            usual = varied_space(self.bicycles or VARIED_BICYCLES)
        return usual if self.drive == "torque" else steered_space(usual, self.drive)

    @property
    def flags(self) -> str:
        """Options as typed on the command line, with a space before each."""
        length = f" --duration {self.length:g}" if self.length is not None else ""
        together = f" --together {self.together}" if self.together != 1 else ""
        pool = f" --threats {self.pool.value}" if self.pool is not ThreatPool.SUDDEN else ""
        bicycles = f" --bicycles {','.join(self.bicycles)}" if self.bicycles else ""
        drive = f" --drive {self.drive}" if self.drive != "torque" else ""
        return length + together + pool + bicycles + drive


@dataclass(frozen=True)
class FaultPart:
    """One of the faults of a case: the threat, when it strikes, and what of it the machine is given."""

    threat: Threat
    moment: FaultOnset
    onset: float  # s since power-up
    faults: Faults = ()
    place_faults: tuple[PlaceFault, ...] = ()  # of the sensor of place
    speed_faults: tuple[BeltFault, ...] = ()  # of what keeps the speed

    @property
    def over(self) -> float:
        """End of the fault [s since power-up]; infinite if it lasts."""
        if self.threat.shape is Shape.GROWS:
            return math.inf
        stops = [fault.stop for fault in self.faults] + [fault.stop for fault in self.place_faults]
        stops += [fault.stop for fault in self.speed_faults]
        end = max(stops, default=math.inf)
        return end if end < FOREVER else math.inf

    @property
    def grown(self) -> float:
        """Moment from which all of the fault is there [s since power-up]."""
        grows = self.threat.shape is Shape.GROWS
        starts = [fault.stop if grows else fault.start for fault in self.faults]
        starts += [fault.start for fault in self.place_faults] + [fault.start for fault in self.speed_faults]
        return max(starts, default=self.onset)


@dataclass(frozen=True, kw_only=True)
class FaultCase:
    """Everything that is to happen in a case."""

    seed: int
    index: int
    threat: Threat
    machine: tuple[str, str]  # bicycle and method
    scenario: Scenario
    kick: float  # N s, positive to the right; of the first push by hand
    moment: FaultOnset
    onset: float  # s since power-up
    faults: Faults
    orders: tuple[tuple[float, Demand], ...]  # s since power-up, and what the operator demands from then on
    place_faults: tuple[PlaceFault, ...] = ()  # of the first
    speed_faults: tuple[BeltFault, ...] = ()  # of the first
    others: tuple[FaultPart, ...] = ()  # further faults of the set; ``faults`` are those of the first
    circumstances: Circumstances = Circumstances()
    options: CaseOptions = CaseOptions()
    code: str = ""  # genes of a case that a search made

    def __repr__(self) -> str:
        return f"<FaultCase {self.index} of seed {self.seed}: {self.name}, {self.moment.value}>"

    @property
    def name(self) -> str:
        """Names of its threats."""
        return " + ".join(part.threat.name for part in self.parts)

    @property
    def plan(self) -> RidePlan:
        """Times of the ride."""
        return self.options.plan

    @property
    def parts(self) -> tuple[FaultPart, ...]:
        """Faults of the set, the first one first."""
        own = self.faults, self.place_faults, self.speed_faults
        return (FaultPart(self.threat, self.moment, self.onset, *own), *self.others)

    @property
    def all_faults(self) -> Faults:
        """Faults of all parts, as the machine is given them."""
        return tuple(fault for part in self.parts for fault in part.faults)

    @property
    def over(self) -> float:
        """End of the first fault [s since power-up]; infinite if it lasts."""
        return self.parts[0].over

    @property
    def replay(self) -> str:
        """Command that plays it again, with all details."""
        which = f"--case {self.code}" if self.code else f"--seed {self.seed} --case {self.index}"
        return f"riderless faults{self.options.flags} {which}"


def draw_case(seed: int, index: int, options: CaseOptions = CaseOptions()) -> FaultCase:
    """Draw case number ``index`` of the campaign with this seed; the threats take turns, all else is drawn.

    The first fault of a set is that of the case of the same number with one fault.
    """
    threats = threats_of(options.pool, options.drive)
    first = np.random.default_rng([seed, index])
    further = [np.random.default_rng([seed, index, i]) for i in range(1, options.together)]
    met = [threat for threat in threats if not threat.refused]  # where no session begins no further fault is met
    chosen = [threats[index % len(threats)]]
    for draws in further:
        chosen.append(another_threat(met, int(draws.integers(len(met))), chosen))
    return compose_case(chosen, [first, *further], options, seed=seed, index=index)


def another_threat(threats: Sequence[Threat], number: int, chosen: Sequence[Threat]) -> Threat:
    """Take the threat of this number, or the next one that is not yet in the set."""
    while threats[number % len(threats)] in chosen:
        number += 1
    return threats[number % len(threats)]


def compose_case(
    threats: Sequence[Threat],
    draws: Sequence[Draws],
    options: CaseOptions,
    seed: int = 0,
    index: int = 0,
    code: str = "",
) -> FaultCase:
    """Make a case of these threats and draw all else: a source of numbers for each threat, the first for the ride too.

    Parameters
    ----------
    threats : sequence of Threat
    draws : sequence of Draws
    options : CaseOptions
    seed, index : int
        Of a drawn case.
    code : str
        Of a case that a search made.
    """
    plan, space, ride = options.plan, options.space, draws[0]
    bicycle, method = space.machines[ride.integers(len(space.machines))]
    moment = plan.moments[ride.integers(len(plan.moments))]
    onset = 0.0 if threats[0].refused else plan.onset(moment, float(ride.uniform(0.0, 1.0)))
    if threats[0].what is None:
        moment, onset = FaultOnset.RAMPDOWN, plan.stop_at  # nothing comes before the planned end
    kick = _kick(bicycle, method, plan.kicks[0], int(ride.choice((-1, 1))), ride)
    speed, noise = float(ride.uniform(*space.speeds)), int(ride.integers(SEED_RANGE))
    about = _circumstances(threats[0], (bicycle, method), speed, noise, options)
    parts = [_part(threats[0], moment, onset, ride)]
    for threat, other in zip(threats[1:], draws[1:], strict=True):
        parts.append(_part(threat, *_further_onset(plan, onset, other), other))
    model = rig_and_gains(bicycle, method)[0].bicycle
    parts = [replace(part, faults=_with_alike(part.threat, part.faults, model, speed)) for part in parts]
    return FaultCase(
        seed=seed,
        index=index,
        threat=threats[0],
        machine=(bicycle, method),
        scenario=Scenario(
            speed=about.speed or ((0.0, speed),),
            kicks=(kick, *_later_kicks(bicycle, method, plan, noise)) if about.kicks is None else about.kicks,
            release_after=CASE_RELEASE_DELAY,
            surface=about.surface,
            seed=noise,
        ),
        kick=kick.impulse if about.kicks is None else 0.0,
        moment=moment,
        onset=parts[0].onset,
        faults=parts[0].faults,
        place_faults=parts[0].place_faults,
        speed_faults=parts[0].speed_faults,
        orders=_orders(plan, parts),
        others=tuple(parts[1:]),
        circumstances=about,
        options=options,
        code=code,
    )


def _circumstances(
    threat: Threat, machine: tuple[str, str], speed: float, noise: int, options: CaseOptions
) -> Circumstances:
    """Draw the circumstances of a ride from the seed of its noise; half of the rides with a fault meet only pushes."""
    if not options.pool.varied:
        return Circumstances()
    rng = np.random.default_rng([noise, 2])
    if threat.what is None:
        name = threat.name
    else:
        name = str(rng.choice(BESIDE_FAULTS)) if rng.random() < 0.5 else USUAL_CIRCUMSTANCES
    about = draw_circumstances(name, rng, machine, speed, options.space, options.plan)
    return replace(about, model="nonlinear")


def _kick(bicycle: str, method: str, t: float, side: int, draws: Draws) -> Kick:
    rng = cast(np.random.Generator, draws)  # all it asks for is numbers between two others
    return hand_kick(rig_and_gains(bicycle, method)[0].bicycle, t, side, rng)


def _later_kicks(bicycle: str, method: str, plan: RidePlan, noise: int) -> list[Kick]:
    """Draw the pushes after the first from the seed of the ride's noise, so that their number changes nothing else."""
    rng = np.random.default_rng([noise, 1])
    return [_kick(bicycle, method, t, int(rng.choice((-1, 1))), rng) for t in plan.kicks[1:]]


def _part(threat: Threat, moment: FaultOnset, onset: float, draws: Draws) -> FaultPart:
    if isinstance(threat.what, Order):
        onset = round(onset / SAMPLE_PERIOD) * SAMPLE_PERIOD  # a person is heard at the next tick
    faults = _draw_faults(threat, onset, draws)
    place, speed = _draw_place_faults(threat, onset, draws), _draw_speed_faults(threat, onset, draws)
    return FaultPart(threat, moment, onset, faults, place, speed)


def _further_onset(plan: RidePlan, first: float, draws: Draws) -> tuple[FaultOnset, float]:
    """Draw the moment of a further fault of a set: any, or just after the first."""
    moment, share = plan.moments[draws.integers(len(plan.moments))], float(draws.uniform(0.0, 1.0))
    soon = draws.choice((True, False)) and first > 0.0
    return moment, first + share * AT_ONCE_WITHIN if soon else plan.onset(moment, share)


def _orders(plan: RidePlan, parts: Sequence[FaultPart]) -> tuple[tuple[float, Demand], ...]:
    """List what the operator demands when; the first order that is a fault of the set is the last one given."""
    orders = [(0.0, Demand.OFF), (ARM_AT, Demand.ARM), (RUN_AT, Demand.RUN), (plan.stop_at, Demand.STOP)]
    given = sorted(
        ((part.onset, part.threat.what) for part in parts if isinstance(part.threat.what, Order)),
        key=lambda order: order[0],
    )
    if given:
        onset, what = given[0]
        demand = Demand.STOP if what is Order.STOP else Demand.OFF
        orders = [order for order in orders if order[0] < onset] + [(onset, demand)]
    return tuple(orders)
