"""Our node as it speaks version 2 of its protocol: one that obeys a torque only, and every run made with it."""

from dataclasses import replace

from riderless.firmware_interface.devices import own_node
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.node.protocol_2 import encode_command_2, receive_samples_2


@njit(cache=True, nogil=True)
def receive(link, rx, n):
    """Take ``rx[:n]`` off the line; returns the number of new samples. Runs inside the tick."""
    return receive_samples_2(link.receiver, rx, n, link.raw)


@njit(cache=True, nogil=True)
def speak(link, command, send, out):
    """Write the command if there is one to ``send``, as an answer to the node's newest sample; returns the bytes.

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
    return encode_command_2(command, out)


DEVICE = replace(own_node.DEVICE, receive=receive, speak=speak, examples=())
