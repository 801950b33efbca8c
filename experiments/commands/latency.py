"""`riderless latency`: does this computer wake on time?"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from hil.commissioning.latency_measure import Measured
    from hil.loop.tick import LoopState
    from hil.rig.rig import Rig
    from hil.runners.latency_certificate import LatencyResult

_EDGES = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)  # us, of the printed histogram
_BAR = 30  # characters of the longest bar


def latency(
    rig_file: Annotated[Path | None, typer.Argument(help="Rig file (TOML); the emulated rig by default.")] = None,
    rate: Annotated[float | None, typer.Option(help="Wake-ups per second, Hz; the rig's by default.")] = None,
    duration: Annotated[float, typer.Option(help="s; the floor beside it takes as long again.")] = 20.0,
    load: Annotated[bool, typer.Option(help="Keep the other CPUs and the Python interpreter busy.")] = True,
    fifo: Annotated[int, typer.Option(help="Real-time priority 1 to 99; 0 for none.")] = 0,
    cpu: Annotated[int | None, typer.Option(help="Run on this CPU alone.")] = None,
    port: Annotated[
        list[str] | None, typer.Option(help="Serial port, once for each port of the rig; a virtual node if none.")
    ] = None,
    matrix: Annotated[
        bool,
        typer.Option("--all", help="Normal and FIFO, idle and under load in one run: print the table of the docs."),
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write JSON with all histograms to this file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure how late the loop wakes, beside `cyclictest`, and say whether the rate can be run.

    Run it before a session, under the load of a session, for as long as you have patience. The drive stays
    off. A test under load is kept, and `riderless run` asks for a recent one. See docs/latency.md.
    """
    import json

    from experiments.terminal.console import emit_json, screen
    from hil.commissioning.latency_measure import Trial, measure
    from hil.logs.json_values import plain
    from hil.rig.rig import Rig
    from hil.runners.latency_certificate import UNFIT, keep
    from models import catalogue
    from models.errors import InputError

    rig = Rig.from_toml(rig_file) if rig_file else Rig(catalogue.load_bicycle("Benchmark"))
    rig = rig if rate is None else replace(rig, rate=rate)
    trials = [Trial(rig.rate, duration, fifo, cpu, load)]
    if matrix:
        trials = [Trial(rig.rate, duration, f, cpu, busy) for f in (0, fifo or 80) for busy in (False, True)]
    if out is not None:
        try:
            out.touch()  # found out before the test, not after it
        except OSError as error:
            raise InputError(
                f"the result cannot be written to {out} ({error.strerror}): name a writable file"
            ) from None
    try:
        with ExitStack() as stack:
            fds, loop = stack.enter_context(_answering(rig, port or []))
            measured = measure(trials, fds, loop, stack.enter_context(_progress()))
    except KeyboardInterrupt:
        raise InputError("the latency test was interrupted and is not kept: run it again, shorter if need be") from None
    results = [m.result() for m in measured]
    documents = [{**r.as_dict(), "passed": r.passed, **_histograms(m)} for r, m in zip(results, measured, strict=True)]
    document = {"trials": documents} if matrix else documents[0]
    if out is not None:
        out.write_text(json.dumps(plain(document), indent=1, allow_nan=False), encoding="utf-8")
    if as_json:
        emit_json(document)
    elif matrix:
        _show_matrix(results)
    else:
        _show(measured[0], results[0])
        if not load:
            screen.print("not kept: only a test under load vouches for a session")
    for result in results:
        if result.load:
            keep(result)
    if not matrix and results[0].verdict == UNFIT:
        raise typer.Exit(1)


@contextmanager
def _answering(rig: "Rig", paths: list[str]) -> Iterator["tuple[list[int], LoopState]"]:
    """Open ports with their devices set up, and a loop for them that will never be armed."""
    from experiments.emulation.spawn import start_twin
    from hil.design.methods import design
    from hil.loop.tick import new_loop
    from hil.rig.rig import RigPort
    from hil.runners.session import introduced
    from models.errors import InputError
    from models.plant.plant import Scenario

    with ExitStack() as stack:
        if not paths:
            # a line faster than any rate needs, and a watchdog that fits the rate
            rig = replace(rig, ports=(RigPort(baud=4_000_000),), watchdog=5 / rig.rate)
            paths = [stack.enter_context(start_twin(rig, Scenario(speed=((0.0, 5.0),)))).path]
        if len(paths) != len(rig.ports):
            raise InputError(f"the rig has {len(rig.ports)} ports, found {len(paths)}: give --port once for each")
        schedule = design(rig.bicycle, "off", [4.0, 5.0, 6.0], rig.timing)
        fds, devices, rig, calibration = stack.enter_context(introduced(rig, paths))
        yield fds, new_loop(rig, schedule, calibration.as_record(), devices)


@contextmanager
def _progress() -> Iterator[Callable[[float], None]]:
    """Show a line that says how far the test is."""
    from experiments.terminal.console import progress_screen

    with progress_screen.status("latency: preparing") as line:
        yield lambda done: line.update(f"latency: {100 * done:3.0f} % done; Ctrl-C ends it")


def _histograms(measured: "Measured") -> dict[str, Any]:
    """Counts by whole us of lateness."""
    floor = measured.floor.sparse() if measured.floor is not None else None
    return {"histogram_us": {"ours": measured.ours.sparse(), "floor": floor}}


def _show(measured: "Measured", result: "LatencyResult") -> None:
    """Histogram, figures, settings, verdict."""
    from experiments.reports.text import number_text
    from experiments.terminal.console import print_table, screen

    sides = [("riderless", measured.ours, result.ours)]
    if measured.floor is not None and result.floor is not None:
        sides.append(("cyclictest", measured.floor, result.floor))
    screen.print(f"Lateness of the wake-ups at {result.rate:g} Hz\n")
    screen.print(f"{'us':>14}" + "".join(f"   {name:<{_BAR + 9}}" for name, _, _ in sides))
    for low, high in zip(_EDGES, (*_EDGES[1:], None), strict=True):
        label = f"{low} to {high}" if high else f"{low} or more"
        shares = [lateness.counts[low:high].sum() / max(lateness.n, 1) for _, lateness, _ in sides]
        screen.print(f"{label:>14}" + "".join(f"   {100 * s:6.2f} % {_bar(s):<{_BAR}}" for s in shares).rstrip())
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
    screen.print(f"[bold]{result.sentence}[/bold]")


def _bar(share: float) -> str:
    """Draw a share as a bar; the smallest can be seen."""
    return "#" * max(1, round(_BAR * share)) if share > 0 else ""


def _show_matrix(results: "list[LatencyResult]") -> None:
    """Print the table of docs/latency.md, as Markdown."""
    from experiments.reports.text import number_text

    print("| scheduling | wake-ups of | p50 us | p99 us | p99.9 us | latest us | missed | tick p50 us | tick p99 us |")
    print("|---|---|---|---|---|---|---|---|---|")
    for r in results:
        name = f"{f'FIFO {r.fifo}' if r.fifo else 'normal'}, {'load' if r.load else 'idle'}"
        tick = " | ".join(number_text(1e6 * t, 1) if t is not None else "-" for t in (r.compute_p50, r.compute_p99))
        for who, w, cost in (("riderless", r.ours, tick), ("cyclictest", r.floor, " | ")):
            if w is not None:
                times = " | ".join(f"{1e6 * t:.1f}" for t in (w.p50, w.p99, w.p999, w.worst))
                print(f"| {name} | {who} | {times} | {100 * w.missed_share:.2f} % | {cost} |")
