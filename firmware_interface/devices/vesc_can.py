"""Driver of a VESC by its CAN frames, through an adapter that speaks slcan.

Steer drive and steer encoder. It tells and asks what `vesc` does: an identifier of 29 bits is ``command << 8 | id``, a
set-point is one frame of four bytes, high byte first. A question goes by PROCESS_SHORT_BUFFER; its answer comes in
pieces of seven bytes (FILL_RX_BUFFER), of which PROCESS_RX_BUFFER tells length and CRC-16 (XMODEM). Questions do not
feed its time-out. A set-point to our VESC that we did not send is another master's: from then on the drive is reported
as obeying foreign commands. What it does when commands stop: as `vesc`.

Source: github.com/vedderb/bldc at 7.01: comm/comm_can.c, documentation/comm_can.md.
"""

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
    require_whole,
)
from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_STEER
from riderless.firmware_interface.devices.vesc import DEVICE as BY_SERIAL
from riderless.firmware_interface.devices.vesc import (
    VALUES,
    VESC_SELECTION,
    introduce_vesc,
    name_of_version,
    take_vesc_values,
    vesc_set_point,
)
from riderless.firmware_interface.devices.vesc_codes import VescCommand
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.framing import crc_xmodem
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import STATUS_FOREIGN
from riderless.firmware_interface.port import SerialPort, ask_and_listen
from riderless.firmware_interface.slcan import (
    EXTENDED,
    CanFrame,
    can_frames,
    opening,
    require_room_on_bus,
    take_frames,
    write_frame,
)

# Commands in an identifier. Those of a set-point are those of the packets less five.
_FILL, _PROCESS, _ASK_SHORT = 5, 7, 8
_LESS = np.int64(5)
_SET_FIRST, _SET_LAST, _SET_RELATIVE, _SET_RELATIVE_LAST = 0, 4, 10, 13
_SEND_ANSWER = 0  # to whoever asked
_FRAMES = 6.0  # of a period: set-point, question, four of the answer

_LISTEN, _TIMEOUT = 0.3, 1.0  # s
_SIZE = np.int64(VALUES.size)  # bytes of the answer
_QUESTION = np.frombuffer(struct.pack(">BI", VescCommand.GET_VALUES_SELECTIVE, int(VESC_SELECTION)), np.uint8)
_AT = np.int64(64)  # where the answer is put together, behind the line that is coming in
_HEAD = np.int64(2)  # bytes of a packet in front of its payload, which a reading counts from

# Places in the link's memory, behind those of the readings.
_ID, _HOST, _FILLED, _FOREIGN = range(2, 6)


@njit(cache=True, nogil=True)
def speak(link, command, send, out):
    """Write the set-point if there is one to ``send``, and the question; returns the number of bytes.

    Runs inside the tick.

    Parameters
    ----------
    link, command, send, out
        As for `link.say`.
    """
    n, memory = np.int64(0), link.memory
    if send and link.role & ROLE_DRIVE:
        kind, value = vesc_set_point(link, command)
        swapped = np.int64(0)
        for i in range(4):  # high byte first
            swapped |= ((value >> (24 - 8 * i)) & 0xFF) << (8 * i)
        n = write_frame(out, n, (kind - _LESS) << 8 | memory[_ID], True, swapped, np.int64(4))
    question = memory[_HOST] | _SEND_ANSWER << 8
    for i in range(_QUESTION.size):
        question |= np.int64(_QUESTION[i]) << (8 * (2 + i))
    return write_frame(out, n, _ASK_SHORT << 8 | memory[_ID], True, question, np.int64(2 + _QUESTION.size))


@njit(cache=True, nogil=True)
def receive(link, rx, n):
    """Take ``rx[:n]`` off the line; returns the number of new readings. Runs inside the tick."""
    return take_frames(link, rx, n, _take)


