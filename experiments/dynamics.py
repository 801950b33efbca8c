"""Linear motion of a machine, by uncertain quantities.

Theory predicts it as a function of everything about the machine that is uncertain. The 25 parameters of the bicycle are
uncertain, and so are speed, drive and friction of the machine around it. Bands around a prediction, the search for what
would explain a disagreement and the identification of parameters all move the same named quantities: those of
`riderless.models.parameters` and those of `MACHINE_QUANTITIES`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from riderless.experiments.notebook import plus_minus, value_table
from riderless.hil.design.sampled_plant import continuous
from riderless.models import catalogue
from riderless.models.array_types import Array, ComplexArray
from riderless.models.coordinates import RATE_STATES, STATES
from riderless.models.errors import InputError
from riderless.models.linear.path import heading_rate
from riderless.models.linear.perturbed import ENTRIES, Variant
from riderless.models.linear.resistance import MOST_HEIGHT, MOST_ROLLING, Resistance, RetardingForces
from riderless.models.linear.whipple import canonical_matrices
from riderless.models.parameters import PARAMETERS, Bicycle
from riderless.models.plant.drive_losses import DriveLosses

# Mechanics behind linear dynamics: the bicycle, and where forces and readings enter, for large motions.


@dataclass(frozen=True)
class Mechanics:
    """Mechanics of a machine whose small motions some `riderless.experiments.dynamics.Dynamics` describes.

    Attributes
    ----------
    bicycle : Bicycle
        Whose nonlinear equations of motion hold.
    matrices : callable
        Mass, damping and stiffness (2, 2) for lean and steer at a measured speed [m/s], SI: the bicycle's own, and
        whatever else the dynamics have there (springs, dampers, a continuous law of control).
    speed_scale : float
        True speed per measured speed.
    torque : (m,) array or None
        Row that gives the torque of the drive on the steer axis [N m] from the m states; None without a drive.
    readings : callable or None
        Change of the next state per unit of what each instrument, well mounted, reads, (m, 4), at a measured speed;
        columns as `riderless.hil.design.closed_loop.MEASURED_CHANNELS`. None where nothing is fed back by way of
        instruments.
    instruments : callable or None
        Matrix (4, m) from the states to those readings, at a measured speed.
    x_imu, z_imu : float
        Place of the inertial sensor on the rear frame [m].
    gyros : (2, 2) array
        Readings of the roll and the yaw gyro by lean and yaw rate.
    """

    bicycle: Bicycle
    matrices: Callable[[float], tuple[Array, Array, Array]]
    speed_scale: float = 1.0
    torque: Array | None = None
    readings: Callable[[float], Array] | None = None
    instruments: Callable[[float], Array] | None = None
    x_imu: float = 0.0
    z_imu: float = 0.0
    gyros: Array = field(default_factory=lambda: np.eye(2))


SLOWING = -0.2  # m/s^2, for the difference quotient of `Dynamics.by_acceleration`; the change is in proportion to 1e-5
SAMPLED_LOOP = "whole sampled loop, "  # how the name of every controller's dynamics begins


@dataclass(frozen=True, repr=False)
class Dynamics:
    """Linear motion that theory predicts for a recording, scheduled with speed.

    ``matrix(v)`` is the continuous system matrix [1/s] when ``dt`` is None, else the map over one
    sample of ``dt`` seconds. ``output`` is the row that gives the lean rate. ``embed(v)`` (n, 4)
    maps a bicycle state (phi, delta, phi_dot, delta_dot) to the whole state at the start of a
    window, everything else (observer, drive, delay) being consistent with it; ``hidden(v)`` adds what need
    not be, such as the observer's slow errors. ``roll_gyro(v)`` is the row of what is read for the lean rate, where
    that is something else.
    """

    name: str  # "open loop", "whole sampled loop, lqr", ...
    states: tuple[str, ...]
    matrix: Callable[[float], Array]
    output: Array
    embed: Callable[[float], Array]
    dt: float | None = None
    hidden: Callable[[float], Array] | None = None  # (n, k): starts nobody measures, one std each
    noise: Callable[[float], Array] | None = None  # (n, m): state after one sample of sensor noise, 1 std each
    misread: Callable[[float], Array] | None = None  # d matrix / d (speed that the controller reads), per m/s
    by_acceleration: Callable[[float], Array] | None = None  # d matrix / d (rate of the speed), per m/s^2
    by_retarding: Callable[[float, float], Array] | None = None  # what its forces change in matrix, at v and a
    heading: Callable[[float, float], tuple[Array, Array]] | None = None  # at v and a: (m,) of the states' rates per
    # rad of heading, and (m,) of the heading's rate per state; None where the heading acts on nothing
    on_belt: bool = False
    reading: Mapping[str, Array] = field(default_factory=dict)  # channel -> (m,): the same noise in its readings
    mechanics: Mechanics | None = None  # for motions that are not small; None where none are known
    steer_torque: Callable[[float], Array] | None = None  # (m,): d x / dt, or after one sample, per N m on the steer
    drive: Callable[[float], Array] | None = None  # (m,): row that gives the torque of the drive on the steer [N m]
    feedback: Callable[[float], Array] | None = None  # (m,): row that gives the torque that is commanded [N m]
    command: Callable[[float], Array] | None = None  # (m,): state after one sample, per N m added to the command
    roll_gyro: Callable[[float], Array] | None = None  # (m,): row of what the roll gyro reads; None: the lean rate

    def lean_rate_read(self, v: float) -> Array:
        """Row (m,) that gives the lean rate as the roll gyro reads it at speed ``v`` [m/s]."""
        return self.output if self.roll_gyro is None else self.roll_gyro(v)

    def starts(self, v: float) -> Array:
        """Whole states (n, 4 + k) at speed ``v`` [m/s] of each unit state of the bicycle, then of the hidden starts."""
        own = np.asarray(self.embed(v), dtype=float)
        return own if self.hidden is None else np.column_stack([own, self.hidden(v)])

    def eigenvalues(self, v: float) -> ComplexArray:
        """Eigenvalues (n,) of the motion at speed ``v`` [m/s] in 1/s, also of a sampled one; -inf of a delay."""
        values = np.linalg.eigvals(self.matrix(v)).astype(complex)
        return values if self.dt is None else continuous(values, self.dt)

    def growth(self, v: float) -> float:
        """Largest real part of the eigenvalues at speed ``v`` [1/s, m/s]: below zero the motion dies out."""
        return float(self.eigenvalues(v).real.max())

    @property
    def time(self) -> str:
        """Continuous, or sampled with its interval, in words."""
        return "continuous" if self.dt is None else f"sampled every {1e3 * self.dt:.4g} ms"

    def __repr__(self) -> str:
        return f"Dynamics({self.name!r}, {len(self.states)} states, {self.time})"

    def _repr_html_(self) -> str:
        return value_table(
            f"Dynamics: {self.name}",
            {
                "states": ", ".join(self.states),
                "time": self.time,
                "sensor noise": "none" if self.noise is None else "known",
            },
        )


class PhysicalRange(NamedTuple):
    """Values that a quantity can have on any machine, SI, and the reason."""

    least: float
    most: float
    why: str

    def allows(self, value: float) -> bool:
        """Tell whether a value is in the range, SI."""
        return self.least <= value <= self.most


ANYTHING = PhysicalRange(-np.inf, np.inf, "")
A_SENSOR = PhysicalRange(0.5, 2.0, "a sensor that is off by a factor of two is a wrong unit")
A_FILTER = PhysicalRange(-0.1, 0.1, "no filter of an instrument for a bicycle is later than 0.1 s")
A_MOUNTING = PhysicalRange(-0.175, 0.175, "a sensor that is mounted 10 deg askew is seen with the eye")
A_BODY = PhysicalRange(0.1, 10.0, "a body ten times lighter or heavier is another body")


class Quantity(NamedTuple):
    """Quantity of a machine that theory takes for granted; SI."""

    unit: str
    nominal: float
    usual: float  # standard deviation where nobody has measured it, for ranking causes only
    meaning: str
    range: PhysicalRange = ANYTHING


MACHINE_QUANTITIES = {
    "speed_scale": Quantity("", 1.0, 0.01, "true speed per measured speed", A_SENSOR),
    "imu_pitch": Quantity("rad", 0.0, 0.0175, "pitch of the inertial sensor on the frame, nose up", A_MOUNTING),
    "gyro_scale": Quantity("", 1.0, 0.02, "measured rates of lean and yaw per true rates", A_SENSOR),
    "drive_gain": Quantity(
        "",
        1.0,
        0.05,
        "torque on the steer axis per torque commanded",
        PhysicalRange(0.1, 3.0, "a drive turns the way it is told, with a tenth to three times the torque"),
    ),
    "more_delay": Quantity(  # its range begins at minus what is known: `Theory.range`
        "s",
        0.0,
        0.005,
        "delay of the drive beyond the one known",
        PhysicalRange(0.0, 0.1, "no command is obeyed before it is given, and none 0.1 s late"),
    ),
    "steer_damping": Quantity(
        "N m s/rad",
        0.0,
        0.1,
        "viscous friction of the steer axis",
        PhysicalRange(0.0, 20.0, "friction takes energy and gives none"),
    ),
    "steer_stiffness": Quantity(
        "N m/rad",
        0.0,
        0.3,
        "spring that centres the steer",
        PhysicalRange(0.0, 100.0, "a spring pulls back and does not push away"),
    ),
    "steer_inertia": Quantity(
        "kg m^2",
        0.0,
        0.005,
        "what turns with the steer and is no part of the bicycle",
        PhysicalRange(0.0, 1.0, "no inertia is negative"),
    ),
}
SCALED_TENSORS = {"fork_inertia": ("IHxx", "IHxz", "IHyy", "IHzz"), "frame_inertia": ("IBxx", "IBxz", "IByy", "IBzz")}
MACHINE_QUANTITIES |= {
    "fork_inertia": Quantity("", 1.0, 0.05, "the front frame's whole tensor of inertia per the one measured", A_BODY),
    "frame_inertia": Quantity("", 1.0, 0.05, "the rear frame's whole tensor of inertia per the one measured", A_BODY),
}
SENSOR_QUANTITIES = {
    "steer_scale": Quantity("", 1.0, 0.02, "measured steer per true steer", A_SENSOR),
    "steer_lag": Quantity("s", 0.0, 0.005, "how much later than the lean rate the steer is measured", A_FILTER),
}
STEER_QUANTITIES = {  # with damping and stiffness of the steer these leave its whole equation free
    "steer_by_lean": Quantity("N m/rad", 0.0, np.inf, "torque against the steer per lean"),
    "steer_by_lean_rate": Quantity("N m s/rad", 0.0, np.inf, "torque against the steer per lean rate"),
}
FRICTION_QUANTITIES = {  # not linear: as a torque against the steer rate that was measured
    "steer_dry_friction": Quantity("N m", 0.0, 0.1, "Coulomb friction of the steer axis, from recorded steer alone")
}
ROAD_QUANTITIES = {  # felt where the speed falls, or where a resistance is stated: fields of `Resistance`
    "rolling": Quantity(
        "",
        0.008,
        0.004,
        "rolling resistance of each wheel per load",
        PhysicalRange(0.0, MOST_ROLLING, "no tyre on a floor resists more"),
    ),
    "rolling_axis": Quantity(
        "",
        0.5,
        0.5,  # neither end is less likely
        "axis of the moments against rolling, 0 along the leaned axles, 1 horizontal",
        PhysicalRange(0.0, 1.0, "the axis lies between the leaned axle and the horizontal"),
    ),
    "drag_share": Quantity(
        "",
        0.8,
        0.2,
        "share of the rest of the retarding force that is not at the rear rim",
        PhysicalRange(0.0, 1.0, "a share is none or all at most"),
    ),
    "drag_height": Quantity(
        "",
        1.15,
        0.2,
        "height of that force per height of the centre of mass",
        PhysicalRange(0.0, MOST_HEIGHT, "air, a hand and a rope act on the bicycle"),
    ),
}
USUAL_ENTRY_STD = 0.02  # of the largest entry of its matrix: how well an entry is usually known
UNCERTAIN_QUANTITIES = {
    **MACHINE_QUANTITIES,
    **SENSOR_QUANTITIES,
    **STEER_QUANTITIES,
    **FRICTION_QUANTITIES,
    **ROAD_QUANTITIES,
}


@dataclass(frozen=True, repr=False)
class Theory:
    """Bicycle, machine and feedback that theory predicts the motion of, and how well they are known.

    ``build(variant, more_delay)`` gives the dynamics of a variant of the machine. ``std`` holds standard deviations
    of quantities of `MACHINE_QUANTITIES`; those of the bicycle's parameters are the bicycle's own. ``moved`` holds the
    quantities and parameters that have other values than the bicycle and `MACHINE_QUANTITIES` give them. ``linear``
    says that the machine obeys the linear equations however far it leans, as an emulated one may.
    ``losses`` are those of its drive and steer axis: the gain is in ``moved`` too, and what no linear equation has is
    simulated. ``known_delay`` [s] is what the dynamics have between a reading and the torque that answers it: a drive
    can be earlier by so much and no more. ``resistance`` says what resists the bicycle, with `ROAD_QUANTITIES` for its
    numbers; None where its speed is kept, or nobody asks.
    """

    name: str
    bicycle: Bicycle
    build: Callable[[Variant, float], Dynamics]
    std: Mapping[str, float] = field(default_factory=dict)
    moved: Mapping[str, float] = field(default_factory=dict)
    linear: bool = False
    known_delay: float = 0.0
    on_belt: bool = False  # where a change of speed is the belt's
    resistance: Resistance | None = None
    losses: DriveLosses = DriveLosses()

    def __getstate__(self) -> dict[str, Any]:
        """Fields alone: the dynamics made of them hold functions, which no other process could take over."""
        return {name: value for name, value in vars(self).items() if name not in ("_own", "_own_variant")}

    def move(self, changes: Mapping[str, float]) -> "Theory":
        """Theory with other values of some quantities, SI."""
        return replace(self, moved={**self.moved, **changes})

    def dynamics(self, changes: Mapping[str, float] | None = None) -> Dynamics:
        """Dynamics with some quantities set to other values, SI; as theory has them by default.

        Raises
        ------
        InputError
            For a name that is neither a parameter nor a quantity, or a value that no bicycle can have.
        """
        return self._built(*self.variant(changes)) if changes else self._own

    @cached_property
    def _own(self) -> Dynamics:
        return self._built(*self.variant({}))

    def _built(self, variant: Variant, more_delay: float) -> Dynamics:
        """Dynamics of a machine, with what a changing speed makes of them."""
        dynamics = self.build(variant, more_delay)

        at = cache(dynamics.matrix)

        def forces(a: float) -> RetardingForces:
            return variant.resistance.forces(variant.bicycle, variant.speed_scale * a, self.on_belt)

        @cache
        def other(acceleration: float, retarding: RetardingForces) -> Dynamics:
            changed = replace(variant, acceleration=acceleration, retarding=retarding)
            return self.build(changed, more_delay)

        @cache
        def by_acceleration(v: float) -> Array:
            return (other(SLOWING, variant.retarding).matrix(v) - at(v)) / SLOWING

        @cache
        def by_retarding(v: float, a: float) -> Array:
            return other(0.0, forces(a)).matrix(v) - at(v)

        def heading(v: float, a: float) -> tuple[Array, Array]:
            column, row = np.zeros((2, len(dynamics.states)))
            if not a and variant.resistance.balance == "frame":  # nothing acts along the belt or road
                return column, row
            terms = replace(variant, acceleration=a, retarding=forces(a)).road_terms
            column[RATE_STATES] = -np.linalg.solve(variant.matrices(v)[0], terms.P)
            row[: len(STATES)] = heading_rate(variant.bicycle, variant.speed_scale * v, np.eye(len(STATES)))
            return column, row

        return replace(
            dynamics,
            by_acceleration=by_acceleration,
            by_retarding=by_retarding if self.resistance else None,
            heading=heading if self.on_belt or variant.resistance.balance != "frame" else None,
            on_belt=self.on_belt,
        )

    def variant(self, changes: Mapping[str, float]) -> tuple[Variant, float]:
        """Machine with some quantities set to other values, and its additional delay [s]."""
        return self._varied({**self.moved, **changes}) if changes else self._own_variant

    @cached_property
    def _own_variant(self) -> tuple[Variant, float]:
        return self._varied(self.moved)

    def _varied(self, changes: Mapping[str, float]) -> tuple[Variant, float]:
        """Machine with these values in place of its bicycle's and the usual ones."""
        for name in changes:
            self.nominal(name)
        own: dict[str, Any] = {name: value for name, value in changes.items() if name in PARAMETERS}
        machine: dict[str, Any] = {name: value for name, value in changes.items() if name not in PARAMETERS}
        for scale, moments in SCALED_TENSORS.items():
            factor = machine.pop(scale, 1.0)
            if factor != 1.0:
                own |= {name: factor * own.get(name, getattr(self.bicycle, name)) for name in moments}
        delay = machine.pop("more_delay", 0.0)
        entries = {name: machine.pop(name) for name in ENTRIES if name in machine}
        for name in (*SENSOR_QUANTITIES, *FRICTION_QUANTITIES):  # they do not change the linear motion
            machine.pop(name, None)
        moved = {name: machine.pop(name, quantity.nominal) for name, quantity in ROAD_QUANTITIES.items()}
        bicycle = replace(self.bicycle, **own) if own else self.bicycle
        variant = replace(Variant(bicycle, entries=entries, on_belt=self.on_belt), **machine)
        if self.resistance is not None:
            resistance = replace(self.resistance, **moved)
            kept = resistance.forces(bicycle, 0.0, self.on_belt)
            variant = replace(variant, resistance=resistance, retarding=kept)
        return variant, delay

    def nominal(self, name: str) -> float:
        """Nominal value of a quantity in this theory, SI."""
        if name in self.moved:
            return self.moved[name]
        if name in PARAMETERS:
            return float(getattr(self.bicycle, name))
        if name in UNCERTAIN_QUANTITIES:
            return UNCERTAIN_QUANTITIES[name].nominal
        if name in ENTRIES:
            matrix, i, j = ENTRIES[name]
            return float(getattr(canonical_matrices(self.bicycle), matrix)[i, j])
        known = ", ".join(UNCERTAIN_QUANTITIES)
        raise InputError(
            f"wanted a parameter of the bicycle (w, c, lam, ...), an entry of a matrix (M_phi_delta, ...) or one of "
            f"{known}, found '{name}'"
        )

    def range(self, name: str) -> PhysicalRange:
        """Values that a quantity can have on any machine, SI; a bicycle's parameters are judged together, elsewhere."""
        if name not in UNCERTAIN_QUANTITIES:
            return ANYTHING
        allowed = UNCERTAIN_QUANTITIES[name].range
        return allowed._replace(least=allowed.least - self.known_delay) if name == "more_delay" else allowed

    @property
    def uncertain(self) -> dict[str, float]:
        """Standard deviation of every quantity that has one, SI."""
        road = {} if self.resistance is None else {name: quantity.usual for name, quantity in ROAD_QUANTITIES.items()}
        known = {**self.bicycle.std, **road, **self.std}
        return {name: float(std) for name, std in known.items() if std > 0.0}

    @cached_property
    def correlation(self) -> Array:
        """Correlation matrix (q, q) of all that is `uncertain`, in its order."""
        return self.bicycle.correlation_matrix(list(self.uncertain))

    @cached_property
    def spread(self) -> Array:
        """Matrix (q, q) from q independent standard normal numbers to deviations of all that is `uncertain`, SI."""
        values, vectors = np.linalg.eigh(self.correlation)
        root = (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T
        if (self.correlation == np.eye(len(values))).all():
            root = self.correlation
        return np.array(list(self.uncertain.values()))[:, np.newaxis] * root

    def usual(self, name: str) -> float:
        """Standard deviation of a quantity: its own, else what is usual (see `usual_std`), SI."""
        if name in self.uncertain:
            return self.uncertain[name]
        if name in ENTRIES:
            return USUAL_ENTRY_STD * float(np.abs(getattr(canonical_matrices(self.bicycle), ENTRIES[name][0])).max())
        return usual_std().get(name, np.inf) if name in PARAMETERS else UNCERTAIN_QUANTITIES[name].usual

    def scales(self, names: Sequence[str]) -> Array:
        """Scale (p,) of each quantity, SI: its usual deviation, 1 where nothing is usual."""
        usual = np.array([self.usual(name) for name in names])
        return np.where(np.isfinite(usual), usual, 1.0)

    @property
    def causes(self) -> tuple[str, ...]:
        """Quantities that may explain a disagreement: of all parameters, those that the linear bicycle feels."""
        felt = (name for name in PARAMETERS if name in usual_std() and name != "g")
        road = (name for name in ROAD_QUANTITIES if name in self.uncertain)
        return (*felt, *MACHINE_QUANTITIES, *SENSOR_QUANTITIES, *road)

    def __repr__(self) -> str:
        moved = "".join(f", {name} = {value:.4g}" for name, value in self.moved.items())
        return f"Theory({self.name!r}, {self.bicycle.name}{moved})"

    def _repr_html_(self) -> str:
        read = {name: (std, *value_unit(name)) for name, std in self.uncertain.items()}
        values = {name: plus_minus(k * self.nominal(name), k * std, unit) for name, (std, k, unit) in read.items()}
        return value_table(f"Theory: {self.name}, {self.bicycle.name}", values)


def unit_of(name: str) -> str:
    """Unit of a parameter or quantity, SI; empty for a number without one."""
    if name in ENTRIES:
        return {"M": "kg m^2", "C1": "kg m", "K0": "kg m", "K2": "kg"}[ENTRIES[name][0]]
    return UNCERTAIN_QUANTITIES[name].unit if name in UNCERTAIN_QUANTITIES else PARAMETERS[name][0]


def shown_unit(unit: str) -> tuple[float, str]:
    """Unit in which a size is read, and how many of it an SI unit is: %, where there is none, ms, deg, else SI."""
    return {"": (100.0, "%"), "s": (1e3, "ms"), "rad": (math.degrees(1.0), "deg")}.get(unit, (1.0, unit))


def value_unit(name: str) -> tuple[float, str]:
    """Unit in which a quantity's value is read, and how many of it an SI unit is: deg of an angle, else SI."""
    unit = unit_of(name)
    return shown_unit(unit) if unit == "rad" else (1.0, unit)


def plain_name(name: str) -> str:
    """Name of a quantity as a sentence says it, "drive gain"; symbols such as IHxx or M_phi_delta stay."""
    return name if name in PARAMETERS or name in ENTRIES else name.replace("_", " ")


@cache
def usual_std() -> dict[str, float]:
    """Usual standard deviation of each measured parameter: median of the catalogue's published ones, SI."""
    names = [name for name in catalogue.bicycle_names() if not name.endswith("_repaired")]  # each bicycle once
    bicycles = [catalogue.load_bicycle(name) for name in names]
    deviations = {name: [b.std[name] for b in bicycles if b.std.get(name)] for name in PARAMETERS}
    return {name: float(np.median(values)) for name, values in deviations.items() if values}
