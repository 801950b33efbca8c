"""The live server as a process of its own, spoken to over sockets."""

import http.client
import json
import os
import resource
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from riderless.experiments.live.launch import LiveServerProcess
from riderless.experiments.live.schema import SERVER_MESSAGES, LiveEvent, as_text
from riderless.experiments.live.watchers import MOST_PAGES
from riderless.hil.live import layout
from riderless.models.errors import InputError
from tests.experiments.live.page.looking import await_that
from tests.experiments.live.shared_memory import areas, hear, make_rows, new_feed, socket_address

HELLO = json.dumps(
    {
        "type": "hello",
        "schema": 1,
        "kind": "live",
        "title": "a test",
        "bicycle": {"name": "Silver", "parameters": {}},
        "rate": 200.0,
        "limits": {"lean": 0.5, "steer": 0.7, "command": 7, "torque": 7, "speed_min": 0.3, "speed_max": 10},
    },
    separators=(",", ":"),
)


@pytest.fixture(scope="module")
def server():
    with LiveServerProcess(port=0) as process:
        process.tell(HELLO)
        yield process


MALFORMED = [
    "",
    "x",
    "[]",
    "null",
    '{"type":"arm"}',
    '{"type":"stop","more":1}',
    '{"type":"stop","press":"0123456789012345678901234"}',
    '{"type":"kick","side":"up"}',
    "{" * 300,
]
MALFORMED += [
    '{"type":"kick","side":"left","strength":9}',
    '{"type":"pace","pace":-1}',
    '{"type":"seek","t":"NaN"}',
    b"0",
]


def page(server, path="", **how):
    # reads all it is sent: else its goodbye waits behind what nobody has asked for
    address = f"ws://127.0.0.1:{server.port}{path}" if path else socket_address(server.address)
    return connect(address, max_size=None, max_queue=None, **how)


