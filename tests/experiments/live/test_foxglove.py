"""Foxglove server beside the page, spoken to as its protocol says: channels, rows, their times; nothing is written."""

import json
import socket
import struct
import time

import pytest
from websockets.sync.client import connect

from riderless.experiments.live.foxglove.channels import RunClock, logged, schemas
from riderless.experiments.live.foxglove.launch import foxglove_beside
from riderless.experiments.live.launch import LiveServerProcess
from riderless.experiments.live.schema import ROW_COLUMNS, LiveEvent, as_text
from riderless.hil.live import layout
from riderless.models.errors import InputError
from tests.experiments.live.shared_memory import areas, make_rows, new_feed
from tests.experiments.live.test_server import HELLO

MESSAGE = struct.Struct("<BIQ")  # of a sample: 1, subscription, time [ns]


def samples(client):
    """Samples that a client is sent: subscription, time [s], content."""
    while True:
        data = client.recv(timeout=20)
        if isinstance(data, bytes) and data[0] == 1:
            _, subscription, t = MESSAGE.unpack_from(data)
            yield subscription, 1e-9 * t, json.loads(data[MESSAGE.size :])


def test_clients_read_the_channels_of_the_page_and_write_nothing():
    pytest.importorskip("foxglove", reason="foxglove-sdk is not installed")
    feed = new_feed()
    with LiveServerProcess(port=0) as server:
        server.tell(HELLO)
        server.read_run(areas())
        with foxglove_beside(server, 0) as address, connect(address, subprotocols=["foxglove.sdk.v1"]) as client:
            assert address.startswith("ws://127.0.0.1:")
            told = json.loads(client.recv(timeout=20))
            assert (told["op"], told["capabilities"]) == ("serverInfo", [])
            topics = {}
            while set(topics) < {"/hello", "/rows", "/status", "/event", "/fit", "/campaign"}:
                for channel in json.loads(client.recv(timeout=20))["channels"]:
                    topics[channel["topic"]] = channel["id"]
                    assert channel["encoding"] == "json"
                    assert "properties" in json.loads(channel["schema"])
            wanted = [{"id": i, "channelId": topics[topic]} for i, topic in enumerate(("/rows", "/event"))]
            client.send(json.dumps({"op": "subscribe", "subscriptions": wanted}))
            client.send(
                json.dumps(
                    {"op": "advertise", "channels": [{"id": 1, "topic": "/stop", "encoding": "json", "schemaName": ""}]}
                )
            )
            time.sleep(0.5)
            make_rows(feed, 40)
            server.tell(as_text(LiveEvent(t=0.1, kind="kick", text="a kick")))
            heard = {0: [], 1: []}
            for subscription, t, content in samples(client):
                heard[subscription].append((t, content))
                if len(heard[0]) >= 15 and heard[1]:
                    break
    times = [content["t"] for _, content in heard[0]]
    assert [content["phi"] for _, content in heard[0]] == pytest.approx([0.2 * t for t in times], abs=1e-5)
    assert [t - heard[0][0][0] for t, _ in heard[0]] == pytest.approx([t - times[0] for t in times], abs=1e-4)
    assert abs(heard[0][-1][0] - time.time()) < 60.0
    assert heard[1][0][1]["text"] == "a kick"
    assert feed.presses[layout.STOP_PRESSES] == 0


def test_the_schemas_are_made_once():
    """They take tens of milliseconds, and each message of a page asks for them."""
    assert schemas() is schemas()


def test_times_begin_anew_with_another_run_or_place_of_a_replay():
    clock = RunClock()
    rows = {"type": "rows", "t": [5.0, 5.01], **{name: [0.0, 0.0] for name in ROW_COLUMNS}}
    rows |= {name: [0, 0] for name in ("state", "cause")}
    first = [one.log_time for one in logged(rows, clock)]
    assert first[1] - first[0] == pytest.approx(1e7, abs=1e3)
    back = [one.log_time for one in logged({**rows, "t": [0.0, 0.01]}, clock)]
    assert back[0] >= first[0], "never before what was there"
    assert list(logged({"type": "of a newer version"}, clock)) == []


def test_a_port_in_use_is_said_in_a_sentence():
    pytest.importorskip("foxglove", reason="foxglove-sdk is not installed")
    with LiveServerProcess(port=0) as server, pytest.raises(InputError, match=f"found {server.port} .*by --foxglove"):
        foxglove_beside(server, server.port).__enter__()


def test_no_client_writes_into_the_terminal(capfd):
    pytest.importorskip("foxglove", reason="foxglove-sdk is not installed")
    with LiveServerProcess(port=0) as server, foxglove_beside(server, 0) as address:
        with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))) as raw:
            raw.sendall(b"\xff" * 1000)
        time.sleep(0.3)
    assert capfd.readouterr().err == ""
