"""Pages connected to the live server.

What a late one still receives, when a slow one is dropped, and how much any of them may send. Places are for pages that
have shown the token. Those beyond the number of places see nothing of the run, but their STOP works. Sockets that have
not shown the token are bounded apart: anybody who reaches the port can open some.
"""

import asyncio
from collections import deque
from collections.abc import Iterable
from math import inf
from typing import Any

from websockets.asyncio.server import ServerConnection, broadcast

from riderless.experiments.live.schema import LiveBeat, LiveStatus, PageMessage, PageStop, as_text, read_page_message

MOST_PAGES = 8
MOST_STANDING = 64  # pages without a place
MOST_UNADMITTED = 64  # sockets
MOST_ACCEPTED = 8  # sockets in a turn of the loop: a page needs some turns to show its token, and others come meanwhile
NO_PLACE = f"{MOST_PAGES} pages look on already: close one to see the run here. STOP works"
MOST_WAITING = 1 << 19  # bytes that a page may be behind: some seconds of rows
MOST_PER_SECOND, BURST = 40.0, 80.0  # messages of a page
# newest messages of each type that a page which comes late must still hear, in the order in which it wants them
MESSAGES_KEPT = {"hello": 1, "altered": 1, "rows": 120, "event": 300, "fit": 1000, "campaign": 1, "status": 1}


class _SaidSoFar:
    """Messages that a page which comes late must still hear."""

    def __init__(self) -> None:
        self._kept = {kind: deque[str](maxlen=most) for kind, most in MESSAGES_KEPT.items()}

    @property
    def hello(self) -> list[str]:
        """Hello that was said, if any."""
        return list(self._kept["hello"])

    def keep(self, text: str) -> str:
        """Take note of a message, and tell its type; a hello begins anew."""
        kind = next((kind for kind in MESSAGES_KEPT if text.startswith(f'{{"type":"{kind}"')), "")
        if kind == "hello":
            for messages in self._kept.values():
                messages.clear()
        if kind:
            self._kept[kind].append(text)
        return kind

    def all(self) -> list[str]:
        """Give them in the order in which a page wants them."""
        return [text for messages in self._kept.values() for text in messages]


class Queue:
    """Connections of which the oldest is dropped when there are too many.

    Parameters
    ----------
    most : int
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._connections: dict[ServerConnection, None] = {}  # the oldest first

    def __iter__(self) -> Any:
        return iter(self._connections)

    def __len__(self) -> int:
        return len(self._connections)

    def add(self, connection: ServerConnection) -> None:
        """Add a connection."""
        if len(self) == self._most:
            oldest = next(iter(self))
            self.discard(oldest)
            oldest.transport.abort()
        self._connections[connection] = None

    def discard(self, connection: ServerConnection) -> None:
        """Take a connection out, if it is there."""
        self._connections.pop(connection, None)


class Arrival(ServerConnection):
    """Connection that counts as unadmitted from its first byte until it is taken out of the queue, or lost."""

    def __init__(self, unadmitted: Queue, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._unadmitted = unadmitted

    def connection_made(self, transport: Any) -> None:
        """Count it."""
        super().connection_made(transport)
        self._unadmitted.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it no longer."""
        self._unadmitted.discard(self)
        super().connection_lost(exc)


class Watchers:
    """All pages; nothing that one of them does or leaves undone makes anybody wait."""

    def __init__(self) -> None:
        self.said = _SaidSoFar()
        self.pages: set[ServerConnection] = set()
        self.standing = Queue(MOST_STANDING)  # pages without a place
        self.dropped = 0
        self.refused = 0
        self._beat_at = -inf

    def tell(self, text: str) -> None:
        """Send a message to every page that has a place, and drop those that are too far behind."""
        kind = self.said.keep(text)
        for page in [page for page in self.pages if _is_slow(page)]:
            self.pages.discard(page)
            self.dropped += 1
            page.transport.abort()
        broadcast(self.pages, text)
        if kind == "hello":
            self._greet_standing(self.standing)

    def beat_every(self, seconds: float) -> None:
        """Say to all pages that the link stands, if that was not said for so long."""
        now = asyncio.get_running_loop().time()
        if now - self._beat_at >= seconds:
            self._beat_at = now
            broadcast([*self.pages, *self.standing], as_text(LiveBeat()))

    def welcome(self, page: ServerConnection) -> None:
        """Add a page; it hears what was said so far, or that it has no place."""
        if len(self.pages) < MOST_PAGES:
            self.pages.add(page)
            for text in self.said.all():
                broadcast([page], text)
        else:
            self.standing.add(page)
            self._greet_standing([page])

    def leave(self, page: ServerConnection) -> None:
        """Take a page out; the one that has stood longest gets the place."""
        self.pages.discard(page)
        self.standing.discard(page)
        if len(self.standing) and len(self.pages) < MOST_PAGES:
            first = next(iter(self.standing))
            self.standing.discard(first)
            self.welcome(first)

    def _greet_standing(self, pages: Iterable[ServerConnection]) -> None:
        """Tell pages what they need for their STOP, and why they see nothing else."""
        for text in (*self.said.hello, as_text(LiveStatus(state=NO_PLACE))):
            broadcast(pages, text)


def _is_slow(page: ServerConnection) -> bool:
    """Does a page leave too much unread?"""
    return page.transport.get_write_buffer_size() > MOST_WAITING


class Measured:
    """Messages of one page: read, counted, and refused where they are malformed or too many."""

    def __init__(self) -> None:
        self._left = BURST
        self._at = asyncio.get_running_loop().time()

    def take(self, text: str | bytes) -> PageMessage | str:
        """Read a message; a sentence where the page is to be sent away. STOP is heard however many came before."""
        message = read_page_message(text)
        if isinstance(message, PageStop):
            return message
        now = asyncio.get_running_loop().time()
        self._left = min(BURST, self._left + MOST_PER_SECOND * (now - self._at)) - 1.0
        self._at = now
        if self._left < 0.0:
            return "too many messages"
        return "that is no message of this page" if message is None else message
