"""All threats of the campaign, in the order of its table."""

from experiments.studies.fault_injection.link_faults import LINK
from experiments.studies.fault_injection.machine_faults import MACHINE
from experiments.studies.fault_injection.sensor_faults import SENSOR

THREATS = (*LINK, *MACHINE, *SENSOR)
