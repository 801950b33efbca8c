"""Section of the report on what a campaign was said to see before it was run."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ForeseenSection:
    """Smallest errors that the runs of one bicycle would show, as text."""

    bicycle: str
    sentence: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str
    advice: str
