"""Table of the rides for a page: ``python -m tests.studies.path_rides --seeds 3 tables.md``."""

import numpy as np

from riderless.experiments.campaigns.sweeps import spread
from riderless.experiments.fault_injection.summary_table import markdown_table
from riderless.models.linear.prescribed_steer import InnerLoop
from tests.studies.path_rides.ride import RideResult, one_ride
from tests.studies.path_rides.tasks import ride_tasks
from tests.tools.tables import table_arguments, write_or_print

RIDES_TABLE = "table of `python -m tests.studies.path_rides{}`"
RIDE_DRIVES = {"torque": None} | {kind: InnerLoop(kind=kind, bandwidth=50.0, damping=1.0) for kind in ("rate", "angle")}


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


def write_rides_table() -> None:
    """Ride all tasks and put the table into a page, or print it."""
    parser = table_arguments(__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="of noise and wind, from 1 on")
    parser.add_argument("--drive", choices=RIDE_DRIVES, default="torque", help="what the steer drive obeys")
    given = parser.parse_args()
    seeds, drive = range(1, given.seeds + 1), RIDE_DRIVES[given.drive]
    work = [(task, bicycle, seed, drive) for task in ride_tasks() for bicycle, _ in task.wanted for seed in seeds]
    done = dict(spread(one_ride, work, given.jobs))
    table = rides_markdown([done[i] for i in range(len(work))], given.seeds)
    write_or_print(given.page, RIDES_TABLE.format(f" --drive {given.drive}" if drive else ""), table)


if __name__ == "__main__":
    write_rides_table()
