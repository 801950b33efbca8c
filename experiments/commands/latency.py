"""`riderless latency`: latency test of this computer."""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riderless.experiments.commands._options import Force, refuse_ignored, require_linux
from riderless.experiments.commands._shared_options import AsJson, Processor, RigFile
from riderless.hil.output_file import OutputFile, files_read
from riderless.models.errors import InputError

if TYPE_CHECKING:
    from riderless.hil.commissioning.latency_measure import TrialMeasurement


def latency(
    context: typer.Context,
    rig_file: RigFile = None,
    rate: Annotated[float | None, typer.Option(help="Rate of the loop, Hz; the rig's by default.")] = None,
    duration: Annotated[float, typer.Option(help="s; the floor beside it takes as long again.")] = 20.0,
    load: Annotated[bool, typer.Option(help="Keep the other CPUs and the Python interpreter busy.")] = True,
    fifo: Annotated[int, typer.Option(min=0, max=99, help="Real-time priority 1 to 99; 0 for none.")] = 0,
    cpu: Processor = None,
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
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Measure how late the loop wakes, beside `cyclictest`, and say whether the rate can be run.

    Run it before a session, under the load of a session, for as long as you have patience. The drive stays
    off. A test under load is kept, and `riderless run` asks for a recent one. See docs/latency.md.
    """
    require_linux("riderless latency")
    import json

    from riderless.experiments.commands._machines import rig_of
    from riderless.experiments.emulation.plaything import answering_devices
    from riderless.experiments.terminal.console import emit_json, screen
    from riderless.experiments.terminal.latency import latency_progress, show_latency, show_latency_matrix
    from riderless.hil.commissioning.latency_measure import LatencyTrial, measure_latency
    from riderless.hil.logs.json_values import plain
    from riderless.hil.runners.latency_certificate import UNFIT, keep_latency_result

    rig = rig_of(rig_file)
    rig = rig if rate is None else replace(rig, rate=rate)
    trials = [LatencyTrial(rate=rig.rate, duration=duration, fifo=fifo, cpu=cpu, load=load)]
    if matrix:
        refuse_ignored(context, "load", because="--all measures both with load and without; leave one of them out")
        trials = [replace(trials[0], fifo=f, load=busy) for f in (0, fifo or 80) for busy in (False, True)]
    result_file = OutputFile(out, "the result", force, files_read(rig_file)) if out is not None else None
    if result_file is not None:
        result_file.require_free()  # found out before the test, not after it
    try:
        with ExitStack() as stack:
            fds, loop = stack.enter_context(answering_devices(rig, port or []))
            measured = measure_latency(trials, fds, loop, stack.enter_context(latency_progress()))
    except KeyboardInterrupt:
        raise InputError("the latency test was interrupted and is not kept: run it again, shorter if need be") from None
    results = [m.result() for m in measured]
    documents = [{**r.as_dict(), "passed": r.passed, **_histograms(m)} for r, m in zip(results, measured, strict=True)]
    document = {"trials": documents} if matrix else documents[0]
    if result_file is not None:
        result_file.write(json.dumps(plain(document), indent=1, allow_nan=False))
    if as_json:
        emit_json(document)
    elif matrix:
        show_latency_matrix(results)
    else:
        show_latency(measured[0], results[0])
        if not load:
            screen.print("not kept: only a test under load vouches for a session")
    for result in results:
        if result.load:
            keep_latency_result(result)
    if not matrix and results[0].verdict == UNFIT:
        raise typer.Exit(1)


def _histograms(measured: "TrialMeasurement") -> dict[str, Any]:
    """Counts by whole us of lateness."""
    floor = measured.floor.sparse() if measured.floor is not None else None
    return {"histogram_us": {"ours": measured.ours.sparse(), "floor": floor}}
