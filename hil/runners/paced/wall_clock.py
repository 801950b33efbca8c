"""Wall clock of runs in simulated time."""

import time
from collections import deque
from collections.abc import Callable

CATCH_UP = 0.1  # s that a run may be behind and still make up for
_SPAN = 2.0  # s over which the rate is measured


class WallClock:
    """Clock on the wall, to which a simulated run keeps as well as the computer can.

    Parameters
    ----------
    now : callable
        Gives the time on the wall [s].
    sleep : callable
        Waits for so many seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep) -> None:
        self._now, self._sleep = now, sleep
        self._zero: float | None = None  # s on the wall when the run would have begun, had it never been late
        self._seen: deque[tuple[float, float]] = deque()  # s on the wall, and of the run

    @property
    def rate(self) -> float:
        """Seconds of the run in one on the wall, of late; 1 on a computer that keeps up."""
        (wall, t), (wall_end, t_end) = self._seen[0], self._seen[-1]
        return min(1.0, (t_end - t) / (wall_end - wall)) if wall_end - wall > 0.5 * _SPAN else 1.0

    def keep_to(self, t: float) -> None:
        """Wait until the wall's clock has reached ``t`` [s of the run]; of a delay above `CATCH_UP` forget the rest."""
        wall = self._now()
        if self._zero is None:
            self._zero = wall - t
        self._zero = max(self._zero, wall - t - CATCH_UP)
        self._seen.append((wall, t))
        while wall - self._seen[0][0] > _SPAN:
            self._seen.popleft()
        if self._zero + t > wall:
            self._sleep(self._zero + t - wall)
