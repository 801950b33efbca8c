"""Threats of the campaign, in table order."""

from enum import StrEnum

from riderless.experiments.fault_injection.circumstances import CIRCUMSTANCES, STRONG_DISTURBANCES
from riderless.experiments.fault_injection.ride_plan import LONG_RIDE, PLACE_RIDE, SHORT_RIDE
from riderless.experiments.fault_injection.threats.attack_faults import ATTACK_THREATS
from riderless.experiments.fault_injection.threats.coupled_faults import COUPLED_THREATS
from riderless.experiments.fault_injection.threats.fault_spec import Threat
from riderless.experiments.fault_injection.threats.link_faults import LINK_THREATS
from riderless.experiments.fault_injection.threats.machine_faults import MACHINE_THREATS
from riderless.experiments.fault_injection.threats.place_faults import PLACE_THREATS
from riderless.experiments.fault_injection.threats.sensor_faults import SENSOR_THREATS
from riderless.experiments.fault_injection.threats.slow_faults import SLOW_THREATS, SMALL_THREATS
from riderless.experiments.fault_injection.threats.speed_faults import SPEED_THREATS
from riderless.experiments.fault_injection.threats.steer_faults import steer_threats, without_torque

HEALTHY = tuple(Threat(name, None, "nothing is wrong") for name in CIRCUMSTANCES)
DISTURBED = tuple(Threat(name, None, "nothing is wrong, and much happens") for name in STRONG_DISTURBANCES)
THREATS = (*LINK_THREATS, *MACHINE_THREATS, *SENSOR_THREATS)
FAMILIES = {
    "link": LINK_THREATS,
    "machine": MACHINE_THREATS,
    "sensor": SENSOR_THREATS,
    "slow": SLOW_THREATS,
    "small": SMALL_THREATS,
    "coupled": COUPLED_THREATS,
    "attack": ATTACK_THREATS,
    "place": PLACE_THREATS,
    "speed": SPEED_THREATS,
    "none": HEALTHY,
    "disturbed": DISTURBED,
    "steer": (*steer_threats("rate"), *steer_threats("angle")),
}
_FAMILY_OF = {threat.name: name for name, threats in FAMILIES.items() for threat in threats}


class ThreatPool(StrEnum):
    """Threats that a campaign draws from."""

    SUDDEN = "sudden"
    SLOW = "slow"
    SMALL = "small"
    COUPLED = "coupled"
    ATTACK = "attack"
    ALL = "all"
    PLACE = "place"
    SPEED = "speed"
    NONE = "none"
    DISTURBED = "disturbed"

    @property
    def varied(self) -> bool:
        """True where the rides have circumstances of all kinds, on other bicycles than those tuned on.

        All of them are nonlinear: the specific force of the linear bicycle tells nothing of a turn.
        """
        return self in (ThreatPool.SLOW, ThreatPool.SMALL, ThreatPool.COUPLED) or self.healthy

    @property
    def healthy(self) -> bool:
        """True where nothing is wrong."""
        return self in (ThreatPool.NONE, ThreatPool.DISTURBED)

    @property
    def own_machines(self) -> bool:
        """True where the faults strike a device that only machines of this pool have."""
        return self in (ThreatPool.PLACE, ThreatPool.SPEED)

    @property
    def usual_length(self) -> float:
        """Time under control where none is asked for [s]."""
        if self.own_machines:
            return PLACE_RIDE
        return LONG_RIDE if self.varied else SHORT_RIDE


def threats_of(pool: ThreatPool, drive: str = "torque") -> tuple[Threat, ...]:
    """List the threats of a pool to a drive of that kind, in the order of the tables."""
    if drive != "torque":
        own = steer_threats(drive) if pool in (ThreatPool.SUDDEN, ThreatPool.ALL) else ()
        return (*without_torque(threats_of(pool)), *own)
    return {
        ThreatPool.SUDDEN: THREATS,
        ThreatPool.SLOW: SLOW_THREATS,
        ThreatPool.SMALL: SMALL_THREATS,
        ThreatPool.COUPLED: COUPLED_THREATS,
        ThreatPool.ATTACK: ATTACK_THREATS,
        ThreatPool.PLACE: PLACE_THREATS,
        ThreatPool.SPEED: SPEED_THREATS,
        ThreatPool.NONE: HEALTHY,
        ThreatPool.DISTURBED: DISTURBED,
        ThreatPool.ALL: (*THREATS, *SLOW_THREATS, *ATTACK_THREATS),
    }[pool]


def family(threat: Threat) -> str:
    """Name the family of a threat: where in the machine it strikes, or that it comes slowly."""
    return _FAMILY_OF[threat.name]
