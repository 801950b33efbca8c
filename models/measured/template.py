"""Blank readings file and blank sheet.

For each way of measuring.
"""

from collections.abc import Iterator, Sequence

from riderless.models.errors import InputError
from riderless.models.file_format import format_line
from riderless.models.measured.reading_table import kind_of, words_for

_DIAMETERS = ("d1", "d2", "d3", "d4", "d")
WAYS = ("table", "split-fork")
LINES = 4  # hanging lines and swings of each part that a template has room for
_UNITS = {"m": "mm", "rad": "deg", "kg": "", "s": "", "m/s^2": "", "": ""}
_TABLE_WORDS = {
    "h1": "top of the head tube's lower end above the table, steer axis level, fork reversed",
    "h2": "length of the block under it",
    "h3": "rear axle, top",
    "h4": "steer tube, top",
    "h5": "front axle, top",
    "d1": "head tube",
    "d2": "rear axle",
    "d3": "front axle",
    "d4": "steer tube",
    "d": "between the two axles, inside",
    "h6": "front axle",
    "h7": "stem bolt",
    "d5": "front axle",
    "d6": "stem bolt",
    "l": "front axle to stem bolt, outside",
}
_STDS = {"a_mm": 3, "alpha_deg": 0.2, "m": 0.02, "Tc": 0.002, "Tt": 0.002}


def _groups(ways: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Headings with the symbols below them."""
    unknown = [way for way in ways if way not in WAYS]
    if unknown:
        raise InputError(f"a way of measuring is {' or '.join(WAYS)}, found '{unknown[0]}'")
    table, apart = "table" in ways, "split-fork" in ways
    parts = ("B", "S", "G") if apart else ("B", "H")
    yield "the place: 9.81 is good to 0.03; look your own up", ["g"]
    if table:
        yield ("on a table, bicycle on its side, fork reversed", [*(f"h{i}" for i in range(1, 6)), *_DIAMETERS])
    else:
        yield "standing upright", ["w", "gamma", "f"]
    yield "roll-out, loaded as it will ride", ["nR", "dR", "nF", "dF"]
    yield "on the scale", ["mR", "mF", *(f"m{part}" for part in parts)]
    for part in parts:
        hung = [f"{head}{part}{i}" for i in range(1, LINES + 1) for head in ("alpha", "a")]
        yield f"hung freely, {LINES} orientations or more (2 at least)", hung
        yield (
            f"on the torsion rod, in the same {LINES} orientations (3 at least)",
            [f"Tt{part}{i}" for i in range(1, LINES + 1)],
        )
        point = "the stem bolt" if part == "G" else "the axle"
        yield f"as a pendulum about {point}", [f"Tc{part}1"]
    if apart:
        yield "front axle and stem bolt above the table", ["h6", "h7", "d5", "d6", "l"]
    yield (
        "wheels: hung on the inside of the rim; on the torsion rod",
        [*("lR", "TcR1", "TtR1"), *("lF", "TcF1", "TtF1")],
    )
    yield "calibration rod on the torsion rod", ["mP", "lP", "dP", "TtP1"]


def _key(symbol: str) -> str:
    kind = kind_of(symbol)
    unit = _UNITS[kind.unit] if kind else ""
    return f"{symbol}_{unit}" if unit else symbol


def _words(symbol: str) -> str:
    return _TABLE_WORDS.get(symbol, words_for(symbol))


def template_toml(ways: Sequence[str] = (), name: str = "Ours") -> str:
    """Blank readings file.

    Parameters
    ----------
    ways : sequence of str
        Of `WAYS`: "table", the geometry from heights and diameters; "split-fork", fork and handlebar apart.
    name : str
        Of the bicycle.

    Raises
    ------
    InputError
        There is no such way.
    """
    lines = [
        f'format = "{format_line("readings")}"',
        f'name = "{name}"',
        'source = ""        # who, where, when',
        "",
        "# A reading is a number, a list of repeated ones, or {Ann = [1.2, 1.3], Ben = 1.2} of several people.",
        '# A period [s] is a number, a recording "swing.csv", a list of these, or a stopwatch\'s',
        "# {swings = 20, total_s = [32.1, 32.0], start_deg = 8, end_deg = 4}.",
        "# Delete the lines of what was not measured.",
        "",
        "[readings]",
    ]
    for heading, symbols in _groups(ways):
        lines += [f"# {heading}", *(f'{_key(symbol):12} = ""   # {_words(symbol)}' for symbol in symbols), ""]
    stds = {"w_mm": 2, "gamma_deg": 0.2, "f_mm": 1} if "table" not in ways else {"h_mm": 0.1, "d_mm": 0.05}
    stds |= {"dR_mm": 10, "dF_mm": 10, "lR_mm": 1, "lF_mm": 1, "lP_mm": 1, "dP_mm": 0.1, "g": 0.005} | _STDS
    lines += [
        "[std]            # one standard deviation of a single reading: of one, or of all of a kind",
        *(f"{key:12} = {value}" for key, value in stds.items()),
        "",
        "[tools.scale]    # a tool's own error is in all its readings and does not average",
        'readings = ["m"]',
        "std_percent = 0.1",
        "",
    ]
    return "\n".join(lines)


def sheet_text(ways: Sequence[str] = ()) -> str:
    """Sheet of readings to print and to fill in by hand. Raises InputError as `template_toml`."""
    blank = "__________"
    lines = ["Readings of: ____________________   by: ____________________   on: ______________", ""]
    for heading, symbols in _groups(ways):
        lines.append(heading.upper())
        for symbol in symbols:
            kind = kind_of(symbol)
            unit = (_UNITS[kind.unit] or kind.unit) if kind else ""
            lines.append(f"  {symbol:9} {blank} {blank} {blank} {unit:6} {_words(symbol)}")
        lines.append("")
    return "\n".join(lines)
