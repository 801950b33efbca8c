"""`riderless play`: emulated bicycle in the browser."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from riderless.experiments.commands._options import BicycleArgument, Trust, complete_controller
from riderless.experiments.commands._shared_options import AsJson, Host, Model, TcpPort
from riderless.experiments.commands._whole_numbers import MOST_SEED
from riderless.experiments.commands.warmup import compile_once
from riderless.experiments.live.access import LOOPBACK, USUAL_PORT


def play(
    bike: BicycleArgument = "Benchmark",
    controller: Annotated[
        str,
        typer.Option(autocompletion=complete_controller, help="Controller to begin with: lqr, poles, lean, lqg, off."),
    ] = "lqr",
    speed: Annotated[float, typer.Option(help="m/s, of the belt to begin with.")] = 4.6,
    model: Model = "nonlinear",
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of kicks and sensor noise.")] = 1,
    host: Host = (LOOPBACK[0]),
    port: TcpPort = USUAL_PORT,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Open no browser; print the address only.")] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the rides' logs into this folder.")] = None,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Ride an emulated bicycle in the browser, without hardware: kick it, blow at it, break it, change its controller.

    The page opens by itself. The arrows kick left and right and change the speed, A and D blow, 1 to 9 choose a
    controller, space stops and S starts again; after a fall it starts again by itself. Ctrl-C ends it.
    """
    import sys
    import tempfile

    from riderless.experiments.commands._machines import emulated_rig_of_name, make_toy, open_browser, require_playable
    from riderless.experiments.live.launch import LiveServerProcess, heed_ending
    from riderless.experiments.live.play import PlaySession
    from riderless.experiments.terminal.console import emit_json, progress_screen, screen

    rig = emulated_rig_of_name(bike, trust)
    require_playable(rig, controller, speed)
    compile_once()
    with ExitStack() as stack:
        server = stack.enter_context(LiveServerProcess(host, port))
        folder = out or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="riderless-play-")))
        progress_screen.print("starting the virtual bicycle ...")
        stopped = stack.enter_context(heed_ending())
        toy = make_toy(rig, speed, model, seed, folder)
        if as_json:
            emit_json({"address": server.address, "port": server.port, "server": server.pid})
        else:
            keys = "arrows kick and change the speed, space stops, S starts again; Ctrl-C here ends it"
            screen.print(f"the page is at {server.address}", keys, sep="\n", soft_wrap=True)
        sys.stdout.flush()  # whoever reads it from a pipe waits for the address
        if not no_browser:
            open_browser(server.address)
        PlaySession(toy, controller, server).play(stopped)
