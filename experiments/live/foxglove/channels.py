"""Foxglove channels of the page's messages.

Their topics, their schemas, and what is logged on each. A Foxglove channel carries one sample a message, so a batch of
rows becomes as many messages.
"""

import time
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from riderless.experiments.live.rows import CODES
from riderless.experiments.live.schema import ROW_COLUMNS, LiveCampaign, LiveEvent, LiveFit, LiveHello, LiveStatus

_ROWS = "/rows"
_BACK = 1.0  # s that a row may be before the newest; farther is another run, or another place of a replay


@cache
def schemas() -> dict[str, dict[str, Any]]:
    """JSON schema of each topic."""
    kinds: dict[str, Any] = {
        "hello": LiveHello,
        "status": LiveStatus,
        "event": LiveEvent,
        "fit": LiveFit,
        "campaign": LiveCampaign,
    }
    by_kind = {f"/{kind}": model.model_json_schema() for kind, model in kinds.items()}
    number = {"type": ["number", "null"]}
    columns = dict.fromkeys(("t", *ROW_COLUMNS), number) | {name: {"type": "integer"} for name in CODES}
    return {**by_kind, _ROWS: {"title": "LiveRow", "type": "object", "properties": columns}}


class Logged(NamedTuple):
    """Message on a channel, and its time [ns since 1970]."""

    topic: str
    content: dict[str, Any]
    log_time: int


class RunClock:
    """Clock of what a page hears: times of a run, put to the clock of the wall when its first row comes."""

    def __init__(self) -> None:
        self._newest = self._shift = float("nan")

    def log_time(self, t: float | None) -> int:
        """Time of ``t`` [s of the run] in ns since 1970; now, where there is none."""
        now = time.time()
        if t is None or self._shift != self._shift:
            return round(1e9 * now)
        return round(1e9 * (t + self._shift))

    def see(self, newest: float) -> None:
        """Take note of the newest row's time [s of the run]."""
        if not self._newest - _BACK < newest:
            self._shift = time.time() - newest
        self._newest = newest


def logged(message: dict[str, Any], clock: RunClock) -> Iterator[Logged]:
    """Give what a message of the page is on the channels.

    Parameters
    ----------
    message : dict
        As the server sends it.
    clock : RunClock
    """
    kind = message["type"]
    if kind != "rows":
        if f"/{kind}" in schemas():
            yield Logged(f"/{kind}", message, clock.log_time(message.get("t")))
        return
    if message["t"]:
        clock.see(message["t"][-1])
    names = ("t", *ROW_COLUMNS, *CODES)
    for i, t in enumerate(message["t"]):
        yield Logged(_ROWS, {name: message[name][i] for name in names}, clock.log_time(t))
