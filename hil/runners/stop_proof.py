"""Proof of the hardware stop: in `riderless check` a person pressed and released it, on this day.

A stop that fails shows only when it is needed, so a machine is armed only on a day on which it was seen to work.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict

from riderless.firmware_interface.devices.link import ROLE_DRIVE
from riderless.firmware_interface.port_users import is_pseudo_terminal
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.kept_proofs import is_proven, is_today, keep_proof, proofs_file, utc_now
from riderless.models.errors import InputError

WITHOUT = "without_stop_proof"  # in a log's header: armed without it, as somebody asked for


def keep_stop_proof(rig: Rig) -> None:
    """Keep that the stop of this rig has been pressed now; raises InputError where that cannot be written."""
    keep_proof(proofs_file("stop"), _drive_of(rig), {"utc": utc_now()}, "the proof of the hardware stop")


def require_stop_proof(rig: Rig, paths: Sequence[str] = ()) -> None:
    """Refuse to arm a rig whose hardware stop was not pressed today, by the clock on the wall; raises InputError.

    An emulated bicycle behind its ports has no such stop.
    """
    if not rig.stop_proof or (paths and all(map(is_pseudo_terminal, paths))):
        return
    if is_proven(proofs_file("stop"), _drive_of(rig), is_today):
        return
    raise InputError(
        f"the rig '{rig.name}' wants its hardware stop pressed today, found no such proof: run `riderless check RIG` "
        "and press it as it asks, or say --without-stop-proof, which the log keeps"
    )


def _drive_of(rig: Rig) -> str:
    """Drive that the stop switches off, with the settings of its port."""
    port = next(port for port in rig.ports if port.role & ROLE_DRIVE)
    return json.dumps({"rig": rig.name, **asdict(port)}, sort_keys=True)
