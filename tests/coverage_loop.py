"""`python -m tests.coverage_loop --doc docs/estimators.md`: study the joint fit and identification under a controller.

Takes about 15 minutes on one core with the default numbers.
"""

import argparse
import os
from pathlib import Path
from time import perf_counter

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the matrices are small: more threads only get in each other's way


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--doc", type=Path, help="Markdown file with the marks of the tables")
    parser.add_argument("--kicks", type=int, default=66, help="of each loop, speed and noise")
    parser.add_argument("--campaigns", type=int, default=30, help="to identify from, of each loop and noise")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()

    from experiments import coverage_loop, coverage_page

    tables = coverage_loop.tables(options.kicks, options.campaigns, options.seed, options.jobs, perf_counter)
    for name, text in tables.items():
        print(f"\n{name}\n\n{text}")
    if options.doc:
        coverage_page.put(options.doc, tables)


if __name__ == "__main__":
    main()
