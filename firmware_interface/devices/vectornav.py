"""Driver of the VectorNav VN-100 and VN-200.

An inertial sensor that streams binary messages at 800 Hz divided by a whole number. We order one message, group 1 with
the field word 0x0129, 50 bytes::

    FA 01 29 01 | time since start u64 ns | yaw pitch roll 3 f32 deg | rate 3 f32 rad/s | force 3 f32 m/s^2 | CRC

little-endian but for the CRC (CRC-16/XMODEM: polynomial 0x1021, initial value 0), which is over everything behind the
FA; over data and CRC it is 0. Force is the specific force in the sensor's axes: level, z down and at rest it reads
about -9.8 along z, as our samples do. Yaw, pitch and roll are not used: the sensor's own filter assumes slow motion.

The messages are not numbered, so they are counted here by the sensor's clock, one for each nominal period: a lost one
leaves a gap. There is no delimiter either. Whatever has begun, a message of ours with the right CRC is believed (48
bits agree); what stood before it was none. Other messages up to 250 bytes are skipped whole, by the sizes of their
fields or, where those are not known (extensions), up to where the CRC comes to 0; so are lines of ASCII.

Source: VN-100 User Manual (UM001), chapters on binary output messages, system error codes and system registers.
"""

import binascii
import functools
import operator
import re

import numpy as np

from riderless.firmware_interface.devices.driver import (
    Device,
    DeviceRequirements,
    DeviceSetting,
    DeviceSettings,
    ExampleMessage,
    Introduction,
    Traffic,
)
from riderless.firmware_interface.devices.link import ROLE_IMU, new_link, say_nothing
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.framing import MAX_PAYLOAD, crc_xmodem
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.node.layouts import laid_over
from riderless.firmware_interface.port import SerialPort, ask_and_listen

GYRO_LSB, ACCEL_LSB = 2.0**-20, 2.0**-16  # rad/s and m/s^2 per count, far below the sensor's noise
IMU_RATE = 800  # Hz
SYNC, _DOLLAR, _LINE_FEED, _CARRIAGE_RETURN = 0xFA, ord("$"), ord("\n"), ord("\r")
GROUPS, FIELDS = 0x01, 0x0129
FIELD_SIZES = np.array(  # bytes, by group and bit; 0 where the sources differ, or it depends on what is in the field
    [
        [8, 8, 8, 12, 16, 12, 24, 12, 12, 24, 20, 28, 2, 4, 8],
        [8, 8, 8, 2, 8, 8, 8, 4, 4, 1, 0, 0, 0, 0, 0],
        [2, 12, 12, 12, 4, 4, 16, 12, 12, 12, 12, 0, 0, 0, 0],
        [8, 8, 2, 1, 1, 24, 24, 12, 12, 12, 4, 4, 0, 0, 0],
        [2, 12, 16, 36, 12, 12, 12, 12, 12, 0, 0, 0, 0, 0, 0],
        [2, 24, 24, 12, 12, 12, 12, 12, 12, 4, 4, 0, 0, 0, 0],
        [8, 8, 2, 1, 1, 24, 24, 12, 12, 12, 4, 4, 0, 0, 0],
    ]
)
_NUMBERS = [(f"{what}_{axis}", "<f4") for what in ("angle", "rate", "force") for axis in "xyz"]
MESSAGE = np.dtype([("groups", "u1"), ("fields", "<u2"), ("t_ns", "<u8"), *_NUMBERS])
MESSAGE_SIZE = 1 + MESSAGE.itemsize + 2  # sync, message, CRC
_LAST_NS = 0  # place in the link's memory: time stamp of the newest message
_UNDECIDED, _NOTHING = np.int64(0), np.int64(-1)  # what may stand at a place, beside something of so many bytes
_END = 2.0**31 - 1  # counts, of the scale


