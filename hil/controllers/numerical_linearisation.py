"""Numerical linearisation of a compiled law.

Central differences of two sizes, for a law that only its compiled step describes. Around upright riding at rest, where
everything is zero, the step is differentiated with steps that are far below usual motion. Whether it is linear there is
then seen at usual motion itself: differences of that size must say the same, and so must random motions of both sizes.
A law that switches, sticks or has a dead zone fails one of the two.
"""

from collections.abc import Sequence

import numpy as np

from riderless.hil.controllers.controller import LinearLaw, NotLinearError
from riderless.hil.controllers.law_trials import try_law
from riderless.hil.controllers.lti import LTI_INPUTS
from riderless.hil.loop.law import LAW_INPUTS, Law
from riderless.models.array_types import Array
from riderless.models.errors import InputError

USUAL_SIZES = {  # of a motion that windows are fitted to
    **dict.fromkeys(("phi", "delta", "delta_meas", "phi_ref", "delta_ref"), 0.02),  # rad, 1 deg
    **dict.fromkeys(("phi_dot", "delta_dot", "psi_dot", "phi_dot_meas", "psi_dot_meas", "psi_dot_ref"), 0.08),  # rad/s
    "psi": 0.05,  # rad, in a lane
    "y_P": 0.1,  # m
    "a_y_meas": 0.2,  # m/s^2
    **dict.fromkeys(("T", "u_prev", "T_meas"), 0.2),  # N m
}
SMALL = 1e-3  # of the usual sizes, for the differences
CURVED = 0.05  # of what usual motions do, by which the law may differ from its linearisation
AT_REST = 1e-9  # N m, and of a state's size
RANDOM_MOTIONS = 64
_SETTLING = 100  # ticks of usual motion after which a state has its usual size


def linearised_law(
    file: str, law: Law, inputs: tuple[str, ...], states: Sequence[str], dt: float, v: float, *, tangent: bool = False
) -> LinearLaw:
    """Linearise a compiled law at a speed.

    Parameters
    ----------
    file : str
        Its name, for the sentence of an error.
    law : Law
    inputs : tuple of p str
        Names of `LTI_INPUTS` that it says it uses.
    states : sequence of m str
        Names of what it remembers.
    dt : float
        Period of the loop [s].
    v : float
        Speed [m/s].
    tangent : bool
        It need be smooth at rest only, however far usual motion leaves its tangent there.

    Raises
    ------
    InputError
        Not at rest where all is zero; not smooth; or it uses an input that it does not name.
    """
    step = _Step(file, law, states, dt, v)
    step.require_rest()
    J = step.jacobian(SMALL)
    step.require_linear(J, (SMALL,) if tangent else (1.0, SMALL))
    step.require_named(J, inputs)
    m = len(states)
    chosen = [m + LTI_INPUTS.index(name) for name in inputs]
    return LinearLaw(inputs, J[1:, :m], J[1:, chosen], J[0, :m], J[0, chosen])


