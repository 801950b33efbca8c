"""`python -m tests.tools.delft_windows --doc tables.md`: our windows beside the Delft authors'.

A window nobody cut by hand is *defensible* when channels the rules never look at (lateral accelerometer, steer encoder,
motor command) show a push, and after it a bicycle left to itself and to its controller. Nothing here knows of a
mode, a fit or a theory, so what is called defensible does not depend on the answer.
"""

import argparse
import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.signal import find_peaks

from riderless.experiments.analysis.estimators.uncertainty import fit_window
from riderless.experiments.analysis.windows.find import find_windows
from riderless.experiments.analysis.windows.kicks import (
    DetectedKick,
    KickRules,
    background_amplitude,
    find_kicks,
    without_bias,
)
from riderless.experiments.datatypes import Fit, Rejected, Response, Segment, Window
from riderless.experiments.fault_injection.summary_table import markdown_table
from riderless.experiments.recordings import foreign
from riderless.models.noise_statistics import robust_deviation
from tests.conftest import SHARED
from tests.experiments.pushed import PUSHES, pushed
from tests.tools.tables import write_tables

Array = NDArray[np.float64]

LOGS = ("5.4", "7.2", "9", "12.6", "16.2", "18")  # nominal km/h
DT = 0.01  # s
SAME = 0.1  # s between a kick of ours and one of theirs
THEIRS = "authors'"  # windows that both have, in the tables

# The definition. Its numbers are round ones that every window of the authors meets with room to spare.
PUSH = 5.0  # standard deviations of the same mean before it, that the lateral acceleration of the push stands out
REST = 2.0  # s before, in which nothing but drift: twice the length of the authors' windows, so what was is over
ANSWER = 3.0  # times any steer rate in that time, that the steer answers
GROWS = 0.1  # of the largest swing of the steer, by which a later one may exceed the one before: reading noise
COMMAND = 0.25  # rms of (motor command - law) / rms of law
SPEED = 0.03  # of the mean


@dataclass(frozen=True)
class Seen:
    """What channels beside lean rate and speed show of one kick and the window after it."""

    push: float  # lateral acceleration while pushed, in scatters of means as long before
    answer: float  # largest steer rate after, over the largest in the time of rest before
    grows: float  # greatest growth from one swing of the steer to the next, after the largest, share of the largest
    command: float  # rms departure of the motor command from the law, share of the law's
    speed: float  # range of speed in the window over its mean

    @property
    def failings(self) -> list[str]:
        """Why the window is not defensible; none where it is."""
        found = {
            f"no push in the lateral acceleration ({self.push:.1f} scatters, wanted {PUSH:g})": self.push >= PUSH,
            f"steer stirred before (its answer is {self.answer:.1f} times that, wanted {ANSWER:g})": self.answer
            >= ANSWER,
            f"steer swings grow again by {self.grows:.2f}, wanted at most {GROWS:g}": self.grows <= GROWS,
            f"motor off its law by {self.command:.2f}, wanted at most {COMMAND:g}": self.command <= COMMAND,
            f"speed moves by {100 * self.speed:.1f} %, wanted at most {100 * SPEED:g} %": self.speed <= SPEED,
        }
        return [text for text, holds in found.items() if not holds]


@dataclass(frozen=True)
class Found:
    """One window of ours, or one kick that the rules refused."""

    kph: str
    kick: DetectedKick
    t: float  # s, where the lean rate turns back
    peak: float  # rad/s
    above: float  # peak over the background
    window: Window | None  # None where refused
    offset: float | None  # s, our kick after the start that the authors chose; None where they chose none
    seen: Seen
    fit: Fit | None
    z: tuple[float, float] = (np.nan, np.nan)  # of (re, im) among the windows shared with the authors
    reason: str = ""  # why refused


def columns(path: Path) -> dict[str, Array]:
    """Every column of a log, (n,), by the name in its header; nan where a cell is empty."""
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    cells = [[float(cell) if cell.strip() else np.nan for cell in row] for row in rows[1:]]
    return {name.strip(): np.array([row[i] for row in cells]) for i, name in enumerate(rows[0])}


