"""Losses of a steer drive.

They lie between the torque that it reports and the steer axis, as a pull test finds them.

A command T makes ``gain * arriving(T + offset)`` on the steer axis, of which ``friction`` takes its share. What arrives
lacks the dead band, and lags behind by the hysteresis on its way up and down
(`riderless.models.plant.steer_drive.passed_on`). The defaults are a drive that loses nothing.
"""

from dataclasses import dataclass, fields

from riderless.models.errors import InputError

LEAST_DRIVE_GAIN, MOST_DRIVE_GAIN = 0.1, 3.0  # below and above it is another drive, or a wrong unit
MOST_DRIVE_LOSS = 2.0  # N m, of each torque that is lost: more leaves nothing to balance with


@dataclass(frozen=True, kw_only=True)
class DriveLosses:
    """Losses of a steer drive.

    Attributes
    ----------
    gain : float
        Torque made on the steer axis per torque commanded and reported.
    offset : float
        Command that is added by the drive itself, while it is on [N m]: it makes torque where none is commanded.
    dead_band : float
        Command that makes no torque, to either side [N m].
    hysteresis : float
        Command by which what arrives lags behind on its way up and down [N m].
    friction : float
        Dry friction of drive and steer axis, in motion and until it breaks away [N m].

    Raises
    ------
    InputError
        A number out of range.
    """

    gain: float = 1.0
    offset: float = 0.0
    dead_band: float = 0.0
    hysteresis: float = 0.0
    friction: float = 0.0

    def __post_init__(self) -> None:
        if not LEAST_DRIVE_GAIN <= self.gain <= MOST_DRIVE_GAIN:
            raise InputError(
                f"the gain of a drive must be from {LEAST_DRIVE_GAIN:g} to {MOST_DRIVE_GAIN:g} N m made per N m "
                f"commanded, found {self.gain:g}: measure it again, or correct the drive's torque constant"
            )
        for name in ("offset", "dead_band", "hysteresis", "friction"):
            value, least = getattr(self, name), -MOST_DRIVE_LOSS if name == "offset" else 0.0
            if not least <= value <= MOST_DRIVE_LOSS:
                raise InputError(
                    f"the {name} of a drive must be from {least:g} to {MOST_DRIVE_LOSS:g} N m, found {value:g} N m: "
                    "measure it again"
                )

    @property
    def linear(self) -> bool:
        """Does the drive make torque in proportion to its commands, but for a constant?"""
        return not (self.dead_band or self.hysteresis or self.friction)

    @property
    def told(self) -> dict[str, float]:
        """Those that are not as in a drive without losses, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
