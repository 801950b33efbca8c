"""Rides on the belt, each a line of a file: what is there already is not ridden again."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from experiments.campaigns.sweeps import spread
from experiments.studies.path_rides.belt_ride import BeltResult, BeltRide, ride_belt
from models.errors import InputError

Ridden = tuple[BeltRide, BeltResult]


def read_rides(path: Path) -> dict[BeltRide, BeltResult]:
    """Read the rides kept in a file, none where there is no file; a last line that was cut short is left out.

    Raises
    ------
    InputError
        A line that is no ride, but for the last.
    """
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    found = {}
    for number, line in enumerate(lines, 1):
        try:
            document = json.loads(line)
            weights = tuple((str(name), float(value)) for name, value in document["ride"].pop("weights"))
            found[BeltRide(**document["ride"], weights=weights)] = BeltResult(**document["result"])
        except (ValueError, KeyError, TypeError):
            if number < len(lines):
                raise InputError(
                    f"wanted a ride on the belt in line {number} of {path}, found '{line[:40]}': name another file"
                ) from None
    return found


def make_rides(rides: Sequence[BeltRide], path: Path, jobs: int | None = None) -> Iterator[Ridden]:
    """Make the rides that a file lacks, and append each to it as it comes; yields all, those kept first.

    Parameters
    ----------
    rides : sequence of BeltRide
    path : Path
        File of rides, a line each; made where there is none.
    jobs : int or None
        Processes; one a core by default.
    """
    kept = read_rides(path)
    yield from ((ride, kept[ride]) for ride in rides if ride in kept)
    missing = [ride for ride in rides if ride not in kept]
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if text and not text.endswith("\n"):  # a line cut short, as by a power failure
        path.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")
    with path.open("a", encoding="utf-8") as file:
        for i, result in spread(ride_belt, missing, jobs):
            file.write(json.dumps({"ride": asdict(missing[i]), "result": asdict(result)}) + "\n")
            file.flush()
            yield missing[i], result