def look(log: Mapping[str, Array], kick: DetectedKick, stop: int) -> Seen:
    """What a log shows of the rows from a kick to the end of its window."""
    begin, end = kick.onset, kick.end
    side = np.sign(log["lean_rate"][end] - log["lean_rate"][begin])
    a, turning, steer = log["y_acceleration"], log["fork_rate"], log["fork_angle"][begin:stop]
    length, first = end - begin, max(0, begin - round(1.5 / DT))
    means = np.array([a[i : i + length].mean() for i in range(first, begin - length + 1)])
    rest = np.abs(turning[max(0, begin - round(REST / DT)) : begin]).max()
    found = [find_peaks(way, prominence=0.06 * np.ptp(steer))[0] for way in (steer, -steer)]
    turns = np.sort(np.concatenate([[0], *found, [len(steer) - 1]])).astype(int)
    swings = np.abs(np.diff(steer[turns]))
    after = swings[np.argmax(swings) :]
    law = 2.0 * (6.5 - log["speed"][end:stop]) * log["lean_rate"][end:stop]
    off, v = log["command_fork"][end:stop] - law, log["speed"][end:stop]
    return Seen(
        push=float(side * (a[begin:end].mean() - means.mean()) / means.std()),
        answer=float(np.abs(turning[begin : end + round(0.6 / DT)]).max() / max(rest, 1e-9)),
        grows=float(np.diff(after).max(initial=0.0) / swings.max()),
        command=float(np.sqrt(np.mean(off**2) / np.mean(law**2))),
        speed=float(np.ptp(v) / v.mean()),
    )


def study(folder: Path, kph: str) -> list[Found]:
    """Windows of ours in one log, and the kicks large enough that were refused, in order of time."""
    name = f"eigen_normal_sil6.5n2_{kph}kph.log"
    rows = json.loads((folder / "author_windows.json").read_text())["windows"]
    theirs = np.array([row["start"] for row in rows if row["file"] == name])
    response, log = foreign.read_foreign(folder / name), columns(folder / name)
    windows, rejected = find_windows(response)
    found = list(_all(kph, response, log, windows, rejected, theirs))
    shared = [f.fit for f in found if f.offset is not None and f.fit is not None and f.fit.ok]
    middle, scatter = zip(*[_robust([getattr(fit, part) for fit in shared]) for part in ("re", "im")], strict=True)
    out = []
    for one in found:
        z = (np.nan, np.nan)
        if one.fit is not None and one.fit.ok:
            z = tuple(
                (value - m) / np.hypot(s, std)
                for value, std, m, s in zip(
                    (one.fit.re, one.fit.im), (one.fit.re_std, one.fit.im_std), middle, scatter, strict=True
                )
            )
        out.append(Found(**{**vars(one), "z": z}))
    return out


def _all(
    kph: str,
    response: Response,
    log: Mapping[str, Array],
    windows: list[Window],
    rejected: list[Rejected],
    theirs: NDArray[np.int64],
) -> Iterator[Found]:
    s = without_bias(response, KickRules().smooth)
    noise = background_amplitude(response, s)
    for kick in find_kicks(response, KickRules()):
        span = f"kick of {response.t[kick.onset]:.2f}-{response.t[kick.end]:.2f} s"
        window = next((w for w in windows if span in w.rule), None)
        refused = [r.reason for r in rejected if r.t_start == response.t[kick.onset]]
        if window is None and (not refused or "too small" in refused[0] or kick.onset < round(REST / DT)):
            continue
        off = DT * (kick.end - theirs)
        nearest = float(off[np.argmin(np.abs(off))])
        yield Found(
            kph=kph,
            kick=kick,
            t=float(response.t[kick.end]),
            peak=float(s[kick.end]),
            above=float(abs(s[kick.end]) / noise),
            window=window,
            offset=nearest if abs(nearest) <= SAME else None,
            seen=look(log, kick, window.stop if window else kick.end + round(1.0 / DT)),
            fit=fit_window(Segment(response, window)) if window else None,
            reason=refused[0] if refused else "",
        )


def _robust(values: list[float]) -> tuple[float, float]:
    """Median, and the scatter that the median distance from it tells of."""
    middle = float(np.median(values))
    return middle, float(robust_deviation(np.array(values) - middle))


def per_log(found: list[Found], theirs: Mapping[str, int]) -> str:
    """Table: how many of the authors' windows are found and how far off, and what is beside them."""
    rows = []
    for kph in (*LOGS, "all"):
        own = [f for f in found if kph in (f.kph, "all") and f.window is not None]
        off = np.array([f.offset for f in own if f.offset is not None])
        beside = [f for f in own if f.offset is None]
        bad = [f for f in beside if f.seen.failings]
        refused = [f for f in found if kph in (f.kph, "all") and f.window is None]
        rows.append(
            [
                kph,
                str(theirs[kph] if kph != "all" else sum(theirs.values())),
                str(len(off)),
                f"{np.median(off):+.2f}",
                f"{off[np.argmax(np.abs(off))]:+.2f}",
                str(len(beside)),
                str(len(beside) - len(bad)),
                str(len(bad)),
                f"{100 * len(bad) / len(own):.0f} %",
                str(len(refused)),
                str(sum(not f.seen.failings for f in refused)),
            ]
        )
    head = ["km/h", "authors'", "found", "kick off by s, median", "greatest", "ours beside", "defensible", "not"]
    return markdown_table([*head, "share not", "kicks refused", "of them defensible"], rows)


