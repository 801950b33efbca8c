"""Access control of the live server.

Addresses it may be called by, pages that may speak to it, and the token. A page of another site that a browser has open
may try to reach a server on this computer. Its Origin gives it away, and a name that was bent to this computer (DNS
rebinding) shows in Host. Another user of this computer, and another computer, can send any header: only the token in
the printed address tells them from the operator's page.
"""

import hmac
import ipaddress
import secrets
import socket
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

TOKEN_VARIABLE = "RIDERLESS_LIVE_TOKEN"  # an argument would be seen in the list of processes
USUAL_PORT = 8765
MOST_ARRIVING = 1024  # sockets that the system keeps until the server takes them; more would wait a second
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def new_token() -> str:
    """Make a token that nobody can guess, 128 bits in letters that survive an address."""
    return secrets.token_urlsafe(16)


def _is_loopback(host: str) -> bool:
    """Is a host this computer alone?"""
    if host in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Admission:
    """Rules of admission: hosts by which the server may be called, and the token that it asks for.

    Parameters
    ----------
    port : int
    host : str
        On which it listens.
    token : str
        In the address that was printed; an empty one admits nobody.
    """

    port: int
    host: str = LOOPBACK[0]
    token: str = field(default="", repr=False)

    def refusal(self, host: str | None, origin: str | None) -> str:
        """Say why a request with these headers is refused; empty if it is not."""
        if host is None or not self._is_ours(host):
            return "this server is called by another name than its own"
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return "a page of another site may not speak to this server"
        return ""

    def admits(self, path: str) -> bool:
        """Does the address carry the token? Compared in constant time."""
        presented = parse_qs(urlsplit(path).query).get("token", [""])[-1]
        return bool(self.token) and hmac.compare_digest(presented.encode(), self.token.encode())

    def _is_ours(self, host: str) -> bool:
        try:
            parts = urlsplit(f"//{host}")
            name, port = (parts.hostname or "").lower(), parts.port or 80
        except ValueError:
            return False
        if port != self.port:
            return False
        if name in LOOPBACK:
            return True
        if _is_loopback(self.host):
            return _is_loopback(name)
        own = socket.gethostname().lower()
        return name in (self.host.lower(), own, f"{own}.local") or _is_number(name)


def _is_number(name: str) -> bool:
    """Is it an address in figures? No name server can bend that."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
