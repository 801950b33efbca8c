"""Linear bicycle that deviates from the theory.

It has something on its steer axis, a weak drive, or a speedometer that is off.

``M q'' + (v C1 + D) q' + (g K0 + v^2 K2 + R + S) q = f`` with q = (phi, delta): the linear bicycle of
`riderless.models.linear.whipple` whose steer equation has five more terms, all zero on the bicycle of theory. Where
its speed changes, or something resists it, it has the terms R of `riderless.models.linear.resistance`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np

from riderless.models.array_types import Array
from riderless.models.coordinates import ANGLE_STATES, DELTA, RATE_STATES
from riderless.models.errors import InputError
from riderless.models.linear.resistance import Resistance, RetardingForces, speed_change
from riderless.models.linear.road_forces import RoadTerms
from riderless.models.linear.whipple import CanonicalMatrices, canonical_matrices
from riderless.models.parameters import Bicycle


@dataclass(frozen=True)
class Variant:
    """Linear bicycle that may differ from its parameters.

    Parameters
    ----------
    bicycle : Bicycle
    drive_gain : float
        Torque on the steer axis per torque commanded.
    speed_scale : float
        True speed per speed that is measured; every ``v`` given to a method is the measured one.
    steer_inertia : float
        kg m^2, of what turns with the handlebar and is no part of the bicycle, such as an unpowered drive's rotor.
    steer_damping : float
        N m s/rad, viscous friction of the steer axis.
    steer_stiffness : float
        N m/rad, a spring that centres the steer, such as a cable.
    steer_by_lean, steer_by_lean_rate : float
        N m/rad and N m s/rad: torque against the steer per lean and lean rate. No machine has such parts; with the
        two above they leave the whole steer equation free, which a fit may want.
    entries : mapping of str to float
        Entries of the canonical matrices in place of the bicycle's own, SI, by the names of `ENTRIES`; M and K0 stay
        symmetric.
    imu_pitch : float
        rad, of the inertial sensor against the rear frame, nose up: it changes no motion but that which gyros command.
    gyro_scale : float
        Rates of lean and yaw as the gyros measure them per true ones; likewise.
    acceleration : float
        m/s^2, rate of the measured speed.
    on_belt : bool
        It is a belt that changes the speed.
    resistance : Resistance
        Where the retarding forces act.
    retarding : RetardingForces
    """

    bicycle: Bicycle
    drive_gain: float = 1.0
    speed_scale: float = 1.0
    steer_inertia: float = 0.0
    steer_damping: float = 0.0
    steer_stiffness: float = 0.0
    steer_by_lean: float = 0.0
    steer_by_lean_rate: float = 0.0
    entries: Mapping[str, float] = field(default_factory=dict)
    imu_pitch: float = 0.0
    gyro_scale: float = 1.0
    acceleration: float = 0.0
    on_belt: bool = False
    resistance: Resistance = Resistance()
    retarding: RetardingForces = RetardingForces()

    def __post_init__(self) -> None:
        for name, value in {**{name: getattr(self, name) for name in VARIANT_PARAMETERS}, **self.entries}.items():
            if not np.isfinite(value):
                raise InputError(f"{name} of a bicycle must be a finite number, found {value}")

    @property
    def gyros(self) -> Array:
        """Readings of roll and yaw gyro by lean and yaw rate, (2, 2): a sensor pitched nose up mixes them."""
        cos, sin = np.cos(self.imu_pitch), np.sin(self.imu_pitch)
        return self.gyro_scale * np.array([[cos, -sin], [sin, cos]])

    def matrices(self, v: float) -> tuple[Array, Array, Array]:
        """Mass, damping and stiffness (2, 2) at a measured speed ``v`` [m/s], SI."""
        M, C1, K0, K2 = self._canonical
        v = self.speed_scale * v
        mass, damping, stiffness = M.copy(), v * C1, self.bicycle.g * K0 + v**2 * K2
        mass[DELTA, DELTA] += self.steer_inertia
        damping[DELTA] += self.steer_by_lean_rate, self.steer_damping
        stiffness[DELTA] += self.steer_by_lean, self.steer_stiffness
        if self.acceleration or any(self.retarding):
            stiffness += self.road_terms.K
        return mass, damping, stiffness

    @cached_property
    def _canonical(self) -> CanonicalMatrices:
        """M, C1, K0 and K2 with the entries that differ: the same at every speed."""
        matrices = canonical_matrices(self.bicycle)
        for name, value in self.entries.items():
            matrix, i, j = ENTRIES[name]
            getattr(matrices, matrix)[i, j] = value
            if matrix in SYMMETRIC_MATRICES:
                getattr(matrices, matrix)[j, i] = value
        return matrices

    @cached_property
    def road_terms(self) -> RoadTerms:
        """Terms of the acceleration and of what retards it."""
        terms = speed_change(self.bicycle, self.speed_scale * self.acceleration, self.on_belt)
        return terms + self.resistance.terms(self.bicycle, self.retarding)

    def system(self, v: float) -> tuple[Array, Array]:
        """Matrix A (4, 4) [1/s] and vector b (4,) of x' = A x + b T_delta.

        State x = (phi, delta, phi_dot, delta_dot). ``v`` [m/s] is the measured speed, ``T_delta`` [N m] the torque
        commanded.
        """
        mass, damping, stiffness = self.matrices(v)
        A, b = np.zeros((4, 4)), np.zeros(4)
        A[ANGLE_STATES, RATE_STATES] = np.eye(2)
        A[RATE_STATES] = -np.linalg.solve(mass, np.hstack([stiffness, damping]))
        b[RATE_STATES] = np.linalg.solve(mass, [0.0, self.drive_gain])
        return A, b


VARIANT_PARAMETERS = tuple(f.name for f in fields(Variant) if f.type is float)
SYMMETRIC_MATRICES = ("M", "K0")
ENTRIES = {  # name: matrix, row, column; of the symmetric ones the upper triangle
    f"{matrix}_{row}_{column}": (matrix, i, j)
    for matrix in CanonicalMatrices._fields
    for i, row in enumerate(("phi", "delta"))
    for j, column in enumerate(("phi", "delta"))
    if i <= j or matrix not in SYMMETRIC_MATRICES
}
