"""`riderless compare`: equations of a user beside ours."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riderless.experiments.commands._options import Trust, complete_bicycle
from riderless.experiments.commands._shared_options import AsJson

if TYPE_CHECKING:
    from riderless.models.compared.comparison import EquationCheck


def compare(
    matrices: Annotated[
        Path | None,
        typer.Argument(help="Four lines such as M,80.8,2.32,2.32,0.298: M, C1, K0, K2 with their entries row by row."),
    ] = None,
    bike: Annotated[
        str,
        typer.Option(
            "--bicycle",
            autocompletion=complete_bicycle,
            help="Bicycle whose equations they are: a name of the catalogue, or a file.",
        ),
    ] = "Benchmark",
    example: Annotated[
        bool, typer.Option("--example", help="Example: print our matrices as such a file and stop.")
    ] = False,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Compare your own M, C1, K0, K2 with ours: which entry is wrong, and what slip it looks like.

    K0 is without gravity, C1 and K2 are those of 1 m/s. In Python rl.compare_equations takes a nonlinear function too.
    """
    from riderless.experiments.terminal.console import emit_json, print_line
    from riderless.models.catalogue import load_bicycle
    from riderless.models.compared.comparison import compare_equations
    from riderless.models.compared.own_matrices import WANTED, matrices_text
    from riderless.models.errors import InputError
    from riderless.models.linear.whipple import canonical_matrices

    bicycle = load_bicycle(bike, trust)
    if example:
        for line in matrices_text(canonical_matrices(bicycle)).splitlines():
            print_line(line)
        return
    if matrices is None:
        raise InputError(f"wanted a file of matrices: {WANTED}; --example prints one")
    check = compare_equations(matrices, bicycle)
    if as_json:
        emit_json(_document(check))
        return
    _show(check)


def _document(check: "EquationCheck") -> dict[str, Any]:
    """Everything found, for JSON; SI."""
    return {
        "bike": check.bicycle,
        "verdict": check.verdict,
        "same_motion": check.same_motion,
        "slips": check.slips,
        "wrong": [entry._asdict() for entry in check.wrong],
        "coefficients": [each._asdict() | {"agrees": each.agrees} for each in check.coefficients],
        "rows": [
            {"v": v, "found": own, "right": right}
            for v, own, right in zip(check.v.tolist(), check.found.tolist(), check.right.tolist(), strict=True)
        ],
    }


def _show(check: "EquationCheck") -> None:
    """Print the verdict, the slips, wrong entries, and the two comparisons that do not depend on coordinates."""
    import numpy as np

    from riderless.experiments.reports.text import eigenvalue_text
    from riderless.experiments.terminal.console import print_table, screen

    screen.print(f"{check.bicycle}: {check.verdict}", style="bold", soft_wrap=True)
    for slip in check.slips:
        screen.print(f"SLIP {slip}", soft_wrap=True)
    if check.wrong:
        print_table(
            "1. wrong entries, SI",
            ["entry", "found", "right", "looks like"],
            [
                [
                    f"{each.matrix} {each.row} {each.column}",
                    f"{each.found:.10g}",
                    f"{each.right:.10g}",
                    "as said above" if set(each.looks_like) & set(check.slips) else each.looks,
                ]
                for each in check.wrong
            ],
            "",
        )
    print_table(
        "2. characteristic polynomial, that of s^4 being 1",
        ["", "found", "right", ""],
        [
            [f"s^{each.s} v^{each.v}", f"{each.found:.8g}", f"{each.right:.8g}", "" if each.agrees else "wrong"]
            for each in check.coefficients
        ],
        "",
    )
    off = np.abs(check.found - check.right)
    print_table(
        "3. eigenvalues, 1/s: the farthest from ours at each speed",
        ["v m/s", "found", "right", "apart"],
        [
            [f"{v:g}", eigenvalue_text(own[k], 5), eigenvalue_text(right[k], 5), f"{apart[k]:.1e}"]
            for v, own, right, apart in zip(check.v, check.found, check.right, off, strict=True)
            for k in [int(np.argmax(apart))]
        ],
        "4. motion: a nonlinear function is compared in Python, rl.compare_equations(function).",
    )
