"""Commands, values and faults of a VESC.

Their numbers are from datatypes.h and commands.c of its firmware.
"""

from enum import IntEnum


class VescCommand(IntEnum):
    """Kind of a packet: the first byte of its payload."""

    FW_VERSION = 0
    GET_VALUES = 4
    SET_CURRENT = 6
    SET_CURRENT_BRAKE = 7
    SET_RPM = 8
    SET_POS = 9
    ALIVE = 30
    GET_VALUES_SELECTIVE = 50


class VescValue(IntEnum):
    """Place of a value in the full answer, and bit of a selection."""

    IQ = 5  # q-axis current of the motor
    RPM = 7  # electrical revolutions per minute
    V_IN = 8  # supply
    FAULT = 15
    PID_POS = 16  # angle of the encoder
    CONTROLLER = 17  # number of the controller
    STATUS = 21


VESC_TIMED_OUT, VESC_KILLED = 1, 2  # bits of the status
VESC_FAULT_NAMES = dict(
    enumerate(
        (
            *("over-voltage", "under-voltage", "gate driver", "absolute over-current", "transistors too hot"),
            *("motor too hot", "gate driver over-voltage", "gate driver under-voltage"),
            "microcontroller under-voltage",
        ),
        start=1,
    )
)
