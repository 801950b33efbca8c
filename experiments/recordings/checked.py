"""A response beside what else its recording tells: enough to find flaws in it and to doubt it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from experiments.datatypes import Array, Response


@dataclass(frozen=True)
class Recorded:
    """A response, and what only serves to check it.

    ``columns`` names the column behind each quantity, as sentences about it should. ``beside`` has what no
    Response has, (n,) on the same grid, SI: ``delta_dot`` [rad/s], ``wheel`` (turning rate of the rear wheel) [rad/s],
    ``a_y`` and ``a_z`` (specific force) [m/s^2]. ``law`` is (k, v0) of T_delta = k (v0 - v) phi_dot, in force
    while the recording is free, or None.
    """

    response: Response
    columns: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, Array] = field(default_factory=dict)
    law: tuple[float, float] | None = None

    def name(self, quantity: str) -> str:
        """How its recording calls a quantity."""
        return self.columns.get(quantity, quantity)

    def signal(self, quantity: str) -> Array | None:
        """A quantity (n,) in SI, or None where it was not recorded."""
        if quantity in self.beside:
            return self.beside[quantity]
        return getattr(self.response, quantity, None)

    def put(self, quantity: str, values: Array | None) -> "Recorded":
        """The same with other values of one quantity, or without it."""
        if quantity in self.beside:
            left = {name: signal for name, signal in self.beside.items() if name != quantity}
            return replace(self, beside=left if values is None else {**left, quantity: values})
        change: dict[str, Any] = {quantity: values}
        return replace(self, response=replace(self.response, **change))

    def remarked(self, *remarks: str) -> "Recorded":
        """The same with remarks added."""
        return replace(self, response=replace(self.response, remarks=(*self.response.remarks, *remarks)))


SIGNALS = ("phi_dot", "v", "phi", "delta", "psi_dot", "T_delta")  # of a Response
BESIDE = ("delta_dot", "wheel", "a_y", "a_z")
