"""Hazards as a PDF to sign.

For the person who must say yes: the table, the checks by hand, and a place to sign.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib

from riderless.experiments.reports.hazards import (
    MEASURES,
    SEVERITIES,
    Hazard,
    checks_by_hand,
    limits_in_words,
    proof_in_words,
)
from riderless.hil.logs.provenance import package_versions
from riderless.hil.rig.rig import Rig

if TYPE_CHECKING:
    from fpdf import FPDF

FONT = "DejaVu"  # comes with matplotlib, and has the letters of every Latin, Greek and Cyrillic language
_COLUMNS = ("", "cause", "guard", "proof", "what is left", "accepted by, date")
_ROLES = ("experimenter", "second person at the stop button", "safety officer")
_WIDTHS = (8, 44, 66, 68, 50, 30)  # parts of the width of the page
_SIZE = 7.5  # points, of a table
_LINE = 3.6  # mm


def write_hazards_sheet(path: Path, hazards: list[Hazard], rig: Rig, date: str) -> None:
    """Write the hazards of a rig as a PDF, A4 across.

    Parameters
    ----------
    path : Path
    hazards : list of Hazard
        As `hazards_of` gives them for the same rig.
    rig : Rig
        Its name and bicycle stand above the table, its limits below.
    date : str
        Day of the sheet.
    """
    pdf = _new_sheet(f"riderless {package_versions()['riderless']}, {rig.name}, {date}")
    _paragraph(pdf, "Hazards of a riderless bicycle", size=16, bold=True)
    _paragraph(pdf, f"Machine: {rig.name}, bicycle {rig.bicycle.name}. Date: {date}.")
    _paragraph(
        pdf,
        "Each row is one cause of a hazard: what guards against it, what proves that the guard works, and what is left "
        "when it does. Proofs are tests of the program that anybody can run, against an emulated bicycle, and checks "
        "by hand on the machine, listed at the end. The severity is that of the worst harm to be expected without any "
        "guard: "
        + "; ".join(f"{name}, {meaning}" for name, meaning in SEVERITIES.items())
        + ". Measures are those of ISO 12100: "
        + "; ".join(MEASURES.values())
        + ". How likely the rest is, in this room and with these people, only the lab can say: the last column is for "
        "who accepts it.",
    )
    for hazard in hazards:
        _hazard(pdf, hazard)
    _heading(pdf, "Before every session, by hand", room=60)
    rows = [(number, what, "") for number, what in checks_by_hand(hazards)]
    _table(pdf, ("", "what to do, and what must be seen", "done by, date"), rows, (8, 190, 40))
    _limits(pdf, rig)
    _heading(pdf, "Accepted", room=40)
    _table(pdf, ("role", "name", "date, signature"), [(role, "", "") for role in _ROLES], (60, 80, 80))
    pdf.output(str(path))


def _new_sheet(foot: str) -> "FPDF":
    from fpdf import FPDF  # half a second, which only this command pays

    class Sheet(FPDF):
        def footer(self) -> None:
            self.set_y(-12)
            self.set_font(FONT, size=7)
            self.cell(0, 5, f"{foot}; page {self.page_no()} of {{nb}}", align="R")

    pdf = Sheet(orientation="landscape", format="A4")
    fonts = Path(matplotlib.get_data_path()) / "fonts/ttf"
    pdf.add_font(FONT, "", fonts / "DejaVuSans.ttf")
    pdf.add_font(FONT, "B", fonts / "DejaVuSans-Bold.ttf")
    pdf.set_margins(14, 14)
    pdf.set_auto_page_break(True, margin=16)
    pdf.set_title("Hazards of a riderless bicycle")
    pdf.add_page()
    return pdf


def _paragraph(pdf: "FPDF", text: str, size: float = 9, bold: bool = False, gap: float = 2.0) -> None:
    pdf.set_font(FONT, "B" if bold else "", size)
    pdf.multi_cell(0, size * 0.5, text, align="L", new_x="LMARGIN", new_y="NEXT")
    pdf.ln(gap)


def _heading(pdf: "FPDF", text: str, room: float) -> None:
    """Heading that takes at least ``room`` mm of what follows with it."""
    if pdf.will_page_break(room):
        pdf.add_page()
    _paragraph(pdf, text, size=11, bold=True, gap=1.0)


def _hazard(pdf: "FPDF", hazard: Hazard) -> None:
    _heading(pdf, f"{hazard.number}  {hazard.name}", room=55)
    _paragraph(pdf, f"Harm: {hazard.harm}. Severity: {hazard.severity}.")
    rows = []
    for row in hazard.rows:
        proof = [proof_in_words(name) for name in row.proof] + (["by hand, see the list"] if row.by_hand else [])
        rows.append((row.number, row.cause, f"{row.measure}: {row.guard}", "\n".join(proof) or "none", row.left, ""))
    _table(pdf, _COLUMNS, rows, _WIDTHS)


def _table(pdf: "FPDF", columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], widths: tuple[int, ...]) -> None:
    pdf.set_font(FONT, size=_SIZE)
    with pdf.table(
        col_widths=widths, line_height=_LINE, text_align="LEFT", padding=0.8, v_align="TOP", wrapmode="WORD"
    ) as table:
        for row in (columns, *rows):
            cells = table.row()
            for text in row:
                cells.cell(text.replace("`", ""))
    pdf.ln(4)


def _limits(pdf: "FPDF", rig: Rig) -> None:
    _heading(pdf, "Limits of this machine", room=60)
    values = limits_in_words(rig)
    rows = [("stop time", values["stop_time"], "from a stop until the torque, not only its command, is gone")]
    rows += [("old commands", "", f"what ends them beside the drive's watchdog: {values['heartbeat']}")]
    rows += [(name, values[name], limit.reason) for name, limit in vars(rig.limits).items()]
    _table(pdf, ("limit", "value", "reason"), rows, (30, 30, 160))
