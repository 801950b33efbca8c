"""Treadmill: a small protocol of our own, some ten frames a second each way (docs/speed-drive.md has every byte).

Frames are those of our node: COBS, a CRC-16, a zero byte (`firmware_interface.framing`). The computer says at which
speed the belt shall run, the belt says how fast it runs. A belt that hears nothing for half a second comes to rest by
itself and stays there until it is told not to run: a program that died leaves no running belt.

The loop writes into the link's memory what is to be said, and reads there what was heard (`BELT_...`); the driver
knows no clock.
"""

import numpy as np

from firmware_interface.devices.driver import (
    Device,
    DeviceRequirements,
    DeviceSettings,
    ExampleMessage,
    Introduction,
    Traffic,
)
from firmware_interface.devices.link import ROLE_SPEED, new_link
from firmware_interface.errors import DeviceError
from firmware_interface.framing import FRAME_OVERHEAD, close_frame, next_frame
from firmware_interface.kernels import njit
from firmware_interface.port import SerialPort, ask_and_listen

BELT_VERSION = 1
BELT_COMMAND, BELT_REPORT = 0x43, 0x52  # "C" and "R": what a frame is
BELT_COMMAND_SIZE, BELT_REPORT_SIZE = 10, 16  # bytes of payload
BELT_RUN = 1  # flag of a command
BELT_RUNNING, BELT_FAULT, BELT_STOPPED, BELT_TIMED_OUT = 1, 2, 4, 8  # bits of a report's status
# places in the link's memory: what was heard
BELT_HEARD, BELT_SPEED, BELT_AIM, BELT_STATUS, BELT_SEQ, BELT_ANSWERED = range(6)  # reports, mm/s, mm/s, bits, 1, 1
# and what is to be said, by the loop
BELT_SAY, BELT_SAY_RUN, BELT_SAY_SPEED, BELT_SAY_CHANGE, BELT_SAID = range(6, 11)  # 1: now, 1: run, mm/s, mm/s^2, seq
_RATE = 20.0  # Hz, at most, each way
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
        if memory[BELT_HEARD] > 0 and seq == memory[BELT_SEQ]:
            continue  # the same once more: a belt that says nothing new says nothing
        memory[BELT_SEQ] = seq
        memory[BELT_STATUS] = data[4]
        memory[BELT_SPEED] = _signed(data, 6)
        memory[BELT_AIM] = _signed(data, 8)
        memory[BELT_ANSWERED] = np.int64(data[10]) | (np.int64(data[11]) << 8)
        memory[BELT_HEARD] += 1
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

    Parameters
    ----------
    link, command, send, out
        As for `firmware_interface.devices.link.say`.

    Runs inside the tick.
    """
    memory = link.memory
    if memory[BELT_SAY] == 0:
        return 0
    memory[BELT_SAY] = 0
    memory[BELT_SAID] = (memory[BELT_SAID] + 1) & 0xFFFF
    speed = min(max(memory[BELT_SAY_SPEED], 0), _MOST)
    change = min(max(memory[BELT_SAY_CHANGE], 0), _MOST)
    out[1], out[2] = BELT_VERSION, BELT_COMMAND
    out[3], out[4] = memory[BELT_SAID] & 0xFF, memory[BELT_SAID] >> 8
    out[5], out[6] = BELT_RUN if memory[BELT_SAY_RUN] != 0 else 0, 0
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
        memory[BELT_SAY] = 1
        return out[: speak(link, link, 0, out)].tobytes()

    speak(link, link, 0, out)  # says nothing: both are compiled now, and not while it listens
    receive(link, out, 0)
    for data in ask_and_listen(port, ask, _LISTEN):
        heard += len(data)
        buffer = np.frombuffer(bytearray(data) or bytearray(1), np.uint8)
        came = receive(link, buffer, len(data))
        before = int(memory[BELT_ANSWERED]) if came and not reports else before
        reports += came
        if memory[BELT_ANSWERED] != before and 0 < memory[BELT_ANSWERED] <= memory[BELT_SAID]:
            # any word of these: on a busy machine the next is under way already
            return _introduced(port, int(memory[BELT_STATUS]))
    if reports:
        raise DeviceError(
            f"the treadmill on {port.path} should answer what it is told (docs/speed-drive.md), found {reports} "
            "reports of which none does: check the line towards it"
        )
    found = f"{heard} bytes without a whole frame of it" if heard else "silence"
    raise DeviceError(
        f"the treadmill on {port.path} should answer with its reports (docs/speed-drive.md), found {found}: switch it "
        "on, and correct the port or the baud rate"
    )


def _introduced(port: SerialPort, status: int) -> Introduction:
    if status & (BELT_FAULT | BELT_STOPPED):
        what = "its stop button is pressed" if status & BELT_STOPPED else "it reports a fault"
        raise DeviceError(f"the treadmill on {port.path} is not ready ({what}): release the button, or look at it")
    return Introduction(name=f"treadmill, protocol {BELT_VERSION}")


def _traffic(carries: int, settings: DeviceSettings) -> Traffic:
    up, down = BELT_REPORT_SIZE + FRAME_OVERHEAD, BELT_COMMAND_SIZE + FRAME_OVERHEAD
    return Traffic(up, down, f"a report of {up} bytes up, a command of {down} down", _RATE)


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
