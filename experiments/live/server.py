"""Live server between a run and its pages.

    python -m riderless.experiments.live.server --socket FD   (on Windows --port N)

It knows no bicycle. What pages are to hear comes as lines of JSON on standard input, from the teller that started it;
the rows of a run it reads itself from the memory that the run shares, so that they and STOP go on when the teller is
busy or gone. What pages ask for goes to standard output, one line each, or into the run's memory.
"""

import argparse
import asyncio
import json
import logging
import os
import socket
import sys
import threading
from collections import deque
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple, cast

from websockets.asyncio.server import ServerConnection, broadcast, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from riderless.experiments.live.access import LOOPBACK, MOST_ARRIVING, TOKEN_VARIABLE, Admission
from riderless.experiments.live.rows import SharedRun
from riderless.experiments.live.schema import (
    CONTROL,
    LARGEST_MESSAGE,
    LiveHeard,
    PageHere,
    PageMessage,
    PageStop,
    as_text,
)
from riderless.experiments.live.watchers import MOST_ACCEPTED, MOST_UNADMITTED, Arrival, Measured, Queue, Watchers
from riderless.models.harmless_text import harmless_sentence

# Files of the page, as the server hands them out: those of the package, and nothing else.


PAGE_FOLDER = Path(__file__).with_name("page")
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
}
SAFETY_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; connect-src 'self' ws: wss:; img-src 'self' data: blob:; "
    "style-src 'self' 'unsafe-inline'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Connection": "close",
}


class _PageFile(NamedTuple):
    """Content of a file and its media type."""

    content: bytes
    kind: str


def _find_page_file(path: str) -> _PageFile | None:
    """Find the file of a path in an address, without its query; None where there is none to be seen."""
    name = path.split("?")[0].lstrip("/") or "index.html"
    parts = name.split("/")
    if any(part in ("", ".", "..") or part.startswith(".") or "\\" in part or "\0" in part for part in parts):
        return None
    file = PAGE_FOLDER.joinpath(*parts)
    kind = KINDS.get(file.suffix)
    if kind is None or not file.is_file():
        return None
    return _PageFile(file.read_bytes(), kind)


PERIOD = 1.0 / 30.0  # s between two batches of rows
_WIRE_LIMIT = 1 << 16  # bytes that the library keeps before it makes a sender wait; nobody waits here
_LONGEST_LINE = 1 << 24  # bytes, of the teller
_MOST_READ = 1 << 16  # bytes at a time
BEAT_EVERY = 1.0  # s; pages give a link up that is silent for longer
_ADMISSION_TIME = 5.0  # s from accepting a socket until it has shown the token, or has got its file
_PRESSES_KEPT = 256  # names of presses that were heard
_MOST_SENTENCES = 5  # of asyncio's, on the terminal
_REFUSED = 1008  # closing code: against the rules


