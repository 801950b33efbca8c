"""State of a node (record ``FIRMWARE``).

It holds what the node is, has received and has decided.
"""

import numpy as np

from riderless.firmware_interface.calibration import CALIBRATION, Calibration
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.messages import (
    COMMAND,
    COMMAND_KIND_ANGLE,
    COMMAND_KIND_BOUND,
    COMMAND_KIND_RATE,
    COMMAND_KINDS,
    RAW,
)
from riderless.firmware_interface.node.layouts import (
    COMMAND_SCALES,
    FIRMWARE_NAME_SIZE,
    GUARD,
    HELLO,
    RESET_POWER_ON,
    VALUE_MAX,
)

_LIMITS_MAX = tuple(VALUE_MAX / scale for scale in COMMAND_SCALES[: len(COMMAND_KINDS)])  # N m, rad/s, rad
_LIMIT_UNITS = ("N m", "rad/s", "rad")
# of a twin's guard; those of the example board are in its own file
STEER_BOUND, LEAN_BOUND = 1.5, 0.9  # rad

FIRMWARE = np.dtype(
    [
        # what it is
        ("hello", HELLO),
        ("cal", CALIBRATION),  # of its instruments and its drive
        ("limits", "f8", (len(COMMAND_SCALES),)),  # N m, rad/s, rad; by kind of command
        ("watchdog_us", "i8"),
        ("window", "i8"),  # samples in the watchdog's time: an older one is not answered any more
        ("period_us", "i8"),
        ("bounds", GUARD),  # of the limits of its guard, which are in `hello`; 0 where it has no such sensor
        # the world outside
        ("stop_button", "u1"),  # 1 while pressed
        ("faults", "u1"),  # FAULT_* bits at present
        # clock
        ("boot_us", "i8"),  # when its clock began
        ("now_us", "i8"),  # device time of the latest sampling instant
        ("seq", "u4"),  # of the next sample
        # session
        ("session", "u4"),  # 0: none
        ("kind", "u1"),  # COMMAND_KIND_* that its commands must have
        ("nonce", "u4"),  # of the request that opened it
        ("salt", "u4"),  # the node's own share in the next session's number: noise of its instruments
        # commands
        ("newest", COMMAND),  # as it came in
        ("incoming", COMMAND),  # until it is known whether it counts
        ("heard", "u1"),  # 1 once a command of this session has come in
        ("pending", "u1"),  # 1 while the newest waits for a sampling instant
        ("heard_us", "i8"),  # sampling instant of the sample that the newest command answers
        ("stranger", "u1"),  # a foreign command has come in since the latest instant: STRANGE or ALARMING
        ("refused", "u4"),  # foreign commands
        ("commands", "u4"),  # obeyed so far
        ("hello_pending", "u1"),
        # guard, see `node.guard`
        ("guard", GUARD),  # of the request that opened the session
        ("lean", "i8"),  # 2^-30 rad
        ("lean_drift", "i8"),  # 2^-38 rad in an instant, against that of the gyro
        ("lean_samples", "i8"),
        ("last_steer", "i8"),
        ("still", "i8"),  # instants under torque without a count of the encoder
        ("cut", "i8"),  # instants whose torque was cut, less those where it was not
        ("struck", "u1"),  # FAULT_* bits for which it disabled the drive in this session
        ("wish", "i8"),  # mN m in the drive's sense, of a controller on board, for the next instant
        # state
        ("enabled", "u1"),
        ("off_seen", "u1"),  # a command with ENABLE off has come since the last disable
        ("tripped", "u1"),  # the watchdog has struck and has not been cleared
        ("trips", "u4"),
        ("foreign", "u1"),  # a foreign command has disabled the drive, or tried: the session is spoilt
        ("heartbeat", "u1"),  # level of its pin since the latest sampling instant
        ("value", "f8"),  # N m, rad/s or rad by kind, applied since the latest sampling instant, in the drive's sense
        ("T", "f8"),  # the same, positive to the right
        ("rejected", "u4"),  # frames
        ("raw", RAW),  # the sample being built
    ],
    align=True,
)


