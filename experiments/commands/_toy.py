"""Emulated machine for `riderless play`: refused where it would be a wired one, and made."""

import os
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from riderless.models.errors import InputError

if TYPE_CHECKING:
    from riderless.experiments.live.play import Toy
    from riderless.hil.rig.rig import Rig

CONTROLLERS = ("lqr", "poles", "lean", "lqg", "off")
_SPEEDS = (2.0, 8.0)  # m/s, for which a method's gains are designed


def emulated_rig_of_name(name: str, trust: bool) -> "Rig":
    """Rig of a bicycle or of a rig file; raises InputError where a wired bicycle is named."""
    from riderless.experiments.commands._machines import rig_for_plan
    from riderless.hil.runners.emulation import rig_in_simulated_time
    from riderless.hil.runners.paced.run import require_unwired

    if name.startswith("/dev/"):
        raise InputError(
            f"play is for an emulated bicycle, found the port {name}: a wired one wants `riderless run --port {name}`"
        )
    rig = rig_for_plan(name, trust)
    require_unwired(rig)
    return rig_in_simulated_time(rig)


def require_playable(rig: "Rig", controller: str, speed: float) -> None:
    """Refuse a controller or a speed [m/s] that cannot be played with; raises InputError."""
    if controller not in CONTROLLERS:
        raise InputError(f"--controller must be one of {', '.join(CONTROLLERS)}, found {controller!r}")
    slowest, fastest = play_speeds(rig)
    if not slowest <= speed <= fastest:
        raise InputError(f"--speed must be {slowest:g} to {fastest:g} m/s for this rig, found {speed:g} m/s")


def play_speeds(rig: "Rig") -> tuple[float, float]:
    """Slowest and fastest speed of the belt [m/s] that rig and gains allow."""
    return max(rig.limits.speed_min.value, _SPEEDS[0]), min(rig.limits.speed_max.value, _SPEEDS[1])


def make_toy(rig: "Rig", speed: float, model: str, seed: int, out: Path) -> "Toy":
    """Make an emulated bicycle to play with.

    Parameters
    ----------
    rig : Rig
    speed : float
        Of the belt at first [m/s].
    model : str
        Equations of motion.
    seed : int
        Of kicks and noise.
    out : Path
        Folder for the logs.

    Raises
    ------
    InputError
        No model of that name.
    """
    import numpy as np

    from riderless.experiments.commands._machines import gains_of
    from riderless.experiments.emulation.hand_kicks import hand_kick
    from riderless.experiments.emulation.plaything import Playmate
    from riderless.experiments.live.play import Toy
    from riderless.hil.runners.emulation import Emulation
    from riderless.models.plant.scenario import Scenario

    rng, speeds = np.random.default_rng(seed), play_speeds(rig)
    playmate = Playmate(lambda side: hand_kick(rig.bicycle, 0.0, side, rng, model), speed)
    scenario = Scenario(speed=((0.0, speeds[0]), (1.0, speeds[1])), seed=seed)  # the playmate's belt is between them
    return Toy(
        rig=rig,
        scenario=scenario,
        emulation=Emulation(model),
        playmate=playmate,
        choose=lambda name: gains_of(name, rig, told=speeds),
        controllers=CONTROLLERS,
        speeds=speeds,
        out=out,
    )


def open_browser(address: str) -> None:
    """Open the page where there is a screen; a browser in the terminal would be in the way."""
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(address)
