"""`riderless live`: page of a run or recording."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from riderless.experiments.commands._options import (
    BicycleOfLogs,
    LawFilesOption,
    MappingOption,
    Preset,
    know_law,
    require_law_of,
    require_linux,
)
from riderless.experiments.commands._shared_options import AsJson, Host, TcpPort, TrustLogs
from riderless.experiments.commands._whole_numbers import MOST_PROCESS
from riderless.experiments.live.access import LOOPBACK, USUAL_PORT
from riderless.models.errors import InputError


def live(
    run: Annotated[
        Path | None,
        typer.Argument(help="Finished run, or a log of others, to look at again; without one, the run that goes on."),
    ] = None,
    other: Annotated[Path | None, typer.Argument(help="Another to lay over it in the traces.")] = None,
    mapping: MappingOption = "",
    preset: Preset = "",
    bicycle: BicycleOfLogs = "",
    trust: TrustLogs = False,
    controller: LawFilesOption = None,
    host: Host = LOOPBACK[0],
    port: TcpPort = USUAL_PORT,
    foxglove: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Serve Foxglove on this TCP port too; 0 for any that is free.")
    ] = None,
    process: Annotated[
        int | None, typer.Option(max=MOST_PROCESS, hidden=True, help="Number of the process whose runs to show.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a run on a page in the browser: state, limits, traces, eigenvalues, events, and a STOP in reach.

    It looks at the `run` or `campaign` that goes on in another terminal, and at the next one when that has ended. The
    page is never the only stop: opening or closing it changes nothing at the machine. A finished run, and a log of
    others as `riderless analyze` reads it, plays at 0.1 to 10 times its speed. Ctrl-C ends it.
    """
    from riderless.experiments.live.beside import LiveTeller
    from riderless.experiments.live.foxglove.launch import foxglove_beside
    from riderless.experiments.live.hello import law_wanted
    from riderless.experiments.live.launch import LiveServerProcess, heed_ending
    from riderless.experiments.live.replay.player import Player
    from riderless.experiments.recordings.read import refuse_unused
    from riderless.experiments.recordings.runs import run_of
    from riderless.experiments.terminal.console import emit_json, screen
    from riderless.hil.live.layout import find_shared_areas

    how = {"mapping": mapping, "preset": preset, "bicycle": bicycle, "trust": trust}
    if run is None and any(how.values()):
        refuse_unused(0, **how)
    if run is None:
        require_linux("the page of a run that goes on", "name a finished run, or use `riderless play`")
    if run is None and process is None and next(find_shared_areas(), None) is None:
        raise InputError(
            "no run goes on on this computer: start `riderless run` in another terminal, or name a finished run"
        )
    for law in controller or ():
        know_law(law)
        if run is not None:
            require_law_of(law, [run, *([other] if other else [])])
    player = Player(run, other, **how) if run is not None else None
    if controller and run is not None and (wanted := law_wanted(run_of(run).header)):
        raise InputError(wanted)
    with ExitStack() as stack:
        server = stack.enter_context(LiveServerProcess(host, port))
        beside = stack.enter_context(foxglove_beside(server, foxglove)) if foxglove is not None else ""
        stopped = stack.enter_context(heed_ending())
        if as_json:
            also = {"foxglove": beside} if beside else {}
            emit_json({"address": server.address, "port": server.port, "server": server.pid, **also})
        else:
            screen.print(f"the page is at {server.address}", soft_wrap=True)
            if beside:
                screen.print(f"Foxglove opens {beside}", soft_wrap=True)
        sys.stdout.flush()
        if player:
            player.serve(server, stopped)
        else:
            LiveTeller(server, process).serve(stopped)
