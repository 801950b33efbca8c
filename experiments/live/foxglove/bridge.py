"""Foxglove server beside the page.

It is a process of its own that reads as a page does, and passes on what it receives.

    python -m riderless.experiments.live.foxglove.bridge --page PORT --port PORT

It says nothing to the run: Foxglove's clients can read, and no more. The token of the page comes by the environment.
"""

import argparse
import json
import os
import time
from typing import Any

import foxglove
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from riderless.experiments.live.access import LOOPBACK, TOKEN_VARIABLE
from riderless.experiments.live.foxglove.channels import RunClock, logged, schemas

_AGAIN = 0.5  # s until a page that is gone is looked for again
_PATIENCE = 5.0  # s for a page that was never there


class _FoxgloveBridge:
    """Server for Foxglove on this computer alone.

    Parameters
    ----------
    port : int
        0 for any that is free.
    """

    def __init__(self, port: int) -> None:
        foxglove.set_log_level("CRITICAL")  # its lines on every connection are nothing for the terminal
        self._context = foxglove.Context()
        self._channels = {
            topic: foxglove.Channel(topic, schema=schema, context=self._context) for topic, schema in schemas().items()
        }
        self._server = foxglove.start_server(
            name="riderless", host=LOOPBACK[0], port=port, capabilities=[], context=self._context
        )
        self._clock = RunClock()

    @property
    def port(self) -> int:
        """Port that it listens on."""
        return int(self._server.port)

    def follow(self, address: str) -> None:
        """Pass on what a page hears at ``address``, until that is gone for good."""
        since = time.monotonic()
        while time.monotonic() - since < _PATIENCE:
            try:
                with connect(address, max_size=None, compression=None) as page:
                    self._pass_on(page)
                    since = time.monotonic()
            except (OSError, ConnectionClosed, InvalidStatus, TimeoutError):
                time.sleep(_AGAIN)

    def _pass_on(self, page: ClientConnection) -> None:
        for text in page:
            message: dict[str, Any] = json.loads(text)
            for entry in logged(message, self._clock):
                self._channels[entry.topic].log(entry.content, log_time=entry.log_time)

    def close(self) -> None:
        """End it."""
        self._server.stop()


def _serve_foxglove() -> None:
    """Serve, and say on standard output at which port."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", type=int, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--host", default=LOOPBACK[0])
    options = parser.parse_args()
    token = os.environ.pop(TOKEN_VARIABLE, "")
    try:
        bridge = _FoxgloveBridge(options.port)
    except (OSError, RuntimeError, _foxglove_error()) as error:
        _say({"error": str(error)})
        return
    _say({"port": bridge.port})
    name = f"[{options.host}]" if ":" in options.host else options.host
    try:
        bridge.follow(f"ws://{name}:{options.page}/ws?token={token}")
    except KeyboardInterrupt:
        pass
    finally:
        bridge.close()


def _say(message: dict[str, Any]) -> None:
    """Say a line to the program that started this one."""
    os.write(1, json.dumps(message).encode() + b"\n")


def _foxglove_error() -> type[Exception]:
    """Kind of error that the package raises where its port is in use."""
    return getattr(foxglove, "FoxgloveError", RuntimeError)


if __name__ == "__main__":
    _serve_foxglove()
