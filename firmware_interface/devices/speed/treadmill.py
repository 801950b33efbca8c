"""Driver of a treadmill.

A small protocol of our own, some ten frames a second each way (docs/speed-drive.md has every byte). Frames are those of
our node: COBS, a CRC-16, a zero byte (`riderless.firmware_interface.framing`). The computer says at which speed the
belt shall run, the belt says how fast it runs. A belt that hears nothing for half a second comes to rest by itself and
stays there until it is told not to run: a program that died leaves no running belt.

A report's status has the bits of `riderless.firmware_interface.devices.speed.speed_memory`, where the loop's orders lie
too.
"""

import numpy as np

from riderless.firmware_interface.devices.driver import (
    Device,
    DeviceRequirements,
    DeviceSettings,
    ExampleMessage,
    Introduction,
    Traffic,
)
from riderless.firmware_interface.devices.link import ROLE_SPEED, new_link
from riderless.firmware_interface.devices.speed.speed_memory import (
    SPEED_AIM,
    SPEED_ANSWERED,
    SPEED_FAULT,
    SPEED_HEARD,
    SPEED_LINE_RATE,
    SPEED_REPORTED,
    SPEED_SAID,
    SPEED_SAY,
    SPEED_SAY_CHANGE,
    SPEED_SAY_RUN,
    SPEED_SAY_SPEED,
    SPEED_SEQ,
    SPEED_STATUS,
    SPEED_STOPPED,
    take_order,
)
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.framing import FRAME_OVERHEAD, close_frame, next_frame
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.port import SerialPort, ask_and_listen

BELT_VERSION = 1
BELT_COMMAND, BELT_REPORT = 0x43, 0x52  # "C" and "R": what a frame is
BELT_COMMAND_SIZE, BELT_REPORT_SIZE = 10, 16  # bytes of payload
BELT_RUN = 1  # flag of a command
_LISTEN = 1.0  # s, for a report before the loop
_MOST = np.int64(0xFFFF)


@njit(cache=True, nogil=True)
def receive(link, rx, n):
    """Take ``rx[:n]`` off the line; returns the number of new reports. Runs inside the tick."""
    receiver, memory, reports, i = link.receiver, link.memory, 0, 0
    while i < n:
        i = next_frame(receiver, rx, i, n)
        if receiver.size == 0:
            continue
        data = receiver.payload
        if receiver.size != BELT_REPORT_SIZE or data[0] != BELT_VERSION or data[1] != BELT_REPORT:
            receiver.frames_bad_version += 1
            continue
        seq = np.int64(data[2]) | (np.int64(data[3]) << 8)
        if memory[SPEED_HEARD] > 0 and seq == memory[SPEED_SEQ]:
            continue  # the same once more: a belt that says nothing new says nothing
        memory[SPEED_SEQ] = seq
        memory[SPEED_STATUS] = data[4]
        memory[SPEED_REPORTED] = _signed(data, 6)
        memory[SPEED_AIM] = _signed(data, 8)
        memory[SPEED_ANSWERED] = np.int64(data[10]) | (np.int64(data[11]) << 8)
        memory[SPEED_HEARD] += 1
        reports += 1
    return reports


@njit(cache=True, nogil=True)
def _signed(data, i):
    """Whole number of 16 bits with a sign, low byte first. Runs inside the tick."""
    value = np.int64(data[i]) | (np.int64(data[i + 1]) << 8)
    return value - 0x10000 if value >= 0x8000 else value


@njit(cache=True, nogil=True)
def speak(link, command, send, out):
    """Write the command that the loop left in the link's memory, if it wants one said.

    Runs inside the tick.

    Parameters
    ----------
    link, command, send, out
        As for `riderless.firmware_interface.devices.link.say`.
    """
    memory = link.memory
    if not take_order(memory):
        return 0
    speed = min(max(memory[SPEED_SAY_SPEED], 0), _MOST)
    change = min(max(memory[SPEED_SAY_CHANGE], 0), _MOST)
    out[1], out[2] = BELT_VERSION, BELT_COMMAND
    out[3], out[4] = memory[SPEED_SAID] & 0xFF, memory[SPEED_SAID] >> 8
    out[5], out[6] = BELT_RUN if memory[SPEED_SAY_RUN] != 0 else 0, 0
    out[7], out[8] = speed & 0xFF, speed >> 8
    out[9], out[10] = change & 0xFF, change >> 8
    return close_frame(out, BELT_COMMAND_SIZE)


def introduce(port: SerialPort, wants: DeviceRequirements) -> Introduction:
    """Tell it not to run, and listen for a report of a belt that stands and is ready.

    Raises
    ------
    DeviceError
        Silence, another device, or a belt that does not hear, or that reports a fault or its stop button.
    """
    link, heard, reports, out = new_link(), 0, 0, np.zeros(32, np.uint8)
    memory, before = link["memory"], -1  # what its first report answers, which may be a word of another program

    def ask(k: int) -> bytes:
        memory[SPEED_SAY] = 1
        return out[: speak(link, link, 0, out)].tobytes()

    speak(link, link, 0, out)  # says nothing: both are compiled now, and not while it listens
    receive(link, out, 0)
    for data in ask_and_listen(port, ask, _LISTEN):
        heard += len(data)
        buffer = np.frombuffer(bytearray(data) or bytearray(1), np.uint8)
        came = receive(link, buffer, len(data))
        before = int(memory[SPEED_ANSWERED]) if came and not reports else before
        reports += came
        if memory[SPEED_ANSWERED] != before and 0 < memory[SPEED_ANSWERED] <= memory[SPEED_SAID]:
            # any word of these: on a busy machine the next is under way already
            return _introduced(port, int(memory[SPEED_STATUS]))
    if reports:
        raise DeviceError(
            f"the treadmill on {port.path} should answer what it is told (docs/speed-drive.md), found {reports} "
            "reports of which none does: check the line towards it"
        )
    answer = f"{heard} bytes without a whole frame of it" if heard else "silence"
    raise DeviceError(
        f"the treadmill on {port.path} should answer with its reports (docs/speed-drive.md), found {answer}: switch it "
        "on, and correct the port or the baud rate"
    )


def _introduced(port: SerialPort, status: int) -> Introduction:
    if status & (SPEED_FAULT | SPEED_STOPPED):
        what = "its stop button is pressed" if status & SPEED_STOPPED else "it reports a fault"
        raise DeviceError(f"the treadmill on {port.path} is not ready ({what}): release the button, or look at it")
    return Introduction(name=f"treadmill, protocol {BELT_VERSION}")


def _traffic(carries: int, settings: DeviceSettings) -> Traffic:
    up, down = BELT_REPORT_SIZE + FRAME_OVERHEAD, BELT_COMMAND_SIZE + FRAME_OVERHEAD
    return Traffic(up, down, f"a report of {up} bytes up, a command of {down} down", SPEED_LINE_RATE)


DEVICE = Device(
    name="treadmill",
    carries=ROLE_SPEED,
    receive=receive,
    speak=speak,
    introduce=introduce,
    traffic=_traffic,
    examples=(
        ExampleMessage(
            bytes.fromhex("04 01 52 07 02 01 06 AC 0D AC 0D 2A 04 40 E2 01 03 D1 A1 00"),
            True,
            {},
            "3.5 m/s; by hand, with a CRC bit by bit",
        ),
        ExampleMessage(
            bytes.fromhex("04 01 52 07 02 01 06 AC 0D AC 0D 2A 04 40 E2 01 03 D1 A2 00"), False, {}, "another CRC"
        ),
    ),
)