@njit(cache=True, nogil=True)
def receive(link, rx, n):
    """Take ``rx[:n]`` off the line; returns the number of new readings. Runs inside the tick."""
    receiver, samples = link.receiver, 0
    for i in range(n):
        receiver.payload[receiver.filled] = rx[i]
        receiver.filled += 1
        held, start, stop = receiver.payload, receiver.filled - MESSAGE_SIZE, receiver.filled
        if start >= 0 and _begins_ours(held, start, stop) and crc_xmodem(held, start + 1, stop) == 0:
            receiver.frames_ok += 1
            receiver.frames_bad_length += start > 0  # what had begun before it was cut off
            receiver.bytes_skipped += start
            receiver.filled = 0
            samples += _adopt(link, start)
        elif start >= 0 or not _begins_ours(held, 0, stop):
            _pass_over(receiver)
    return samples


@njit(cache=True, nogil=True, inline="always")
def _longer(crc, byte):
    """Continue a CRC by one byte: eight steps of the polynomial x^16 + x^12 + x^5 + 1 at once. Runs inside the tick."""
    top = (crc >> 8) ^ byte
    top ^= top >> 4
    return (crc << 8 ^ top << 12 ^ top << 5 ^ top) & 0xFFFF


@njit(cache=True, nogil=True)
def _begins_ours(held, start, filled):
    """True if ``held[start:filled]``, as far as it goes, is the beginning of our message. Runs inside the tick."""
    n = filled - start
    return (
        (n < 1 or held[start] == SYNC)
        and (n < 2 or held[start + 1] == GROUPS)
        and (n < 3 or held[start + 2] == FIELDS & 0xFF)
        and (n < 4 or held[start + 3] == FIELDS >> 8)
    )


@njit(cache=True, nogil=True)
def _pass_over(receiver):
    """Take from the front of what is held all that is decided: others' messages, lines, noise. Runs inside the tick."""
    start, filled = np.int64(0), receiver.filled
    while start < filled:
        first, size = receiver.payload[start], _NOTHING
        if first == SYNC:
            size = _measure(receiver, start)
            if size > 0:
                receiver.frames_ok += 1
                receiver.frames_bad_version += 1
        elif first == _DOLLAR:
            size = _measure_line(receiver.payload, start, filled)
        if size == _UNDECIDED:
            break
        receiver.bytes_skipped += size == _NOTHING
        start += max(size, np.int64(1))
    if start > 0:
        for i in range(start, filled):
            receiver.payload[i - start] = receiver.payload[i]
        receiver.filled = filled - start


@njit(cache=True, nogil=True)
def _measure(receiver, start):
    """Bytes of the message that begins at ``start``, or _UNDECIDED, or _NOTHING. Runs inside the tick."""
    held, n, header = receiver.payload, receiver.filled - start, np.int64(2)
    if n < header:
        return _UNDECIDED
    groups, payload = held[start + 1], np.int64(0)
    if groups == 0:
        return _NOTHING
    known = groups & 0x80 == 0
    for group in range(7):
        if groups >> group & 1:
            header += 2
            if n < header:
                return _UNDECIDED
            fields = np.int64(held[start + header - 2]) | np.int64(held[start + header - 1]) << 8
            known &= fields & 0x8000 == 0
            for bit in range(15):
                payload += FIELD_SIZES[group, bit] * (fields >> bit & 1)
                known &= FIELD_SIZES[group, bit] > 0 or fields >> bit & 1 == 0
    if not known:
        return _measure_by_crc(receiver, start, header)
    size = header + payload + 2
    if size > MAX_PAYLOAD:
        receiver.frames_bad_length += 1
    elif n < size:
        return _UNDECIDED
    elif crc_xmodem(held, start + 1, start + size) == 0:
        return size
    else:
        receiver.frames_bad_crc += 1
    return _NOTHING


