"""Plan of a case's ride.

The times at which it is armed, released, kicked and stopped, and at which faults may begin.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

from riderless.models.errors import InputError

ARM_AT, RUN_AT = 0.3, 1.7  # s since power-up
SHORT_RIDE, PLACE_RIDE, LONG_RIDE, LONGEST_RIDE = 1.9, 14.0, 30.0, 60.0  # s under control
AFTERMATH = 0.8  # s, from the stop to the end of the case
CASE_RELEASE_DELAY = 0.4  # s after the drive was enabled
CASE_KICK_DELAY = 0.4  # s after the release
CASE_KICK_SPACING = 3.2  # s; weave has died by then
STOP_AT, END_AT = 3.6, 4.4  # s since power-up, of a short ride

_RUNNING_FROM, _RUNNING_UNTIL = 1.85, 2.1  # s, between which a fault of a short ride begins
_KICK_FROM, _KICK_UNTIL = 2.17, 2.24  # s, within the first kick
_ACTING = 0.4  # share of a long ride that is left to a fault when it begins at the latest


class FaultOnset(StrEnum):
    """Moment at which a fault begins."""

    BEFORE = "before CHECK"
    CHECK = "during CHECK"
    ARMED = "ARMED"
    RUNNING = "RUNNING"
    IN_A_KICK = "in a kick"
    RAMPDOWN = "RAMPDOWN"


@dataclass(frozen=True)
class RidePlan:
    """Times of a case, s since power-up.

    Parameters
    ----------
    length : float
        s under control, from `SHORT_RIDE` to `LONGEST_RIDE`.

    Raises
    ------
    InputError
        For another length.
    """

    length: float = SHORT_RIDE

    def __post_init__(self) -> None:
        if not SHORT_RIDE <= self.length <= LONGEST_RIDE:
            raise InputError(
                f"the length of a ride must lie between {SHORT_RIDE:g} and {LONGEST_RIDE:g} s, found {self.length:g} s"
            )

    @property
    def is_long(self) -> bool:
        """True for a ride longer than the usual one."""
        return self.length > SHORT_RIDE

    @property
    def stop_at(self) -> float:
        """Time at which the operator stops the run."""
        return RUN_AT + self.length if self.is_long else STOP_AT

    @property
    def end_at(self) -> float:
        """End of the case."""
        return self.stop_at + AFTERMATH if self.is_long else END_AT

    @property
    def kicks(self) -> tuple[float, ...]:
        """Times of the pushes by hand, s after the release."""
        later = max(0, math.floor((self.length - SHORT_RIDE) / CASE_KICK_SPACING))
        return tuple(CASE_KICK_DELAY + CASE_KICK_SPACING * i for i in range(1 + later))

    @property
    def moments(self) -> tuple[FaultOnset, ...]:
        """Moments at which a fault may begin, one as likely as the other; a long ride is there for what runs long."""
        if not self.is_long:
            return tuple(FaultOnset)
        return (FaultOnset.ARMED, FaultOnset.RUNNING, FaultOnset.RUNNING, FaultOnset.IN_A_KICK)

    def onset(self, moment: FaultOnset, share: float) -> float:
        """Time that lies ``share`` (0 to 1) of the way through the window of a moment."""
        if self.is_long and moment is FaultOnset.IN_A_KICK:
            kick, share = divmod(share * len(self.kicks), 1.0)
            return _KICK_FROM + CASE_KICK_SPACING * kick + (_KICK_UNTIL - _KICK_FROM) * share
        first, last = self._window(moment)
        return first + (last - first) * share

    def _window(self, moment: FaultOnset) -> tuple[float, float]:
        latest = RUN_AT + (1.0 - _ACTING) * self.length if self.is_long else _RUNNING_UNTIL
        return {
            FaultOnset.BEFORE: (0.05, 0.28),
            FaultOnset.CHECK: (0.32, 1.33),
            FaultOnset.ARMED: (1.42, 1.66),
            FaultOnset.RUNNING: (_RUNNING_FROM, latest),
            FaultOnset.IN_A_KICK: (_KICK_FROM, _KICK_UNTIL),
            FaultOnset.RAMPDOWN: (round(self.stop_at + 0.02, 9), round(self.stop_at + 0.18, 9)),
        }[moment]
