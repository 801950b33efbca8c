"""Hazards as Markdown, for the page in the docs."""

from riderless.experiments.reports.hazards import Hazard, HazardRow, checks_by_hand


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
