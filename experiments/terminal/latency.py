"""Latency test in the terminal.

Histogram, figures and verdict, and a table of all schedulings.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from riderless.experiments.reports.text import number_text
from riderless.experiments.terminal.console import print_line, print_table, progress_screen, screen
from riderless.hil.commissioning.latency_measure import TrialMeasurement
from riderless.hil.runners.latency_certificate import LatencyResult

LATENESS_EDGES = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)  # us, of the printed histogram
LONGEST_BAR, SHORTEST_BAR = 30, 8  # characters
BESIDE_A_BAR = 12  # characters of the gap and the percentage
LABEL = 14  # characters


@contextmanager
def latency_progress() -> Iterator[Callable[[float], None]]:
    """Show a line that says how far the test is."""
    with progress_screen.status("latency: preparing") as line:
        yield lambda done: line.update(f"latency: {100 * done:3.0f} % done; Ctrl-C ends it")


def show_latency(measured: TrialMeasurement, result: LatencyResult) -> None:
    """Histogram, figures, settings, verdict."""
    sides = [("riderless", measured.ours, result.ours)]
    if measured.floor is not None and result.floor is not None:
        sides.append(("cyclictest", measured.floor, result.floor))
    screen.print(f"Lateness of the wake-ups at {result.rate:g} Hz", "", sep="\n")
    bar = max(SHORTEST_BAR, min(LONGEST_BAR, (screen.width - LABEL) // len(sides) - BESIDE_A_BAR))
    screen.print(f"{'us':>{LABEL}}" + "".join(f"   {name:<{bar + BESIDE_A_BAR - 3}}" for name, _, _ in sides).rstrip())
    for low, high in zip(LATENESS_EDGES, (*LATENESS_EDGES[1:], None), strict=True):
        label = f"{low} to {high}" if high else f"{low} or more"
        shares = [lateness.counts[low:high].sum() / max(lateness.n, 1) for _, lateness, _ in sides]
        bars = "".join(f"   {100 * s:6.2f} % {_bar(s, bar):<{bar}}" for s in shares)
        screen.print(f"{label:>{LABEL}}{bars}".rstrip())
    screen.print()
    print_table(
        "Wake-ups, ms late",
        ["", "p50", "p99", "p99.9", "latest", "missed", "of"],
        [
            [name, *(number_text(1e3 * t) for t in (w.p50, w.p99, w.p999, w.worst)), str(w.missed), str(w.n)]
            for name, _, w in sides
        ],
        "missed: later than half a period",
    )
    if result.compute_p50 is not None and result.compute_p99 is not None:
        screen.print(
            f"one tick takes {1e6 * result.compute_p50:.1f} us (p50), {1e6 * result.compute_p99:.1f} us (p99), "
            "from bytes to bytes"
        )
    for sentence in (*result.settings, result.floor_note):
        screen.print(f"- {sentence}")
    screen.print(result.sentence, style="bold")


def _bar(share: float, longest: int) -> str:
    """Draw a share as a bar; the smallest can be seen."""
    return "#" * max(1, round(longest * share)) if share > 0 else ""


def show_latency_matrix(results: list[LatencyResult]) -> None:
    """Print a table of all schedulings, as Markdown."""
    print_line(
        "| scheduling | wake-ups of | p50 us | p99 us | p99.9 us | latest us | missed | tick p50 us | tick p99 us |"
    )
    print_line("|---|---|---|---|---|---|---|---|---|")
    for r in results:
        name = f"{f'FIFO {r.fifo}' if r.fifo else 'normal'}, {'load' if r.load else 'idle'}"
        tick = " | ".join(number_text(1e6 * t, 1) if t is not None else "-" for t in (r.compute_p50, r.compute_p99))
        for who, w, cost in (("riderless", r.ours, tick), ("cyclictest", r.floor, " | ")):
            if w is not None:
                times = " | ".join(f"{1e6 * t:.1f}" for t in (w.p50, w.p99, w.p999, w.worst))
                print_line(f"| {name} | {who} | {times} | {100 * w.missed_share:.2f} % | {cost} |")
