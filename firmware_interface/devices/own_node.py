"""Driver of our own microcontroller (node).

It stands behind the interface that all devices share; its protocol is in `node`.
"""

from riderless.firmware_interface.devices.driver import (
    Device,
    DeviceRequirements,
    DeviceSettings,
    ExampleMessage,
    Introduction,
    Traffic,
)
from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_SENSORS
from riderless.firmware_interface.framing import FRAME_OVERHEAD
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import COMMAND_KIND_TORQUE
from riderless.firmware_interface.node.hello import Hello, ask_hello
from riderless.firmware_interface.node.layouts import COMMAND_SIZE, SAMPLE_SIZE
from riderless.firmware_interface.node.protocol import encode_command
from riderless.firmware_interface.node.protocol import receive_samples as receive_samples
from riderless.firmware_interface.port import SerialPort

_TIMEOUT = 2.0  # s


@njit(cache=True, nogil=True)
def receive(link, rx, n):
    """Take ``rx[:n]`` off the line; returns the number of new samples. Runs inside the tick."""
    return receive_samples(link.receiver, rx, n, link.raw, link.protocol)


@njit(cache=True, nogil=True)
def speak(link, command, send, out):
    """Write the command if there is one to ``send``, as an answer to the node's newest sample; returns the bytes.

    Before the first sample there is nothing to answer.

    Runs inside the tick.

    Parameters
    ----------
    link, command, send, out
        As for `link.say`.
    """
    if not send or not link.receiver.started:
        return 0
    command.sample_seq = link.raw.seq_high * 65536 + link.raw.seq
    command.session = link.session
    value, kind = command.T_cmd, command.kind
    if not link.role & ROLE_DRIVE:  # it is armed for its heartbeat alone
        command.T_cmd, command.kind = 0.0, COMMAND_KIND_TORQUE
    n = encode_command(command, out, link.protocol)
    command.T_cmd, command.kind = value, kind
    return n


def introduce(port: SerialPort, wants: DeviceRequirements) -> Introduction:
    """Ask it who it is, and let it open a session with limits for its guard; raises DeviceError."""
    guard = wants.guard(introduction_of_node(ask_hello(port, _TIMEOUT))) if wants.guard is not None else None
    return introduction_of_node(ask_hello(port, _TIMEOUT, wants.nonce, wants.kind, guard))


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
            # worked by hand from docs/node-protocol.md: version 4, type 1, seq 258, t 3 us, the rest zero
            bytes.fromhex("060401020103010101010101010101010101010101010101010101010101010101010101010101010101"),
            False,
            {},
            "zeros stuffed by hand, its CRC left out: must be rejected",
        ),
    ),
)
