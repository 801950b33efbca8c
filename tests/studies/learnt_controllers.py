"""Score of four controllers on one task: LQR, the cascade and H-infinity of lesson 9, and the network of the gallery.

    python -m tests.studies.learnt_controllers [rides]

Each ride: Silver drawn from the deviations of measured bicycles, nonlinear, 8 s at a drawn speed of 4 to 6 m/s,
pushed by hand to 0.35 rad/s of lean rate at 1, 3.5 and 6 s, usual noise, the whole loop with observer and supervisor.
"""

import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
import numpy as np

import riderless as rl
from riderless.experiments.emulation.environment import drawn_bicycle
from riderless.experiments.emulation.hand import hand_kick
from riderless.hil.controllers.registry import read_controller_file
from tests.paths import DOCS

mpl.use("Agg")
LEAN_RATE = 0.35  # rad/s, of a push by hand
SEED = 61


def controllers(folder: Path) -> dict[str, object]:
    """Make the four, by the code that the docs show."""
    silver = rl.load_bicycle("Silver")
    lesson = (DOCS / "lessons/9-cascade-and-h-infinity.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", lesson, re.MULTILINE | re.DOTALL)
    example = (DOCS / "gallery/23_learn_a_network.py").read_text(encoding="utf-8")
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        for code in ("\n".join(blocks), example):
            exec(compile(code, "<docs>", "exec"), {})  # noqa: S102  our own pages
    files = {"cascade": "cascade.toml", "H-infinity": "h_infinity.toml", "network": "network.toml"}
    return {
        "LQR": rl.design(silver, "lqr", np.arange(4.0, 6.25, 0.5)),
        **{name: read_controller_file(folder / file) for name, file in files.items()},
    }


def main(rides: int) -> None:
    """Print a row for each controller."""
    with tempfile.TemporaryDirectory() as folder:
        made = controllers(Path(folder))
    silver = rl.load_bicycle("Silver")
    print("| controller | survived | rms lean, deg | greatest lean, deg | rms torque, N m | least delay margin, ms |")
    print("|---|---|---|---|---|---|")
    for name, law in made.items():
        rng, lean, most, torque, survived = np.random.default_rng(SEED), [], [], [], 0
        for seed in range(rides):
            bicycle, v = drawn_bicycle(silver, 1.0, rng), float(rng.uniform(4.0, 6.0))
            sides = rng.choice((-1, 1), 3)
            kicks = [
                hand_kick(bicycle, t, int(side), rng, lean_rate=LEAN_RATE)
                for t, side in zip((1.0, 3.5, 6.0), sides, strict=True)
            ]
            run = rl.simulate(bicycle, law, speed=v, kicks=kicks, duration=8.0, seed=seed, allow_mismatch=True)
            survived += run.stop.reason == "success"
            under = run.ticks[run.ticks["state"] == rl.State.RUNNING]
            lean.append(np.degrees(np.sqrt(np.mean(under["phi_est"] ** 2))))
            most.append(np.degrees(np.abs(under["phi_est"]).max()))
            torque.append(np.sqrt(np.mean(under["T_cmd"] ** 2)))
        delay = 1e3 * min(row.margins.delay for row in rl.margins(law))
        print(
            f"| {name} | {survived} of {rides} | {np.mean(lean):.2f} | {np.mean(most):.1f} | {np.mean(torque):.2f} | "
            f"{delay:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
