"""Response with signals that check it.

They are the other signals of its recording.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from riderless.experiments.datatypes import Response
from riderless.experiments.feedback_law import FeedbackLaw
from riderless.models.array_types import Array

MIN_RECORDING_ROWS = 50  # less than half a second of any recording
BRIDGED_TIME = 0.0225  # s from value to value; weave turns by less than a tenth of a radian meanwhile


def takes_too_long(missing: Any, dt: float) -> Any:
    """Tell where as many samples in a row, ``dt`` [s] apart, are missing (any shape) as cannot be bridged."""
    return (missing > 0) & ((missing + 1) * dt > BRIDGED_TIME)


@dataclass(frozen=True)
class Recorded:
    """Response, and signals that only serve to check it.

    ``columns`` names the column behind each quantity, as sentences about it should. ``beside`` has what no
    Response has, (n,) on the same grid, SI: ``delta_dot`` [rad/s], ``wheel`` (turning rate of the rear wheel) [rad/s],
    ``a_y`` and ``a_z`` (specific force) [m/s^2]. ``law`` is in force while the recording is
    free; None for none.
    """

    response: Response
    columns: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, Array] = field(default_factory=dict)
    law: FeedbackLaw | None = None

    def name(self, quantity: str) -> str:
        """Name of a quantity's column in the recording."""
        return self.columns.get(quantity, quantity)

    def signal(self, quantity: str) -> Array | None:
        """Signal (n,) of a quantity in SI, or None where it was not recorded."""
        if quantity in self.beside:
            return self.beside[quantity]
        return getattr(self.response, quantity, None)

    def put(self, quantity: str, values: Array | None) -> "Recorded":
        """Replace the values of one quantity, or remove it."""
        if quantity in self.beside:
            others = {name: signal for name, signal in self.beside.items() if name != quantity}
            return replace(self, beside=others if values is None else {**others, quantity: values})
        change: dict[str, Any] = {quantity: values}
        return replace(self, response=replace(self.response, **change))

    def remarked(self, *remarks: str) -> "Recorded":
        """Add remarks."""
        return replace(self, response=replace(self.response, remarks=(*self.response.remarks, *remarks)))


RESPONSE_SIGNALS = ("phi_dot", "v", "phi", "delta", "psi_dot", "T_delta")  # of a Response
BESIDE_SIGNALS = ("delta_dot", "wheel", "a_y", "a_z")
