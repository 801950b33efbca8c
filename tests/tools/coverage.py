"""`python -m tests.tools.coverage --doc tables.md`: study the estimators and write their tables.

Takes about 5 minutes on one core with the default number of windows.
"""

import argparse
from pathlib import Path
from time import perf_counter


def arguments(description: str | None) -> argparse.ArgumentParser:
    """What every study of intervals takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--doc", type=Path, help="Markdown file for the tables")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    return parser


def write(tables: dict[str, str], doc: Path | None) -> None:
    """Print the tables, and write them to a file if one is named."""
    from tests.tools.tables import write_tables

    for name, text in tables.items():
        print(f"\n{name}\n\n{text}")
    if doc:
        write_tables(doc, tables)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--windows", type=int, default=13, help="of each setting")
    parser.add_argument("--campaigns", type=int, default=5, help="emulated, of 14 runs each")
    parser.add_argument("--delft", type=Path, help="folder with the Delft logs and author_windows.json")
    options = parser.parse_args()

    from riderless.experiments.recordings import author_windows
    from riderless.experiments.recordings.read import find_recordings, read_recording
    from tests.studies import interval_coverage, interval_coverage_page

    answers = []
    grid = interval_coverage.study_grid()
    for found in interval_coverage.run_study(grid, options.windows, options.seed, options.jobs, perf_counter):
        answers += found
        print(f"\r{len(answers)} answers", end="", flush=True)
    answers.sort(key=lambda a: grid.index(a.setting))
    emulator = [
        a
        for k in range(options.campaigns)
        for some in interval_coverage.ask_of_emulated_runs(options.seed + k, clock=perf_counter)
        for a in some
    ]
    print()
    tables = interval_coverage_page.coverage_tables(answers, emulator, options.seed)
    if options.delft:
        paths = find_recordings([options.delft])
        cuts = author_windows.read_author_windows(paths)
        sources = {cut.source for cut in cuts}
        tables |= interval_coverage_page.author_window_tables(
            [read_recording(p) for p in paths if p.name in sources], cuts
        )
    write(tables, options.doc)


if __name__ == "__main__":
    main()
