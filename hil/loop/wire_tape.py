"""Tape of the raw bytes of all ports.

It is kept tick by tick, so that a run can be replayed. A tape is a plain run of bytes. Each tick lays down, port after
port, how many bytes came in and those bytes, how many went out and those bytes; the counts are two bytes, low byte
first.
"""

from typing import NamedTuple

import numpy as np

from riderless.firmware_interface.devices.link import RX_SIZE, TX_SIZE
from riderless.firmware_interface.kernels import njit

COUNT_BYTES = 2  # bytes of a count on the tape


class Wire(NamedTuple):
    """Bytes received since the last tick and bytes to send after this one; P ports."""

    rx: np.ndarray  # (P, RX_SIZE) u1
    n_rx: np.ndarray  # (P,) i8
    tx: np.ndarray  # (P, TX_SIZE) u1
    n_tx: np.ndarray  # (P,) i8


def new_wire(ports: int = 1) -> Wire:
    """Make a wire without bytes."""
    return Wire(
        np.zeros((ports, RX_SIZE), np.uint8),
        np.zeros(ports, np.int64),
        np.zeros((ports, TX_SIZE), np.uint8),
        np.zeros(ports, np.int64),
    )


def new_tape(ports: int, ticks: int) -> np.ndarray:
    """Make room for ``ticks`` ticks, however full they are."""
    return np.zeros(ticks * ports * (2 * COUNT_BYTES + RX_SIZE + TX_SIZE), np.uint8)


@njit(cache=True, nogil=True)
def tape_length(wire):
    """Count the bytes this tick takes on a tape. Runs inside the tick."""
    n = 0
    for port in range(wire.n_rx.size):
        n += 2 * COUNT_BYTES + wire.n_rx[port] + wire.n_tx[port]
    return n


@njit(cache=True, nogil=True)
def write_tape(wire, tape, start):
    """Write this tick's bytes to the tape from ``start`` on, around its end if need be; returns the next ``start``."""
    size = tape.size
    for port in range(wire.n_rx.size):
        for outgoing in range(2):
            n = wire.n_tx[port] if outgoing else wire.n_rx[port]
            data = wire.tx[port] if outgoing else wire.rx[port]
            tape[start % size] = n & 0xFF
            tape[(start + 1) % size] = n >> 8
            for i in range(n):
                tape[(start + COUNT_BYTES + i) % size] = data[i]
            start += COUNT_BYTES + n
    return start


@njit(cache=True, nogil=True)
def read_tape(wire, tape, start):
    """Read one tick's bytes from a tape that does not go around; returns the next ``start``, -1 if it is cut."""
    for port in range(wire.n_rx.size):
        for outgoing in range(2):
            if start + COUNT_BYTES > tape.size:
                return -1
            n = tape[start] | tape[start + 1] << 8
            data = wire.tx[port] if outgoing else wire.rx[port]
            start += COUNT_BYTES
            if n > data.size or start + n > tape.size:
                return -1
            for i in range(n):
                data[i] = tape[start + i]
            start += n
            if outgoing:
                wire.n_tx[port] = n
            else:
                wire.n_rx[port] = n
    return start
