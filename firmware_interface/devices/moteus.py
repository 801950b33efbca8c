"""Driver of a moteus, through its maker's CAN-FD adapter, the fdcanusb.

Steer drive and steer encoder. The adapter is a serial port with lines of text: ``can send 8001 HEX`` to servo 1, which
shall answer, and ``rcv 100 HEX`` from it. A frame holds subframes that write and read registers, low byte first; 0x50
fills it up.

- A torque is mode 10 (position) without a place: position not a number, kp, kd and the integral scaled to zero, and
  the torque as feed-forward, at the output shaft. The greatest torque goes with it. Off is mode 0; it clears a fault.
- Its **watchdog** goes with each command too (register 0x27). When it strikes, the mode is 11, **latched** until mode
  0. What it does there is ``servo.timeout_mode``: it must be 0, off. 12 and 15 brake, 10 would hold the bars.
- Questions do not feed it.
- **Another master** is known by frames to our servo: the adapter does not hear itself.

Source: github.com/mjbots/moteus: docs/protocol/can.md and registers.md, docs/reference/configuration.md, fdcanusb.py.
"""

import math
import re
import struct

import numpy as np

from riderless.firmware_interface.devices.driver import (
    Device,
    DeviceRequirements,
    DeviceSetting,
    DeviceSettings,
    ExampleMessage,
    Introduction,
    Traffic,
    require_positive,
    require_whole,
)
from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_STEER
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import (
    COMMAND_ENABLE,
    COMMAND_KIND_TORQUE,
    FAULT_DRIVE,
    STATUS_ENABLED,
    STATUS_FOREIGN,
    STATUS_WATCHDOG,
)
from riderless.firmware_interface.port import SerialPort, ask_and_listen
from riderless.firmware_interface.slcan import (
    bits_of_single,
    hex_value,
    little_endian,
    put_hex,
    single_at,
)

MOTEUS_COUNTS_PER_TURN = 1e6  # steer counts made of a turn of its output
_POSITION_MODE, _TIMED_OUT = 10, 11
_REGISTER_MAP = 5
_QUERY = bytes.fromhex("1c0400170d")  # mode, position, velocity, torque; voltage, temperature, fault
_ANSWER_SIZE = 27  # bytes of what answers it
_FD_SIZES = (*range(9), 12, 16, 20, 24, 32, 48, 64)
_LISTEN, _TIMEOUT, _AGAIN = 0.2, 1.0, 0.05  # s
_LOOKS = 10  # for words that come in pieces
_LINE = re.compile(rb"rcv ([0-9a-fA-F]+) ((?:[0-9a-fA-F]{2})+)")
_SEND = np.frombuffer(b"can send 80", np.uint8)
_OFF = np.frombuffer(bytes.fromhex("010000"), np.uint8)
_ON = np.frombuffer(bytes.fromhex("01000a0c0620") + struct.pack("<ff", math.nan, 0.0), np.uint8)
_ASKED = np.frombuffer(_QUERY, np.uint8)
_LONGEST = 150  # bytes of a line that is kept; the adapter may put words behind a frame
_DATA = np.int64(170)  # where a frame's bytes are put, behind the line that is coming in
_SMALL = np.int64(87)  # the letter a, less ten
_SERVO, _LIMIT, _FOREIGN = range(3)  # places in the link's memory


