"""Serial ports.

The only importer of pyserial. Ports are found, opened, and read or asked before the loop.

pyserial opens and configures; afterwards the loop reads and writes the file descriptor. What only Linux and macOS have
is imported where a port is opened, so that Windows can list ports and read drivers.
"""

import errno
import glob
import logging
import os
import select
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import serial
from serial.tools import list_ports

from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.port_users import port_users

DEFAULT_BAUD = 921600
_logger = logging.getLogger("riderless.firmware_interface")
ASK_AGAIN = 0.1  # s between two requests
_CONTROL_CHARACTERS = 6  # their place in what termios.tcgetattr returns


class SerialPort:
    """Open serial port; closes as a context manager.

    Attributes
    ----------
    path : str
    baud : int
    low_latency : bool
        Whether the driver hands bytes over at once. Pseudo-terminals always do but do not say so;
        a USB adapter without it may hold bytes for 16 ms.
    """

    def __init__(self, device: serial.Serial, low_latency: bool) -> None:
        self.path: str = device.port
        self.baud: int = device.baudrate
        self.low_latency = low_latency
        self._device = device

    @property
    def fd(self) -> int:
        """File descriptor, non-blocking."""
        return self._device.fileno()

    def close(self) -> None:
        """Close and unlock; harmless when closed already."""
        if self._device.is_open:
            import fcntl
            import termios

            with suppress(OSError):  # the port is gone
                fcntl.ioctl(self.fd, termios.TIOCNXCL)  # a pseudo-terminal may outlive us, and would stay closed
        self._device.close()

    def ask_and_listen(self, request: Callable[[int], bytes], timeout: float, again: float) -> Iterator[bytes]:
        """Ask, and yield what comes in, as `ask_and_listen`."""
        requests = 0
        end = time.monotonic() + timeout
        ask_at = 0.0
        while (now := time.monotonic()) < end:
            if now >= ask_at:
                _write(self, request(requests))
                requests += 1
                ask_at = now + again
            readable, _, _ = select.select([self.fd], [], [], max(0.0, min(ask_at, end) - now))
            if readable:
                yield _read(self)

    def __repr__(self) -> str:
        """Path and rate."""
        return f"SerialPort({self.path!r}, {self.baud} baud)"

    def __enter__(self) -> "SerialPort":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_port(path: str, baud: int = DEFAULT_BAUD) -> SerialPort:
    """Open a serial port for ourselves alone: 8N1, non-blocking, low latency, stale input thrown away.

    Nobody else can open it while it is open, locked or not (`TIOCEXCL`; root alone can). The kernel ends that with the
    program, however it ends.

    Raises
    ------
    DeviceError
        If there is no such port, it may not be opened, another program has it, or it is no serial
        port at all.
    """
    import fcntl
    import termios

    try:
        device = serial.Serial(path, baud, timeout=0, write_timeout=0, exclusive=True)
    except (OSError, ValueError) as problem:  # pyserial's SerialException is an OSError
        raise DeviceError(_why_not(path, baud, problem)) from problem
    os.set_blocking(device.fileno(), False)
    _tell_nothing_from_the_end(device.fileno())
    port = SerialPort(device, _ask_low_latency(device))
    fcntl.ioctl(port.fd, termios.TIOCEXCL)
    _logger.info("opened %s at %d baud%s", path, baud, "" if port.low_latency else ", without low latency")
    if others := port_users(path):  # who had opened it before still can write to it
        port.close()
        raise DeviceError(_held(path, others))
    return port


def ask_and_listen(
    port: SerialPort, request: Callable[[int], bytes], timeout: float, again: float = ASK_AGAIN
) -> Iterator[bytes]:
    """Ask, again every ``again`` s, and yield what comes in until ``timeout`` s are over.

    Whoever has the answer stops listening.

    Parameters
    ----------
    port : SerialPort
    request : callable
        ``request(k)`` makes the bytes of the k-th asking, k from 0.
    timeout, again : float
        s

    Raises
    ------
    DeviceError
        If the port fails, or is none.
    """
    if not isinstance(port, SerialPort):
        raise DeviceError(f"wanted an open port, found {port!r}: open it with open_port")
    yield from port.ask_and_listen(request, timeout, again)


