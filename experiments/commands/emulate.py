"""`riderless emulate`: a virtual bicycle as a serial device."""

from typing import Annotated

import typer

from experiments.commands._trust import Trust

SHORTEST_SPACING = 0.2  # s
KICKED_FOR = 4 * 3600.0  # s, where no end is given


def emulate(
    bike: Annotated[str, typer.Argument(help="Name in the catalogue, or a TOML file.")] = "Benchmark",
    model: Annotated[str, typer.Option(help="Equations of motion: linear or nonlinear.")] = "linear",
    speed: Annotated[float, typer.Option(help="Of the treadmill, m/s.")] = 5.0,
    kick_every: Annotated[float, typer.Option(help="s between pushes; 0 for none.")] = 4.0,
    seed: Annotated[int, typer.Option(min=0, help="Fixes kicks and sensor noise.")] = 1,
    duration: Annotated[float, typer.Option(help="s until it ends; 0 for until Ctrl-C.")] = 0.0,
    trust: Trust = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the path as JSON.")] = False,
) -> None:
    """Be a bicycle on a treadmill behind a pseudo-terminal; print its path and serve until Ctrl-C.

    Connect with the `riderless run` that it prints, which names the same bicycle. A person holds it until the
    drive has been on for half a second, and catches it when the drive goes off.
    """
    import shlex
    import signal
    import sys
    import time

    import numpy as np

    from experiments.campaigns.protocols.condition import hand_kick
    from experiments.terminal.console import emit_json, progress_screen
    from firmware_interface.twins.virtual_node import VirtualNode
    from hil.rig.rig import Rig
    from hil.runners.emulation import Emulation, emulated_node, emulated_plant
    from models import catalogue
    from models.errors import InputError
    from models.plant.scenario import Scenario

    for name, value in {"speed": speed, "kick-every": kick_every, "duration": duration}.items():
        if not value >= 0.0 or (name == "kick-every" and value == np.inf):
            raise InputError(f"--{name} must be zero or more, found {value:g}: give a positive number")
    if 0.0 < kick_every < SHORTEST_SPACING:
        raise InputError(
            f"--kick-every must be 0 or at least {SHORTEST_SPACING:g} s, found {kick_every:g} s: a kick by hand lasts "
            "half of that"
        )
    rig, rng = Rig(catalogue.load_bicycle(bike, trust)), np.random.default_rng(seed)
    times = np.arange(1.0, duration or KICKED_FOR, kick_every) if kick_every else ()
    kicks = tuple(hand_kick(rig.bicycle, float(t), (-1) ** i, rng) for i, t in enumerate(times))
    scenario = Scenario(speed=((0.0, speed),), kicks=kicks, seed=int(rng.integers(2**31)))
    node = VirtualNode(emulated_plant(rig, scenario, Emulation(model)), emulated_node(rig))
    node.warm_up()
    end = time.monotonic() + duration if duration else np.inf
    stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    connect = shlex.join(["riderless", "run", "--bike", _from_anywhere(bike), "--port", node.path])
    if as_json:
        emit_json({"path": node.path, "bike": rig.bicycle.name, "speed": speed, "connect": connect})
    else:
        print(node.path)
    sys.stdout.flush()
    if not rig.limits.speed_min.value <= speed <= rig.limits.speed_max.value:
        progress_screen.print(
            f"to arm at {speed:g} m/s `riderless run` wants a rig file whose speed_min and speed_max allow it: without "
            f"one it arms from {rig.limits.speed_min.value:g} to {rig.limits.speed_max.value:g} m/s",
            soft_wrap=True,
        )
    progress_screen.print(f"{rig.bicycle.name} at {speed:g} m/s; connect with: {connect}", soft_wrap=True)
    try:
        node.serve(lambda: stopped or time.monotonic() >= end)
    finally:
        node.close()


def _from_anywhere(bike: str) -> str:
    """Name a bicycle so that a terminal in another folder finds it: its name in the catalogue, or the whole path."""
    from pathlib import Path

    from models.catalogue import BICYCLE_SUFFIX

    return str(Path(bike).resolve()) if bike.endswith(BICYCLE_SUFFIX) else bike
