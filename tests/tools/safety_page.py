"""`python -m tests.tools.safety_page`: put the tables the code runs into docs/safety.md and docs/hazards.md."""

import re
from pathlib import Path

from riderless.experiments.reports.hazards import Hazard, HazardRow, checks_by_hand, hazards_of
from riderless.hil.loop.limits import RANGES, WATCHDOG_RANGE, Limits
from riderless.hil.loop.transitions import OBSTACLES, RULES, Stage
from riderless.hil.rig.reported_values import REPORTED_VALUES
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


def transitions_table() -> str:
    """One row an event, one column a stage; "waits" keeps STREAM from passing."""
    head = ["event", "when", *(stage.name for stage in Stage)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for rule in RULES:
        cells = [rule.goes[stage].name if stage in rule.goes else "" for stage in Stage]
        if rule.event in OBSTACLES:
            cells[Stage.STREAM] = "waits"
        lines.append("| " + " | ".join([rule.event, rule.when, *cells]) + " |")
    return "\n".join(lines) + "\n"


def reported_values_table() -> str:
    """What a device reports of itself, and what bounds it."""
    rows = [f"| `{value.name}` | {value.meaning} | {value.bound} |" for value in REPORTED_VALUES]
    return "\n".join(["| reported | what it is | what bounds it |", "|---|---|---|", *rows]) + "\n"


def hazards_markdown(hazards: list[Hazard]) -> str:
    """Write a table a hazard, and the checks by hand as a list."""
    parts = []
    for hazard in hazards:
        parts.append(f"### {hazard.number} {hazard.name}\n\nHarm: {hazard.harm} ({hazard.severity}).\n")
        parts.append("| | cause | guard | proof | what is left |\n|---|---|---|---|---|")
        parts.append("\n".join(_line(row) for row in hazard.rows) + "\n")
    parts.append("### Before every session, by hand\n")
    parts.append("\n".join(f"- [ ] {what} ({number})" for number, what in checks_by_hand(hazards)))
    return "\n".join(parts) + "\n"


def _line(row: HazardRow) -> str:
    proof = "<br>".join(f"`{name.removeprefix('tests/')}`" for name in row.proof)
    by_hand = "by hand, below" if row.by_hand else ""
    shown = "<br>".join(text for text in (proof, by_hand) if text) or "none"
    return f"| {row.number} | {row.cause} | *{row.measure}*: {row.guard} | {shown} | {row.left} |"


def tables() -> dict[Path, dict[str, str]]:
    """The tables of each page, by the mark before which they stand."""
    hazards = hazards_markdown(hazards_of(Rig(catalogue.load_bicycle("Benchmark"))))
    safety = {"transitions": transitions_table(), "limits": limits_table(), "reported": reported_values_table()}
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
