"""VectorNav VN-100 and VN-200: an inertial sensor that streams binary messages at a divisor of 800 Hz.

We ask for one message, group 1 with field word 0x0129::

    FA 01 29 01 | time since start u64 ns | yaw pitch roll 3 f32 deg | rate 3 f32 rad/s | force 3 f32 m/s^2 | CRC

little-endian but for the CRC-16 (polynomial 0x1021, initial 0), which is over everything behind the FA; 50 bytes in
all. Yaw, pitch and roll are the sensor's own filter's and are not used: a filter that assumes slow motion lies on a
bicycle. Other messages of group 1 are counted as of another version, ASCII answers are passed over.

The sensor does not number its messages; they are numbered here by its clock, one for each nominal period, so that a
lost message leaves a gap.

Source: VN-100 User Manual (UM001), chapters "Binary Output Messages" and "System Module".
"""

import numpy as np
from numba import carray, cfunc, njit

from firmware_interface.devices.device import Device, Example, Setting, Settings, Traffic
from firmware_interface.devices.link import HEAR, IMU, SAY, TX_SIZE
from firmware_interface.devices.vectornav_setup import ACCEL_LSB, GYRO_LSB, introduce
from firmware_interface.devices.xmodem import crc_xmodem
from firmware_interface.framing import MAX_PAYLOAD
from firmware_interface.node import laid_over

SYNC, DOLLAR = 0xFA, 0x24
MESSAGE = np.dtype(
    [
        ("groups", "u1"),
        ("fields", "<u2"),
        ("t_ns", "<u8"),
        ("ypr", "<f4", (3,)),
        ("rate_x", "<f4"),
        ("rate_y", "<f4"),
        ("rate_z", "<f4"),
        ("accel_x", "<f4"),
        ("accel_y", "<f4"),
        ("accel_z", "<f4"),
    ]
)
SIZE = 1 + MESSAGE.itemsize + 2  # sync, body, CRC: 50 bytes
_GROUPS, _FIELDS = 0x01, 0x0129
_FIELD_BYTES = np.array([8, 8, 8, 12, 16, 12, 24, 12, 12, 24, 20, 28, 2, 4, 8])  # of group 1, by bit
_LARGEST = 2.0**30  # counts
_LAST_NS, _STARTED = 0, 1  # places in the link's memory


@njit(cache=True, nogil=True)
def receive(link, rx, n):
    """Take ``rx[:n]`` off the line; returns the number of new samples. Runs inside the tick."""
    receiver, samples = link.receiver, 0
    for i in range(n):
        if receiver.filled == MAX_PAYLOAD:  # an ASCII line without end
            receiver.frames_bad_length += 1
            _drop(receiver, 1)
        receiver.payload[receiver.filled] = rx[i]
        receiver.filled += 1
        while receiver.filled > 0 and _look(receiver):
            samples += 1 if receiver.payload[0] == SYNC and _adopt(link) else 0
            _drop(receiver, receiver.size + 1)
    link.missing = max(SIZE - receiver.filled, 1)
    return samples


@njit(cache=True, nogil=True)
def speak(link, command, send, out):
    """Nothing: it streams by itself. Runs inside the tick."""
    return 0


@njit(cache=True, nogil=True)
def _look(receiver):
    """Whether a message or a line stands at the front of what is held; bytes that begin neither are thrown away.

    ``receiver.size`` is then its length less one. Runs inside the tick.
    """
    while receiver.filled > 0:
        first = receiver.payload[0]
        if first == SYNC:
            need = _length(receiver.payload, receiver.filled)
            if need == 0 or need > receiver.filled:
                return False
            if need > 0 and crc_xmodem(receiver.payload, 1, need) == 0:
                receiver.frames_ok += 1
                receiver.size = need - 1
                return True
            if need > 0:
                receiver.frames_bad_crc += 1
            else:
                receiver.frames_bad_length += 1
        elif first == DOLLAR:
            if receiver.payload[receiver.filled - 1] == 10 and receiver.filled > 1:
                receiver.size = receiver.filled - 1  # an answer in ASCII; nobody waits for it any more
                return True
            if receiver.filled < 2 or 32 <= receiver.payload[receiver.filled - 1] < 127:
                return False
            if receiver.payload[receiver.filled - 1] == 13:
                return False
        receiver.bytes_skipped += 1
        _drop(receiver, 1)
    return False


