"""States, demands, causes, symptoms, verdicts.

Those of the supervisor.
"""

from enum import IntEnum, IntFlag


class State(IntEnum):
    """State of the machine: what it may do now."""

    DISARMED = 0  # drive off
    CHECK = 1  # proving stream, sensors and the drive's watchdog
    ARMED = 2  # drive on, zero torque
    RUNNING = 3  # the controller's wish, within limits
    RAMPDOWN = 4  # torque falls linearly to zero
    FAULT = 5  # drive off, latched


class Demand(IntEnum):
    """Operator's demand: the highest state the machine may be in."""

    OFF = 0  # zero and off, at once
    STOP = 1  # ramp down, then off
    ARM = 2  # check, then drive on at zero torque
    RUN = 3  # as ARM, then control


class Cause(IntEnum):
    """Cause for which the machine left RUNNING, or could not be armed; the first one is kept, a fault before a stop."""

    NONE = 0
    OPERATOR_STOP = 1
    OPERATOR_OFF = 2
    STALE_SAMPLE = 3
    NOT_A_NUMBER = 4
    LEAN_LIMIT = 5
    STEER_LIMIT = 6
    SPEED_WINDOW = 7
    DEVICE_FAULT = 8
    DRIVE_WATCHDOG = 9
    STOP_BUTTON = 10
    BUS_VOLTAGE = 11
    SATURATED = 12
    CHECK_STREAM = 13
    CHECK_UPRIGHT = 14
    CHECK_ENABLE = 15
    CHECK_WATCHDOG = 16
    CHECK_LATENCY = 17
    TICKS_LATE = 18
    UNATTENDED = 19
    RECORDER = 20
    SENSOR_STUCK = 21
    SENSOR_RANGE = 22
    SENSOR_JUMP = 23
    SENSORS_DISAGREE = 24
    DRIVE_DISOBEYS = 25
    CLOCK_STEP = 26
    DEVICE_RESTARTED = 27
    RATE_LOW = 28
    LINK_NOISY = 29
    DRIVE_OFF = 30
    RATE_HIGH = 31
    FOREIGN_COMMANDS = 32
    CHECK_GYRO = 33
    CHECK_GRAVITY = 34
    CHECK_MOUNTING = 35
    CHECK_GAINS = 36
    PLACE_LOST = 37
    BELT_EDGE = 38
    SPEED_DRIVE = 39
    OFF_BELT = 40
    NODE_GUARD = 41


