"""Pages that look on: what a late one must still hear, a slow one dropped, and how much any of them may say."""

import asyncio
from collections import deque
from math import inf

from websockets.asyncio.server import ServerConnection, broadcast

from experiments.live.schema import LiveBeat, PageMessage, PageStop, as_text, read_page_message

MOST_PAGES = 8
MOST_WAITING = 1 << 19  # bytes that a page may be behind: some seconds of rows
MOST_PER_SECOND, BURST = 40.0, 80.0  # messages of a page
# newest messages of each type that a page which comes late must still hear, in the order in which it wants them
MESSAGES_KEPT = {"hello": 1, "rows": 120, "event": 300, "fit": 1000, "campaign": 1, "status": 1}


class SaidSoFar:
    """Messages that a page which comes late must still hear."""

    def __init__(self) -> None:
        self._kept = {kind: deque[str](maxlen=most) for kind, most in MESSAGES_KEPT.items()}

    @property
    def has_begun(self) -> bool:
        """Was a hello said?"""
        return bool(self._kept["hello"])

    def keep(self, text: str) -> None:
        """Take note of a message; a hello begins anew."""
        kind = next((kind for kind in MESSAGES_KEPT if text.startswith(f'{{"type":"{kind}"')), "")
        if kind == "hello":
            for messages in self._kept.values():
                messages.clear()
        if kind:
            self._kept[kind].append(text)

    def all(self) -> list[str]:
        """Give them in the order in which a page wants them."""
        return [text for messages in self._kept.values() for text in messages]


class Watchers:
    """All pages; nothing that one of them does or leaves undone makes anybody wait."""

    def __init__(self) -> None:
        self.said = SaidSoFar()
        self.pages: set[ServerConnection] = set()
        self.dropped = 0
        self.refused = 0
        self._told_at = -inf

    @property
    def full(self) -> bool:
        """Is there no room for another page?"""
        return len(self.pages) >= MOST_PAGES

    def tell(self, text: str) -> None:
        """Send a message to every page, and drop those that are too far behind."""
        self.said.keep(text)
        self._send(text)

    def beat_after(self, seconds: float) -> None:
        """Say that the link stands, where nothing else was said for so long."""
        if asyncio.get_running_loop().time() - self._told_at >= seconds:
            self._send(as_text(LiveBeat()))

    def _send(self, text: str) -> None:
        self._told_at = asyncio.get_running_loop().time()
        for page in [page for page in self.pages if is_slow(page)]:
            self.pages.discard(page)
            self.dropped += 1
            page.transport.abort()
        broadcast(self.pages, text)

    def welcome(self, page: ServerConnection) -> None:
        """Add a page; it hears what was said so far."""
        self.pages.add(page)
        for text in self.said.all():
            broadcast([page], text)


def is_slow(page: ServerConnection) -> bool:
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
