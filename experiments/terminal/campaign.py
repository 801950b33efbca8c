"""Campaigns in the terminal: rehearsals before, and what was found after."""

from collections.abc import Sequence
from pathlib import Path

from riderless.experiments.analysis.power.expected_power import FORESEEN_LEVEL, FORESEEN_POWER
from riderless.experiments.campaigns.adaptive.course import Course
from riderless.experiments.campaigns.findings import FREQUENCY_FILE, CampaignFindings
from riderless.experiments.campaigns.learning.document import course_blocks
from riderless.experiments.campaigns.power_report import Foresight, error_rows, foresight_caption, foresight_head
from riderless.experiments.campaigns.rehearsal import DryRun
from riderless.experiments.reports.analysis_text import analysis_blocks, answer_blocks, frequency_blocks
from riderless.experiments.terminal.console import emit_json, print_blocks, print_table, screen


def show_rehearsals(made: Sequence[DryRun], foreseen: Sequence[Foresight], as_json: bool) -> None:
    """Print peaks as shares of the limits, what is refused, and which errors the campaign would show."""
    if as_json:
        emit_json(
            {"rehearsals": [one.as_json() for one in made], "would_see": [one.as_json() for one in foreseen]},
        )
        return
    told = [name for one in made for name in one.shares]
    names = [name for name in ("torque", "steer_rate", "steer_command", "lean", "steer") if name in told]
    print_table(
        "Rehearsals: largest values as shares of the limits",
        ["condition", *(name.replace("_", " ") for name in names), ""],
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
            screen.print(one.refusal)

    for table in foreseen:
        _show_foresight(table)


def _show_foresight(table: Foresight) -> None:
    """Print the smallest errors that the campaign would show of one bicycle, and what would make it show smaller."""
    print_table(
        f"Errors of {table.bicycle} that this campaign would show: the smallest rejected in "
        f"{10 * FORESEEN_POWER:.0f} of 10 (p < {FORESEEN_LEVEL:g})",
        foresight_head(),
        error_rows(table),
        caption=foresight_caption(table),
    )
    screen.print(table.advice())


def show_course(course: Course, found: CampaignFindings) -> None:
    """Print what an experiment that ran itself chose and knows, and where the rest is."""
    print_blocks(course_blocks(course))
    if found.page:
        screen.print(f"report: {found.page}", soft_wrap=True)


def show_finished(found: CampaignFindings, folder: Path) -> None:
    """Print windows, frequency responses, and where the rest is."""
    print_blocks(answer_blocks(found.analysis, found.responses, found.missing))
    if found.analysis.responses:
        print_blocks(analysis_blocks(found.analysis))
    print_blocks(frequency_blocks(found.responses, found.unusable))
    if found.responses:
        screen.print(f"frequency responses: {folder / FREQUENCY_FILE}", soft_wrap=True)
    if found.page:
        screen.print(f"report: {found.page}", soft_wrap=True)