STATE_SENTENCES = {
    State.DISARMED: "not armed: the drive is off",
    State.CHECK: "checking before it arms",
    State.ARMED: "armed: drive on, no torque yet",
    State.RUNNING: "under control",
    State.RAMPDOWN: "ramping the torque down",
    State.FAULT: "fault: the drive is off",
}
SENTENCES = {
    Cause.NONE: "nothing happened",
    Cause.OPERATOR_STOP: "the run was stopped, by its plan or by the operator",
    Cause.OPERATOR_OFF: "the operator switched the drive off",
    Cause.STALE_SAMPLE: "no fresh sample came from the device within the limit",
    Cause.NOT_A_NUMBER: "an estimate, the controller's wish or its state was not a number",
    Cause.LEAN_LIMIT: "the lean angle passed its limit",
    Cause.STEER_LIMIT: "the steer angle passed its limit",
    Cause.SPEED_WINDOW: "the forward speed left its window",
    Cause.DEVICE_FAULT: "the device reported a fault",
    Cause.NODE_GUARD: "the node's own guard disabled the drive: steer, lean, change of torque or a steer that stands",
    Cause.DRIVE_WATCHDOG: "the drive's own watchdog tripped: commands came too late",
    Cause.STOP_BUTTON: "the stop button is pressed",
    Cause.BUS_VOLTAGE: "the drive's supply left its window",
    Cause.SATURATED: "the torque stayed at its limit for too long",
    Cause.CHECK_STREAM: "check not passed: the sample stream has gaps or errors",
    Cause.CHECK_UPRIGHT: "check not passed: hold the bicycle upright, straight and within the speed window",
    Cause.CHECK_ENABLE: "check not passed: the drive did not switch on when asked",
    Cause.CHECK_WATCHDOG: "check not passed: the drive's watchdog did not trip in its time when commands were withheld",
    Cause.CHECK_LATENCY: "check not passed: no recent latency test vouches for this computer; run `riderless latency`",
    Cause.TICKS_LATE: "the computer woke too late too often",
    Cause.UNATTENDED: "the program around the loop stopped answering",
    Cause.RECORDER: "the log could not be written",
    Cause.SENSOR_STUCK: "a sensor's reading stopped changing",
    Cause.SENSOR_RANGE: "a sensor's reading is outside what the sensor can measure",
    Cause.SENSOR_JUMP: "a sensor's reading jumped further than a bicycle can move",
    Cause.SENSORS_DISAGREE: "the sensors contradict each other",
    Cause.DRIVE_DISOBEYS: "the drive does not make the torque it was commanded",
    Cause.CLOCK_STEP: "the device's clock jumped",
    Cause.DEVICE_RESTARTED: "the device restarted",
    Cause.RATE_LOW: "samples come too seldom",
    Cause.RATE_HIGH: "samples come too often",
    Cause.LINK_NOISY: "too many frames are broken",
    Cause.DRIVE_OFF: "the drive switched itself off without saying why",
    Cause.FOREIGN_COMMANDS: "the drive heard commands that are not this run's, or too old, and switched itself off",
    Cause.CHECK_GYRO: "check not passed: a gyro reads more than any gyro at rest",
    Cause.CHECK_GRAVITY: "check not passed: the accelerometer does not read the size of gravity",
    Cause.CHECK_MOUNTING: "check not passed: by the accelerometer the machine is not upright",
    Cause.CHECK_GAINS: "check not passed: the gains are of other speeds",
    Cause.PLACE_LOST: "the place of the bicycle is not known: its sensor is silent, or another sensor contradicts it",
    Cause.BELT_EDGE: "a wheel came too near to the edge of the belt: pushed, or led there by a sensor that reads wrong",
    Cause.OFF_BELT: "a wheel left the belt",
    Cause.SPEED_DRIVE: "the treadmill or wheel drive does not keep the speed asked for: silent, faulty, or astray",
}


class Symptom(IntFlag):
    """Symptoms that the monitors of a ride and of the rest before it have found this tick, beside a device's faults."""

    NONE = 0
    SENSOR_STUCK = 1
    SENSOR_RANGE = 2
    SENSOR_JUMP = 4
    SENSORS_DISAGREE = 8
    DRIVE_DISOBEYS = 16
    CLOCK_STEP = 32
    DEVICE_RESTARTED = 64
    RATE_LOW = 128
    LINK_NOISY = 256
    RATE_HIGH = 512
    PLACE_LOST = 1024
    BELT_EDGE = 2048
    # before a run, of `riderless.hil.loop.resting`; room is left for more of a ride
    REST_RATE = 1 << 12
    REST_FORCE = 1 << 13
    REST_TILT = 1 << 14
    SPEED_DRIVE = 1 << 15  # of a ride again: those before keep the bits that old logs have
    OFF_BELT = 1 << 16


class Verdict(IntFlag):
    """Reasons for which the command differs from the request."""

    NONE = 0
    NOT_RUNNING = 1
    TORQUE_LIMIT = 2
    RATE_LIMIT = 4
    RAMP = 8
    NO_FRESH_SAMPLE = 16
    NOT_A_NUMBER = 32
    WITHHELD = 64  # no frame at all was sent
    RELEASED = 128  # the experiment leaves the bicycle to itself for a moment
    LANE_HELD_BACK = 256  # ... or leaves heading and place to themselves, while the rest of the law balances
