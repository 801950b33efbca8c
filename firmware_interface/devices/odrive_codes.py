"""States, errors and modes of an ODrive's axis.

As firmware 0.5.6 numbers them (odrive-interface.yaml).
"""

AXIS_IDLE, AXIS_CLOSED_LOOP = 1, 8  # states

AXIS_INVALID_STATE = 0x1  # bits of the axis error
AXIS_MOTOR_FAILED = 0x40
AXIS_ENCODER_FAILED = 0x100
AXIS_WATCHDOG_EXPIRED = 0x800
AXIS_ESTOP_REQUESTED = 0x4000

CONTROL_TORQUE, CONTROL_VELOCITY, CONTROL_POSITION = 1, 2, 3  # modes of the controller
CONTROL_MODES = (CONTROL_TORQUE, CONTROL_VELOCITY, CONTROL_POSITION)  # by kind of command, as COMMAND_KIND_* number it
INPUT_PASSTHROUGH = 1  # mode of its input
