"""What theory says moves in a recording, as a function of everything about the machine that is uncertain.

The 25 parameters of the bicycle are uncertain, and so are speed, drive and friction of the machine around it.
Bands around a prediction, the search for what would explain a disagreement and the identification of parameters
all move the same named quantities: those of `models.parameters` and those of `MACHINE`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from experiments.datatypes import Array, Dynamics, Response
from models import catalogue
from models.coordinates import PHI_DOT, STATES
from models.errors import InputError
from models.linear.perturbed import ENTRIES, Variant
from models.linear.whipple import canonical_matrices
from models.parameters import PARAMETERS, Bicycle


class Quantity(NamedTuple):
    """Something about a machine that theory takes for granted."""

    unit: str
    nominal: float
    usual: float  # standard deviation where nobody has measured it, for ranking causes only
    meaning: str


MACHINE = {
    "speed_scale": Quantity("", 1.0, 0.01, "true speed per measured speed"),
    "drive_gain": Quantity("", 1.0, 0.05, "torque on the steer axis per torque commanded"),
    "more_delay": Quantity("s", 0.0, 0.005, "delay of the drive beyond the one known"),
    "steer_damping": Quantity("N m s/rad", 0.0, 0.1, "viscous friction of the steer axis"),
    "steer_stiffness": Quantity("N m/rad", 0.0, 0.3, "spring that centres the steer"),
    "steer_inertia": Quantity("kg m^2", 0.0, 0.005, "what turns with the steer and is no part of the bicycle"),
}
TENSORS = {"fork_inertia": ("IHxx", "IHxz", "IHyy", "IHzz"), "frame_inertia": ("IBxx", "IBxz", "IByy", "IBzz")}
MACHINE |= {
    "fork_inertia": Quantity("", 1.0, 0.05, "the front frame's whole tensor of inertia per the one measured"),
    "frame_inertia": Quantity("", 1.0, 0.05, "the rear frame's whole tensor of inertia per the one measured"),
}
SENSORS = {
    "steer_scale": Quantity("", 1.0, 0.02, "measured steer per true steer"),
    "steer_lag": Quantity("s", 0.0, 0.005, "how much later than the lean rate the steer is measured"),
}
STEER_EQUATION = {  # with damping and stiffness of the steer these leave its whole equation free
    "steer_by_lean": Quantity("N m/rad", 0.0, np.inf, "torque against the steer per lean"),
    "steer_by_lean_rate": Quantity("N m s/rad", 0.0, np.inf, "torque against the steer per lean rate"),
}
USUAL_ENTRY = 0.02  # of the largest entry of its matrix: how well an entry is usually known
QUANTITIES = {**MACHINE, **SENSORS, **STEER_EQUATION}


@dataclass(frozen=True)
class Theory:
    """A bicycle, what moves with it, and how well both are known.

    ``build(variant, more_delay)`` gives the dynamics of a variant of the machine. ``std`` holds standard deviations
    of quantities of `MACHINE`; those of the bicycle's parameters are the bicycle's own. ``moved`` sets some of all of
    them to other values than the bicycle and `MACHINE` say.
    """

    name: str
    bicycle: Bicycle
    build: Callable[[Variant, float], Dynamics]
    std: Mapping[str, float] = field(default_factory=dict)
    moved: Mapping[str, float] = field(default_factory=dict)

    def move(self, changes: Mapping[str, float]) -> "Theory":
        """The same theory about other values of some quantities."""
        return replace(self, moved={**self.moved, **changes})

    def dynamics(self, changes: Mapping[str, float] | None = None) -> Dynamics:
        """The dynamics with some quantities set to other values; as theory has them by default.

        Raises
        ------
        InputError
            For a name that is neither a parameter nor a quantity, or a value that no bicycle can have.
        """
        return self.build(*self.variant(changes)) if changes else self._own

    @cached_property
    def _own(self) -> Dynamics:
        return self.build(*self.variant({}))

    def variant(self, changes: Mapping[str, float]) -> tuple[Variant, float]:
        """The machine with some quantities set to other values, and its additional delay [s]."""
        changes = {**self.moved, **changes}
        for name in changes:
            self.nominal(name)
        own: dict[str, Any] = {name: value for name, value in changes.items() if name in PARAMETERS}
        machine: dict[str, Any] = {name: value for name, value in changes.items() if name not in PARAMETERS}
        for scale, moments in TENSORS.items():
            factor = machine.pop(scale, 1.0)
            if factor != 1.0:
                own |= {name: factor * own.get(name, getattr(self.bicycle, name)) for name in moments}
        delay = machine.pop("more_delay", 0.0)
        entries = {name: machine.pop(name) for name in ENTRIES if name in machine}
        for name in SENSORS:  # what they show is no part of what moves
            machine.pop(name, None)
        bicycle = replace(self.bicycle, **own) if own else self.bicycle
        return replace(Variant(bicycle, entries=entries), **machine), delay

    def nominal(self, name: str) -> float:
        """What theory takes a quantity to be, SI."""
        if name in self.moved:
            return self.moved[name]
        if name in PARAMETERS:
            return float(getattr(self.bicycle, name))
        if name in QUANTITIES:
            return QUANTITIES[name].nominal
        if name in ENTRIES:
            matrix, i, j = ENTRIES[name]
            return float(getattr(canonical_matrices(self.bicycle), matrix)[i, j])
        known = ", ".join(QUANTITIES)
        raise InputError(
            f"wanted a parameter of the bicycle (w, c, lam, ...), an entry of a matrix (M_phi_delta, ...) or one of "
            f"{known}, found '{name}'"
        )

    @property
    def uncertain(self) -> dict[str, float]:
        """Standard deviation of every quantity that has one, SI."""
        known = {**self.bicycle.std, **self.std}
        return {name: float(std) for name, std in known.items() if std > 0.0}

    def usual(self, name: str) -> float:
        """Standard deviation of a quantity: its own, else what is usual (see `usual_std`), SI."""
        if name in self.uncertain:
            return self.uncertain[name]
        if name in ENTRIES:
            return USUAL_ENTRY * float(np.abs(getattr(canonical_matrices(self.bicycle), ENTRIES[name][0])).max())
        return usual_std().get(name, np.inf) if name in PARAMETERS else QUANTITIES[name].usual

    @property
    def causes(self) -> tuple[str, ...]:
        """Quantities that may explain a disagreement: of all parameters, those that the linear bicycle feels."""
        return (*(name for name in PARAMETERS if name in usual_std() and name != "g"), *MACHINE, *SENSORS)


def unit(name: str) -> str:
    """Unit of a parameter or quantity, SI; empty for a number without one."""
    if name in ENTRIES:
        return {"M": "kg m^2", "C1": "kg m", "K0": "kg m", "K2": "kg"}[ENTRIES[name][0]]
    return QUANTITIES[name].unit if name in QUANTITIES else PARAMETERS[name][0]


@cache
def usual_std() -> dict[str, float]:
    """How well parameters are known when they were measured: median of the catalogue's published deviations."""
    bicycles = [catalogue.load_bicycle(name) for name in catalogue.bicycle_names()]
    found = {name: [b.std[name] for b in bicycles if b.std.get(name)] for name in PARAMETERS}
    return {name: float(np.median(values)) for name, values in found.items() if values}


