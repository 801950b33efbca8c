"""Sender of UDP packets for a twin.

It takes the place of a pseudo-terminal.
"""

import os
import socket
from contextlib import suppress

import numpy as np

from riderless.firmware_interface.twins.paced_line import PacedLine
from riderless.firmware_interface.udp_port import UDP_PREFIX

_LOOPBACK = "127.0.0.1"


class PacketOutlet:
    """Sender on loopback; ``path`` is where a program is to listen, ``fd`` is the device's end, non-blocking.

    Packets that nobody listens to are lost, as they would be.
    """

    def __init__(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind((_LOOPBACK, 0))
            number = free.getsockname()[1]
        self.path = f"{UDP_PREFIX}{_LOOPBACK}:{number}"
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.connect((_LOOPBACK, number))
        self.fd = self._socket.fileno()

    def release_if_left(self) -> None:
        """Do nothing: a port that nobody listens on is free."""

    def close(self) -> None:
        """Stop sending."""
        self._socket.close()


class PacketLine(PacedLine):
    """Line that hands packets of one length over, each by itself, and hears nothing.

    Parameters
    ----------
    fd, mail
        As of `PacedLine`.
    length : int
        Bytes of a packet.
    """

    def __init__(self, fd: int, mail: np.void, length: int) -> None:
        super().__init__(fd, mail)
        self._length = length

    def read(self, rx: np.ndarray) -> int:
        """Read nothing; returns 0."""
        return 0

    def _hand_over(self, data: np.ndarray) -> None:
        for i in range(0, len(data), self._length):
            with suppress(BlockingIOError, ConnectionRefusedError):
                os.write(self._fd, data[i : i + self._length].data)
