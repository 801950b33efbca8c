"""`python -m tests.tools.foreign_campaigns --answers FILE`: verdicts on campaigns of labs that never saw riderless."""

import argparse
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=Path, default=Path("foreign_campaigns.jsonl"), help="file of answers")
    parser.add_argument("--campaigns", type=int, default=20, help="for each level")
    parser.add_argument(
        "--levels", default="plain,instruments,sampled law,friction and wind", help="with commas between"
    )
    parser.add_argument("--laws", default="lean,bare,state", help="with commas between")
    parser.add_argument("--held-out", action="store_true", help="of bicycles and numbers that nobody tunes by")
    parser.add_argument("--coasting", action="store_true", help="slowed by rolling and air in unknown shares")
    parser.add_argument("--bending", action="store_true", help="coasting, by the nonlinear equations of motion")
    parser.add_argument("--first", type=int, default=0, help="number of the first campaign, even")
    parser.add_argument("--planted", action="store_true", help="also with one cause after the other planted")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()

    from riderless.experiments.campaigns.sweeps import spread
    from tests.studies.foreign_campaigns import (
        ask_foreign,
        foreign_line,
        foreign_tables,
        plan_foreign,
        planted_table,
        with_planted,
    )

    def ask(campaigns: list) -> list:
        answers = []
        with options.answers.open("a", encoding="utf-8") as file:
            for _, answer in spread(ask_foreign, campaigns, options.jobs):
                answers.append(answer)
                file.write(foreign_line(answer) + "\n")
                file.flush()
                print(f"\r{len(answers)} of {len(campaigns)}, last p = {answer.p:.2g}   ", end="", flush=True)
        print()
        return answers

    levels, laws = options.levels.split(","), options.laws.split(",")
    first = options.first + options.held_out
    numbers = range(first, first + 2 * options.campaigns, 2)
    true = ask(plan_foreign(numbers, levels, laws, options.coasting or options.bending, options.bending))
    for name, table in foreign_tables(true).items():
        print(f"\n{name}\n\n{table}")
    if options.planted:
        print(planted_table(ask([one for answer in true if answer.judged for one in with_planted(answer)])))


if __name__ == "__main__":
    main()
