"""Table of a fault campaign: one row for each fault, in simulated or real time."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from experiments.studies.fault_injection.judge import CaseResult
from experiments.studies.fault_injection.promises import RODE_THROUGH
from experiments.studies.fault_injection.threats.fault_list import THREATS
from experiments.studies.markdown_tables import markdown_table

SUMMARY_COLUMNS = ("fault", "cases", "worst to zero torque", "promised", "log intact", "outcomes")


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

    def cells(self) -> list[str]:
        """Format the row for print, in the order of `SUMMARY_COLUMNS`."""
        outcomes = ", ".join(f"{name} {n}" for name, n in self.outcomes)
        worst = f"{1e3 * self.worst:.0f} ms" if math.isfinite(self.worst) else "-"
        return [self.fault, str(self.cases), worst, self.promise, "yes" if self.log_intact else "NO", outcomes]


def tally(verdicts: Iterable[CaseResult], seed: int) -> list[FaultRow]:
    """Sum up the verdicts in one row for each threat that was met, in the order of the threats."""
    by_threat: dict[str, list[CaseResult]] = {}
    for verdict in sorted(verdicts, key=lambda v: v.index):
        by_threat.setdefault(verdict.threat, []).append(verdict)
    return [
        _row(threat.name, threat.promise, by_threat[threat.name], seed)
        for threat in THREATS
        if threat.name in by_threat
    ]


def _row(name: str, promise: str, verdicts: Sequence[CaseResult], seed: int) -> FaultRow:
    outcomes = Counter(v.outcome for v in verdicts)
    ordered = sorted(outcomes.items(), key=lambda item: (item[0] != RODE_THROUGH, -item[1], item[0]))
    times = [v.to_zero for v in verdicts if math.isfinite(v.to_zero)]
    violations = tuple(
        f"{name}: {'; '.join(v.complaints)}: riderless faults --seed {seed} --case {v.index}"
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
    )


def summary_text(rows: Sequence[FaultRow]) -> str:
    """Format the table for a terminal; the outcomes stand last, where they may be long."""
    cells = [list(SUMMARY_COLUMNS), *(row.cells() for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(SUMMARY_COLUMNS) - 1)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]) for line in cells
    )


def promises_markdown() -> str:
    """Format the promise for each threat, and its reason, for a document."""
    rows = []
    for threat in THREATS:
        causes = ", ".join(sorted(cause.name for cause in threat.causes)) or "-"
        rows.append([threat.name, threat.promise, causes, threat.why])
    return markdown_table(["fault", "promised", "causes that name it", "why"], rows)


def summary_markdown(rows: Sequence[FaultRow]) -> str:
    """Format the table for a document."""
    return markdown_table(SUMMARY_COLUMNS, [row.cells() for row in rows])
