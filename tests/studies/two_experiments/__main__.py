"""Identify from both experiments and write the page's tables.

``python -m tests.studies.two_experiments DATA PAGE``

DATA holds delft_treadmill, delft_bode and delft_calibration. PAGE has the marks of `PAGE_MARKS`, or is refused.
"""

import sys
from pathlib import Path

from riderless.experiments.fault_injection.markdown_tables import put_between_marks, require_marks
from tests.studies.two_experiments import page
from tests.studies.two_experiments.joint import EXPERIMENTS, MODELS, answer
from tests.studies.two_experiments.pull_tests import read_pull_tests

PAGE_MARKS = {
    name: (f"<!-- begin {name} -->", f"<!-- end {name} -->") for name in ("answer", "models", "pulls", "predictions")
}
JOBS = 2  # processes for the profiles


def make_page(data: Path, target: Path) -> None:
    """Make every table again and put it into a page."""
    require_marks(target, PAGE_MARKS.values())

    def tell(done: int, total: int, name: str) -> None:
        sys.stderr.write(f"{done} of {total}: {name}\n")

    *alone, both = EXPERIMENTS
    answers = [answer(data, experiment, jobs=JOBS, on_progress=tell) for experiment in alone]
    answers.append(answer(data, both, tuple(MODELS), JOBS, tell))
    left = page.unexplained(data, answers[-1])
    tables = page.prediction_tables(answers[-1], left)
    put_between_marks(
        target,
        {
            PAGE_MARKS["answer"]: page.both_table(answers),
            PAGE_MARKS["models"]: page.models_table(answers[-1]),
            PAGE_MARKS["pulls"]: page.pulls_sentence(read_pull_tests(data / "delft_calibration")),
            PAGE_MARKS[
                "predictions"
            ]: f"What no quantity explained: {100 * left:.0f} % of gain, as much of the phase.\n\n"
            + "\n\n".join(f"### {heading}\n\n{table}" for heading, table in tables.items()),
        },
    )


if __name__ == "__main__":
    make_page(Path(sys.argv[1]), Path(sys.argv[2]))
