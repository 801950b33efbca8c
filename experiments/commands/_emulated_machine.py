"""Emulated machine for `riderless emulate`: in this process, or beside a page in one of its own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from riderless.hil.rig.rig import Rig
    from riderless.models.array_types import Array


class HeldMachine(NamedTuple):
    """Machine that somebody holds until a program arms it.

    Parameters
    ----------
    path : str
        Pseudo-terminal.
    address : str
        Of the page; empty without one.
    serve : callable
        Serves until what it is given says true.
    """

    path: str
    address: str
    serve: Callable[[Callable[[], bool]], None]


@contextmanager
def held_machine(
    rig: "Rig", model: str, speed: float, times: "Array", seed: int, connect: Callable[[str], str] | None
) -> Iterator[HeldMachine]:
    """Make the machine; it ends with the context.

    Parameters
    ----------
    rig : Rig
    model : str
        Equations of motion.
    speed : float
        Of the belt [m/s].
    times : (n,) array
        Kicks, after the release [s].
    seed : int
        Of kicks and noise.
    connect : callable or None
        Gives the command that connects a program to a path; None without a page.

    Raises
    ------
    InputError, DeviceError
    """
    import numpy as np

    from riderless.experiments.emulation.hand_kicks import hand_kick, kicks_in_turn
    from riderless.firmware_interface.twins.virtual_node import VirtualNode
    from riderless.hil.runners.emulation import Emulation, emulated_node, emulated_plant
    from riderless.models.plant.scenario import Scenario

    emulation, rng = Emulation(model), np.random.default_rng(seed)  # first, for it knows the models that there are
    kicks = kicks_in_turn(rig.bicycle, times, rng, model)
    scenario = Scenario(speed=((0.0, speed),), kicks=kicks, seed=int(rng.integers(2**31)))
    with ExitStack() as stack:
        if connect is None:
            node = VirtualNode(emulated_plant(rig, scenario, emulation), emulated_node(rig))
            stack.callback(node.close)
            node.warm_up()
            yield HeldMachine(node.path, "", node.serve)
            return
        from riderless.experiments.emulation.plaything import Playmate, start_plaything
        from riderless.experiments.live.emulated import EmulatedPage
        from riderless.experiments.live.launch import LiveServerProcess
        from riderless.experiments.live.open_page import free_port

        playmate = Playmate(lambda side: hand_kick(rig.bicycle, 0.0, side, rng, model), speed)
        server = stack.enter_context(LiveServerProcess(port=free_port()))
        twin = stack.enter_context(start_plaything(rig, scenario, emulation, playmate))
        speeds = (min(speed, rig.limits.speed_min.value), max(speed, rig.limits.speed_max.value))
        page = EmulatedPage(server, rig, twin.path, playmate, speeds, connect(twin.path))
        yield HeldMachine(twin.path, server.address, page.serve)
