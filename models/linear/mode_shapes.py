"""Mode shapes of the linear bicycle.

A mode with eigenvalue s is the motion phi = Re(lean e^{s t}), delta = Re(steer e^{s t}): two phasors, the null
vector of M s^2 + v C1 s + g K0 + v^2 K2 (Meijaard et al. 2007, eq. 5.3). Only their ratio is fixed; here the longer
has length one, and lean points along the positive real axis. In a single mode the rates are s times the angles, so
ratio and phase are the same for both.
"""

from dataclasses import dataclass

import numpy as np

from riderless.models.array_types import ComplexArray
from riderless.models.coordinates import PHI
from riderless.models.errors import InputError
from riderless.models.linear.modes import CAPSIZE, CASTER, WEAVE, WEAVE_TWIN, named_modes
from riderless.models.linear.whipple import canonical_matrices
from riderless.models.parameters import Bicycle

MODE_NAMES = {WEAVE: "weave", WEAVE_TWIN: "weave", CAPSIZE: "capsize", CASTER: "caster"}  # by column of Modes.all


@dataclass(frozen=True)
class ModeShape:
    """Shape of one mode at one speed.

    Attributes
    ----------
    name : str
        ``weave``, ``capsize`` or ``caster``; ``capsize and caster`` where the two are one oscillation.
    eigenvalue : complex
        1/s; of a complex pair the one with positive imaginary part.
    lean, steer : complex
        Phasors of phi and delta, the longer of length one, lean along the positive real axis.
    """

    name: str
    eigenvalue: complex
    lean: complex
    steer: complex

    @property
    def oscillatory(self) -> bool:
        """True where the mode oscillates."""
        return self.eigenvalue.imag != 0.0

    @property
    def steer_over_lean(self) -> float:
        """Amplitude of steer over that of lean; infinite for a mode of steer alone."""
        return abs(self.steer) / abs(self.lean) if self.lean else float("inf")

    @property
    def lean_lead(self) -> float:
        """Phase [rad] by which lean is ahead of steer, in (-pi, pi].

        Of a mode that does not oscillate: 0 when the bicycle steers to the side it leans to, pi when to the other.
        """
        if not self.oscillatory:
            return 0.0 if (self.lean * self.steer).real >= 0.0 else float(np.pi)
        return float(np.angle(self.lean / self.steer)) if self.steer else 0.0

    def motion(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lean and steer at the times ``t`` [s], in the scale of the phasors."""
        growth = np.exp(self.eigenvalue * np.asarray(t, dtype=float))
        return (self.lean * growth).real, (self.steer * growth).real


def mode_shapes(bicycle: Bicycle, v: float) -> tuple[ModeShape, ...]:
    """Find the shapes of the modes at forward speed ``v`` [m/s]: weave, capsize, caster.

    A complex pair is one entry. Where weave is two real eigenvalues it has two entries, the larger first.

    Raises
    ------
    InputError
        For a speed that is not a finite number.
    """
    if np.ndim(v):
        raise InputError(f"mode shapes are those of one speed in m/s; found {np.size(v)}: ask for one at a time")
    roots = named_modes(bicycle, v).all[0]
    return tuple(
        _shape(bicycle, float(v), _name(i, roots), complex(root)) for i, root in enumerate(roots) if root.imag >= 0.0
    )


def pendulum_zeros(bicycle: Bicycle) -> tuple[float, float]:
    """Zeros [1/s] of the steer angle by the steer torque: those of an inverted pendulum, at every speed.

    The one in the right half plane makes the bicycle steer to the other side first, and bounds what a loop can do.
    """
    matrices = canonical_matrices(bicycle)
    zero = float(np.sqrt(-bicycle.g * matrices.K0[PHI, PHI] / matrices.M[PHI, PHI]))
    return zero, -zero


def _name(i: int, roots: ComplexArray) -> str:
    """Name of mode ``i``; of both members where a pair has two names, as capsize and caster may."""
    pair = {MODE_NAMES[i]}
    if roots[i].imag != 0.0:
        pair |= {MODE_NAMES[j] for j, other in enumerate(roots) if other == roots[i].conjugate()}
    return " and ".join(sorted(pair))


def _shape(bicycle: Bicycle, v: float, name: str, s: complex) -> ModeShape:
    M, C1, K0, K2 = canonical_matrices(bicycle)
    balance = M * s**2 + v * C1 * s + bicycle.g * K0 + v**2 * K2
    lean, steer = np.linalg.svd(balance)[2][-1].conj()  # the direction that it takes to zero
    turn = lean.conjugate() / abs(lean) if lean else 1.0 / steer
    scale = turn / max(abs(lean), abs(steer))
    return ModeShape(name, s, complex(abs(lean * scale)), complex(steer * scale))
