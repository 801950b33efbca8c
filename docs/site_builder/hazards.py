"""Reference of the hazards: cause, guard, proof and remaining risk, with the checks before a session."""

from riderless.experiments.reports.hazards import HazardRow, checks_by_hand, hazards_of
from riderless.hil.rig.rig import Rig
from riderless.models import catalogue
from site_builder.markdown import code, table

HEAD = """# Table of hazards

With the limits of the Benchmark bicycle; `riderless hazards RIG.toml` writes those of your rig.
[What can hurt](../hazards.md) explains the columns. A proof is a test, as it stands under `tests/`.
"""


def page() -> str:
    """Write a table for each hazard, and the checks by hand as a list."""
    hazards = hazards_of(Rig(catalogue.load_bicycle("Benchmark")))
    parts = [HEAD]
    for hazard in hazards:
        rows = [(row.number, row.cause, f"*{row.measure}*: {row.guard}", _proof(row), row.left) for row in hazard.rows]
        parts.append(f"## {hazard.number} {hazard.name}\n\nHarm: {hazard.harm} ({hazard.severity}).\n")
        parts.append(table(("", "cause", "guard", "proof", "what is left"), rows))
    parts.append("## Before every session, by hand\n")
    parts += [f"- [ ] {what} ({number})" for number, what in checks_by_hand(hazards)]
    return "\n".join(parts) + "\n"


def _proof(row: HazardRow) -> str:
    proofs = [code(name.removeprefix("tests/")) for name in row.proof]
    if row.by_hand:
        proofs.append("by hand, below")
    return "<br>".join(proofs) or "none"
