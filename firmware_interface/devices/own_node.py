"""Our own microcontroller, behind the interface that all devices share; its protocol is in `node`."""

from numba import njit

from firmware_interface.devices.driver import (
    Device,
    DeviceRequirements,
    DeviceSettings,
    ExampleMessage,
    Introduction,
    Traffic,
)
from firmware_interface.devices.link import ROLE_DRIVE, ROLE_SENSORS
from firmware_interface.framing import FRAME_OVERHEAD
from firmware_interface.node.hello import Hello, ask_hello
from firmware_interface.node.protocol import COMMAND_SIZE, SAMPLE_SIZE, encode_command
from firmware_interface.node.protocol import receive_samples as receive_samples
from firmware_interface.port import SerialPort

_TIMEOUT = 2.0  # s


@njit(cache=True, nogil=True)
def receive(link, rx, n):
    """Take ``rx[:n]`` off the line; returns the number of new samples. Runs inside the tick."""
    return receive_samples(link.receiver, rx, n, link.raw)


@njit(cache=True, nogil=True)
def speak(link, command, send, out):
    """Write the command if there is one to ``send``; returns the number of bytes.

    Parameters
    ----------
    link, command, send, out
        As for `link.say`.

    Runs inside the tick.
    """
    return encode_command(command, out) if send else 0


def introduce(port: SerialPort, wants: DeviceRequirements) -> Introduction:
    """Ask it who it is; raises DeviceError."""
    return introduction_of_node(ask_hello(port, _TIMEOUT))


def introduction_of_node(hello: Hello) -> Introduction:
    """Introduction that a node's answer to HELLO amounts to."""
    return Introduction(**vars(hello))


def _traffic(carries: int, settings: DeviceSettings) -> Traffic:
    up, down = int(SAMPLE_SIZE) + FRAME_OVERHEAD, (int(COMMAND_SIZE) + FRAME_OVERHEAD) if carries & ROLE_DRIVE else 0
    return Traffic(up, down, f"a sample of {up} bytes up and a command of {down} bytes down each period")


DEVICE = Device(
    name="node",
    carries=ROLE_SENSORS | ROLE_DRIVE,
    receive=receive,
    speak=speak,
    introduce=introduce,
    traffic=_traffic,
    examples=(
        ExampleMessage(
            # worked by hand from docs/node-protocol.md: version 1, type 1, seq 258, t 3 us, the rest zero
            bytes.fromhex("060101020103010101010101010101010101010101010101010101010101010101010101010101"),
            False,
            {},
            "zeros stuffed by hand, its CRC left out: must be rejected",
        ),
    ),
)