class _Step:
    """One step of a law at a speed: z, its states and all `LTI_INPUTS`, to the wish and the next states (1 + m,)."""

    def __init__(self, file: str, law: Law, states: Sequence[str], dt: float, v: float) -> None:
        self._file, self._law, self._states, self._m, self._v = file, law, states, len(states), v
        self._rest = np.zeros(len(LAW_INPUTS))
        for name, value in (("v", v), ("dt", dt), ("fresh", 1.0), ("steered", 1.0)):
            self._rest[LAW_INPUTS.index(name)] = value
        self._places = [LAW_INPUTS.index(name) for name in LTI_INPUTS]
        self._sizes = np.array([*self._state_sizes(), *(USUAL_SIZES[name] for name in LTI_INPUTS)])

    def _state_sizes(self) -> Array:
        """Sizes (m,) that the states have after random usual motion from zero; 1 for one that nothing moves."""
        rng = np.random.default_rng(0)
        signals = np.tile(self._rest, (_SETTLING, 1))
        signals[:, self._places] = rng.normal(size=(_SETTLING, len(LTI_INPUTS))) * [USUAL_SIZES[n] for n in LTI_INPUTS]
        after = try_law(self._law, np.zeros((_SETTLING, self._m)), signals, ride=_SETTLING).after
        reached = np.abs(after).max(axis=0)
        return np.where(reached > 0.0, reached, 1.0)

    def __call__(self, z: Array) -> Array:
        """Outcomes (n, 1 + m) of z (n, m + p)."""
        signals = np.tile(self._rest, (len(z), 1))
        signals[:, self._places] = z[:, self._m :]
        done = try_law(self._law, z[:, : self._m], signals)
        return np.column_stack([done.wishes, done.after])

    @property
    def _out_sizes(self) -> Array:
        return np.append(1.0, self._sizes[: self._m])

    def require_rest(self) -> None:
        """Refuse a law that asks for torque, or moves, where all is zero."""
        done = self(np.zeros((1, len(self._sizes))))[0]
        if not np.all(np.abs(done) <= AT_REST * self._out_sizes):
            where = int(np.argmax(np.abs(done) / self._out_sizes))
            what = f"asks for {done[0]:.3g} N m" if where == 0 else f"moves its state {self._state(where)}"
            raise self._refusal(f"{what} where everything is zero")

    def jacobian(self, size: float) -> Array:
        """Central differences (1 + m, m + p) over ``size`` of the usual sizes."""
        steps = np.diag(size * self._sizes)
        return ((self(steps) - self(-steps)) / (2.0 * np.diag(steps)[:, None])).T

    def require_linear(self, J: Array, sizes: Sequence[float]) -> None:
        """Refuse a law that differs from its linearisation J by too much in motions of these ``sizes`` of usual ones.

        They go along each input, and at random.
        """
        rng = np.random.default_rng(1)
        mixed = rng.uniform(-1.0, 1.0, (RANDOM_MOTIONS, len(self._sizes)))
        z = np.vstack([np.eye(len(self._sizes)), -np.eye(len(self._sizes)), mixed]) * self._sizes
        outcomes, linear = self(z), z @ J.T
        effect = np.maximum(np.abs(outcomes).max(axis=0), np.abs(linear).max(axis=0))
        if 1.0 not in sizes:
            effect = np.abs(linear).max(axis=0)
        for size in sizes:
            off = np.abs((outcomes if size == 1.0 else self(size * z)) - size * linear)
            worst = off / np.maximum(CURVED * size * effect, AT_REST * SMALL * self._out_sizes)
            if not worst.max() <= 1.0:
                row, out = np.unravel_index(int(np.argmax(np.where(np.isfinite(worst), worst, np.inf))), worst.shape)
                n = len(self._sizes)
                along = f" along {self._name(int(row) % n)}" if row < 2 * n else ""
                what = "its wish" if out == 0 else f"its state {self._state(int(out))}"
                raise self._refusal(f"is not smooth: differences of two sizes disagree in {what}{along}")

    def require_named(self, J: Array, inputs: Sequence[str]) -> None:
        """Refuse a law that uses an input which its table does not name."""
        used = np.abs(J[:, self._m :] * self._sizes[self._m :]) / self._out_sizes[:, None]
        for name, size in zip(LTI_INPUTS, used.max(axis=0), strict=True):
            if size > AT_REST and name not in inputs:
                raise InputError(
                    f"the law {self._file} uses {name}, which is not among its inputs "
                    f"({', '.join(inputs)}): add it to LAW"
                )

    def _state(self, out: int) -> str:
        return self._states[out - 1]

    def _name(self, place: int) -> str:
        return (*self._states, *LTI_INPUTS)[place]

    def _refusal(self, what: str) -> InputError:
        return NotLinearError(
            f"the law {self._file} {what} at {self._v:g} m/s, so nothing predicts how the bicycle moves "
            "under it: make it smooth there, or run it all the same with --allow-unstable (allow_unstable = true)"
        )