@njit(cache=True, nogil=True)
def _length(payload, filled):
    """Bytes of the message that begins with a sync: 0 while unknown, -1 for one we cannot measure. Runs inside "
    "the tick."""
    if filled < 2:
        return 0
    groups = payload[1]
    if groups & 0xFE or groups == 0:
        return -1  # other groups: their field sizes are not ours to know
    if filled < 4:
        return 0
    fields = payload[2] | payload[3] << 8
    if fields & 0x8000 or fields == 0:
        return -1
    size = 4 + 2
    for bit in range(_FIELD_BYTES.size):
        if fields >> bit & 1:
            size += _FIELD_BYTES[bit]
    return size if size <= MAX_PAYLOAD else -1


@njit(cache=True, nogil=True)
def _drop(receiver, n):
    """Forget the first ``n`` bytes held. Runs inside the tick."""
    for i in range(receiver.filled - n):
        receiver.payload[i] = receiver.payload[i + n]
    receiver.filled -= n


@njit(cache=True, nogil=True)
def _adopt(link):
    """The message at the front becomes the reading, if it is ours and new. Runs inside the tick."""
    receiver, raw, memory = link.receiver, link.raw, link.memory
    message = laid_over(receiver.payload, 1, MESSAGE)
    if receiver.size != SIZE - 1 or message.groups != _GROUPS or message.fields != _FIELDS:
        receiver.frames_bad_version += 1
        return False
    t_ns = np.int64(message.t_ns & np.uint64(0x7FFFFFFFFFFFFFFF))
    passed = t_ns - memory[_LAST_NS]
    if memory[_STARTED] and passed == 0:
        receiver.samples_repeated += 1
        return False
    steps = np.int64(1)
    if memory[_STARTED] and passed > 0 and link.period_us > 0:
        steps = max(np.int64(1), (passed + 500 * link.period_us) // (1000 * link.period_us))
    elif memory[_STARTED]:
        steps = np.int64(-1)  # its clock has gone back: restarted
    receiver.samples_lost += min(steps - 1, 0xFFFF) if steps > 0 else 1
    memory[_LAST_NS], memory[_STARTED] = t_ns, 1
    raw.seq = (np.int64(raw.seq) + steps) & 0xFFFF
    raw.t_us = (t_ns // 1000) & 0xFFFFFFFF
    raw.off_scale = 0
    _keep(raw, 0, message.rate_x, message.accel_x)
    _keep(raw, 1, message.rate_y, message.accel_y)
    _keep(raw, 2, message.rate_z, message.accel_z)
    return True


@njit(cache=True, nogil=True, inline="always")
def _keep(raw, axis, rate, accel):
    """One axis in counts; what is no number, or far too large for one, is off its scale. Runs inside the tick."""
    gyro, force = rate / GYRO_LSB, accel / ACCEL_LSB
    good = abs(gyro) < _LARGEST and abs(force) < _LARGEST
    raw.gyro_counts[axis] = np.int64(np.rint(gyro)) if good else 0
    raw.accel_counts[axis] = np.int64(np.rint(force)) if good else 0
    raw.off_scale |= 0 if good else 1


@cfunc(HEAR, cache=True)
def _hear(link, rx, n):
    return receive(carray(link, 1)[0], carray(rx, n), n)


@cfunc(SAY, cache=True)
def _say(link, command, send, out):
    return speak(carray(link, 1)[0], carray(command, 1)[0], send, carray(out, TX_SIZE))


def _traffic(carries: int, settings: Settings) -> Traffic:
    return Traffic(SIZE, 0, f"a message of {SIZE} bytes each period")


DEVICE = Device(
    name="vectornav",
    carries=IMU,
    hear=_hear.address,
    say=_say.address,
    introduce=introduce,
    traffic=_traffic,
    settings={"serial_port": Setting(1.0, "", "which of the sensor's two serial ports we are on, 1 or 2")},
    examples=(
        Example(
            # the first example of the manual's chapter on binary messages: well formed, but another message than ours
            bytes.fromhex("fa01080093502e42833ef13f48b504bb9288"),
            True,
            {},
            "VN-100 User Manual, yaw pitch roll",
        ),
    ),
)