@njit(cache=True, nogil=True)
def speak(link, command, send, out):
    """Write the torque, or off, if there is a command to ``send``, and the question; returns the number of bytes.

    Runs inside the tick.

    Parameters
    ----------
    link, command, send, out
        As for `link.say`.
    """
    n, size = np.int64(0), np.int64(0)
    for i in range(_SEND.size):
        out[i] = _SEND[i]
    n = _put(out, np.int64(_SEND.size), link.memory[_SERVO], 1)
    out[n] = 32
    n += 1
    if send and link.role & ROLE_DRIVE:
        torque = command.T_cmd / link.scale
        if command.flags & COMMAND_ENABLE and math.isfinite(torque) and command.kind == COMMAND_KIND_TORQUE:
            limit = 1e-3 * link.memory[_LIMIT]
            n = _put_all(out, n, _ON)
            n = _put(out, n, bits_of_single(min(max(torque, -limit), limit)), 4)
            n = _put(out, n, 0, 8)  # kp, kd
            n = _put(out, n, bits_of_single(limit), 4)
            n = _put(out, _put(out, n, 0x270D, 2), bits_of_single(1e-3 * command.expiry_ms), 4)
            n = _put(out, _put(out, n, 0x2B0D, 2), 0, 4)
            size += _ON.size + 28
        else:
            n = _put_all(out, n, _OFF)
            size += _OFF.size
        link.said_seq = command.seq
    n = _put_all(out, n, _ASKED)
    size += _ASKED.size
    while (size > 8 and size % 4 != 0) or size == 28 or 32 < size < 48:  # sizes that CAN-FD has
        n = _put(out, n, 0x50, 1)
        size += 1
    out[n] = 10
    return n + 1


@njit(cache=True, nogil=True)
def _put_all(out, n, data):
    for i in range(data.size):
        n = _put(out, n, np.int64(data[i]), 1)
    return n


@njit(cache=True, nogil=True)
def _put(out, n, value, size):
    return put_hex(out, n, np.int64(value), np.int64(size), _SMALL)


@njit(cache=True, nogil=True)
def receive(link, rx, n):
    """Take ``rx[:n]`` off the line; returns the number of new readings. Runs inside the tick."""
    receiver, readings = link.receiver, 0
    for i in range(n):
        if rx[i] in (10, 13):
            readings += _take_line(link)
            receiver.filled = 0
        elif receiver.filled < _LONGEST:
            receiver.payload[receiver.filled] = rx[i]
            receiver.filled += 1
        else:
            receiver.bytes_skipped += 1
    return readings


@njit(cache=True, nogil=True)
def _take_line(link):
    """Take the line that is whole; returns 1 if it is an answer. Runs inside the tick."""
    receiver, line = link.receiver, link.receiver.payload
    filled = receiver.filled
    if filled == 0 or (filled == 2 and line[0] == 79 and line[1] == 75):  # OK
        return 0
    if filled < 5 or line[0] != 114 or line[1] != 99 or line[2] != 118 or line[3] != 32:  # rcv
        return _count_bad(receiver)
    at, identifier = np.int64(4), np.int64(0)
    while at < filled and line[at] != 32 and at < 12:
        digit = hex_value(line[at])
        if digit < 0:
            return _count_bad(receiver)
        identifier, at = identifier << 4 | digit, at + 1
    at, size = at + 1, np.int64(0)
    while at + 1 < filled and line[at] != 32 and size < 64:
        high, low = hex_value(line[at]), hex_value(line[at + 1])
        if high < 0 or low < 0:
            return _count_bad(receiver)
        line[_DATA + size] = high << 4 | low
        size, at = size + 1, at + 2
    receiver.frames_ok += 1
    memory = link.memory
    if identifier & 0x7F == memory[_SERVO]:
        memory[_FOREIGN] = 1  # of another master
    if identifier != memory[_SERVO] << 8:
        return 0
    return _take_answer(link, line, size)


@njit(cache=True, nogil=True)
def _count_bad(receiver):
    receiver.frames_bad_crc += 1
    receiver.bytes_skipped += receiver.filled
    return 0


@njit(cache=True, nogil=True)
def _take_answer(link, data, size):
    """Make an answer to our question the reading; returns 1 if it is one. Runs inside the tick."""
    raw, at, voltage_at = link.raw, _DATA, _DATA + 19
    whole = size >= _ANSWER_SIZE and data[at] == 0x2C and data[at + 1] == 4 and data[at + 2] == 0
    if not whole or data[voltage_at] != 0x27 or data[voltage_at + 1] != 0x0D:
        return 0
    mode, position, torque = single_at(data, at + 3), single_at(data, at + 7), single_at(data, at + 15)
    counts, torque_mNm = position * MOTEUS_COUNTS_PER_TURN, 1e3 * torque * link.scale
    inside = abs(counts) < 2.0**31 and abs(torque_mNm) < 2.0**31
    raw.off_scale = not inside
    if inside:
        raw.steer_counts, raw.torque_mNm = np.int64(np.rint(counts)), np.int64(np.rint(torque_mNm))
    raw.bus_mV = min(100 * little_endian(data, voltage_at + 2, 2), 0xFFFF)
    fault = little_endian(data, voltage_at + 6, 2)
    raw.status = (
        (STATUS_ENABLED if mode == _POSITION_MODE and fault == 0 else 0)
        | (STATUS_WATCHDOG if mode == _TIMED_OUT else 0)
        | (STATUS_FOREIGN if link.memory[_FOREIGN] else 0)
    )
    raw.faults = FAULT_DRIVE if fault != 0 or mode == 1 else 0
    raw.command_seq = link.said_seq
    raw.seq += 1
    return 1