def _write(port: SerialPort, data: bytes) -> None:
    if not data:  # whoever only listens, on a line that may be no terminal
        return
    try:
        os.write(port.fd, data)
    except BlockingIOError:
        pass  # the line is full: nobody listens, which the time-out will tell
    except OSError as problem:
        raise DeviceError(_vanished(port, problem)) from problem


def _read(port: SerialPort) -> bytes:
    try:
        data = os.read(port.fd, 4096)
    except OSError as problem:
        raise DeviceError(_vanished(port, problem)) from problem
    if not data:
        raise DeviceError(_vanished(port, "end of file"))
    return data


def _tell_nothing_from_the_end(fd: int) -> None:
    """Let a read that finds nothing fail with EAGAIN; pyserial's setting returns 0 bytes for both."""
    import termios

    settings = termios.tcgetattr(fd)
    settings[_CONTROL_CHARACTERS][termios.VMIN] = 1
    termios.tcsetattr(fd, termios.TCSANOW, settings)


def _ask_low_latency(device: serial.Serial) -> bool:
    """Switch the driver's buffering delay off; False if the driver has no such switch."""
    try:
        device.set_low_latency_mode(True)
    except ValueError as problem:  # how pyserial reports the refusal of the driver
        cause = problem.__context__
        if isinstance(cause, OSError) and cause.errno in (errno.ENOTTY, errno.EINVAL, errno.EOPNOTSUPP):
            return False
        path = device.port
        device.close()
        raise DeviceError(f"port {path} should take low-latency mode, but its driver failed: {cause}") from problem
    return True


def _why_not(path: str, baud: int, problem: Exception) -> str:
    code = getattr(problem, "errno", None)
    if code == errno.ENOENT:
        return f"no port {path}; {_available()}"
    if code == errno.EACCES:
        return (
            f"no permission to open port {path}; add yourself to the group that owns it "
            "(often `dialout`) and log in again"
        )
    if code in (errno.EAGAIN, errno.EBUSY):
        return _held(path, port_users(path))
    if code is None and isinstance(problem, ValueError):
        return (
            f"port {path} cannot run at {baud!r} baud; give the rate of the node, a whole number such as {DEFAULT_BAUD}"
        )
    return f"{path} is not a usable serial port ({problem}); {_available()}"


def _held(path: str, users: list[str]) -> str:
    who = f", {' and '.join(users)}" if users else ""
    return (
        f"port {path} is held by another program{who}; end that one first, only one controller may speak to a bicycle"
    )


@dataclass(frozen=True)
class FoundPort:
    """Serial port of this machine."""

    path: str
    what: str  # maker and product, as the USB device says; empty for a port that is no USB device
    usb: str  # vendor:product, hexadecimal
    serial: str  # number of the device, by which one tells two alike apart
    by_id: str  # a name that stays when plugs change places; empty if there is none


def found_ports() -> list[FoundPort]:
    """Serial ports that are plugged in, in the order of the paths."""
    stable = {os.path.realpath(link): link for link in glob.glob("/dev/serial/by-id/*")}
    return [
        FoundPort(
            path=port.device,
            what=" ".join(filter(None, (port.manufacturer, port.product))),
            usb=f"{port.vid:04x}:{port.pid:04x}" if port.vid is not None else "",
            serial=port.serial_number or "",
            by_id=stable.get(os.path.realpath(port.device), ""),
        )
        for port in sorted(list_ports.comports(), key=lambda port: port.device)
    ]


def _available() -> str:
    ports = [port.path for port in found_ports()]
    if not ports:
        return "there is no serial port on this machine: is the cable in?"
    return f"ports here: {', '.join(ports)}"


def _vanished(port: SerialPort, problem: object) -> str:
    return f"port {port.path} should stay open, but failed ({problem}); was the cable pulled?"