def opening(port, query):
    """The request with which a page opens its WebSocket."""
    return (
        f"GET /ws{query} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    ).encode()


def deaf_page(server):
    """A page that never reads what it is sent, and answers no goodbye."""
    deaf = socket.create_connection(("127.0.0.1", server.port))
    deaf.sendall(opening(server.port, f"?token={server.token}"))
    assert b"101 " in deaf.recv(20)
    return deaf


def masked(message):
    """A short message as its bytes on the wire, masked by zeros."""
    data = message if isinstance(message, bytes) else message.encode()
    assert len(data) < 126
    return bytes([0x82 if isinstance(message, bytes) else 0x81, 0x80 | len(data), 0, 0, 0, 0]) + data


def end_of(connection):
    """How the server closes a connection, whatever it still says."""
    try:
        while True:
            connection.recv(timeout=10)
    except ConnectionClosed as closed:
        return closed


def sockets_of(pid):
    """How many sockets a process has open."""
    found = 0
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            found += os.readlink(link).startswith("socket:")
    return found


def get(server, path, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("GET", path, headers=headers or {})
    answer = connection.getresponse()
    return answer, answer.read()


def test_a_late_page_hears_what_was_said_before_it_came(server):
    server.tell(as_text(LiveEvent(t=1.0, kind="note", text="before")))
    time.sleep(0.2)
    with page(server) as early:
        assert hear(early, "hello")["title"] == "a test"
        assert hear(early, "event")["text"] == "before"
        server.tell(as_text(LiveEvent(t=2.0, kind="note", text="now")))
        assert hear(early, "event")["text"] == "now"


def test_rows_and_stop_go_on_without_a_teller(server):
    feed = new_feed()
    server.read_run(areas())
    with page(server) as looking:
        make_rows(feed, 50)
        rows = SERVER_MESSAGES.validate_python(hear(looking, "rows"))
        assert len(rows.t) == len(rows.phi) == len(rows.state) > 0
        for wanted in (1, 2):
            looking.send('{"type":"stop"}')
            end = time.monotonic() + 5.0
            while feed.presses[layout.STOP_PRESSES] < wanted and time.monotonic() < end:
                time.sleep(0.002)
            assert feed.presses[layout.STOP_PRESSES] == wanted
        looking.send('{"type":"kick","side":"right","strength":0.5}')
        end = time.monotonic() + 5.0
        wishes = []
        while not wishes and time.monotonic() < end:
            wishes = list(feed.wishes())
        assert wishes == [{"type": "kick", "side": "right", "strength": 0.5}]
    server.read_run(None)


def test_a_press_that_is_said_again_counts_once_and_is_confirmed(server):
    feed = new_feed()
    server.read_run(areas())
    with page(server) as one, page(server) as other:
        for name in ("a", "b"):
            for looking in (one, one, other):  # again on another link: the first may have been cut before the answer
                looking.send(json.dumps({"type": "stop", "press": name}))
                assert SERVER_MESSAGES.validate_python(hear(looking, "heard")).press == name
        assert feed.presses[layout.STOP_PRESSES] == 2
        for _ in range(2):
            one.send('{"type":"stop"}')
        one.send('{"type":"stop","press":"c"}')
        hear(one, "heard")
        assert feed.presses[layout.STOP_PRESSES] == 5
    server.read_run(None)


def test_a_silent_server_says_that_the_link_stands(server):
    with page(server) as looking:
        for _ in range(2):
            assert SERVER_MESSAGES.validate_python(hear(looking, "beat", 3.0))


def test_other_sites_and_other_names_are_refused(server):
    own = f"127.0.0.1:{server.port}"
    assert get(server, "/", {"Host": own})[0].status == 200
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1:1", ""):
        assert get(server, "/", {"Host": host})[0].status == 403, host
    with pytest.raises(InvalidStatus):
        page(server, origin="http://evil.example").__enter__()
    with pytest.raises(InvalidStatus):
        page(server, origin=f"http://127.0.0.1:{server.port + 1}").__enter__()
    with page(server, origin=f"http://{own}") as looking:
        hear(looking, "hello")


def test_only_files_of_the_page_are_handed_out(server):
    answer, body = get(server, "/")
    assert b"<html" in body
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
    for path in ("/../server.py", "/%2e%2e/server.py", "/..%2fserver.py", "/.git/config", "/server.py", "//etc/passwd"):
        assert get(server, path)[0].status in (400, 404), path
    assert get(server, "/main.js?token=x")[0].status == 200


@pytest.mark.parametrize(
    "wrong",
    MALFORMED,
)
def test_a_malformed_message_ends_its_page_alone(server, wrong):
    with page(server) as other, page(server) as bad:
        bad.send(wrong)
        assert end_of(bad).rcvd.code == 1008
        server.tell(as_text(LiveEvent(t=3.0, kind="note", text=repr(wrong)[:20])))
        while hear(other, "event")["text"] != repr(wrong)[:20]:
            pass


def test_a_long_message_and_a_flood_end_their_page(server):
    with page(server) as bad:
        bad.send("x" * 100_000)
        end_of(bad)
    with page(server) as bad:
        with suppress(ConnectionClosed):
            for _ in range(2000):
                bad.send('{"type":"here"}')
        assert "too many" in str(end_of(bad))


def test_a_ninth_page_stops_all_the_same_and_gets_the_next_place(server):
    feed = new_feed()
    server.read_run(areas())
    with ExitStack() as pages:
        eight = [pages.enter_context(page(server)) for _ in range(MOST_PAGES)]
        for looking in eight:
            hear(looking, "hello")
        ninth = pages.enter_context(page(server))
        assert hear(ninth, "hello")["title"] == "a test"
        assert "close one" in hear(ninth, "status")["state"]
        ninth.send('{"type":"stop","press":"ninth"}')
        assert hear(ninth, "heard")["press"] == "ninth"
        assert feed.presses[layout.STOP_PRESSES] == 1
        ninth.send('{"type":"here"}')
        await_that(lambda: feed.presses[layout.HERE_AT] > 0)
        assert hear(ninth, "beat")
        eight[0].close()
        hear(ninth, "hello")
        make_rows(feed, 50)
        assert hear(ninth, "rows")
    server.read_run(None)


def test_a_page_that_never_reads_is_dropped_and_never_waited_for(server):
    deaf = socket.create_connection(("127.0.0.1", server.port))
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    deaf.sendall(opening(server.port, f"?token={server.token}"))
    with page(server) as looking:
        hear(looking, "hello")
        with_both = sockets_of(server.pid)
        text = "x" * 200_000
        for i in range(40):  # 8 MB, more than the system and the server keep for anybody
            server.tell(as_text(LiveEvent(t=float(i), kind="note", text=text)))
            while hear(looking, "event")["t"] != float(i):
                pass
        end = time.monotonic() + 10.0
        while sockets_of(server.pid) == with_both and time.monotonic() < end:
            time.sleep(0.05)
        assert sockets_of(server.pid) == with_both - 1, "it was cut off, and it alone"
    deaf.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_every_address_wants_its_token(host):
    with LiveServerProcess(host, 0) as server:
        server.tell(HELLO)
        assert server.token
        assert server.token in server.address
        for path in ("/ws", "/ws?token=", "/ws?token=wrong", f"/ws?token={server.token}x", f"/ws?t={server.token}"):
            with page(server, path) as refused, pytest.raises(ConnectionClosed) as closed:
                refused.recv(timeout=10)
            assert closed.value.rcvd.code == 1008
        with page(server, f"/ws?token={server.token}") as looking:
            hear(looking, "hello")
        command = Path(f"/proc/{server.pid}/cmdline").read_text()
        assert server.token not in command, "a list of processes would show it"


def test_the_server_knows_no_bicycle_and_stays_small(server):
    listed = subprocess.run(
        [sys.executable, "-c", "import sys, riderless.experiments.live.server; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    for heavy in (
        "numba",
        "scipy",
        "numpy",
        "mcap",
        "google.protobuf",
        "riderless.hil.logs.log",
        "matplotlib",
        "typer",
    ):
        assert heavy not in listed
    status = Path(f"/proc/{server.pid}/status").read_text()
    kept = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
    assert kept < 60_000, f"{kept} kB"


def test_a_port_in_use_is_said_in_a_sentence(server):
    with pytest.raises(InputError, match=f"found {server.port} in use"):
        LiveServerProcess(port=server.port)


def test_a_server_whose_teller_is_gone_ends():
    code = (
        "from riderless.experiments.live.launch import LiveServerProcess; import os;"
        "s = LiveServerProcess(port=0); print(s.pid, flush=True); os._exit(9)"
    )
    pid = int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stdout)
    end = time.monotonic() + 20.0
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < end:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{pid}")


def test_a_page_that_is_sent_away_keeps_no_place_while_it_says_goodbye(server):
    with ExitStack() as stack:
        for _ in range(MOST_PAGES):  # none of them answers the server's goodbye, for which it waits a second
            stack.enter_context(deaf_page(server)).sendall(masked("x"))
        time.sleep(0.3)
        hear(stack.enter_context(page(server)), "hello")


@pytest.mark.slow
def test_a_hundred_thousand_malformed_messages(server):
    feed = new_feed()
    server.read_run(areas())
    short = [masked(message) for message in MALFORMED if len(message) < 126]
    for i in range(2_000):  # fifty at a time, each time another first; the first ends the link
        with deaf_page(server) as rude, suppress(OSError):
            rude.sendall(b"".join(short[(i + k) % len(short)] for k in range(50)))
    end = time.monotonic() + 5.0  # the last of them may still be on their way out
    while not feed.presses[layout.STOP_PRESSES] and time.monotonic() < end:
        with page(server) as looking, suppress(ConnectionClosed):
            hear(looking, "hello")
            looking.send('{"type":"stop"}')
            while not feed.presses[layout.STOP_PRESSES] and time.monotonic() < end:
                time.sleep(0.01)
    assert feed.presses[layout.STOP_PRESSES] == 1
    server.read_run(None)


def test_no_connection_writes_more_than_a_sentence_into_the_terminal(capfd):
    """Asyncio wrote a traceback for every try to accept where no descriptor is left: 1 MB in four seconds."""
    with LiveServerProcess(port=0) as process:
        process.tell(HELLO)
        get(process, "/")
        for content in (b"", b"\x16\x03\x01garbage\r\n\r\n", b"GET /ws HTTP/1.1\r\nHost", b"\xff" * 100_000):
            with socket.create_connection(("127.0.0.1", process.port)) as raw:
                raw.sendall(content)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (len(os.listdir(f"/proc/{process.pid}/fd")),) * 2)
        with ExitStack() as many:
            for _ in range(30):
                many.enter_context(socket.create_connection(("127.0.0.1", process.port)))
            time.sleep(0.5)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("riderless: ")
    assert "Too many open files" in lines[0]
