"""All threats of the campaign, in the order of its table."""

from experiments.studies.fault_injection.link_faults import ATTACK_THREATS, LINK_THREATS
from experiments.studies.fault_injection.machine_faults import MACHINE_THREATS
from experiments.studies.fault_injection.sensor_faults import SENSOR_THREATS

THREATS = (*LINK_THREATS, *MACHINE_THREATS, *SENSOR_THREATS, *ATTACK_THREATS)
