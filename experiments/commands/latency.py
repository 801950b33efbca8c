"""`riderless latency`: does this computer wake on time?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hil.latency import LatencyResult
    from hil.latency_measure import Measured
    from hil.rig import Rig

_EDGES = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)  # us, of the printed histogram


def latency(
    rig_file: Annotated[Path | None, typer.Argument(help="Rig file (TOML); the emulated rig by default.")] = None,
    rate: Annotated[float | None, typer.Option(help="Wake-ups per second, Hz; the rig's by default.")] = None,
    duration: Annotated[float, typer.Option(help="s; the floor beside it takes as long again.")] = 20.0,
    load: Annotated[bool, typer.Option(help="Keep the other CPUs and the Python interpreter busy.")] = True,
    fifo: Annotated[int, typer.Option(help="Real-time priority 1 to 99; 0 for none.")] = 0,
    cpu: Annotated[int | None, typer.Option(help="Run on this CPU alone.")] = None,
    port: Annotated[
        list[str] | None, typer.Option(help="Serial port of the node, once per port of the rig; a virtual one if none.")
    ] = None,
    matrix: Annotated[
        bool, typer.Option("--all", help="Normal and FIFO, idle and under load in one run: print the table of the docs.")
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write JSON with all histograms to this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure how late the loop wakes, beside `cyclictest`, and say whether the rate can be run.

    Run it before a session, under the load of a session, for as long as you have patience. The drive stays
    off. A test under load is kept, and `riderless run` asks for a recent one. See docs/latency.md.
    """
    import json
    from contextlib import ExitStack
    from dataclasses import replace

    from experiments.console import emit_json, screen
    from experiments.plain import plain
    from hil.latency import keep
    from hil.latency_measure import Trial, measure
    from hil.rig import Rig
    from models import catalogue
    from models.errors import InputError

    rig = Rig.from_toml(rig_file) if rig_file else Rig(catalogue.load("Benchmark"))
    rig = rig if rate is None else replace(rig, rate=rate)
    trials = [Trial(rig.rate, duration, fifo, cpu, load)]
    if matrix:
        trials = [Trial(rig.rate, duration, f, cpu, busy) for f in (0, fifo or 80) for busy in (False, True)]
    try:
        with ExitStack() as stack:
            fds, loop = stack.enter_context(_answering(rig, port or []))
            measured = measure(trials, fds, loop, stack.enter_context(_progress()))
    except KeyboardInterrupt:
        raise InputError("the latency test was interrupted and is not kept: run it again, shorter if need be") from None
    results = [m.result() for m in measured]
    kept = [keep(result) for result in results if result.load]
    documents = [{**r.as_dict(), "passed": r.passed, **_histograms(m)} for r, m in zip(results, measured, strict=True)]
    document = {"trials": documents, "kept": str(kept[0]) if kept else None} if matrix else documents[0]
    if out is not None:
        try:
            out.write_text(json.dumps(plain(document), indent=1, allow_nan=False), encoding="utf-8")
        except OSError as error:
            raise InputError(f"the result cannot be written to {out} ({error.strerror}): name a writable file") from None
    if as_json:
        emit_json(document)
    elif matrix:
        _show_matrix(results)
    else:
        _show(measured[0], results[0])
        if not kept:
            screen.print("not kept: only a test under load vouches for a session")
    if not matrix and results[0].verdict == "not fit":
        raise typer.Exit(1)
