"""Wheel sensor that sends lines of text: "W 16667*47" is 16.667 rad/s, and 47 the XOR of the bytes before the star."""

import numpy as np
from numba import njit

from riderless.firmware_interface.devices.driver import Device, ExampleMessage, Introduction, Traffic
from riderless.firmware_interface.devices.link import ROLE_WHEEL, new_link
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.port import ask_and_listen

LETTER, SPACE, STAR, ZERO, NINE, A, F, LINE_FEED = (ord(c) for c in "W *09AF\n")
PLACE, NUMBER, SUM, TOLD = 0, 1, 2, 3  # in the driver's memory; PLACE: 0 outside of a line, else bytes of it so far
DIGITS = 7  # of a number, at most
CHECKSUM = 100  # PLACE behind the star


@njit(cache=True, nogil=True)
def receive(link, rx, n):
    """Take ``rx[:n]`` off the line; returns the number of new readings. Runs inside the tick."""
    memory, readings = link.memory, 0
    for i in range(n):
        byte, place = rx[i], memory[PLACE]
        if byte == LETTER:
            memory[PLACE], memory[NUMBER], memory[SUM], memory[TOLD] = 1, 0, LETTER, 0
        elif place == 1 and byte == SPACE:
            memory[PLACE], memory[SUM] = 2, memory[SUM] ^ SPACE
        elif 2 <= place < 2 + DIGITS and ZERO <= byte <= NINE:
            memory[PLACE], memory[SUM] = place + 1, memory[SUM] ^ byte
            memory[NUMBER] = 10 * memory[NUMBER] + byte - ZERO
        elif 3 <= place < CHECKSUM and byte == STAR:
            memory[PLACE] = CHECKSUM
        elif CHECKSUM <= place < CHECKSUM + 2 and (ZERO <= byte <= NINE or A <= byte <= F):
            memory[PLACE] = place + 1
            memory[TOLD] = 16 * memory[TOLD] + (byte - ZERO if byte <= NINE else byte - A + 10)
        elif place == CHECKSUM + 2 and byte == LINE_FEED:
            memory[PLACE] = 0
            if memory[TOLD] != memory[SUM]:
                link.receiver.frames_bad_crc += 1
                continue
            link.raw.wheel_mrad_s = memory[NUMBER]
            link.raw.seq += 1
            link.receiver.frames_ok += 1
            readings += 1
        elif place > 0:  # what a line does not have: pass over the rest of it
            link.receiver.frames_bad_length += 1
            memory[PLACE] = 0
    return readings


@njit(cache=True, nogil=True)
def speak(link, command, send, out):
    """Write nothing: the sensor streams by itself. Runs inside the tick."""
    return 0


def introduce(port, wants):
    """Order lines at the loop's rate, and listen until they come."""
    link, readings, rate = new_link(), 0, round(wants.rate)
    for data in ask_and_listen(port, lambda k: b"R %d\n" % rate, 1.0):
        readings += receive(link, np.frombuffer(bytearray(data), np.uint8), len(data))
        if readings >= rate // 10:
            return Introduction("wheel sensor, text", rate_hz=rate)
    raise DeviceError(f"the wheel sensor on {port.path} should send {rate} lines a second, found {readings}: is it on?")


def traffic(carries, settings):
    """Bytes on the line in one period."""
    return Traffic(13, 0, "a line of 13 bytes up each period")


DEVICE = Device(
    name="wheel_text",
    carries=ROLE_WHEEL,
    receive=receive,
    speak=speak,
    introduce=introduce,
    traffic=traffic,
    examples=(
        ExampleMessage(b"W 16667*47\n", True, {"wheel_mrad_s": 16667}, "the sensor's manual"),
        ExampleMessage(b"W 16668*47\n", False, {}, "one bit damaged"),
    ),
)
