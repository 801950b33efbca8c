"""`riderless emulate`: virtual bicycle as serial device."""

from pathlib import Path
from typing import Annotated

import typer

from riderless.experiments.commands._options import BicycleArgument, Trust, require_linux
from riderless.experiments.commands._shared_options import AsJson, Model
from riderless.experiments.commands._whole_numbers import MOST_SEED
from riderless.models.errors import InputError

SHORTEST_SPACING = 0.2  # s
KICKED_FOR = 4 * 3600.0  # s, where no end is given


def emulate(
    bike: BicycleArgument = "Benchmark",
    model: Model = "linear",
    speed: Annotated[float, typer.Option(help="m/s, of the treadmill.")] = 5.0,
    kick_every: Annotated[float, typer.Option(help="s between pushes; 0 for none.")] = 4.0,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of kicks and sensor noise.")] = 1,
    duration: Annotated[float, typer.Option(help="s until it ends; 0 for until Ctrl-C.")] = 0.0,
    live: Annotated[
        bool, typer.Option("--live", help="Serve a page: the machine itself, to kick and to break, and who runs it.")
    ] = False,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Emulate a bicycle on a treadmill behind a pseudo-terminal; print its path and serve until Ctrl-C.

    Connect with the `riderless run` that it prints, which names the same bicycle. A person holds it until the
    drive has been on for half a second, and catches it when the drive goes off.
    """
    require_linux("riderless emulate")
    import shlex
    import sys
    import time

    import numpy as np

    from riderless.experiments.commands._machines import held_machine, require_duration
    from riderless.experiments.live.launch import heed_ending
    from riderless.experiments.terminal.console import emit_json, progress_screen
    from riderless.hil.rig.rig import Rig
    from riderless.models import catalogue

    for name, value in {"speed": speed, "kick-every": kick_every, "duration": duration}.items():
        if not value >= 0.0 or (name == "kick-every" and value == np.inf):
            raise InputError(f"--{name} must be zero or more, found {value:g}: give a positive number")
    if 0.0 < kick_every < SHORTEST_SPACING:
        raise InputError(
            f"--kick-every must be 0 or at least {SHORTEST_SPACING:g} s, found {kick_every:g} s: a kick by hand lasts "
            "half of that"
        )
    if duration:
        require_duration(duration)
    rig = Rig(catalogue.load_bicycle(bike, trust))
    times = np.arange(1.0, duration or KICKED_FOR, kick_every) if kick_every else np.zeros(0)

    def connect(path: str) -> str:
        return shlex.join(["riderless", "run", "--bicycle", _from_anywhere(bike), "--port", path])

    with held_machine(rig, model, speed, times, seed, connect if live else None) as machine, heed_ending() as stopped:
        end = time.monotonic() + duration if duration else np.inf
        about = {"path": machine.path, "bike": rig.bicycle.name, "speed": speed, "connect": connect(machine.path)}
        if as_json:
            emit_json({**about, **({"address": machine.address} if live else {})})
        else:
            print(machine.path)
        sys.stdout.flush()
        if not rig.limits.speed_min.value <= speed <= rig.limits.speed_max.value:
            progress_screen.print(
                f"to arm at {speed:g} m/s `riderless run` wants a rig file whose speed_min and speed_max allow it: "
                f"without one it arms from {rig.limits.speed_min.value:g} to {rig.limits.speed_max.value:g} m/s",
                soft_wrap=True,
            )
        told_how = f"{rig.bicycle.name} at {speed:g} m/s; connect with: {connect(machine.path)}"
        progress_screen.print(told_how, soft_wrap=True)
        if live:
            progress_screen.print(f"the page is at {machine.address}", soft_wrap=True)
        machine.serve(lambda: stopped() or time.monotonic() >= end)


def _from_anywhere(bike: str) -> str:
    """Name a bicycle so that a terminal in another folder finds it: its name in the catalogue, or the whole path."""
    from riderless.models.catalogue import BICYCLE_SUFFIX

    return str(Path(bike).resolve()) if bike.endswith(BICYCLE_SUFFIX) else bike