@njit(cache=True, nogil=True)
def _measure_by_crc(receiver, start, header):
    """Bytes of a message with fields of unknown size: it ends where its CRC fits. Runs inside the tick."""
    n, crc = receiver.filled - start, np.int64(0)
    for i in range(1, n):
        crc = _longer(crc, np.int64(receiver.payload[start + i]))
        if crc == 0 and i + 1 > header + 2:
            return np.int64(i + 1)
    if n < MAX_PAYLOAD:
        return _UNDECIDED
    receiver.frames_bad_length += 1
    return _NOTHING


@njit(cache=True, nogil=True)
def _measure_line(held, start, filled):
    """Bytes of an ASCII line, as for `_measure`; its check is not looked at. Runs inside the tick."""
    n = filled - start
    if (n > 1 and held[start + 1] != ord("V")) or (n > 2 and held[start + 2] != ord("N")) or n >= MAX_PAYLOAD:
        return _NOTHING
    for i in range(1, n):
        byte = held[start + i]
        if byte == _LINE_FEED:
            return np.int64(i + 1)
        if not (0x20 <= byte < 0x7F or byte == _CARRIAGE_RETURN):
            return _NOTHING
    return _UNDECIDED


@njit(cache=True, nogil=True)
def _adopt(link, start):
    """Make the message at ``start`` the reading; returns 0 if its time stamp is the last's. Runs inside the tick."""
    receiver, raw = link.receiver, link.raw
    message = laid_over(receiver.payload, start + 1, MESSAGE)
    t_ns = np.int64(message.t_ns & np.uint64(0x7FFF_FFFF_FFFF_FFFF))
    periods = np.int64(1)
    if receiver.started:
        elapsed_ns = t_ns - link.memory[_LAST_NS]
        if elapsed_ns == 0:
            receiver.samples_repeated += 1
            return 0
        if link.period_us > 0:
            periods = np.int64(min(max(np.rint(elapsed_ns / (1e3 * link.period_us)), 1.0), 1e9))
        # a clock that steps back (it has restarted), or on by half the range of numbers, counts as one lost
        receiver.samples_lost += periods - 1 if elapsed_ns > 0 and periods < 0x8000 else 1
    receiver.started = 1
    link.memory[_LAST_NS] = t_ns
    raw.seq = receiver.last_seq = (receiver.last_seq + periods) & 0xFFFF
    raw.t_us = t_ns // 1000 & 0xFFFFFFFF
    raw.off_scale = 0
    _keep(raw, 0, message.rate_x, message.force_x)
    _keep(raw, 1, message.rate_y, message.force_y)
    _keep(raw, 2, message.rate_z, message.force_z)
    return 1


@njit(cache=True, nogil=True)
def _keep(raw, axis, rate, force):
    """Store one axis in counts; what is no number or too large stands at an end of its scale. Runs inside the tick."""
    gyro, accel = np.rint(rate / GYRO_LSB), np.rint(force / ACCEL_LSB)
    raw.off_scale |= not (abs(gyro) < _END and abs(accel) < _END)
    raw.gyro_counts[axis] = np.int64(min(max(gyro, -_END), _END)) if gyro == gyro else -_END
    raw.accel_counts[axis] = np.int64(min(max(accel, -_END), _END)) if accel == accel else -_END


VECTORNAV_MODELS = ("VN-100", "VN-200")
_ERRORS = (
    "hard fault, serial buffer overflow, invalid checksum, invalid command, not enough parameters, "
    "too many parameters, invalid parameter, invalid register, unauthorised access, watchdog reset, "
    "output buffer overflow, insufficient baud rate"
)
VECTORNAV_ERRORS = dict(enumerate(_ERRORS.split(", "), start=1))
_OF_THE_LINE = (2, 3, 4)  # errors that a damaged request makes, or what was half-said before ours
_HINTS = {
    8: "its firmware is too old for binary messages: update it with the maker's program",
    12: "raise the baud rate, in the sensor (its register 5) and in the rig",
}
_LINE = re.compile(rb"\$[ -#%-~]*\*[0-9A-Fa-f]+\r?\n")
_TIMEOUT = 1.0  # s
_READINGS = 5  # in a row at the right rate before it is believed


