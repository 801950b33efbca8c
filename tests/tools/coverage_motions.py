"""`python -m tests.tools.coverage_motions --doc tables.md`: intervals in large motions and at changing speed.

Takes about 10 minutes on one core with the default numbers.
"""

from tests.tools.coverage import arguments, write


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--kicks", type=int, default=12, help="of each loop and size")
    options = parser.parse_args()

    from tests.studies.interval_coverage_motions import motion_tables

    def tell(done: int, total: int) -> None:
        print(f"\r{done} of {total} runs", end="", flush=True)

    write(motion_tables(options.kicks, options.seed, options.jobs, tell), options.doc)


if __name__ == "__main__":
    main()