@njit(cache=True, nogil=True)
def _take(link, identifier, kind, size, data):
    """Take a frame; returns 1 if it ends an answer. Runs inside the tick."""
    memory, command = link.memory, identifier >> 8
    if kind != EXTENDED:
        return 0
    if identifier & 0xFF == memory[_ID] and _is_set_point(command):
        memory[_FOREIGN] = 1
    if identifier & 0xFF != memory[_HOST]:
        return 0
    if command == _FILL and size > 1:
        memory[_FILLED] = _fill(memory[_FILLED], size, data)
    if command != _PROCESS or size < 6 or data[0] != memory[_ID]:
        return 0
    filled, memory[_FILLED] = memory[_FILLED], 0
    length = np.int64(data[2]) << 8 | np.int64(data[3])
    if filled != _SIZE or length != _SIZE:
        link.receiver.frames_bad_length += 1
        return 0
    if crc_xmodem(data, _AT, _AT + _SIZE) != np.int64(data[4]) << 8 | np.int64(data[5]):
        link.receiver.frames_bad_crc += 1
        return 0
    for i in range(_QUESTION.size):
        if data[_AT + i] != _QUESTION[i]:
            return 0
    take_vesc_values(link, data, _AT - _HEAD)
    link.raw.status |= STATUS_FOREIGN if memory[_FOREIGN] else 0
    return 1


@njit(cache=True, nogil=True)
def _is_set_point(command):
    """Tell whether a command is one that only a master gives. Runs inside the tick."""
    return _SET_FIRST <= command <= _SET_LAST or _SET_RELATIVE <= command <= _SET_RELATIVE_LAST


@njit(cache=True, nogil=True)
def _fill(filled, size, data):
    """Put a piece of an answer to its place; returns how many bytes there are, -1 if one is missing.

    Runs inside the tick.
    """
    offset = np.int64(data[0])
    if (offset != 0 and offset != filled) or offset + size - 1 > _SIZE:
        return np.int64(-1)
    for i in range(size - 1):
        data[_AT + offset + i] = data[1 + i]
    return offset + size - 1


def _prepare(link: np.void, settings: DeviceSettings) -> None:
    link["memory"][_ID], link["memory"][_HOST] = settings["vesc_id"], settings["host_id"]


def introduce(port: SerialPort, wants: DeviceRequirements) -> Introduction:
    """Open the adapter, listen, then as `vesc.introduce`.

    Raises
    ------
    DeviceError
        As `vesc.introduce`; and for another master on the bus.
    """
    settings = wants.settings
    require_whole("vesc_can", settings, vesc_id=range(255), host_id=range(255))
    if settings["vesc_id"] == settings["host_id"]:
        raise DeviceError(f"vesc_id and host_id of a vesc_can must differ, found {settings['host_id']:g} for both")
    require_room_on_bus(_FRAMES * wants.rate, True, settings["bit_rate"], f"a VESC at {wants.rate:g} Hz")
    bus = _Bus(port, settings)
    bus.listen()
    return introduce_vesc(port, wants, lambda: name_of_version(port, bus.first_answer()), bus.ask)


