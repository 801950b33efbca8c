"""Chosen runs beside grids of the same length, as docs/planning.md has it: python -m tests.tools.chosen_runs SEEDS."""

import argparse

from tests.studies.chosen_runs import StudiedPlan, chosen_runs_table, study_chosen_runs

LABELS = ("drive_gain", "steer_damping")


def main() -> None:
    """Print each result as it comes, then the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", type=int, nargs="?", default=20, help="how many, from 1")
    found: list[StudiedPlan] = []
    for one in study_chosen_runs(range(1, parser.parse_args().seeds + 1)):
        found.append(one)
        print(f"seed {one.seed} {one.plan}: {one.runs} runs, std {one.stds}, z {one.z}", flush=True)
        if one.plan == "all in turn":
            print(chosen_runs_table(found, LABELS), flush=True)


if __name__ == "__main__":
    main()
