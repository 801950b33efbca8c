"""Summary table of a fault campaign.

One row for each fault, in simulated or real time.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from riderless.experiments.fault_injection.cases import CaseOptions
from riderless.experiments.fault_injection.judge import CaseResult
from riderless.experiments.fault_injection.promises import RODE_THROUGH
from riderless.experiments.fault_injection.threats.fault_list import ThreatPool, threats_of

# Tables in Markdown.


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


SUMMARY_COLUMNS = ("fault", "cases", "worst to zero torque", "promised", "log intact", "outcomes")
DANGER_COLUMNS = (  # of long rides and of sets
    *SUMMARY_COLUMNS[:3],
    "lean under torque",
    "torque beyond 30 deg",
    "torque by old commands",
    "excepted",
    *SUMMARY_COLUMNS[3:],
)
SET_PROMISE = "whatever the faults"  # what holds of every case


@dataclass(frozen=True)
class FaultRow:
    """Findings of a campaign about one fault."""

    fault: str
    cases: int
    outcomes: tuple[tuple[str, int], ...]  # cause kept or another end, and how often, the most frequent first
    worst: float  # s until the torque was gone; NaN if it never had to go
    promise: str
    log_intact: bool
    violations: tuple[str, ...] = ()  # each with the command that plays it again
    danger: tuple[float, float, float] | None = None  # rad, s, s: the greatest of each part of `danger.Danger`
    excepted: int = 0  # cases whose torque is beyond any program

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the cells."""
        return SUMMARY_COLUMNS if self.danger is None else DANGER_COLUMNS

    def cells(self) -> list[str]:
        """Format the row for print, in the order of its `columns`."""
        outcomes = ", ".join(f"{name} {n}" for name, n in self.outcomes)
        worst = f"{1e3 * self.worst:.0f} ms" if math.isfinite(self.worst) else "-"
        danger: list[str] = []
        if self.danger is not None:
            lean, leaning, old = self.danger
            danger = [
                f"{math.degrees(lean):.1f} deg",
                f"{1e3 * leaning:.0f} ms",
                f"{1e3 * old:.0f} ms",
                str(self.excepted),
            ]
        intact = "yes" if self.log_intact else "NO"
        return [self.fault, str(self.cases), worst, *danger, self.promise, intact, outcomes]


def tally(verdicts: Iterable[CaseResult], seed: int, options: CaseOptions = CaseOptions()) -> list[FaultRow]:
    """Sum up the verdicts in one row for each threat that was met, in the order of the threats.

    Sets have a row for each set of families: a row for each set of threats would fill a book.
    """
    of_one = options.together == 1
    by_name: dict[str, list[CaseResult]] = {}
    for verdict in sorted(verdicts, key=lambda v: v.index):
        by_name.setdefault(verdict.threat if of_one else verdict.families, []).append(verdict)
    promises = {threat.name: threat.promise for threat in threats_of(options.pool, options.drive)}
    names = [name for name in promises if name in by_name] if of_one else sorted(by_name)
    return [_row(name, promises.get(name, SET_PROMISE), by_name[name], seed, options) for name in names]


def _row(name: str, promise: str, verdicts: Sequence[CaseResult], seed: int, options: CaseOptions) -> FaultRow:
    outcomes = Counter(v.outcome for v in verdicts)
    ordered = sorted(outcomes.items(), key=lambda item: (item[0] != RODE_THROUGH, -item[1], item[0]))
    times = [v.to_zero for v in verdicts if math.isfinite(v.to_zero)]
    violations = tuple(
        f"{v.threat}: {'; '.join(v.complaints)}: riderless faults{options.flags} --seed {seed} --case {v.index}"
        for v in verdicts
        if v.complaints
    )
    intact = all(v.log_intact for v in verdicts)
    return FaultRow(
        fault=name,
        cases=len(verdicts),
        outcomes=tuple(ordered),
        worst=max(times, default=math.nan),
        promise=promise,
        log_intact=intact,
        violations=violations,
        danger=None if options == CaseOptions() else _greatest(verdicts),
        excepted=sum(bool(v.declared) for v in verdicts),
    )


def _greatest(verdicts: Sequence[CaseResult]) -> tuple[float, float, float]:
    """Find the greatest of each danger among the cases."""
    dangers = [v.danger for v in verdicts]
    return max(d.lean for d in dangers), max(d.leaning for d in dangers), max(d.old for d in dangers)


def summary_text(rows: Sequence[FaultRow]) -> str:
    """Format the table for a terminal; the outcomes stand last, where they may be long."""
    cells = [list(rows[0].columns), *(row.cells() for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]) - 1)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]) for line in cells
    )


def promises_markdown(pool: ThreatPool = ThreatPool.SUDDEN) -> str:
    """Format the promise for each threat of a pool, and its reason, for a document."""
    rows = []
    for threat in threats_of(pool):
        causes = ", ".join(sorted(cause.name for cause in threat.causes)) or "-"
        rows.append([threat.name, threat.promise, causes, threat.why])
    return markdown_table(["fault", "promised", "causes that name it", "why"], rows)


def summary_markdown(rows: Sequence[FaultRow]) -> str:
    """Format the table for a document."""
    return markdown_table(rows[0].columns, [row.cells() for row in rows])


def campaign_markdown(
    rows: Sequence[FaultRow], seed: int, real_time: bool = False, options: CaseOptions = CaseOptions()
) -> str:
    """Format the page of a campaign: its command, its table, and the reasons of its promises.

    Parameters
    ----------
    rows : sequence of FaultRow
    seed : int
        Of the campaign.
    real_time : bool
        It was played in real time, without reasons.
    options : CaseOptions
        Of the campaign; sets of faults and rides without one have no reasons.
    """
    flags = " --real-time" if real_time else options.flags
    cases = sum(row.cases for row in rows)
    broken = sum(len(row.violations) for row in rows)
    parts = [
        f"# Faults: `riderless faults{flags} --seed {seed}`",
        f"{cases} cases, {broken} broken promises.",
        summary_markdown(rows),
    ]
    if not real_time and options.together == 1 and not options.pool.healthy:
        parts += ["## Promises and reasons", promises_markdown(options.pool)]
    return "\n\n".join(parts) + "\n"
