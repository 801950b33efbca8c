"""`python -m tests.tools.safety_page`: put the tables the code runs into docs/safety.md and docs/hazards.md."""

import re
from pathlib import Path

from riderless.experiments.reports.hazards import hazards_markdown, hazards_of
from riderless.hil.loop.limits import RANGES, WATCHDOG_RANGE, Limits
from riderless.hil.loop.transitions import as_markdown
from riderless.hil.rig.reported_values import reported_values_markdown
from riderless.hil.rig.rig import Rig
from riderless.models import catalogue
from tests.paths import DOCS

PAGE = DOCS / "safety.md"
HAZARDS_PAGE = DOCS / "hazards.md"


def limits_table() -> str:
    """Every limit with its default, unit and reason, and the range that is taken, with its reason."""
    rows = []
    for name, entry in Limits().as_dict().items():
        least, most, why = RANGES[name]
        told = (f"`{name}`", f"{entry['value']:g}", entry["unit"], entry["reason"], f"{least:g} to {most:g}", why)
        rows.append(f"| {' | '.join(map(str, told))} |")
    least, most, why = WATCHDOG_RANGE
    default, reason = Rig.watchdog, "the drive's own time-out, 3 to 5 periods; `watchdog_s` in [loop] of a rig file"
    rows.append(f"| `watchdog` | {default:g} | s | {reason} | {least:g} to {most:g} | {why} |")
    return "\n".join(["| limit | value | unit | reason | taken | for |", "|---|---|---|---|---|---|", *rows]) + "\n"


def tables() -> dict[Path, dict[str, str]]:
    """The tables of each page, by the mark before which they stand."""
    hazards = hazards_markdown(hazards_of(Rig(catalogue.load_bicycle("Benchmark"))))
    safety = {"transitions": as_markdown(), "limits": limits_table(), "reported": reported_values_markdown()}
    return {PAGE: safety, HAZARDS_PAGE: {"hazards": hazards}}


def page(path: Path) -> str:
    """The page with its tables as the code has them now."""
    text = path.read_text(encoding="utf-8")
    for mark, table in tables()[path].items():
        text, n = re.subn(
            rf"(<!-- {mark} -->\n).*?(<!-- end -->)", lambda m, t=table: m[1] + t + m[2], text, count=1, flags=re.DOTALL
        )
        if n != 1:
            raise ValueError(f"{path} has no place for the table of {mark}")
    return text


if __name__ == "__main__":
    for written in tables():
        written.write_text(page(written), encoding="utf-8")
