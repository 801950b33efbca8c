"""Results of a pull test as rig values."""

from typing import Any

from riderless.hil.commissioning.pull_test import PullEstimate
from riderless.hil.rig.rig import Rig
from riderless.models.noise_statistics import STDS_95

_LOSS_KEYS = {
    "offset": "offset_Nm",
    "dead_band": "dead_band_Nm",
    "hysteresis": "hysteresis_Nm",
    "friction": "friction_Nm",
}
_DIGITS = 4


def pull_test_values(estimate: PullEstimate, rig: Rig) -> dict[tuple[str, str], Any]:
    """List what a pull test puts into a rig file, by table and key.

    The gain comes with the standard deviation whose normal law has as wide an interval. A loss is written where its
    95 % interval excludes none, and taken back to none where the rig has one that the test does not confirm; what the
    tables do not tell stays. Of a drive that obeys a steer rate or angle only friction is known.
    """
    values: dict[tuple[str, str], Any] = {}
    if rig.drive is None:
        low, high = estimate.interval("gain")
        values["drive", "gain"] = round(0.5 * (low + high), _DIGITS)
        values["std", "drive_gain"] = round(0.5 * (high - low) / STDS_95, _DIGITS)
    for name, key in _LOSS_KEYS.items():
        if name not in estimate.found or (rig.drive is not None and name != "friction"):
            continue
        value, determined = estimate.found[name].value, estimate.tells(name)
        if determined and (name == "offset" or value > 0.0):
            values["drive", key] = round(value, _DIGITS)
        elif getattr(rig.losses, name) != 0.0:
            values["drive", key] = 0.0
    return values
