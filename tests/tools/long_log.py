"""Long log for tests and `make bench`: a lockstep run of a weakly damped Silver bicycle, kicked every eight seconds."""

import sys
from pathlib import Path

import numpy as np

EVERY = 8.0  # s between kicks


def write_long_log(folder: Path, seconds: float, rate: float = 1000.0) -> Path:
    """Write a run of so many seconds; a second at 1 kHz takes 220 kB."""
    from riderless.hil.design.methods import design
    from riderless.hil.rig.rig import Rig
    from riderless.hil.runners.simulated_run import run_lockstep
    from riderless.models import catalogue
    from riderless.models.plant.plant import Kick, Scenario

    rig = Rig(catalogue.load_bicycle("Silver"), rate=rate)
    gains = design(rig.bicycle, "poles", (4.5, 5.0, 5.5), rig.timing, zeta=0.12)
    rng, times = np.random.default_rng(1), np.arange(2.0, seconds - 3.0, EVERY)
    kicks = tuple(Kick(float(t), float(rng.choice([-1.0, 1.0]) * rng.uniform(2.5, 3.5))) for t in times)
    run_lockstep(folder, rig, gains, Scenario(speed=((0.0, 5.0),), kicks=kicks, seed=3), seconds)
    return folder


if __name__ == "__main__":
    write_long_log(Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]))
