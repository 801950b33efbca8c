"""Identify from both experiments and write their tables.

``python -m tests.studies.two_experiments DATA FILE``

DATA holds delft_treadmill, delft_bode and delft_calibration.
"""

import sys
from pathlib import Path

from tests.studies.two_experiments import page
from tests.studies.two_experiments.joint import EXPERIMENTS, MODELS, answer
from tests.studies.two_experiments.pull_tests import read_pull_tests
from tests.tools.tables import write_tables

JOBS = 2  # processes for the profiles


def make_page(data: Path, target: Path) -> None:
    """Make every table again and write them to a file."""

    def tell(done: int, total: int, name: str) -> None:
        sys.stderr.write(f"{done} of {total}: {name}\n")

    *alone, both = EXPERIMENTS
    answers = [answer(data, experiment, jobs=JOBS, on_progress=tell) for experiment in alone]
    answers.append(answer(data, both, tuple(MODELS), JOBS, tell))
    left = page.unexplained(data, answers[-1])
    tables = page.prediction_tables(answers[-1], left)
    predictions = "\n\n".join(f"### {heading}\n\n{table}" for heading, table in tables.items())
    write_tables(
        target,
        {
            "answer": page.both_table(answers),
            "models": page.models_table(answers[-1]),
            "pulls": page.pulls_sentence(read_pull_tests(data / "delft_calibration")),
            "predictions": f"What no quantity explained: {100 * left:.0f} % of gain and phase.\n\n{predictions}",
        },
    )


if __name__ == "__main__":
    make_page(Path(sys.argv[1]), Path(sys.argv[2]))
