"""A run's shared memory for the tests, filled by this process as a loop would fill it."""

import json
import os
import time

import numpy as np

from riderless.hil.live import layout
from riderless.hil.live.feed import LiveFeed


def new_feed(rate=200.0):
    """A feed with a run of which no row was made yet."""
    feed = LiveFeed()
    feed.begin({"folder": "/nowhere", "rate": rate, "header": {}})
    return feed


def make_rows(feed, n, rate=200.0):
    """Let ``n`` more rows come, numbered from 1, at even times from 100 s on."""
    head = int(feed.flow[0])
    for i in range(head, head + n):
        row = feed.ring[i % len(feed.ring)]
        row["k"], row["t_host"], row["state"] = i + 1, 100.0 + i / rate, 3
        row["phi_est"], row["y_est"] = 0.001 * (i % 500), np.nan
        feed.flow[0] = i + 1


def areas():
    """Where others find this process's memory."""
    found = layout.areas_of(os.getpid())
    assert found is not None
    return found


def socket_address(address):
    """Where the page at an address opens its WebSocket."""
    return address.replace("http", "ws", 1).replace("/?", "/ws?", 1)


def hear(connection, kind, patience=10.0):
    """The next message of a kind that a page hears, within so many seconds."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        message = json.loads(connection.recv(timeout=max(0.01, end - time.monotonic())))
        if message["type"] == kind:
            return message
    raise AssertionError(f"no {kind} within {patience} s")
