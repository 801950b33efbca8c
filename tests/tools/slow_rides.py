"""`python -m tests.tools.slow_rides --count 10000 --seed 7 --jobs 2`: rides with slow faults; `--healthy`: without."""

import argparse
import sys


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--healthy", action="store_true", help="rides with nothing wrong")
    parser.add_argument("--space", choices=("shown", "tuning"), default="shown", help="bicycles and speeds")
    options = parser.parse_args()

    from experiments.studies.fault_injection.slow_rides.study import healthy_markdown, run_rides, slow_markdown

    done = []

    def tell(batch: list) -> None:
        done.extend(batch)
        print(f"\r{len(done)} of {options.count} rides", end="", file=sys.stderr, flush=True)

    judged = run_rides(options.count, options.seed, options.space, options.healthy, options.jobs, tell)
    print(file=sys.stderr)
    print((healthy_markdown if options.healthy else slow_markdown)(judged))
    wrong = [one for one in judged if one.complaint]
    print(f"\n{len(judged)} rides of seed {options.seed}, {len(wrong)} against the promise")
    for one in wrong:
        print(f"  {one.complaint}: {one}")
    if not options.healthy:
        for one in judged:
            if one.result.unsafe and not one.complaint:
                print(f"  unsafe below the size that must be seen: {one}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
