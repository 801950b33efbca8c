"""Campaigns in the terminal: rehearsals before, and what was found after."""

from collections.abc import Sequence
from pathlib import Path

from experiments.campaigns.findings import FREQUENCY_FILE, CampaignFindings
from experiments.campaigns.rehearsal import DryRun
from experiments.reports.analysis_text import analysis_blocks, answer_blocks, frequency_blocks
from experiments.terminal.console import emit_json, print_blocks, print_table, screen


def show_rehearsals(made: Sequence[DryRun], as_json: bool) -> None:
    """Print peaks as shares of the limits, and what is refused."""
    if as_json:
        emit_json({"rehearsals": [one.as_json() for one in made]})
        return
    names = ("torque", "lean", "steer")
    print_table(
        "Rehearsals: largest values as shares of the limits",
        ["condition", *names, ""],
        [
            [
                one.condition.label,
                *(f"{100 * one.shares[name]:.0f} %" if name in one.shares else "-" for name in names),
                "refused" if one.refusal else "",
            ]
            for one in made
        ],
    )
    for one in made:
        if one.refusal:
            screen.print(one.refusal, soft_wrap=True)


def show_finished(found: CampaignFindings, folder: Path) -> None:
    """Print windows, frequency responses, and where the rest is."""
    print_blocks(answer_blocks(found.analysis, found.responses))
    if found.analysis.responses:
        print_blocks(analysis_blocks(found.analysis))
    print_blocks(frequency_blocks(found.responses, found.unusable))
    if found.responses:
        screen.print(f"frequency responses: {folder / FREQUENCY_FILE}", soft_wrap=True)
    if found.page:
        screen.print(f"report: {found.page}", soft_wrap=True)
