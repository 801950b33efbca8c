"""Windows cut by a data set's authors.

They stand beside the automatic ones.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from riderless.experiments.datatypes import Comparison
from riderless.models.errors import InputError
from riderless.models.text_file import read_text_file, why_unreadable

AUTHOR_WINDOWS_FILE = "author_windows.json"  # lies beside the logs
SAME_WINDOW_START = 0.3  # s between two starts of the same window


@dataclass(frozen=True)
class HandCut:
    """One window cut by hand, and the eigenvalue its authors' equation gives there."""

    source: str  # file name of the log
    start: int  # first row
    stop: int  # one past the last
    re: float  # 1/s
    im: float  # rad/s


@dataclass(frozen=True)
class BesideAuthors:
    """Automatic windows of one recording beside those cut by hand."""

    source: str
    v_mean: float  # m/s
    by_hand: int
    found: int  # of them, with a start within SAME_WINDOW_START
    extra: int  # automatic windows that nobody cut by hand
    hand: complex  # mean of the authors' eigenvalues, 1/s
    shared: complex  # mean of ours over the windows both have
    frozen: complex  # mean of theory over the same


def read_author_windows(paths: Sequence[Path]) -> list[HandCut]:
    """Windows by hand that lie beside these recordings; none when there is no such file.

    Raises
    ------
    InputError
        When the file is there but does not hold what it should.
    """
    cuts: list[HandCut] = []
    for folder in dict.fromkeys(path.parent for path in paths):
        path = folder / AUTHOR_WINDOWS_FILE
        if not path.exists():
            continue
        try:
            rows = json.loads(read_text_file(path))["windows"]
            cuts += [HandCut(r["file"], r["start"], r["stop"], r["sigma"], r["omega"]) for r in rows]
        except (UnicodeDecodeError, OSError) as error:
            raise InputError(f"{path} cannot be read: {why_unreadable(error)}; correct it or move it away") from None
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path} wants a list 'windows' with file, start, stop, sigma and omega, "
                f"found {error!r}: correct it or move it away"
            ) from None
    return cuts


def match_author_windows(cuts: Sequence[HandCut], comparisons: Sequence[Comparison]) -> list[BesideAuthors]:
    """Match windows by their start, recording by recording, slowest first."""
    rows = []
    for source in dict.fromkeys(c.source for c in cuts):
        hand = [c for c in cuts if c.source == source]
        ours = [c for c in comparisons if c.window.source == source]
        if not ours:
            continue
        dt = (ours[0].window.t_end - ours[0].window.t_start) / (ours[0].window.stop - ours[0].window.start)
        pairs = [
            (cut, match)
            for cut in hand
            for match in ours
            if abs(cut.start - match.window.start) * dt <= SAME_WINDOW_START
        ]
        if not pairs:
            continue
        theirs, mine = [p[0] for p in pairs], [p[1] for p in pairs]
        rows.append(
            BesideAuthors(
                source=source,
                v_mean=float(np.mean([c.window.v_mean for c in ours])),
                by_hand=len(hand),
                found=len({c.start for c in theirs}),
                extra=len(ours) - len({c.window.start for c in mine}),
                hand=complex(np.mean([complex(c.re, c.im) for c in theirs])),
                shared=complex(np.mean([complex(c.fit.re, c.fit.im) for c in mine])),
                frozen=complex(np.mean([c.prediction.frozen for c in mine])),
            )
        )
    return sorted(rows, key=lambda row: row.v_mean)


def beside_json(rows: Sequence[BesideAuthors]) -> list[dict[str, Any]]:
    """For `riderless analyze --json`."""
    return [vars(row) for row in rows]