def one_by_one(found: list[Found]) -> str:
    """Table of the windows beside the authors'."""
    rows = [
        [
            f.kph,
            f"{f.window.t_start:.2f}-{f.window.t_end:.2f}",
            f"{f.peak:+.2f} ({f.above:.0f})",
            f"{f.seen.push:.0f}",
            f"{f.seen.answer:.1f}",
            f"{f.seen.grows:.2f}",
            f"{f.seen.command:.2f}",
            f"{100 * f.seen.speed:.1f}",
            f"{f.fit.r2:.3f}" if f.fit else "",
            f"{f.z[0]:+.1f}, {f.z[1]:+.1f}" if np.isfinite(f.z[0]) else "no fit",
            "; ".join(f.seen.failings) or "yes",
        ]
        for f in found
        if f.window is not None and f.offset is None
    ]
    head = ["km/h", "window s", "peak rad/s (times background)", "push", "answer", "grows", "command", "speed %"]
    return markdown_table([*head, "r2", "z re, im", "defensible"], rows)


def extremes(found: list[Found]) -> str:
    """Table: the worst of the authors' windows by each measure, and how many of each kind fail it."""
    kinds = {
        THEIRS: [f.seen for f in found if f.window is not None and f.offset is not None],
        "ours beside": [f.seen for f in found if f.window is not None and f.offset is None],
        "refused": [f.seen for f in found if f.window is None],
    }
    measures = (
        ("push", "push, scatters", f"at least {PUSH:g}", np.min, lambda x: x < PUSH),
        ("answer", "answer of the steer, times", f"at least {ANSWER:g}", np.min, lambda x: x < ANSWER),
        ("grows", "steer swings grow, share", f"at most {GROWS:g}", np.max, lambda x: x > GROWS),
        ("command", "motor off its law, share", f"at most {COMMAND:g}", np.max, lambda x: x > COMMAND),
        ("speed", "speed moves, share", f"at most {SPEED:g}", np.max, lambda x: x > SPEED),
    )
    rows = []
    for name, words, wanted, worst, fails in measures:
        values = {kind: np.array([getattr(one, name) for one in seen]) for kind, seen in kinds.items()}
        cells = [f"{int(fails(x).sum())} of {len(x)}" for x in values.values()]
        rows.append([words, wanted, f"{worst(values[THEIRS]):.2f}", *cells])
    rows.append(
        ["any of them", "", "", *[f"{sum(bool(s.failings) for s in seen)} of {len(seen)}" for seen in kinds.values()]]
    )
    return markdown_table(["measure", "wanted", "authors' worst", *[f"{kind}: fail" for kind in kinds]], rows)


def emulated() -> str:
    """Table: greatest distance of a found kick from the emulated push, whose time is known."""
    rows = []
    for noise in (0.0, 0.003, 0.01, 0.03):
        begins, ends = [], []
        for v in (1.5, 2.0, 3.5, 5.0, 6.4):
            response, turns = pushed(v, noise)
            large = [k for k in find_kicks(response, KickRules()) if abs(response.phi_dot[k.end]) > 0.1]
            begins += [response.t[k.onset] - t for k, t in zip(large, PUSHES, strict=True)]
            ends += [response.t[k.end] - t for k, t in zip(large, turns, strict=True)]
        rows.append([f"{noise:g}", str(len(ends)), f"{np.abs(begins).max():.3f}", f"{np.abs(ends).max():.3f}"])
    return markdown_table(
        ["noise rad/s", "pushes found of 15", "its beginning", "where the lean rate turns back"], rows
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--doc", type=Path, help="Markdown file for the tables")
    parser.add_argument("--logs", type=Path, default=SHARED / "data/delft_treadmill")
    options = parser.parse_args()
    rows = json.loads((options.logs / "author_windows.json").read_text())["windows"]
    theirs = {kph: sum(row["file"].endswith(f"_{kph}kph.log") for row in rows) for kph in LOGS}
    found = [one for kph in LOGS for one in study(options.logs, kph)]
    tables = {"per log": per_log(found, theirs), "one by one": one_by_one(found), "measures": extremes(found)}
    tables["emulated"] = emulated()
    for name, text in tables.items():
        print(f"\n{name}\n\n{text}")
    if options.doc:
        write_tables(options.doc, tables)


if __name__ == "__main__":
    main()
