"""Option `--live` of the commands that run a machine."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from riderless.hil.live.feed import LiveFeed

LivePage = Annotated[
    bool, typer.Option("--live", help="Serve a page to look on by, as `riderless live` in another terminal does.")
]


def feed_of(live: bool, can: Sequence[str] = ()) -> "LiveFeed | None":
    """Make the memory by which others look on, and open the page where it was asked for.

    Parameters
    ----------
    live : bool
        Open it now; `riderless live` may do so later.
    can : sequence of str
        Things that a page may do to the machine, beside STOP.
    """
    from riderless.hil.live.feed import open_feed

    feed = open_feed()
    if feed is not None:
        feed.can = list(can)
    if live:
        from riderless.experiments.live.open_page import open_page

        open_page()
    return feed
