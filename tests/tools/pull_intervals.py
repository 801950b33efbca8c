"""`python -m tests.tools.pull_intervals SEED RUNS`: how often intervals of a pull test hold a made-up drive's truth."""

import sys

import numpy as np

from riderless.hil.commissioning.pull_test import fit_pull_test
from tests.hil.commissioning.test_pull_test import made_up

TOLD = ("gain", "offset", "dead_band", "hysteresis", "friction")
SETTINGS = {  # tables, to both sides, up and down, noise that sticks from row to row
    "one table, up": (1, False, False, 0.0),
    "one, up and down": (1, False, True, 0.0),
    "one, up and down, readings that stick": (1, False, True, 0.6),
    "one to either side, up and down": (2, True, True, 0.0),
    "two to either side, up": (4, True, False, 0.0),
    "two to either side, up and down, a misprint in each": (4, True, True, 0.0),
    "the same, readings that stick": (4, True, True, 0.6),
}


def main() -> None:
    seed, runs = int(sys.argv[1]), int(sys.argv[2])
    print(f"| tables | {' | '.join(TOLD)} | median width of gain, friction [N m] |")
    print("| --- " * (len(TOLD) + 2) + "|")
    for number, (name, (tables, both, down, sticks)) in enumerate(SETTINGS.items()):
        rng = np.random.default_rng([seed, number])
        held, widths = dict.fromkeys(TOLD, 0), {told: [] for told in TOLD}
        for _ in range(runs):
            truth = {
                "gain": rng.uniform(0.7, 1.6),
                "offset": rng.uniform(-0.1, 0.1) if both else 0.0,
                "dead_band": rng.uniform(0.05, 0.3),
                "hysteresis": rng.uniform(0.03, 0.2) if down else 0.0,
                "friction": rng.uniform(0.05, 0.4),
            }
            noise, wrong = rng.uniform(0.01, 0.06), int(tables == 4)
            sides = [1 - 2 * (i % 2) if both else 1 for i in range(tables)]
            found = fit_pull_test(
                [made_up(rng, **truth, noise=noise, misprints=wrong, side=s, down=down, sticks=sticks) for s in sides]
            )
            for told in set(TOLD) & set(found.found):
                low, high = found.interval(told)
                held[told] += low <= truth[told] <= high
                widths[told].append(high - low)
        shares = [f"{100 * held[told] / runs:.0f}" if widths[told] else "" for told in TOLD]
        wide = ", ".join(f"{np.median(widths[told]):.3f}" for told in ("gain", "friction"))
        print(f"| {name} | {' | '.join(shares)} | {wide} |", flush=True)


if __name__ == "__main__":
    main()
