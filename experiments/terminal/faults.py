"""Fault campaigns in the terminal.

A live line, and the results.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from riderless.experiments.fault_injection.judge import CaseResult
from riderless.experiments.fault_injection.search.evolution import SearchReport
from riderless.experiments.fault_injection.summary_table import FaultRow, summary_text
from riderless.experiments.terminal.console import progress_screen, screen


@contextmanager
def counting_cases(count: int) -> Iterator[Callable[[list[CaseResult]], None]]:
    """Show a live line: cases played, promises broken."""
    played = broken = 0
    with progress_screen.status(f"fault campaign: 0 of {count} cases") as line:

        def tell(verdicts: list[CaseResult]) -> None:
            nonlocal played, broken
            played += len(verdicts)
            broken += sum(bool(verdict.complaints) for verdict in verdicts)
            bar = ("━" * (24 * played // count)).ljust(24, "─")
            line.update(f"fault campaign {bar} {played} of {count} cases, {broken} broken promises")

        yield tell


@contextmanager
def following_search(count: int) -> Iterator[Callable[[SearchReport], None]]:
    """Show a live line: cases played by a search, and the danger of the worst."""
    with progress_screen.status(f"search: 0 of {count} cases") as line:

        def tell(report: SearchReport) -> None:
            worst = f"{report.level:.2f} by {report.worst[0].threats}" if report.worst else "none"
            line.update(f"search: {report.played} of {count} cases, {report.unsafe} unsafe, danger {worst}")

        yield tell


def show_search(report: SearchReport, seed: int) -> None:
    """Print the worst cases that a search found, each with the command that plays it again."""
    screen.print(f"{report.played} cases searched with seed {seed}", style="bold")
    screen.print("danger: 1 and more is unsafe; 0.5 is a true lean at its limit under torque", soft_wrap=True)
    for case in report.worst:
        screen.print(f"{case.level:5.2f}  {case.threats}: {case.danger}", soft_wrap=True)
        for complaint in case.complaints:
            screen.print(f"       VIOLATION {complaint}", soft_wrap=True)
        screen.print(f"       {case.replay}", soft_wrap=True)
    if report.unsafe:
        screen.print(f"{report.unsafe} unsafe cases, the first after {report.first_unsafe}")
    else:
        screen.print("nothing unsafe was found")


def show_faults(rows: list[FaultRow], count: int, seed: int, violations: list[str]) -> None:
    """Print the table of all faults, and the promises that were broken.

    Parameters
    ----------
    rows : list of FaultRow
        One for each fault.
    count : int
        Cases played.
    seed : int
        Of all cases.
    violations : list of str
        One sentence for each broken promise.
    """
    screen.print(f"{count} cases of seed {seed}", style="bold")
    screen.print(*summary_text(rows).splitlines(), sep="\n", soft_wrap=True)
    for violation in violations:
        screen.print(f"VIOLATION {violation}", soft_wrap=True)
    screen.print(f"{len(violations)} broken promises" if violations else "every promise was kept")
