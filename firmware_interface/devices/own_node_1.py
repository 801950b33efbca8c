"""Our node as it spoke version 1 of its protocol, for the replay of old runs: it can be heard again, not introduced."""

from dataclasses import replace

from riderless.firmware_interface.devices import own_node
from riderless.firmware_interface.devices.driver import DeviceRequirements, Introduction
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.node.protocol_1 import encode_command_1, receive_samples_1
from riderless.firmware_interface.port import SerialPort


@njit(cache=True, nogil=True)
def receive(link, rx, n):
    """Take ``rx[:n]`` off the line; returns the number of new samples. Runs inside the tick."""
    return receive_samples_1(link.receiver, rx, n, link.raw)


@njit(cache=True, nogil=True)
def speak(link, command, send, out):
    """Write the command if there is one to ``send``; returns the number of bytes.

    Runs inside the tick.

    Parameters
    ----------
    link, command, send, out
        As for `link.say`.
    """
    return encode_command_1(command, out) if send else 0


def introduce(port: SerialPort, wants: DeviceRequirements) -> Introduction:
    """Refuse: nobody speaks it any more; raises DeviceError."""
    raise DeviceError("version 1 of the node's protocol is for the replay of old runs, found a device to speak it to")


DEVICE = replace(own_node.DEVICE, receive=receive, speak=speak, introduce=introduce, examples=())
