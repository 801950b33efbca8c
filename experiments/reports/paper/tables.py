"""Tables of a report for a paper.

Conditions as LaTeX (booktabs) and as CSV, windows as CSV.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from riderless.hil.logs.export import write_csv
from riderless.models.harmless_text import harmless

CONDITION_COLUMNS = (
    *("condition", "windows", "v_m_s", "v_width_m_s", "re_1_s", "re_half_95_1_s", "im_rad_s", "im_half_95_rad_s"),
    *("like_re_1_s", "like_im_rad_s", "frozen_re_1_s", "frozen_im_rad_s"),
)
WINDOW_COLUMNS = (
    *("recording", "bicycle", "t_start_s", "t_end_s", "v_m_s", "re_1_s", "re_std_1_s", "im_rad_s", "im_std_rad_s"),
    *("like_re_1_s", "like_im_rad_s", "frozen_re_1_s", "frozen_im_rad_s", "estimator"),
)
CURVE_COLUMNS = ("bicycle", "curve", "v_m_s", "re_1_s", "im_rad_s")
TEX_SPECIAL = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
}


class PaperCondition(NamedTuple):
    """Condition of a report, as its tables and figures show it: eigenvalues [1/s], half widths of 95 % intervals."""

    label: str
    n: int
    v: float
    measured: complex
    half: complex  # of real and imaginary part; nan where one window gives no interval
    like: complex
    frozen: complex
    width: float  # m/s, from the slowest window to the fastest; nan in a report of an older version


def paper_conditions(document: Mapping[str, Any]) -> list[PaperCondition]:
    """Conditions of a report's numbers, by speed."""
    conditions = [
        PaperCondition(
            label=row["label"],
            n=row["n"],
            v=_number(row["v_mean"]),
            measured=complex(_number(row["re"]["mean"]), _number(row["im"]["mean"])),
            half=complex(_number(row["re"]["half"]), _number(row["im"]["half"])),
            like=complex(*map(_number, row["like"])),
            frozen=complex(*map(_number, row["frozen"])),
            width=_number(row.get("width")),
        )
        for kind in document["summary"].values()
        for row in kind["pooled"]
    ]
    return sorted(conditions, key=lambda condition: (condition.v, condition.label))


class PaperCurve(NamedTuple):
    """Predicted eigenvalue over speed; nan where there is none."""

    bicycle: str
    label: str
    v: list[float]  # m/s
    values: list[complex]  # 1/s


def paper_curves(document: Mapping[str, Any]) -> list[PaperCurve]:
    """Curves of a report's numbers; none in one of an older version."""
    curves = []
    for curve in document.get("curves", ()):
        values = [complex(_number(re), _number(im)) for re, im in zip(curve["re"], curve["im"], strict=True)]
        curves.append(PaperCurve(curve["bicycle"], curve["label"], [_number(v) for v in curve["v"]], values))
    return curves


def curves_csv(curves: Sequence[PaperCurve]) -> str:
    """Write the curves as CSV, one row a speed."""
    rows = (
        (curve.bicycle, curve.label, v, *_parts(value))
        for curve in curves
        for v, value in zip(curve.v, curve.values, strict=True)
        if value == value  # not nan
    )
    return _csv(CURVE_COLUMNS, rows)


def conditions_csv(conditions: Sequence[PaperCondition]) -> str:
    """Write the conditions as CSV; units stand in the names of the columns."""
    rows = (
        (
            condition.label,
            condition.n,
            condition.v,
            condition.width,
            *_pairs(condition.measured, condition.half),
            *_parts(condition.like),
            *_parts(condition.frozen),
        )
        for condition in conditions
    )
    return _csv(CONDITION_COLUMNS, rows)


def windows_csv(document: Mapping[str, Any]) -> str:
    """Write the windows of a report's numbers as CSV."""
    return _csv(WINDOW_COLUMNS, map(_window, document["windows"]))


def conditions_tex(title: str, conditions: Sequence[PaperCondition]) -> str:
    """Write the conditions as a table of LaTeX, which wants the package booktabs."""
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{tex_text(title)}: eigenvalues measured and of the model. Half widths of 95\,\% intervals.}}",
        r"\begin{tabular}{lrrrrrr}",
        r"\toprule",
        r"condition & $n$ & $v$ & \multicolumn{2}{c}{measured} & like for like & frozen \\",
        r" & & m/s & Re, 1/s & Im, rad/s & 1/s & 1/s \\",
        r"\midrule",
    ]
    for condition in conditions:
        re, im = (_with_half(*pair) for pair in zip(_parts(condition.measured), _parts(condition.half), strict=True))
        cells = (
            tex_text(condition.label),
            str(condition.n),
            f"{condition.v:.2f}",
            re,
            im,
            _complex(condition.like),
            _complex(condition.frozen),
        )
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def tex_text(text: str) -> str:
    """Text of somebody's as LaTeX that obeys nothing in it."""
    return "".join(TEX_SPECIAL.get(sign, sign) for sign in harmless(text))


def _window(window: Mapping[str, Any]) -> Iterator[Any]:
    """Cells of a window."""
    where, theory = window["window"], window.get("prediction") or {}
    yield from (window["label"], window["bicycle"], where["t_start"], where["t_end"], where["v_mean"])
    yield from (window["re"], window["re_std"], window["im"], window["im_std"])
    yield from (*(theory.get("like") or ("", "")), *(theory.get("frozen") or ("", "")), window["estimator"])


def _csv(head: Sequence[str], rows: Any) -> str:
    out = io.StringIO()
    write_csv(out, head, rows, end="\n")
    return out.getvalue()


def _number(value: float | None) -> float:
    """Number of a document, in which what is none is null."""
    return float("nan") if value is None else float(value)


def _parts(value: complex) -> tuple[float, float]:
    return value.real, value.imag


def _pairs(value: complex, half: complex) -> tuple[float, float, float, float]:
    return value.real, half.real, value.imag, half.imag


def _with_half(value: float, half: float) -> str:
    """Number with its interval, alone where there is none."""
    return f"${value:.2f}$" if half != half else rf"${value:.2f} \pm {half:.2f}$"


def _complex(value: complex) -> str:
    return rf"${value.real:.2f} \pm {abs(value.imag):.2f}\,\mathrm{{i}}$"