def _prepare(link: np.void, settings: DeviceSettings) -> None:
    link["memory"][_SERVO] = settings["servo_id"]
    link["memory"][_LIMIT] = round(1e3 * settings["torque_limit_Nm"] / settings["gear_ratio"])


def introduce(port: SerialPort, wants: DeviceRequirements) -> Introduction:
    """Ask for its version, stop it, and make sure that a time-out switches it off.

    Raises
    ------
    DeviceError
        When nothing, another servo or another master is heard, it has another map of registers, does not stop, is in
        fault, or does something else than switch off at a time-out.
    """
    settings = wants.settings
    require_whole("moteus", settings, servo_id=range(1, 127))
    require_positive("moteus", settings, "gear_ratio", "torque_limit_Nm")
    if wants.kind != COMMAND_KIND_TORQUE:
        raise DeviceError("a moteus is commanded a torque here: set kind of [drive] in the rig to torque")
    servo = _Servo(port, int(settings["servo_id"]))
    servo.listen()
    version = servo.version()
    servo.stop()
    servo.require_off_at_timeout()
    return Introduction(
        name=f"moteus {version}, servo {servo.number}",
        torque_limit=settings["torque_limit_Nm"],
        watchdog=wants.watchdog,
        steer_counts_per_turn=MOTEUS_COUNTS_PER_TURN,
        scale=settings["gear_ratio"],
        obeys=1 << wants.kind,
    )


