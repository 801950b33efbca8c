"""Pseudo-terminal as a serial port.

Programs open it as such; the device is at its other end.
"""

import errno
import os
import struct

_TIOCGEXCL = 0x80045440  # asks whether TIOCEXCL is on; Linux 3.8, not in Python's termios


class PseudoPort:
    """Pseudo-terminal, raw; ``path`` is to be opened, ``fd`` is the device's end, non-blocking.

    We keep an end of the program's side open as well, which spares us EIO when it closes. So the terminal never
    forgets by itself that a program wanted it alone, as a real port does when that program is gone.
    """

    def __init__(self) -> None:
        import pty  # here, as Windows has neither
        import tty

        self.fd, self._ours = pty.openpty()
        tty.setraw(self._ours)
        os.set_blocking(self.fd, False)
        self.path = os.ttyname(self._ours)

    def release_if_left(self) -> None:
        """Open the port to everybody again if it was taken for exclusive use and nobody holds its lock any more."""
        import fcntl
        import termios

        (exclusive,) = struct.unpack("i", fcntl.ioctl(self._ours, _TIOCGEXCL, bytes(4)))
        if not exclusive:
            return
        try:
            fcntl.flock(self._ours, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as held:
            if held.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            return
        fcntl.ioctl(self._ours, termios.TIOCNXCL)
        fcntl.flock(self._ours, fcntl.LOCK_UN)

    def close(self) -> None:
        """Hang up; the path is gone afterwards."""
        os.close(self.fd)
        os.close(self._ours)
