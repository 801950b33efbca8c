"""Table of the rides for a page: ``python -m experiments.studies.path_rides --seeds 3 docs/paths.md``."""

import argparse
import sys
from pathlib import Path

import numpy as np

from experiments.campaigns.sweeps import spread
from experiments.studies.markdown_tables import markdown_table, put_tables
from experiments.studies.path_rides.ride import RideResult, ride_task
from experiments.studies.path_rides.tasks import RideTask, ride_tasks

RIDES_TABLE = "table of `python -m experiments.studies.path_rides`"


def rides_markdown(results: list[RideResult], seeds: int) -> str:
    """Table with a row for each task and bicycle: the worst seed counts."""
    lines = []
    for task in dict.fromkeys(result.task.name for result in results):
        for bicycle in dict.fromkeys(result.bicycle for result in results):
            mine = [each for each in results if (each.task.name, each.bicycle) == (task, bicycle)]
            asked = [each.asked for each in mine]
            wanted = dict(mine[0].task.wanted)[bicycle]
            ended = ", ".join(f"{each.cause} (seed {each.seed})" for each in mine if each.cause)
            met = "yes" if max(asked) <= wanted and not ended else "no"
            sizes = f"{np.median(asked):.3f}, {max(asked):.3f}"
            lines.append([task, bicycle, mine[0].task.what, f"{wanted:.2f}", sizes, met, ended or "-"])
    head = ["task", "bicycle", "what", "wanted [m]", "median, worst seed [m]", "met", "ended early"]
    return f"Seeds 1 to {seeds}, by the true place.\n\n{markdown_table(head, lines)}"


def _ride(work: tuple[RideTask, str, int]) -> RideResult:
    return ride_task(*work)


def write_rides_table() -> None:
    """Ride all tasks and put the table into a page, or print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", nargs="?", type=Path, help="Markdown file with the marks of the table")
    parser.add_argument("--seeds", type=int, default=3, help="of noise and wind, from 1 on")
    parser.add_argument("--jobs", type=int, default=None, help="processes; one a core by default")
    given = parser.parse_args()
    seeds = range(1, given.seeds + 1)
    work = [(task, bicycle, seed) for task in ride_tasks() for bicycle, _ in task.wanted for seed in seeds]
    done = dict(spread(_ride, work, given.jobs))
    table = rides_markdown([done[i] for i in range(len(work))], given.seeds)
    if given.page is None:
        sys.stdout.write(f"{table}\n")
    else:
        put_tables(given.page, {RIDES_TABLE: table})


if __name__ == "__main__":
    write_rides_table()
