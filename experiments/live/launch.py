"""Live server as a process of its own.

A socket is bound here; lines of JSON go both ways.
"""

import errno
import json
import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any, Self

from riderless.experiments.live.access import LOOPBACK, MOST_ARRIVING, TOKEN_VARIABLE, USUAL_PORT, new_token
from riderless.experiments.live.schema import CONTROL
from riderless.firmware_interface.child_processes import start_python
from riderless.hil.controllers.law_file import named_laws
from riderless.hil.live.layout import SharedAreas
from riderless.hil.runners.operator import heeding
from riderless.models.errors import InputError

_PATIENCE = 3.0  # s, for the server to end by itself
_REQUESTS_KEPT = 1024  # that nobody has taken yet


class LiveServerProcess:
    """Live server in a process of its own; a context that ends it.

    Parameters
    ----------
    host : str
        To listen on.
    port : int
        0 for any that is free.

    Attributes
    ----------
    address : str
        For a browser on this computer, or on another where ``host`` lets it in; carries a token made for this server.

    Raises
    ------
    InputError
        The port is in use, or this computer has no such address.
    """

    def __init__(self, host: str = LOOPBACK[0], port: int = USUAL_PORT) -> None:
        _require_websockets()
        listening = _bind(host, port)
        self.port, self.host = int(listening.getsockname()[1]), host
        self.token = new_token()  # another each time: a stranger may listen at the port of a server that has ended
        name = f"[{host}]" if ":" in host else host
        self.address = f"http://{name}:{self.port}/?token={self.token}"
        with listening:
            handed: dict[str, Any] = {"pass_fds": (listening.fileno(),)}
            place = ("--socket", str(listening.fileno()))
            if sys.platform == "win32":  # where a child cannot inherit a socket: it binds the same port again
                listening.close()
                handed, place = {}, ("--port", str(self.port))
            self._process = start_python(
                *("-m", "riderless.experiments.live.server", *place, "--host", host),
                variables={TOKEN_VARIABLE: self.token},
                apart=True,  # Ctrl-C is for the teller, which ends the server
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                **handed,
            )
        if sys.platform == "win32":
            assert self._process.stdout
            self._process.stdout.readline()  # it listens
        self._requests: queue.Queue[dict[str, Any]] = queue.Queue(_REQUESTS_KEPT)
        self._requested = threading.Event()
        threading.Thread(target=self._receive_requests, name="requests of pages", daemon=True).start()

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Does it still run?"""
        return self._process.poll() is None

    def tell(self, text: str) -> None:
        """Hand a message over, as `experiments.live.schema.as_text` writes it; nothing where the server is gone."""
        assert self._process.stdin
        with suppress(OSError, ValueError):
            self._process.stdin.write(text.encode() + b"\n")
            self._process.stdin.flush()

    def read_run(self, areas: SharedAreas | None) -> None:
        """Let the server read a run's memory, or none any more."""
        self.tell(CONTROL + json.dumps({"rows": areas.rows, "orders": areas.orders} if areas else {}))

    def requests(self) -> Iterator[dict[str, Any]]:
        """Give what pages have asked for since the last call, validated by the server."""
        self._requested.clear()
        with suppress(queue.Empty):
            while True:
                yield self._requests.get_nowait()

    def wait_for_requests(self, timeout: float) -> None:
        """Wait until a page has asked for something, or the server is gone, for ``timeout`` s at most."""
        self._requested.wait(timeout)

    def _receive_requests(self) -> None:
        """Read what the server writes, until it ends."""
        assert self._process.stdout
        for line in self._process.stdout:
            with suppress(queue.Full):
                self._requests.put_nowait(dict(json.loads(line)))
            self._requested.set()
        self._requested.set()

    def close(self) -> None:
        """End the server; harmless when it is gone."""
        assert self._process.stdin
        assert self._process.stdout
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _require_websockets() -> None:
    """Refuse to serve a page without the package for it; raises InputError."""
    if find_spec("websockets") is None:
        raise InputError("wanted the package websockets for the page, found none: pip install 'riderless[live]'")


def _bind(host: str, port: int) -> socket.socket:
    """Listen on an address; raises InputError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(MOST_ARRIVING)
    except (OSError, OverflowError) as error:
        listening.close()
        in_use = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        why = (
            f"wanted a free port for the page, found {port} in use: name another by --tcp-port, or 0 for any"
            if in_use
            else f"wanted an address of this computer to serve the page on, found {host}, port {port} "
            f"({getattr(error, 'strerror', None) or error}): give one of its own by --host"
        )
        raise InputError(why) from None
    return listening


# End of a command that serves until somebody ends it.


@contextmanager
def heed_ending() -> Iterator[Callable[[], bool]]:
    """Yield a function that says whether Ctrl-C or SIGTERM has come; until then they end nothing."""
    came: list[str] = []
    with heeding(came.append):
        yield lambda: bool(came)


# Page opened beside this process, which is about to run a machine.


def open_page() -> None:
    """Start `riderless live` for the runs of this process; it says its address and ends with this process.

    Raises
    ------
    InputError
        The package that serves the page is not there.
    """
    _require_websockets()
    command = ["-m", "riderless.experiments.cli", "live", "--process", str(os.getpid()), "--tcp-port", str(free_port())]
    for law in named_laws():  # of the run that begins: its kicks are fitted with it
        command += ["--controller", law.path]
    page = start_python(*command, apart=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    threading.Thread(target=page.wait, name="page", daemon=True).start()  # one that fails would stay as a zombie


def free_port() -> int:
    """Choose the usual port for a page, or any (0) where that is taken."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((LOOPBACK[0], USUAL_PORT))
        except OSError:
            return 0
    return USUAL_PORT
