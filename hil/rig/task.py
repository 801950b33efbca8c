"""Task of a run beside balancing.

The same object goes from the request to the loop and the log.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from riderless.hil.guidance.route import Route
from riderless.hil.loop.excitation import Excitation
from riderless.hil.loop.reference import Reference


@dataclass(frozen=True)
class Task:
    """Signal that is played, reference that is followed, path that is ridden, speeds that are asked for; default: none.

    Parameters
    ----------
    excitation : Excitation
        Torque played on top of the controller's.
    reference : Reference
        That the controller follows.
    route : Route
        Path that is ridden, as `riderless.hil.guidance.route.plan_route` makes it.
    asked_speeds : sequence of (s, m/s)
        Corners of the speed that a treadmill or wheel drive of the rig is asked for, over the time under control.
    """

    excitation: Excitation = Excitation()
    reference: Reference = Reference()
    route: Route = Route()
    asked_speeds: Sequence[tuple[float, float]] = ()

    def as_record(self) -> dict[str, Any]:
        """Parts for the header of a log; a path, reference or speed that nobody asked for is left out."""
        record: dict[str, Any] = {"excitation": self.excitation}
        record |= {"reference": self.reference} if self.reference.steps else {}
        record |= {"route": self.route} if self.route.rows else {}
        return record | ({"asked_speeds": self.asked_speeds} if self.asked_speeds else {})
