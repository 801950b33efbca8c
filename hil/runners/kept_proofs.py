"""Stored proofs of computer and sensors.

The newest test of each, in a file of the user, outlives the program. A test is quickly repeated, so a file that is not
there or not legible is one without proofs.
"""

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from riderless.models.errors import InputError


def proofs_file(name: str) -> Path:
    """Path of the file that keeps one kind of proofs."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "riderless" / f"{name}.json"


def read_proofs(path: Path) -> dict[str, Any]:
    """Read the proofs kept so far, by what they are of."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def is_proven(path: Path, key: str, is_good: Callable[[str], bool]) -> bool:
    """Tell whether the time of the newest proof of ``key``, as of `utc_now`, is good; an illegible one is none."""
    try:
        return is_good(read_proofs(path).get(key, {})["utc"])
    except (KeyError, TypeError, ValueError):
        return False


def keep_proof(path: Path, key: str, proof: dict[str, Any], what: str) -> None:
    """Keep a proof as the newest of its kind.

    Parameters
    ----------
    path : Path
        As of `proofs_file`.
    key : str
        What it is of.
    proof : dict
        For JSON.
    what : str
        Its name, for the words of a refusal.

    Raises
    ------
    InputError
        When it cannot be written.
    """
    kept = {**read_proofs(path), key: proof}
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(json.dumps(kept, indent=1), encoding="utf-8")
        fresh.replace(path)  # whole or not at all
    except OSError as error:
        raise InputError(
            f"{what} cannot be kept in {path} ({error.strerror}): set XDG_STATE_HOME to a writable folder"
        ) from None


def utc_now() -> str:
    """Date and time now, ISO 8601, UTC, in whole seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def is_recent(utc: str, max_age_days: float) -> bool:
    """Tell whether a time as of `utc_now` is past, and not longer ago than so many days; raises ValueError."""
    return timedelta() <= datetime.now(UTC) - datetime.fromisoformat(utc) <= timedelta(days=max_age_days)


def is_today(utc: str) -> bool:
    """Tell whether a time as of `utc_now` is past, and of this day by the clock on the wall; raises ValueError."""
    then, now = datetime.fromisoformat(utc).astimezone(), datetime.now(UTC).astimezone()
    return then <= now and then.date() == now.date()
