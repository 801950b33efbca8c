"""Loop timing that a controller is made for."""

from dataclasses import asdict, dataclass

from riderless.models.bicycle_file import require_reals
from riderless.models.errors import InputError

SLOWEST_RATE = 1.0  # Hz; a bicycle falls in less than a second
FASTEST_RATE = 20_000.0  # Hz; no serial line carries more samples
SLOWEST_DRIVE = 0.5  # s of lag, with which no bicycle is balanced; a rig file has the same bound


@dataclass(frozen=True)
class LoopTiming:
    """Timing of the loop: sampling rate, and delay and lag between a computed torque and the steer axis.

    Parameters
    ----------
    rate : float
        Samples per second [Hz].
    delay : float
        From a sample to the moment its command is obeyed [samples], 0 to 1: 1 for a device that obeys at its
        next sample, as our node, less for a drive that obeys when the command comes.
    drive_lag : float
        Time constant of the steer drive [s]; 0 for a drive that obeys at once.

    Raises
    ------
    InputError
        A value is out of range.
    """

    rate: float = 200.0
    delay: float = 1
    drive_lag: float = 0.005

    def __post_init__(self) -> None:
        require_reals("the loop", rate=self.rate, delay=self.delay, drive_lag=self.drive_lag)
        if not SLOWEST_RATE <= self.rate <= FASTEST_RATE:
            raise InputError(
                f"the loop's rate must be above 0 Hz ({SLOWEST_RATE:g} Hz at least) and at most {FASTEST_RATE:g} Hz, "
                f"found {self.rate:g} Hz: give for example 200"
            )
        if not 0 <= self.delay <= 1:
            raise InputError(
                f"the loop's delay must be from 0 to 1 sample, found {self.delay}: our node obeys at the next sample, 1"
            )
        if not 0.0 <= self.drive_lag < SLOWEST_DRIVE:
            raise InputError(
                f"the drive's lag must be 0 s or more and below {SLOWEST_DRIVE:g} s, found {self.drive_lag:g} s: give "
                "for example 0.005"
            )

    def as_table(self) -> dict[str, float]:
        """Rate, delay and lag as a file of a controller holds them."""
        return asdict(self)

    @property
    def dt(self) -> float:
        """Sampling interval [s]."""
        return 1.0 / self.rate
