"""Processor time of a verdict that tries pairs of causes: a weak drive with dry friction, nine windows.

Alone: `python -m tests.tools.bench_verdict`.
"""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

from riderless.experiments.analysis.analyze import analyze_responses
from riderless.experiments.analysis.comparison.compare import windows_by_bicycle
from riderless.experiments.analysis.verdict.goodness_of_fit import GoodnessOfFit, bicycle_verdict
from riderless.experiments.analysis.verdict.uncertain_parameters import moved_group
from riderless.experiments.campaigns.protocols.treadmill import treadmill_conditions
from riderless.experiments.datatypes import Response
from riderless.experiments.recordings.read import read_recording
from riderless.hil.runners.emulation import Emulation
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models.plant.steer_drive import SteerDrive

SEED = 4
SPEEDS = (3.0, 5.0, 5.6)  # m/s, Benchmark under a controller
MADE = Emulation(drive=SteerDrive(gain=0.9, coulomb=0.05))
ROUNDS = 3


def recorded() -> list[Response]:
    """Recordings of the campaign, made in simulated time."""
    found = []
    with TemporaryDirectory() as root:
        for i, c in enumerate(treadmill_conditions(SEED)):
            if c.bicycle.name == "Benchmark" and c.method != "off" and c.v in SPEEDS:
                folder = Path(root) / str(i)
                run_lockstep(folder, c.rig, c.schedule, c.scenario, c.duration, c.label, None, MADE)
                found.append(read_recording(folder))
    return found


def verdict_times(responses: list[Response], rounds: int = ROUNDS) -> tuple[list[float], GoodnessOfFit]:
    """Processor time [s] of each of some verdicts, nothing kept from the one before; and the last of them."""
    analysis = analyze_responses(responses)
    ((name, group),) = windows_by_bicycle(analysis.comparisons).items()
    times = []
    for _ in range(rounds):
        again = moved_group(group, {})
        began = time.process_time()
        verdict = bicycle_verdict(name, again)
        times.append(time.process_time() - began)
    return times, verdict


def row() -> tuple[str, str]:
    """Figure and what stands beside it, for the table of `make bench`."""
    times, verdict = verdict_times(recorded())
    told = " and ".join(verdict.pairs[0].names) if verdict.pairs else "no pair"
    return f"{min(times):.1f} s", f"of a processor, best of {len(times)}; at most 5 s wanted; found {told}"


if __name__ == "__main__":
    print(*row())