class _Bus:
    """Questions and answers over the adapter."""

    def __init__(self, port: SerialPort, settings: DeviceSettings) -> None:
        self.port, self._settings = port, settings
        self._vesc, self._host = int(settings["vesc_id"]), int(settings["host_id"])
        self._rest, self._heard, self._pieces = b"", 0, b""
        self._ids: set[int] = set()

    def listen(self) -> None:
        """Open the adapter; raises DeviceError if another master commands our VESC."""
        lines = opening(self._settings["bit_rate"])
        for data in ask_and_listen(self.port, lambda k: lines if k == 0 else b"", _LISTEN):
            for frame in self._frames(data):
                if frame.identifier & 0xFF == self._vesc and _is_set_point(frame.identifier >> 8):
                    raise DeviceError(
                        f"nobody else should command VESC {self._vesc} on the CAN bus of {self.port.path}, found "
                        f"command {frame.identifier >> 8} of another master: end it, for it keeps the drive alive"
                    )

    def ask(self, question: bytes) -> bytes:
        """Payload that answers; empty if none does."""
        line = CanFrame(_ASK_SHORT << 8 | self._vesc, bytes([self._host, _SEND_ANSWER]) + question, True).line
        for data in ask_and_listen(self.port, lambda k: line, _TIMEOUT):
            for frame in self._frames(data):
                answer = self._answer(frame)
                if answer[:1] == question[:1]:
                    return answer
        return b""

    def first_answer(self) -> bytes:
        """Answer to FW_VERSION; raises DeviceError."""
        answer = self.ask(bytes([VescCommand.FW_VERSION]))
        if len(answer) >= 3:
            return answer
        wanted = f"VESC {self._vesc} behind the CAN adapter on {self.port.path} should tell its firmware"
        if self._ids:
            found = ", ".join(map(str, sorted(self._ids)))
            raise DeviceError(f"{wanted}, but only VESC {found} is heard: correct vesc_id under its [[port]]")
        if self._heard == 0:
            raise DeviceError(f"{wanted}, but nothing came; is this its port, and does it speak slcan?")
        raise DeviceError(
            f"{wanted}, but no frame came, {self._heard} bytes of something else came; is its CAN baud rate in VESC "
            f"Tool {self._settings['bit_rate']:.0f} bit/s, its CAN mode VESC, and are both ends of the bus closed?"
        )

    def _frames(self, data: bytes) -> list[CanFrame]:
        self._heard += len(data)
        whole, end, self._rest = (self._rest + data).rpartition(b"\r")
        frames = [frame for frame in can_frames(whole + end) if frame.extended and not frame.remote]
        self._ids |= {frame.identifier & 0xFF for frame in frames} - {self._host, self._vesc}
        return frames

    def _answer(self, frame: CanFrame) -> bytes:
        """Payload that this frame ends; empty if it ends none."""
        command, data = frame.identifier >> 8, frame.data
        if frame.identifier & 0xFF != self._host:
            return b""
        if command == _FILL and data:
            self._pieces = self._pieces[: data[0]] + data[1:] if data[0] <= len(self._pieces) else b""
        if command == _ASK_SHORT and data[:1] == bytes([self._vesc]):
            return data[2:]
        if command != _PROCESS or len(data) < 6 or data[0] != self._vesc:
            return b""
        answer, size = self._pieces, int.from_bytes(data[2:4], "big")
        crc = int(crc_xmodem(np.frombuffer(bytearray(answer + b"\0"), np.uint8), np.int64(0), np.int64(len(answer))))
        return answer if len(answer) == size and crc == int.from_bytes(data[4:6], "big") else b""


def _traffic(carries: int, settings: DeviceSettings) -> Traffic:
    pieces = [bytes(min(8, int(_SIZE) - at + 1)) for at in range(0, int(_SIZE), 7)]
    up = sum(len(CanFrame(0, data, True).line) for data in (*pieces, bytes(6)))
    question, set_point = (len(CanFrame(0, bytes(n), True).line) for n in (2 + _QUESTION.size, 4))
    down = question + (set_point if carries & ROLE_DRIVE else 0)
    return Traffic(
        up, down, f"a set-point and a question of {down} bytes down, and an answer of {up} bytes up each period"
    )


DEVICE = Device(
    name="vesc_can",
    carries=ROLE_DRIVE | ROLE_STEER,
    receive=receive,
    speak=speak,
    introduce=introduce,
    traffic=_traffic,
    prepare=_prepare,
    test_settings={**BY_SERIAL.test_settings, "vesc_id": 23.0, "bit_rate": 1e6},
    settings={
        **BY_SERIAL.settings,
        "vesc_id": DeviceSetting(0.0, "", "that it has on the bus (VESC Tool, App Settings, General)"),
        "host_id": DeviceSetting(254.0, "", "under which it is asked; no device on the bus may have it"),
        "bit_rate": DeviceSetting(500_000.0, "bit/s", "of the CAN bus"),
    },
    examples=(
        ExampleMessage(
            b"T0000090480000000000000029\r",
            True,
            {"seq": 0},
            "vesc-project.com/node/3345: a status that nobody asked for, no reading",
        ),
        ExampleMessage(b"T000007FE604000049\r", False, {"seq": 0}, "the end of an answer, cut off"),
    ),
)
