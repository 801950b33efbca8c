"""Proof of a place sensor's sign and scale.

`riderless check` had the held bicycle pushed. A sensor that lies takes a bicycle off its belt. In a ride that is
noticed only some seconds after the release, so before a rig with a belt is armed a recent proof of its sensor, with the
settings that it has, is asked for.
"""

import json
from dataclasses import asdict

from riderless.hil.rig.rig import Rig
from riderless.hil.runners.kept_proofs import is_proven, is_recent, keep_proof, proofs_file, utc_now
from riderless.models.errors import InputError


def keep_place_proof(rig: Rig) -> None:
    """Keep that the sensor of place of this rig has been proven now; raises InputError where that cannot be written."""
    keep_proof(proofs_file("place"), _sensor_of(rig), {"utc": utc_now()}, "the check of the sensor of place")


def require_place_proof(rig: Rig) -> None:
    """Refuse to arm a rig on a belt whose sensor of place was not proven of late; raises InputError."""
    if rig.place is None or rig.place.belt_width is None or not rig.place_days:
        return
    if is_proven(proofs_file("place"), _sensor_of(rig), lambda utc: is_recent(utc, rig.place_days)):
        return
    raise InputError(
        f"the rig '{rig.name}' wants its sensor of place proven within {rig.place_days:g} days with these settings, "
        "found no such proof: run `riderless check RIG` and push the held bicycle as it asks, or set check_days = 0 in "
        "[place] of the rig"
    )


def _sensor_of(rig: Rig) -> str:
    """Sensor of place with all that its sign and scale come from."""
    port = next(port for port in rig.ports if "place" in port.carries)
    return json.dumps({"rig": rig.name, **asdict(port)}, sort_keys=True)
