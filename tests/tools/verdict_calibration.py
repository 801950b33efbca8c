"""`python -m tests.tools.verdict_calibration --answers FILE --doc tables.md`: is p uniform where models are true?

Every campaign is a line of the file of answers; what is there already is not asked again. Takes about 4 s of one core
for a campaign.
"""

from pathlib import Path

from tests.tools.coverage import arguments


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--answers", type=Path, default=Path("verdict_calibration.jsonl"), help="file of answers")
    parser.add_argument("--campaigns", type=int, default=400, help="for each estimator")
    parser.add_argument("--strata", default="", help="names, with commas between; all by default")
    parser.add_argument("--bicycles", default="", help="names, with commas between; all with deviations by default")
    parser.add_argument("--estimators", default="single_mode", help="names, with commas between")
    parser.add_argument("--cluster", help="address of a Dask scheduler, in place of --jobs")
    options = parser.parse_args()

    from tests.studies.verdict_calibration.judge import ask_all
    from tests.studies.verdict_calibration.page import calibration_tables
    from tests.studies.verdict_calibration.strata import HONEST_STRATA, study_campaigns
    from tests.tools.tables import write_tables

    campaigns = study_campaigns(
        options.campaigns,
        options.seed,
        tuple(filter(None, options.strata.split(","))) or HONEST_STRATA,
        tuple(filter(None, options.bicycles.split(","))),
        options.estimators.split(","),
    )
    answers = []
    for answer in ask_all(campaigns, options.answers, options.jobs, options.cluster):
        answers.append(answer)
        print(f"\r{len(answers)} of {len(campaigns)} campaigns, last p = {answer.p:.2g}   ", end="", flush=True)
    print()
    tables = calibration_tables(answers)
    for name, text in tables.items():
        print(f"\n{name}\n\n{text}")
    if options.doc:
        write_tables(options.doc, tables)


if __name__ == "__main__":
    main()
