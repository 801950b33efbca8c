"""`python -m tests.tools.coverage_loop --doc tables.md`: joint fit, identification under a controller.

Takes about 15 minutes on one core with the default numbers.
"""

from time import perf_counter

from tests.tools.coverage import arguments, write


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--kicks", type=int, default=66, help="of each loop, speed and noise")
    parser.add_argument("--campaigns", type=int, default=30, help="to identify from, of each loop and noise")
    options = parser.parse_args()

    from tests.studies import interval_coverage_loop

    write(
        interval_coverage_loop.loop_coverage_tables(
            options.kicks, options.campaigns, options.seed, options.jobs, perf_counter
        ),
        options.doc,
    )


if __name__ == "__main__":
    main()