def encode_line(text: str) -> bytes:
    """Encode a line to the sensor: ``$text*CC``, CC the exclusive or of all bytes of the text, in hexadecimal."""
    return b"$%s*%02X\r\n" % (text.encode("ascii"), functools.reduce(operator.xor, text.encode("ascii"), 0))


def decode_line(line: bytes) -> str | None:
    """Text between ``$`` and ``*``; None unless the check behind it fits: two digits, four (CRC-16/XMODEM), or XX."""
    body, _, check = line.rstrip(b"\r\n").removeprefix(b"$").rpartition(b"*")
    right = {2: functools.reduce(operator.xor, body, 0), 4: binascii.crc_hqx(body, 0)}.get(len(check), -1)
    fits = line.startswith(b"$") and body.isascii() and check.upper() in (b"XX", b"%0*X" % (len(check), right))
    return body.decode("ascii") if fits else None


def introduce(port: SerialPort, wants: DeviceRequirements) -> Introduction:
    """Silence its ASCII, learn what it is, order our message at the rig's rate and wait until it streams.

    What is written is not saved in the sensor: without power it forgets.

    Raises
    ------
    DeviceError
        If the rate does not divide 800 Hz, another thing or nothing answers, an order is refused or not kept, or the
        messages do not come at this rate.
    """
    rates = [rate for rate in range(1, IMU_RATE + 1) if IMU_RATE % rate == 0]
    if wants.rate not in rates:
        near = [*[r for r in rates if r < wants.rate][-1:], *[r for r in rates if r > wants.rate][:1]]
        raise DeviceError(
            f"a VectorNav streams at {IMU_RATE} Hz divided by a whole number, found a loop of {wants.rate:g} Hz: "
            f"set rate_Hz to {' or '.join(map(str, near))}"
        )
    if (side := wants.settings.get("async_port", 1.0)) not in (1, 2):
        raise DeviceError(f"async_port must be 1 or 2, the serial port of the VectorNav we are on, found {side:g}")
    _ask(port, "VNWRG,06,0")
    model, firmware = _ask(port, "VNRRG,01"), _ask(port, "VNRRG,04")
    if not model.startswith(VECTORNAV_MODELS):
        raise DeviceError(
            f"the sensor on {port.path} should be a {' or '.join(VECTORNAV_MODELS)}, which stream at divisors of "
            f"{IMU_RATE} Hz, found a {model}: connect the right one"
        )
    order = f"{side:g},{round(IMU_RATE / wants.rate)},{GROUPS:02X},{FIELDS:04X}"
    _ask(port, f"VNWRG,75,{order}")
    kept = _ask(port, "VNRRG,75")
    if [word.lstrip("0") for word in kept.upper().split(",")] != [word.lstrip("0") for word in order.split(",")]:
        raise DeviceError(
            f"register 75 of the {model} on {port.path} should hold {order} after it was written, but holds {kept}: "
            "end other programs that speak to it, and try again"
        )
    _await_stream(port, model, wants.rate, side)
    return Introduction(f"{model} {firmware}", round(wants.rate), gyro_lsb=GYRO_LSB, accel_lsb=ACCEL_LSB)


def _ask(port: SerialPort, request: str) -> str:
    """Ask until the answer comes; what it says behind the number of the register. Raises DeviceError."""
    command, register = request.split(",")[:2]
    heard, rest, good, refusal, link = 0, b"", 0, "", new_link()
    for data in ask_and_listen(port, lambda k: encode_line(request), _TIMEOUT):
        heard += len(data)
        receive(link, np.frombuffer(bytearray(data), np.uint8), len(data))  # to count what streams meanwhile
        rest += data
        for text in filter(None, map(decode_line, _LINE.findall(rest))):
            good += 1
            answered, number, values = [*text.split(",", 2), "", ""][:3]
            if answered == command and number.isdigit() and int(number) == int(register):
                return values
            if answered == "VNERR":
                code = _error(number)
                meaning = f"{VECTORNAV_ERRORS.get(code, 'no error we know')} (error {code})"
                hint = _HINTS.get(code, "switch it off and on again, and look at its wires")
                refusal = f"the VectorNav on {port.path} refuses `{request}` at {port.baud} baud: {meaning}; {hint}"
                if code not in _OF_THE_LINE:
                    raise DeviceError(refusal)
        rest = rest[rest.rfind(b"\n") + 1 :][-MAX_PAYLOAD:]
    raise DeviceError(refusal or _why_silent(port, request, heard, good + int(link["receiver"]["frames_ok"])))


