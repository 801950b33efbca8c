"""Wheel sensor that sends a line of text for each reading: "W 16667" is 16.667 rad/s."""

from numba import njit

from riderless.firmware_interface.devices.driver import Device, Introduction, Traffic
from riderless.firmware_interface.devices.link import ROLE_WHEEL

LETTER, SPACE, ZERO, NINE, LINE_FEED = (ord(c) for c in "W 09\n")
DIGITS, NUMBER = 0, 1  # places in the driver's memory: digits of this line so far, or -1 outside a line; their value
MOST_DIGITS = 7


@njit(cache=True, nogil=True)
def receive(link, rx, n):
    """Take ``rx[:n]`` off the line; returns the number of new readings. Runs inside the tick."""
    memory, readings = link.memory, 0
    for i in range(n):
        if rx[i] == LETTER:
            memory[DIGITS], memory[NUMBER] = 0, 0
        elif ZERO <= rx[i] <= NINE and 0 <= memory[DIGITS] < MOST_DIGITS:
            memory[DIGITS] += 1
            memory[NUMBER] = 10 * memory[NUMBER] + rx[i] - ZERO
        elif rx[i] == LINE_FEED and memory[DIGITS] > 0:
            link.raw.wheel_mrad_s = memory[NUMBER]
            link.raw.seq += 1
            link.receiver.frames_ok += 1
            memory[DIGITS] = -1
            readings += 1
        elif rx[i] != SPACE or memory[DIGITS] != 0:  # what a line does not have: pass over the rest of it
            link.receiver.frames_bad_length += memory[DIGITS] >= 0
            memory[DIGITS] = -1
    return readings


@njit(cache=True, nogil=True)
def speak(link, command, send, out):
    """Write nothing: the sensor streams by itself. Runs inside the tick."""
    return 0


def introduce(port, wants):
    """Say what it is; there is nothing to set up."""
    return Introduction("wheel sensor, text", rate_hz=100)


def traffic(carries, settings):
    """Bytes on the line in one period."""
    return Traffic(8, 0, "a line of 8 bytes up each period")


DEVICE = Device(
    name="wheel_text", carries=ROLE_WHEEL, receive=receive, speak=speak, introduce=introduce, traffic=traffic
)