class _LiveServer:
    """Server of the page and its messages.

    Parameters
    ----------
    admission : Admission
        Who may look on.
    """

    def __init__(self, admission: Admission) -> None:
        self.watchers = Watchers()
        self._unadmitted = Queue(MOST_UNADMITTED)
        self._admission = admission
        self._run: SharedRun | None = None
        self._over = asyncio.Event()
        self._heard: deque[str] = deque(maxlen=_PRESSES_KEPT)

    async def serve(self, listening: socket.socket) -> None:
        """Serve on a socket that listens already, until the teller closes its end."""
        listener = asyncio.create_task(self._listen_to_teller(await _stdin_lines()))
        async with self._pages(listening):
            listening.listen(MOST_ARRIVING)  # asyncio has set what it accepts in a turn
            while not self._over.is_set():
                self._tell_rows()
                self.watchers.beat_every(BEAT_EVERY)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._over.wait(), PERIOD)
        listener.cancel()

    def _pages(self, listening: socket.socket) -> Any:
        return serve(
            self._attend,
            sock=listening,
            backlog=MOST_ACCEPTED,
            create_connection=cast(Any, partial(Arrival, self._unadmitted)),
            process_request=self._admit,
            compression=None,
            max_size=LARGEST_MESSAGE,
            write_limit=_WIRE_LIMIT,
            server_header=None,
            ping_interval=5.0,
            ping_timeout=5.0,
            open_timeout=_ADMISSION_TIME,
            close_timeout=1.0,
            logger=_silent(),
        )

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer a request: a file of the page, a refusal, or None to speak WebSocket."""
        headers = request.headers
        if refusal := self._admission.refusal(_only(headers, "Host"), _only(headers, "Origin")):
            self.watchers.refused += 1
            return _answer(HTTPStatus.FORBIDDEN, refusal.encode())
        if request.path.split("?")[0] == "/ws":
            return None
        page_file = _find_page_file(request.path)
        if page_file is None:
            return _answer(HTTPStatus.NOT_FOUND, b"there is no such file")
        return _answer(HTTPStatus.OK, page_file.content, page_file.kind)

    async def _attend(self, page: ServerConnection) -> None:
        """Attend to one page for as long as it is there; nothing of one without the token is heeded."""
        assert page.request is not None
        if not self._admission.admits(page.request.path):
            await page.close(_REFUSED, "the address wants its token: open the one that was printed")
            return
        self._unadmitted.discard(page)
        self.watchers.welcome(page)
        measured = Measured()
        try:
            async for text in page:
                message = measured.take(text)
                if isinstance(message, str):
                    self.watchers.refused += 1
                    self.watchers.leave(page)  # at once: a page that does not answer keeps nobody's place
                    await page.close(_REFUSED, message)
                    return
                press = message.press if isinstance(message, PageStop) else ""
                if not press or press not in self._heard:
                    self._heed_page(message)
                if press:
                    self._heard.append(press)
                    broadcast([page], as_text(LiveHeard(press=press)))
        except ConnectionClosed:
            pass  # a page may go whenever it likes
        finally:
            self.watchers.leave(page)

    def _heed_page(self, message: PageMessage) -> None:
        """Do what a page asks for: STOP and presence at once, the rest by the teller or the run."""
        if self._run is not None:
            if isinstance(message, PageStop):
                self._run.stop()
            elif isinstance(message, PageHere):
                self._run.here()
                return
            else:
                self._run.ask(message.model_dump_json())
        with suppress(OSError):  # a teller that does not read, or is gone, is not waited for
            os.write(1, message.model_dump_json().encode() + b"\n")

    async def _listen_to_teller(self, lines: asyncio.StreamReader) -> None:
        """Heed every line of the teller, until it closes its end."""
        try:
            while line := await lines.readline():
                self._heed_teller(line.decode().rstrip("\n"))
        finally:
            self._over.set()

    def _heed_teller(self, line: str) -> None:
        """Take a line of the teller: a message for every page, or which run's memory to read."""
        if not line.startswith(CONTROL):
            self.watchers.tell(line)
            return
        control = json.loads(line[len(CONTROL) :])
        if self._run is not None:
            self._run.close()
            self._run = None
        if control.get("rows"):
            with suppress(OSError, ValueError):  # the run has ended meanwhile; the teller will notice too
                self._run = SharedRun(control["rows"], control["orders"])

    def _tell_rows(self) -> None:
        if self._run is not None and self.watchers.said.hello and (self.watchers.pages or self._run.is_behind):
            batch = self._run.batch()
            if batch:
                self.watchers.tell(batch)


def _only(headers: Headers, name: str) -> str | None:
    """Value of a header; one that comes twice is worth nothing."""
    values = headers.get_all(name)
    return values[0] if len(values) == 1 else ("" if values else None)


def _answer(status: HTTPStatus, body: bytes, kind: str = "text/plain; charset=utf-8") -> Response:
    headers = {**SAFETY_HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}
    return Response(status.value, status.phrase, Headers(headers), body)


def _silent() -> logging.Logger:
    """Logger that keeps nothing: an address may hold a token."""
    logger = logging.getLogger("riderless.live")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    logger.disabled = True
    return logger


class _Once(logging.Handler):
    """Handler that makes one sentence of what asyncio logs, and says each once: it has lines for every connection."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._written: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Write the first line of a message and the error behind it to standard error, if they are new."""
        first, error = record.getMessage().partition("\n")[0], (record.exc_info or (None, None))[1]
        sentence = harmless_sentence(f"riderless: the server of the page: {first}" + (f" ({error})" if error else ""))
        if sentence not in self._written and len(self._written) < _MOST_SENTENCES:
            self._written.add(sentence)
            with suppress(OSError):
                os.write(2, sentence.encode() + b"\n")


async def _stdin_lines() -> asyncio.StreamReader:
    """Open standard input to be read line by line."""
    reader = asyncio.StreamReader(limit=_LONGEST_LINE)
    loop = asyncio.get_running_loop()
    if sys.platform != "win32":
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        return reader

    def read() -> None:  # a pipe that asyncio cannot wait for on Windows
        with suppress(RuntimeError):  # the loop has ended
            while part := os.read(0, _MOST_READ):
                loop.call_soon_threadsafe(reader.feed_data, part)
            loop.call_soon_threadsafe(reader.feed_eof)

    threading.Thread(target=read, name="teller", daemon=True).start()
    return reader


def _serve_page() -> None:
    """Serve on a socket that was handed over, or at a port."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", type=int)
    parser.add_argument("--port", type=int)
    parser.add_argument("--host", default=LOOPBACK[0])
    options = parser.parse_args()
    if sys.platform != "win32":
        os.set_blocking(1, False)
    logging.getLogger("asyncio").addHandler(_Once())
    if options.socket is not None:
        opened = socket.socket(fileno=options.socket)
    else:
        family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
        opened = socket.create_server((options.host, options.port), family=family, backlog=MOST_ARRIVING)
        sys.stdout.write("\n")  # for the teller, which shows the address then
        sys.stdout.flush()
    with opened as listening:
        admission = Admission(listening.getsockname()[1], options.host, os.environ.pop(TOKEN_VARIABLE, ""))
        with suppress(KeyboardInterrupt):
            asyncio.run(_LiveServer(admission).serve(listening))


if __name__ == "__main__":
    _serve_page()