def _error(word: str) -> int:
    """Code of an error. Sensors send two hexadecimal digits, the manual's table is decimal: either is taken."""
    code = int(word, 16) if re.fullmatch("[0-9A-Fa-f]{1,2}", word) else 0
    return int(word) if code not in VECTORNAV_ERRORS and word.isdigit() else code


def _why_silent(port: SerialPort, request: str, heard: int, good: int) -> str:
    wanted = f"a VectorNav on {port.path} should answer `{request}` within {_TIMEOUT:g} s at {port.baud} baud"
    if good > 0:
        return f"{wanted}, but only its stream came; is the wire from our TX to its RX connected?"
    if heard > 0:
        return f"{wanted}, but {heard} bytes of something else came; is this its baud rate (115200 from the factory)?"
    wires = "is it powered, its TX wired to our RX and its RX to our TX"
    return f"{wanted}, but nothing came; {wires}, is this its port, and this its baud rate (115200 from the factory)?"


def _await_stream(port: SerialPort, model: str, rate: float, side: float) -> None:
    """Return when messages come at the right rate, as the loop's own `receive` hears them; else raise DeviceError."""
    link, heard, readings, first_us, complaint = new_link(), 0, 0, -1, ""
    for data in ask_and_listen(port, lambda k: b"", 2.0 + 2 * _READINGS / rate):
        heard += len(data)
        readings += int(receive(link, np.frombuffer(bytearray(data), np.uint8), len(data)))
        t_us = int(link["raw"]["t_us"])
        if readings >= _READINGS and first_us >= 0:
            elapsed = 1e-6 * (t_us - first_us & 0xFFFFFFFF)
            if abs(readings / rate - elapsed) < 0.5 / rate:
                return
            complaint = f"it comes at {readings / max(elapsed, 1e-6):.4g} Hz: restore the sensor's factory settings"
        if readings and (first_us < 0 or readings >= _READINGS):
            first_us, readings = t_us, 0
    without = f"{heard} bytes came without one: is the cable good, and is there noise on it?"
    nothing = without if heard else f"nothing came: are we on its serial port {side:g}, as async_port says?"
    wanted = f"the {model} on {port.path} should stream our message at {rate:g} Hz and {port.baud} baud"
    raise DeviceError(f"{wanted}, but {complaint or nothing}")


def _traffic(carries: int, settings: DeviceSettings) -> Traffic:
    return Traffic(MESSAGE_SIZE, 0, f"a message of {MESSAGE_SIZE} bytes up each period")


DEVICE = Device(
    name="vectornav",
    carries=ROLE_IMU,
    receive=receive,
    speak=say_nothing,
    introduce=introduce,
    traffic=_traffic,
    settings={"async_port": DeviceSetting(1.0, "", "the sensor's serial port that we are on, 1 or 2")},
    examples=(
        # angles alone: well-formed, but not our message; and the same with one bit changed
        ExampleMessage(
            bytes.fromhex("fa01080093502e42833ef13f48b504bb9288"), True, {"seq": 0, "t_us": 0}, "UM001, page 39"
        ),
        ExampleMessage(bytes.fromhex("fa01080093512e42833ef13f48b504bb9288"), False, {}, "UM001, page 39, damaged"),
    ),
)
