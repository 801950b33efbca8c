"""Strangers at the port of the live server: sockets of another user of this computer, without the token."""

import socket
import threading
import time
from contextlib import ExitStack, contextmanager

import pytest

from riderless.experiments.live.launch import LiveServerProcess
from riderless.hil.live import layout
from tests.experiments.live.shared_memory import areas, hear, make_rows, new_feed
from tests.experiments.live.test_server import HELLO, masked, opening, page, sockets_of

IN_TIME = 1.0  # s
MOST_SOCKETS = 150  # of a server, whatever comes: a process may often have 256


@contextmanager
def strangers(server, n):
    """Sockets that are silent, in half a handshake, slow, or through a handshake without the token; they come again."""
    over, sockets = threading.Event(), [None] * n
    slow = opening(server.port, "?token=guessed" + "x" * 2000)
    whole = opening(server.port, "") + masked('{"type":"here"}') + masked('{"type":"stop"}')

    def come(i):
        stranger = socket.create_connection(("127.0.0.1", server.port))
        stranger.setblocking(False)
        stranger.send((b"", slow[:40], slow[:1], whole)[i % 4])
        sockets[i] = stranger

    def go_on():
        at = 1
        while not over.wait(0.05):
            for i in range(2, n, 4):
                try:
                    sockets[i].send(slow[at % len(slow) :][:1])
                except OSError:  # it was dropped
                    sockets[i].close()
                    come(i)
            at += 1

    for i in range(n):
        come(i)
    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        for stranger in sockets:
            stranger.close()


@pytest.mark.parametrize("n", [8, 100, 500])
def test_strangers_keep_no_page_out_and_press_nothing(n):
    feed = new_feed()
    with LiveServerProcess(port=0) as server, ExitStack() as stack:
        server.tell(HELLO)
        server.read_run(areas())
        stack.enter_context(page(server)).close()  # it is up
        stack.enter_context(strangers(server, n))
        began = time.monotonic()
        looking = stack.enter_context(page(server))
        hear(looking, "hello", IN_TIME)
        assert time.monotonic() - began < IN_TIME
        time.sleep(0.3)
        assert list(feed.presses[[layout.STOP_PRESSES, layout.HERE_AT]]) == [0, 0], "a stranger was heeded"
        began = time.monotonic()
        looking.send('{"type":"here"}')
        looking.send('{"type":"stop","press":"a"}')
        hear(looking, "heard", IN_TIME)
        assert time.monotonic() - began < IN_TIME
        assert feed.presses[layout.STOP_PRESSES] == 1
        assert feed.presses[layout.HERE_AT] > 0
        make_rows(feed, 50)
        assert hear(looking, "rows", IN_TIME)
        assert sockets_of(server.pid) < MOST_SOCKETS
