"""Link between a page and its server that a test can cut as a cable is pulled: nothing passes, and nobody is told."""

import socket
import threading
from contextlib import suppress
from typing import Self

_CHUNK = 1 << 16
_WAIT = 0.01  # s between two looks whether a link that is cut stands again


class CutLink:
    """Link that stands until it is cut.

    Parameters
    ----------
    address : str
        Of the page, at its server.

    Attributes
    ----------
    address : str
        Of the page, through the link.
    """

    def __init__(self, address: str) -> None:
        self._theirs = address.split("/")[2]
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._ours = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.address = address.replace(self._theirs, self._ours)
        self._stands = threading.Event()
        self._stands.set()
        self._over = False
        self._sockets: list[socket.socket] = []
        self._dead: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Let nothing pass, either way."""
        self._stands.clear()

    def mend(self, forget: bool = False) -> None:
        """Let all pass again; ``forget`` only what is opened from now on, as where the way between has changed."""
        if forget:
            self._dead.update(self._sockets)
        self._stands.set()

    def close(self) -> None:
        """End the link."""
        self._over = True
        for one in (self._listening, *self._sockets):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self) -> None:
        host, port = self._theirs.rsplit(":", 1)
        with suppress(OSError):
            while True:
                page = self._listening.accept()[0]
                server = socket.create_connection((host, int(port)))
                self._sockets += [page, server]
                # the server wants to be asked for by its own name
                names = (self._ours.encode(), self._theirs.encode())
                threading.Thread(target=self._pass_on, args=(page, server, names), daemon=True).start()
                threading.Thread(target=self._pass_on, args=(server, page, None), daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket, names: tuple[bytes, bytes] | None) -> None:
        with suppress(OSError):
            while data := one.recv(_CHUNK):
                while not self._stands.wait(_WAIT):
                    if self._over:
                        return
                if one in self._dead:
                    continue
                other.sendall(data.replace(*names) if names else data)
            if one not in self._dead and self._stands.is_set():
                other.shutdown(socket.SHUT_WR)
