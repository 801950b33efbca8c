"""UDP ports of devices.

Packets come from this computer or a network; such a port is opened, read and closed like a serial one. The loop reads a
file descriptor and does not know a packet from bytes. The kernel keeps away packets that hold nothing (a read of one
would look like a port that is gone) and those longer than any of ours.
"""

import ctypes
import errno
import ipaddress
import os
import socket
import struct

from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.port import SerialPort, open_port

UDP_PREFIX = "udp:"
LONGEST_PACKET = 1024  # bytes
_HEAD = 8  # bytes of UDP's own head, which the kernel's filter counts
_SO_ATTACH_FILTER = 26  # Linux; not in Python's socket
_LOAD_LENGTH, _JUMP_GREATER, _RETURN = 0x80, 0x25, 0x06  # instructions of the kernel's packet filter


class _UdpPort(SerialPort):
    """Open UDP port that only listens; closes as a context manager.

    Attributes
    ----------
    path : str
        "udp:ADDRESS:PORT", on which it listens.
    """

    def __init__(self, path: str, opened: socket.socket) -> None:
        self.path = path
        self.baud = 0
        self.low_latency = True
        self._socket = opened

    @property
    def fd(self) -> int:
        """File descriptor, non-blocking."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close; harmless when closed already."""
        self._socket.close()

    def __repr__(self) -> str:
        """Path."""
        return f"UdpPort({self.path!r})"


def open_line(path: str, baud: int, device: str, over_udp: bool) -> SerialPort:
    """Open the port of a device: serial, or UDP where it sends packets.

    Parameters
    ----------
    path : str
    baud : int
        Of a serial port [bit/s].
    device : str
        Its name in the registry, for the sentence.
    over_udp : bool

    Raises
    ------
    DeviceError
        If it cannot be opened, or is a port of the other kind.
    """
    if over_udp != path.startswith(UDP_PREFIX):
        wanted = "sends UDP packets: give a path such as udp:127.0.0.1:9750" if over_udp else "has a serial port"
        raise DeviceError(f"a {device} {wanted}, found the path {path}: correct it under its [[port]]")
    return open_udp_port(path) if over_udp else open_port(path, baud)


def open_udp_port(path: str) -> _UdpPort:
    """Listen on "udp:ADDRESS:PORT" for ourselves alone; what came in before is not heard.

    Raises
    ------
    DeviceError
        If the path means nothing, the address is none of this computer's, or another program listens there.
    """
    address, number = _parsed(path)
    opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    try:
        opened.setblocking(False)
        # the kernel drops packets that are empty, or longer than any of ours
        program = [
            (_LOAD_LENGTH, 0, 0, 0),
            (_JUMP_GREATER, 0, 2, _HEAD),  # empty: to the end
            (_JUMP_GREATER, 1, 0, _HEAD + LONGEST_PACKET),
            (_RETURN, 0, 0, 0xFFFFFFFF),  # keep all of it
            (_RETURN, 0, 0, 0),
        ]
        code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
        opened.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HL", len(program), ctypes.addressof(code)))
        opened.bind((address, number))
    except OSError as problem:
        opened.close()
        raise DeviceError(_why_no_port(path, address, problem)) from problem
    return _UdpPort(path, opened)


def _parsed(path: str) -> tuple[str, int]:
    """Address and number of a path."""
    address, _, number = path.removeprefix(UDP_PREFIX).rpartition(":")
    try:
        ipaddress.IPv4Address(address)
        port = int(number)
    except ValueError:
        port = 0
    if not 1 <= port <= 65535:
        raise DeviceError(
            f"a UDP port is udp:ADDRESS:PORT with an address of this computer in numbers and a port from 1 to 65535, "
            f"such as udp:127.0.0.1:9750, found {path!r}: correct it in the rig"
        )
    return address, port


def _why_no_port(path: str, address: str, problem: OSError) -> str:
    if problem.errno == errno.EADDRINUSE:
        return f"port {path} is held by another program; end that one first, or choose another number"
    if problem.errno == errno.EADDRNOTAVAIL:
        return (
            f"no port {path}: {address} is no address of this computer; give 127.0.0.1, or the address by which the "
            "sender reaches it"
        )
    return f"port {path} cannot be listened on ({os.strerror(problem.errno or 0)}); choose a number above 1023"
