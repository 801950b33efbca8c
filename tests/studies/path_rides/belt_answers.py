"""Rides on the belt, each a line of a file: what is there already is not ridden again."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from riderless.experiments.campaigns.sweeps import spread
from riderless.models.errors import InputError
from tests.studies.answer_lines import end_last_line, whole_lines
from tests.studies.path_rides.belt_ride import BeltResult, BeltRide, ride_belt

Ridden = tuple[BeltRide, BeltResult]


def read_rides(path: Path) -> dict[BeltRide, BeltResult]:
    """Read the rides kept in a file, of its whole lines.

    Raises
    ------
    InputError
        A line that is no ride.
    """
    found = {}
    for number, line in enumerate(whole_lines(path), 1):
        try:
            document = json.loads(line)
            weights = tuple((str(name), float(value)) for name, value in document["ride"].pop("weights"))
            found[BeltRide(**document["ride"], weights=weights)] = BeltResult(**document["result"])
        except (ValueError, KeyError, TypeError):
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
    end_last_line(path)
    with path.open("a", encoding="utf-8") as file:
        for i, result in spread(ride_belt, missing, jobs):
            file.write(json.dumps({"ride": asdict(missing[i]), "result": asdict(result)}) + "\n")
            file.flush()
            yield missing[i], result