def open_loop(bicycle: Bicycle) -> Theory:
    """The uncontrolled bicycle: Meijaard et al. (2007) eq. (5.3) without torques."""

    def build(real: Variant, more_delay: float) -> Dynamics:
        return _four_states("open loop", lambda v: real.system(v)[0])

    return Theory("open loop", bicycle, build)


def lean_feedback(bicycle: Bicycle, k: float, v0: float, std: Mapping[str, float] | None = None) -> Theory:
    """The bicycle that steers into the lean: T_delta = k (v0 - v) phi_dot, nothing above v0.

    Continuous and without delay: what is known of the Delft controllers. ``k`` in N s^2 (that is N m per rad/s and
    m/s), ``v0`` in m/s. A delay tau is taken to first order, T = k (v0 - v) (phi_dot - tau phi_ddot).
    """
    name = f"steer into the lean, {k:g} ({v0:g} - v)"

    def build(real: Variant, more_delay: float) -> Dynamics:
        def matrix(v: float) -> Array:
            gain = real.drive_gain * k * max(v0 - v, 0.0)
            mass, damping, stiffness = real.matrices(v)
            mass[1, 0] += gain * more_delay
            damping[1, 0] -= gain
            A = np.zeros((4, 4))
            A[:2, 2:] = np.eye(2)
            A[2:] = -np.linalg.solve(mass, np.hstack([stiffness, damping]))
            return A

        return _four_states(name, matrix)

    return Theory(name, bicycle, build, std or {})


def _four_states(name: str, matrix: Callable[[float], Array]) -> Dynamics:
    return Dynamics(name, STATES, matrix, np.eye(4)[PHI_DOT], lambda v: np.eye(4))


def fixed(bicycle: Bicycle, dynamics: Dynamics) -> Theory:
    """Dynamics that do not depend on anything: no bands, nothing to identify."""
    return Theory(dynamics.name, bicycle, lambda real, more_delay: dynamics)


# What moves in a recording of each kind, where the recording does not bring its own theory.
BICYCLES = {"kooijman": "Silver", "delft-sbw": "DelftSbW2024"}
THEORIES: dict[str, Callable[[Bicycle], Theory]] = {
    "kooijman": open_loop,
    "delft-sbw": lambda bicycle: lean_feedback(bicycle, 2.0, 6.5),
}


def bicycle_for(response: Response) -> Bicycle:
    """The bicycle of a recording: its own, else the published one of its kind."""
    if response.bicycle is not None:
        return response.bicycle
    if response.kind not in BICYCLES:
        raise InputError(
            f"{response.source}: wanted a bicycle to predict the motion of, found none for a recording of "
            f"kind '{response.kind}'; name one of the catalogue (`riderless bikes`)."
        )
    return catalogue.load_bicycle(BICYCLES[response.kind])


def theory_for(response: Response) -> Theory:
    """The theory of a recording: its own, else what was published for its kind."""
    return response.theory or THEORIES.get(response.kind, open_loop)(bicycle_for(response))


def dynamics_for(response: Response) -> Dynamics:
    """What theory says moves in a recording."""
    return theory_for(response).dynamics()