class _Servo:
    """Questions and answers over the adapter."""

    def __init__(self, port: SerialPort, number: int) -> None:
        self.number, self._port = number, port
        self._rest, self._heard = b"", 0
        self._ids: set[int] = set()

    def listen(self) -> None:
        """Listen for a while; raises DeviceError for another master."""
        for data in ask_and_listen(self._port, lambda k: b"\n" * (k == 0), _LISTEN, _AGAIN):
            self._take(data)

    def ask(self, question: str, begins: str) -> bytes:
        """Bytes of the answer that begins so; empty if there is none. Raises DeviceError for another master."""
        line = f"can send 80{self.number:02x} {padded(bytes.fromhex(question)).hex()}\n".encode()
        for data in ask_and_listen(self._port, lambda k: line, _TIMEOUT, _AGAIN):
            for answer in self._take(data):
                if answer.startswith(bytes.fromhex(begins)):
                    return answer
        return b""

    def _take(self, data: bytes) -> list[bytes]:
        """Data of our servo's frames among what came in; raises DeviceError for a frame to it."""
        self._heard += len(data)
        whole, end, self._rest = (self._rest + data).rpartition(b"\n")
        answers = []
        for found in _LINE.finditer(whole + end):
            identifier = int(found[1], 16)
            self._ids.add(identifier >> 8 & 0x7F)
            if identifier & 0x7F == self.number:
                raise DeviceError(
                    f"nobody else should command moteus {self.number} on the bus of {self._port.path}, found master "
                    f"{identifier >> 8 & 0x7F}: end it, for it keeps the drive alive"
                )
            if identifier == self.number << 8:
                answers.append(bytes.fromhex(found[2].decode()))
        return answers

    def version(self) -> str:
        """Ask for firmware and map of registers; raises DeviceError."""
        answer = self.ask("1a8102", "2a8102")
        if len(answer) >= 11:
            version, registers = struct.unpack_from("<II", answer, 3)
            if registers != _REGISTER_MAP:
                raise DeviceError(
                    f"moteus {self.number} on {self._port.path} should have register map {_REGISTER_MAP}, found "
                    f"{registers}: load the firmware of its maker (moteus_tool --flash)"
                )
            return f"{version >> 16}.{version >> 8 & 0xFF}.{version & 0xFF}"
        wanted = f"moteus {self.number} behind the fdcanusb on {self._port.path} should tell its version"
        if self._ids:
            found = ", ".join(map(str, sorted(self._ids)))
            raise DeviceError(f"{wanted}, but only servo {found} is heard: correct servo_id under its [[port]]")
        if self._heard == 0:
            raise DeviceError(f"{wanted}, but nothing came; is this the fdcanusb's port?")
        raise DeviceError(
            f"{wanted}, but no frame came, {self._heard} bytes of something else came; is the drive powered, is this "
            "an fdcanusb (an slcan adapter does not do), is the bus at 1 and 5 Mbit/s, and are both ends of it closed?"
        )

    def stop(self) -> None:
        """Switch it off; raises DeviceError if it stays on, or in fault."""
        mode, fault = math.nan, 0
        for _ in range(3):
            answer = self.ask("010000" + _QUERY.hex(), "2c0400")
            if len(answer) >= _ANSWER_SIZE:
                (mode,), (fault,) = struct.unpack_from("<f", answer, 3), struct.unpack_from("<h", answer, 25)
                if mode == 0.0 and fault == 0:
                    return
        raise DeviceError(
            f"moteus {self.number} on {self._port.path} should be stopped (mode 0) without a fault, found mode "
            f"{mode:g}, fault {fault}: see its maker's list of faults, and mend it"
        )

    def require_off_at_timeout(self) -> None:
        """Raise DeviceError unless a time-out switches it off."""
        words = b"conf get servo.timeout_mode\n"
        self.ask((bytes([0x40, 1, len(words)]) + words + _QUERY).hex(), "")
        found = ""
        for _ in range(_LOOKS):
            answer = self.ask("420120", "4101")
            found += answer[3 : 3 + answer[2]].decode("latin1") if len(answer) > 3 else ""
            if found.endswith("\n"):
                break
        found = found.strip() or "no answer"
        if found != "0":
            raise DeviceError(
                f"servo.timeout_mode of moteus {self.number} on {self._port.path} should be 0, found {found}: with 10 "
                "it holds the bars when commands stop; `conf set servo.timeout_mode 0` and `conf write` in tview"
            )


def padded(data: bytes) -> bytes:
    """Fill a frame up to a size that CAN-FD has."""
    return data.ljust(next(size for size in _FD_SIZES if size >= len(data)), b"\x50")


def _traffic(carries: int, settings: DeviceSettings) -> Traffic:
    command = _ON.size + 28 if carries & ROLE_DRIVE else 0
    down = len("can send 8001 \n") + 2 * len(padded(bytes(command + len(_QUERY))))
    up = len("OK\r\nrcv 100 \r\n") + 2 * len(padded(bytes(_ANSWER_SIZE)))
    return Traffic(up, down, f"a line of {down} bytes down and two of {up} bytes up each period")


DEVICE = Device(
    name="moteus",
    carries=ROLE_DRIVE | ROLE_STEER,
    receive=receive,
    speak=speak,
    introduce=introduce,
    traffic=_traffic,
    prepare=_prepare,
    has_checksum=False,
    test_settings={"torque_limit_Nm": 7.0, "gear_ratio": 2.0},
    settings={
        "servo_id": DeviceSetting(1.0, "", "its number on the bus, 1 to 126"),
        "gear_ratio": DeviceSetting(1.0, "", "turns of its output shaft per turn of the steer"),
        "torque_limit_Nm": DeviceSetting(None, "N m", "the largest torque on the steer that motor and gear bear"),
    },
    examples=(
        ExampleMessage(
            b"rcv 100 2404000a005000000170ff230d181400\r\n",
            True,
            {"seq": 0},
            "docs/protocol/can.md of moteus: an answer to another question",
        ),
        ExampleMessage(b"ERR unknown command\r\n", False, {"seq": 0}, "the adapter's own word"),
    ),
)