def new_firmware(
    calibration: Calibration,
    rate_hz: int = 200,
    torque_limit: float = 7.0,
    watchdog_ms: int = 25,
    name: str = "riderless twin",
    rate_limit: float | None = None,
    angle_limit: float | None = None,
    encoder: bool = True,
    inertial: bool = True,
    controller: bool = False,
) -> np.void:
    """Firmware as after power-up, a record of type ``FIRMWARE``.

    Parameters
    ----------
    calibration : Calibration
        Of the instruments and drive it carries.
    rate_hz : int
        Samples per second, 1 to 10 000.
    torque_limit : float
        N m, at most 32.767.
    watchdog_ms : int
        At least two sampling periods: with less, a command would be too old before the next comes.
    name : str
        At most 16 ASCII characters.
    rate_limit, angle_limit : float or None
        rad/s, at most 32.767, and rad, at most 3.2767; None where it does not obey that kind of command.
    encoder, inertial : bool
        It carries the steer encoder, the inertial sensor and the wheel; its guard is without those it does not carry.
    controller : bool
        It has a controller on board, which whoever plays it asks at each instant.

    Raises
    ------
    DeviceError
        If a value does not fit the protocol.
    """
    if not 1 <= rate_hz <= 10_000:
        raise DeviceError(f"the node's rate must be 1 to 10000 Hz, found {rate_hz} Hz")
    limits = (torque_limit, rate_limit, angle_limit)
    for kind, unit, limit, most in zip(COMMAND_KINDS, _LIMIT_UNITS, limits, _LIMITS_MAX, strict=True):
        if limit is not None and not 0 < limit <= most:
            raise DeviceError(
                f"the node's {kind} limit must be above 0 and at most {most} {unit}, found {limit} {unit}"
            )
    if not 2000 / rate_hz <= watchdog_ms <= 65_535:
        raise DeviceError(
            "the node's watchdog must be at least two sampling periods, "
            f"{2000 / rate_hz:g} ms at {rate_hz} Hz, and at most 65535 ms, found {watchdog_ms} ms"
        )
    if not name.isascii() or len(name) > FIRMWARE_NAME_SIZE:
        raise DeviceError(f"the firmware's name must be at most {FIRMWARE_NAME_SIZE} ASCII characters, found {name!r}")
    fw = np.zeros(1, FIRMWARE)[0]
    fw["hello"]["firmware"][: len(name)] = list(name.encode())
    fw["hello"]["rate_hz"] = rate_hz
    fw["hello"]["torque_limit_mNm"] = round(1e3 * torque_limit)
    fw["hello"]["watchdog_ms"] = watchdog_ms
    fw["hello"]["gyro_lsb"] = calibration.gyro_lsb
    fw["hello"]["accel_lsb"] = calibration.accel_lsb
    fw["hello"]["steer_counts_per_turn"] = round(calibration.steer_counts_per_turn)
    fw["hello"]["obeys"] = sum(1 << kind for kind, limit in enumerate(limits) if limit is not None)
    fw["hello"]["obeys"] |= controller << COMMAND_KIND_BOUND
    fw["hello"]["rate_limit_mrad_s"] = round(COMMAND_SCALES[COMMAND_KIND_RATE] * (rate_limit or 0.0))
    fw["hello"]["angle_limit_100urad"] = round(COMMAND_SCALES[COMMAND_KIND_ANGLE] * (angle_limit or 0.0))
    fw["hello"]["reset_cause"], fw["hello"]["flash_good"] = RESET_POWER_ON, 1
    turn = calibration.steer_counts_per_turn * calibration.steer_gear_ratio
    fw["bounds"]["steer_limit_counts"] = min(round(STEER_BOUND / (2 * np.pi) * turn), 2**31) if encoder else 0
    fw["bounds"]["lean_limit_mrad"] = round(1e3 * LEAN_BOUND) if inertial else 0
    fw["bounds"]["torque_step_mNm"] = 2 * fw["hello"]["torque_limit_mNm"]
    for name in ("steer_limit_counts", "lean_limit_mrad", "torque_step_mNm"):
        fw["hello"][name] = fw["bounds"][name]
    fw["cal"] = calibration.as_record()
    rate_limit, angle_limit = 1e-3 * fw["hello"]["rate_limit_mrad_s"], 1e-4 * fw["hello"]["angle_limit_100urad"]
    fw["limits"] = torque_limit, rate_limit, angle_limit, torque_limit
    fw["watchdog_us"] = 1000 * watchdog_ms
    fw["window"] = watchdog_ms * rate_hz // 1000
    fw["period_us"] = -(-1_000_000 // rate_hz)
    return fw
