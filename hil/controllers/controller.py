"""Description of a controller off line.

It tells the conditions for which a controller was made, its compiled law, and how it is linearised. Everything around
the tick (files, checks before arming, header, theory) knows a controller by this alone.
"""

from typing import TYPE_CHECKING, NamedTuple, Protocol

from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.parameters import Bicycle

if TYPE_CHECKING:
    from riderless.hil.controllers.timing import LoopTiming
    from riderless.hil.loop.law import Law
    from riderless.models.linear.prescribed_steer import InnerLoop


class NotLinearError(InputError):
    """Refusal of a law that has no linearisation: nothing is predicted under it."""


class LinearLaw(NamedTuple):
    """Law near upright riding at one speed: x[k+1] = A x[k] + B s[k], T_req[k] = C x[k] + D s[k].

    T_req is a torque [N m]; under a drive that obeys a steer rate or angle it is that [rad/s, rad].

    ``s`` are the signals and references named in ``inputs``; the state x has m numbers, none for gains.
    """

    inputs: tuple[str, ...]  # p names of `riderless.hil.loop.law.LOOP_SIGNALS` and `LOOP_REFERENCE`
    A: Array  # (m, m)
    B: Array  # (m, p)
    C: Array  # (m,)
    D: Array  # (p,)


class Controller(Protocol):
    """Controller of any kind; a file of `riderless.hil.controllers` or of `riderless.hil.design` makes each."""

    @property
    def method(self) -> str:
        """Name for tables and logs."""

    @property
    def bicycle(self) -> Bicycle:
        """Bicycle it was made for."""

    @property
    def loop(self) -> "LoopTiming":
        """Rate, delay and drive lag it was made for."""

    @property
    def drive(self) -> "InnerLoop | None":
        """Inner loop of the drive it was made for, which obeys a steer rate or angle; None: it commands a torque."""

    @property
    def v(self) -> Array:
        """Speeds it was made for (n,) [m/s], increasing."""

    @property
    def is_off(self) -> bool:
        """It never asks for torque."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the signals and references that it uses (p,)."""

    @property
    def states(self) -> tuple[str, ...]:
        """Names of what it remembers (m,)."""

    def law(self) -> "Law":
        """Compiled law for the tick."""

    def linearised(self, v: float) -> LinearLaw:
        """Law near upright riding at speed ``v`` [m/s]."""

    def to_toml(self) -> str:
        """Text of its file, which a log's header keeps; the registry reads it back to the last bit."""
