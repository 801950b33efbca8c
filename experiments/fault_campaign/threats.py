"""All threats of the campaign, in the order of its table."""

from experiments.fault_campaign.threats_link import LINK
from experiments.fault_campaign.threats_machine import MACHINE
from experiments.fault_campaign.threats_sensor import SENSOR

THREATS = (*LINK, *MACHINE, *SENSOR)
