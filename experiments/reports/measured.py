"""Page about a measured bicycle.

Its parameters with bars, the residuals of its readings, doubtful ones marked.
"""

from collections.abc import Iterator, Sequence
from html import escape

from riderless.models.harmless_text import harmless
from riderless.models.measured.measurement import MeasuredBicycle, band_sentence, describe
from riderless.models.parameter_table import PARAMETERS

_ODD = ' class="odd"'
BAR = 260  # px, of the longest bar
_STYLE = """body{font:15px/1.45 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222;background:#fff}
table{border-collapse:collapse;margin:1em 0}td,th{padding:.15em .6em;text-align:right;border-bottom:1px solid #ddd}
td:first-child,td:last-child,th:first-child{text-align:left}.doubt{background:#fff3d6;border-left:4px solid #c60;
padding:.4em .8em;margin:.6em 0}tr.odd td{background:#fff3d6}
svg{vertical-align:middle}caption{text-align:left;font-weight:bold}"""


def measured_page(measured: MeasuredBicycle) -> str:
    """Whole HTML page of a measured bicycle; nothing of it is loaded from elsewhere."""
    name = escape(measured.bicycle.name)
    body = [f"<h1>{name}, measured</h1>", *(f"<p>{escape(band_sentence(band))}</p>" for band in measured.weave)]
    body += [f'<div class="doubt">{escape(doubt.sentence)}</div>' for doubt in measured.doubts]
    if measured.readings.left_out:
        body.append(f"<p>Left out: {escape(', '.join(measured.readings.left_out))}</p>")
    body += ["".join(_parameters(measured)), *_residuals(measured), *_shares(measured)]
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{name}, measured</title>'
        f"<style>{_STYLE}</style></head><body>{''.join(body)}</body></html>\n"
    )
    return harmless(page, keep="\n")


def _bar(share: float, colour: str = "#36c", room: int = BAR) -> str:
    """Bar from the middle to either side, of a share in -1 to 1 of its room [px]."""
    half = room / 2.0
    x, length = (half if share >= 0.0 else half + half * share), abs(half * share)
    return (
        f'<svg width="{room}" height="12"><line x1="{half}" x2="{half}" y1="0" y2="12" stroke="#999"/>'
        f'<rect x="{x:.1f}" y="2" width="{max(length, 0.5):.1f}" height="8" fill="{colour}"/></svg>'
    )


def _parameters(measured: MeasuredBicycle) -> Iterator[str]:
    """Table of parameters; bars show deviations per value, and where the weighted answer lies."""
    yield "<table><caption>Parameters; bar: the weighted answer's distance, in standard deviations (4 to either side)"
    yield "</caption><tr><th></th><th>value</th><th>std</th><th>weighted</th><th>unit</th><th></th></tr>"
    other = measured.weighted
    for name, (unit, meaning) in PARAMETERS.items():
        value, std = getattr(measured.bicycle, name), measured.bicycle.std.get(name, 0.0)
        away = (getattr(other, name) - value) / std if other and std else 0.0
        row = ' class="odd"' if abs(away) > 2.0 else ""
        beside = f"{getattr(other, name):.6g}" if other else ""
        yield (
            f'<tr{row} title="{escape(meaning)}"><td>{name}</td><td>{value:.6g}</td><td>{std:.2g}</td><td>{beside}</td>'
            f"<td>{unit}</td><td>{_bar(max(-1.0, min(1.0, away / 4.0)))}</td></tr>"
        )
    yield "</table>"


def _residuals(measured: MeasuredBicycle) -> Iterator[str]:
    """Bars of what each line or swing is off by."""
    doubted = {symbol for doubt in measured.doubts for symbol in doubt.symbols}
    for check in measured.checks:
        if check.each.freedom == 0:
            continue
        scale, unit = (1e3, "mm") if check.each.of == "line" else (100.0, "% of its moment")
        largest = max(float(abs(check.residuals).max()), 1e-12)
        rows = []
        for symbol, residual in zip(check.each.symbols, check.residuals, strict=True):
            marked = symbol in doubted
            bar = _bar(float(residual) / largest, "#c60" if marked else "#36c")
            rows.append(
                f"<tr{_ODD if marked else ''}><td>{symbol}</td><td>{scale * residual:+.2g} {unit}</td>"
                f"<td>{bar}</td></tr>"
            )
        yield f"<table><caption>{escape(check.sentence)}</caption>{''.join(rows)}</table>"


def _shares(measured: MeasuredBicycle) -> Sequence[str]:
    """Bars of what the deviation of the weave comes from."""
    band = measured.weave[len(measured.weave) // 2]
    rows = [
        f"<tr><td>{escape(describe(share.name))}</td><td>{100.0 * share.re:.0f} %</td><td>{100.0 * share.im:.0f} %</td>"
        f"<td>{_bar(share.im, room=2 * BAR)}</td></tr>"
        for share in band.shares[:12]
    ]
    if not rows:
        return []
    head = f"<caption>Share in the weave's variance at {band.v:g} m/s; bar: of the imaginary part</caption>"
    return [f"<table>{head}<tr><th></th><th>re</th><th>im</th><th></th></tr>{''.join(rows)}</table>"]
