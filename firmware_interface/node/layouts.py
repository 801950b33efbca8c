"""Frame layouts of our own protocol.

Byte by byte: their types, sizes and scales, and a record laid over the bytes of one. ``docs/node-protocol.md``
describes them in words. The functions that read and write them are in `protocol`.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

PROTOCOL_VERSION = 4
REPLAYED_VERSIONS = (3, 4)  # whose SAMPLE and COMMAND differ by the number of the version alone: their logs replay

FRAME_SAMPLE = 1  # node to computer, one per period
FRAME_COMMAND = 2  # computer to node, answering a sample
FRAME_HELLO = 3  # node to computer, when asked
FRAME_HELLO_REQUEST = 4  # computer to node

FIRMWARE_NAME_SIZE = 16  # bytes
SERIAL_SIZE = 12  # bytes
RESET_CAUSES = ("unknown", "power-on", "brown-out", "watchdog", "reset pin", "software")
RESET_POWER_ON, RESET_BROWN_OUT = 1, 2

# The payloads, byte by byte: little-endian, nothing between the fields.
_HEADER = [("version", "u1"), ("type", "u1"), ("seq", "<u2")]
HEADER_LAYOUT = np.dtype(_HEADER)
SAMPLE_LAYOUT = np.dtype(
    [
        *_HEADER,
        ("t_us", "<u4"),
        ("gyro_x_counts", "<i2"),
        ("gyro_y_counts", "<i2"),
        ("gyro_z_counts", "<i2"),
        ("accel_x_counts", "<i2"),
        ("accel_y_counts", "<i2"),
        ("accel_z_counts", "<i2"),
        ("steer_counts", "<i4"),
        ("wheel_mrad_s", "<i4"),
        ("torque_mNm", "<i2"),
        ("bus_mV", "<u2"),
        ("status", "u1"),
        ("faults", "u1"),
        ("command_seq", "<u2"),
        ("rejected", "u1"),
        ("refused", "u1"),
        ("seq_high", "<u2"),
    ]
)
COMMAND_LAYOUT = np.dtype(
    [*_HEADER, ("value", "<i2"), ("expiry_ms", "<u2"), ("sample_seq", "<u4"), ("session", "<u4"), ("flags", "u1")]
)
HELLO_LAYOUT = np.dtype(
    [
        *_HEADER,
        ("firmware", "u1", (FIRMWARE_NAME_SIZE,)),
        ("rate_hz", "<u2"),
        ("torque_limit_mNm", "<u2"),
        ("watchdog_ms", "<u2"),
        ("gyro_lsb", "<f4"),
        ("accel_lsb", "<f4"),
        ("steer_counts_per_turn", "<u4"),
        ("session", "<u4"),
        ("kind", "u1"),
        ("obeys", "u1"),
        ("rate_limit_mrad_s", "<u2"),
        ("angle_limit_100urad", "<u2"),
        ("reset_cause", "u1"),
        ("flash_good", "u1"),
        ("serial", "u1", (SERIAL_SIZE,)),
        ("steer_limit_counts", "<u4"),
        ("lean_limit_mrad", "<u2"),
        ("torque_step_mNm", "<u2"),
    ]
)
HELLO_REQUEST_LAYOUT = np.dtype(
    [
        *_HEADER,
        ("nonce", "<u4"),
        ("kind", "u1"),
        ("steer_zero_counts", "<i4"),
        ("steer_limit_counts", "<u4"),
        ("lean_limit_mrad", "<u2"),
        ("torque_step_mNm", "<u2"),
        ("roll", "<i4", (4,)),
        ("yaw", "<i4", (4,)),
        ("side", "<i4", (4,)),
        ("speed_scale", "<i4"),
    ]
)

# Bytes. Not plain ints: numba compiles a function anew for every literal int it is handed.
SAMPLE_SIZE = np.int64(SAMPLE_LAYOUT.itemsize)
COMMAND_SIZE = np.int64(COMMAND_LAYOUT.itemsize)
HELLO_SIZE = np.int64(HELLO_LAYOUT.itemsize)
HELLO_REQUEST_SIZE = np.int64(HELLO_REQUEST_LAYOUT.itemsize)
FRAME_SIZES = np.array([0, SAMPLE_SIZE, COMMAND_SIZE, HELLO_SIZE, HELLO_REQUEST_SIZE])  # by type

VALUE_MAX = 32767  # -32768 is left free: the two ends of the scale are alike
COMMAND_SCALES = (1e3, 1e3, 1e4, 1e3)  # of a command's value in its frame, by kind: mN m, mrad/s, 100 urad, mN m
FLAG_BITS = 0x0F  # of the byte of flags; the kind has the others

# What the node says of itself, as it stands in the frame.
HELLO = np.dtype(
    [
        ("seq", "u2"),  # number of the request it answers
        ("firmware", "u1", (FIRMWARE_NAME_SIZE,)),  # name, ASCII, padded with zeros
        ("rate_hz", "u2"),  # samples per second
        ("torque_limit_mNm", "u2"),  # the node never applies more
        ("watchdog_ms", "u2"),  # torque is zero this long after the last command
        ("gyro_lsb", "f4"),  # rad/s per count
        ("accel_lsb", "f4"),  # m/s^2 per count
        ("steer_counts_per_turn", "u4"),  # of the encoder's own shaft
        ("session", "u4"),  # in which commands count from now on; 0 for none
        ("kind", "u1"),  # that its commands must have
        ("obeys", "u1"),  # kinds the node can open a session for: bit k is kind k
        ("rate_limit_mrad_s", "u2"),  # the node never turns the steer faster
        ("angle_limit_100urad", "u2"),  # nor further from its encoder's zero
        ("reset_cause", "u1"),  # of the latest start, index in RESET_CAUSES
        ("flash_good", "u1"),  # the check of its program at that start
        ("serial", "u1", (SERIAL_SIZE,)),  # of the processor
        # limits of its guard in force; 0 where it has no such guard
        ("steer_limit_counts", "u4"),  # of the encoder, from straight ahead
        ("lean_limit_mrad", "u2"),
        ("torque_step_mNm", "u2"),  # change of torque per instant
    ],
    align=True,
)

# Limits that the guard of the node is given with the request for a session, and the scales for its lean.
GUARD = np.dtype(
    [
        ("steer_zero_counts", "i4"),  # straight ahead
        ("steer_limit_counts", "u4"),  # to either side; here and below 0 asks for the node's own bound
        ("lean_limit_mrad", "u2"),
        ("torque_step_mNm", "u2"),
        # of x, y and z of the sensor, and their sum at rest
        ("roll", "i4", (4,)),  # 2^-38 rad in an instant
        ("yaw", "i4", (4,)),  # 2^-32 rad/s
        ("side", "i4", (4,)),  # 2^-28 m/s^2, specific force to the right
        ("speed_scale", "i4"),  # 2^-32 m/s per mrad/s of the wheel
    ],
    align=True,
)


def _laid_over(typingctx, data, start, layout):
    """View the bytes ``data[start:]`` as a record of the dtype ``layout``; the length is unchecked."""
    if not isinstance(data, types.Array) or data.dtype != types.uint8 or data.ndim != 1 or data.layout != "C":
        return None

    def _build_view(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        first = builder.gep(array.data, [args[1]])
        return builder.bitcast(first, context.get_value_type(signature.return_type))

    return layout.dtype(data, types.intp, layout), _build_view


laid_over: Any = intrinsic(_laid_over)  # its calls are typed by numba, not by mypy
