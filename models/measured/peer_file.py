"""Readings files of BicycleParameters (``NAMEMeasured.txt``).

Lines ``aB1 = 0.098 +/- 0.003, 0.097 +/- 0.003``, SI, angles in deg.
"""

from collections.abc import Iterator

from riderless.models.bicycle_file import shortened
from riderless.models.errors import InputError
from riderless.models.measured.reading_table import RIDER_READINGS, kind_of
from riderless.models.measured.readings import LabReadings, readings_of


def read_measured_text(text: str, name: str, origin: str = "the file") -> LabReadings:
    """Read such a file; what belongs to a rider's seat is passed over.

    Raises
    ------
    InputError
        A line is something else, or a reading none that a bicycle can have.
    """
    try:
        readings = readings_of({"name": name, "source": f"readings {origin}", "readings": dict(_entries(text))})
    except InputError as error:
        raise InputError(f"{origin}: {error}") from None
    return readings


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """Readings by key with unit, as text."""
    seen = set()
    for number, line in enumerate(text.splitlines(), start=1):
        entry = line.split("#")[0].strip()
        if not entry:
            continue
        symbol, equals, value = (part.strip() for part in entry.partition("="))
        if not equals or not value:
            raise InputError(f"line {number} wants NAME = VALUE +/- STD, found {shortened(entry)}")
        if symbol in seen:
            raise InputError(f"line {number} gives {symbol} a second time: keep one")
        seen.add(symbol)
        kind = kind_of(symbol)
        if kind is None:
            if symbol not in RIDER_READINGS and symbol[:1] in "aTmwgf":
                raise InputError(f"line {number} has the reading {shortened(symbol)}, which is none")
            continue
        yield (f"{symbol}_deg" if kind.unit == "rad" else symbol), value


def readings_toml(readings: LabReadings) -> str:
    """Write readings as the TOML that `riderless measure` reads, angles in deg, the rest in SI."""
    from math import degrees

    from riderless.models.file_format import dump_toml, format_line

    table: dict[str, object] = {}
    for symbol, reading in readings.readings.items():
        kind = kind_of(symbol)
        in_degrees = kind is not None and kind.unit == "rad"
        key = f"{symbol}_deg" if in_degrees else symbol
        numbers = [
            [float(f"{degrees(number):.15g}") if in_degrees else number for number in pair]
            for pair in zip(reading.values, reading.stated, strict=True)
        ]
        table[key] = numbers
    document = {"format": format_line("readings"), "name": readings.name, "source": readings.source, "readings": table}
    return dump_toml(document)
