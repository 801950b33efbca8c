"""Chosen runs beside grids of the same length, as docs/planning.md has it: python -m tests.tools.chosen_runs SEEDS."""

import argparse

from tests.studies.chosen_runs import PLANS, StudiedPlan, chosen_runs_table, study_chosen_runs

LABELS = ("drive_gain", "steer_damping")


def main() -> None:
    """Print each result as it comes, then the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", type=int, nargs="?", default=20, help="how many")
    parser.add_argument("--first", type=int, default=1, help="the first of them")
    parser.add_argument("--model", default="linear", help="linear or nonlinear")
    parser.add_argument("--lean", type=float, default=2.5, help="most lean of a kick, deg")
    parser.add_argument("--two", action="store_true", help="leave out all runs in turn")
    given, found = parser.parse_args(), list[StudiedPlan]()
    seeds, plans = range(given.first, given.first + given.seeds), PLANS[:2] if given.two else PLANS
    for one in study_chosen_runs(seeds, given.model, given.lean, plans):
        found.append(one)
        print(
            f"seed {one.seed} {one.plan}: {one.runs} runs, std {one.stds}, by noise {one.by_noise}, z {one.z}",
            flush=True,
        )
        if one.plan == plans[-1]:
            print(chosen_runs_table(found, LABELS), flush=True)


if __name__ == "__main__":
    main()
