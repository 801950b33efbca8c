"""Campaign so far, for whoever looks on: runs made of each condition, time left, what comes next."""

from collections.abc import Iterable, Sequence
from typing import Any

from riderless.experiments.campaigns.protocols.condition import Condition


def campaign_so_far(
    conditions: Sequence[Condition], good: Iterable[str], now: str = "", outcomes: dict[str, str] | None = None
) -> dict[str, Any]:
    """Describe how far a campaign is, as a page takes it.

    Parameters
    ----------
    conditions : sequence of Condition
        All of the campaign, in order.
    good : iterable of str
        Names of those that were run well.
    now : str
        Name of the one that runs; empty where none does.
    outcomes : dict
        Reason for which the last run of a condition ended, by its label.
    """
    done = set(good)
    rows: dict[str, dict[str, Any]] = {}
    for one in conditions:
        row = rows.setdefault(
            one.label, {"label": one.label, "done": 0, "planned": 0, "now": False, "speed": one.v, "outcome": ""}
        )
        row["planned"] += 1
        row["done"] += one.name in done
        row["now"] = row["now"] or one.name == now
        row["outcome"] = (outcomes or {}).get(one.label, "")
    left = [one for one in conditions if one.name not in done]
    following = [one for one in left if one.name != now]
    return {
        "type": "campaign",
        "conditions": list(rows.values()),
        "time_left": float(sum(one.duration for one in left)),
        "next": following[0].name if following else "",
    }
