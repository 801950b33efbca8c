"""Discrete state space over speed as a controller.

T_req = C x + D s, x[k+1] = A x[k] + B s[k], in one TOML file. T_req is a torque [N m], or with a table ``drive`` the
steer rate [rad/s] or angle [rad] that such a drive obeys.

``s`` are inputs chosen by name among the loop's estimates, readings and references (`riderless.hil.loop.law`). Between
two speeds the matrices are interpolated, which means something only if the state has the same coordinates at both;
where it has not, the controller is refused (`riderless.hil.controllers.state_coordinates`).
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from riderless.hil.controllers.controller import LinearLaw
from riderless.hil.controllers.file_values import numbers_of, require_known_keys
from riderless.hil.controllers.state_coordinates import (
    anti_windup_gain,
    in_common_coordinates,
    require_common_coordinates,
)
from riderless.hil.controllers.timing import LoopTiming
from riderless.models.array_types import Array
from riderless.models.bicycle_file import shortened
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError
from riderless.models.file_format import dump_toml, load_toml
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.parameters import Bicycle

if TYPE_CHECKING:
    from riderless.hil.loop.law import Law

LTI_FORMAT = "riderless state space 1"
STEER_LTI_FORMAT = "riderless steer state space 1"  # of a rate or angle: who knows torque only must not read it
LTI_INPUTS = (
    *("phi", "delta", "phi_dot", "delta_dot", "psi_dot", "T", "u_prev"),  # estimates
    *("psi", "y_P"),  # heading and place off the lane, of a rig with a sensor of place
    *("phi_dot_meas", "psi_dot_meas", "delta_meas", "a_y_meas", "T_meas"),  # readings
    *("psi_dot_ref", "phi_ref", "delta_ref"),  # references
)  # signals that are zero in upright riding; the speed chooses the matrices
TORQUE_INPUTS = ("T",)  # that a rig knows only where its drive obeys a torque
MOST_STATES = 64
_MATRICES = ("A", "B", "C", "D")
_KEYS = (
    *("format", "method", "inputs", "states", "waits", "balance"),
    *("loop", "drive", "options", "bicycle", "speed"),
)  # of a file
_MARGIN = 1e-9  # by which a pole lies inside the unit circle


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LTIController:
    """State space over a grid of speeds.

    Parameters
    ----------
    method : str
        Name of the design, for tables and logs.
    bicycle : Bicycle
        It was made for.
    loop : LoopTiming
        Rate, delay and drive lag it was made for; its matrices are of that rate.
    v : (n,) array
        Speeds [m/s], strictly increasing; one is enough.
    A, B, C, D : (n, m, m), (n, m, p), (n, m) and (n, p) arrays
        The same number of states m and inputs p at every speed.
    inputs : sequence of p str
        Names of `LTI_INPUTS`, SI.
    states : sequence of m str
        Names of the states; by default x1, x2, ...
    anti_windup : (n, m) array
        Change of the state per N m by which the supervisor changed the last wish. By default none where the controller
        is stable by itself, else that of `anti_windup_gain`.
    waits : sequence of str
        States that stay zero until the machine is under control, as an integrator should. By default all, unless the
        controller is stable by itself.
    options : dict
        Of the design, as plain values.
    balance : bool
        Bring the states of neighbouring speeds to common coordinates instead of refusing them.
    drive : InnerLoop or None
        Of a drive that obeys a steer rate [rad/s] or angle [rad], the unit of the wish. None: a torque [N m].

    Raises
    ------
    InputError
        Something has the wrong shape, is not finite or not known, or the coordinates differ from speed to speed.
    """

    method: str
    bicycle: Bicycle
    loop: LoopTiming
    v: Array
    A: Array
    B: Array
    C: Array
    D: Array
    inputs: tuple[str, ...]
    states: tuple[str, ...] = ()
    anti_windup: Array | None = None
    waits: tuple[str, ...] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    balance: bool = False
    drive: InnerLoop | None = None

    def __post_init__(self) -> None:
        for name in ("v", *_MATRICES):
            object.__setattr__(self, name, _finite(name, getattr(self, name)))
        self._require_shapes()
        n, m = len(self.v), self.A.shape[-1]
        names = tuple(self.states) or tuple(f"x{i + 1}" for i in range(m))
        object.__setattr__(self, "states", names)
        object.__setattr__(self, "inputs", tuple(self.inputs))
        self._require_names()
        if self.balance and n > 1:
            for name, value in zip("ABC", in_common_coordinates(self.v, self.A, self.B, self.C), strict=True):
                object.__setattr__(self, name, value)
        require_common_coordinates(self.v, self.A, self.B, self.C, self.D)
        object.__setattr__(self, "waits", self._checked_waits())
        object.__setattr__(self, "anti_windup", self._checked_anti_windup())
        for name in ("v", *_MATRICES, "anti_windup"):
            getattr(self, name).flags.writeable = False

    def _require_shapes(self) -> None:
        """Refuse matrices that do not fit together, and speeds that do not increase."""
        n = len(self.v) if self.v.ndim == 1 else 0
        if n == 0 or np.any(np.diff(self.v) <= 0.0) or self.v[0] < 0.0:
            raise InputError(
                f"a state space wants speeds of 0 m/s or more that increase, found {self.v.tolist()} m/s: sort them"
            )
        m, p = self.A.shape[-1] if self.A.ndim == 3 else -1, len(self.inputs)
        wanted = {"A": (n, m, m), "B": (n, m, p), "C": (n, m), "D": (n, p)}
        for name, shape in wanted.items():
            size = getattr(self, name).shape
            if size != shape or m < 0:
                raise InputError(
                    f"a state space of {max(m, 0)} states and {p} inputs at {n} speeds wants {name} of shape "
                    f"{shape[1:]} at each speed, found {size[1:]}: correct its file"
                )
        if m > MOST_STATES:
            raise InputError(f"a state space may have {MOST_STATES} states, found {m}: reduce its order")

    def _require_names(self) -> None:
        """Refuse inputs that nobody knows, and names given twice."""
        require_inputs("an input of a state space", self.inputs, self.drive)
        for what, names in (("inputs", self.inputs), ("states", self.states)):
            if len(set(names)) < len(names):
                raise InputError(f"the {what} of a state space want different names, found {', '.join(names)}")
        if not self.inputs or len(self.states) != self.A.shape[-1]:
            raise InputError(
                f"a state space wants an input or more and a name for each of its {self.A.shape[-1]} states, found "
                f"{len(self.inputs)} inputs and {len(self.states)} names"
            )

    def _checked_waits(self) -> tuple[str, ...]:
        if self.waits is None:
            return () if self.is_stable_alone else self.states
        for name in self.waits:
            if name not in self.states:
                raise InputError(f"a state that waits is one of {', '.join(self.states)}, found {name!r}")
        return tuple(self.waits)

    def _checked_anti_windup(self) -> Array:
        wanted = self.A.shape[:2]
        if self.anti_windup is None:
            if self.is_stable_alone:
                return np.zeros(wanted)
            return np.array([anti_windup_gain(A, C) for A, C in zip(self.A, self.C, strict=True)])
        given = _finite("anti_windup", self.anti_windup)
        if given.shape != wanted:
            raise InputError(
                f"anti_windup wants one number for each of {wanted[1]} states at each speed, found the shape "
                f"{given.shape}"
            )
        return given

    @property
    def is_stable_alone(self) -> bool:
        """All its own poles lie inside the unit circle at every speed."""
        if self.A.shape[-1] == 0:
            return True
        return bool(np.all(np.abs(np.linalg.eigvals(self.A)) < 1.0 - _MARGIN))

    @property
    def is_off(self) -> bool:
        """It never asks for torque: C and D are zero."""
        return not (self.C.any() or self.D.any())

    @property
    def rate(self) -> float:
        """Samples per second [Hz]."""
        return self.loop.rate

    def linearised(self, v: float) -> LinearLaw:
        """Law at speed ``v`` [m/s]: linear between speeds, beyond the ends as at the ends."""
        A, B, C, D = (_interpolated(v, self.v, each) for each in (self.A, self.B, self.C, self.D))
        return LinearLaw(self.inputs, A, B, C, D)

    def law(self) -> "Law":
        """Compiled law for the tick."""
        from riderless.hil.controllers.lti_step import lti_law

        waits = [name in (self.waits or ()) for name in self.states]
        assert self.anti_windup is not None  # since __post_init__
        return lti_law(self.v, self.A, self.B, self.C, self.D, self.anti_windup, self.inputs, waits)

    def __repr__(self) -> str:
        ends = f"{self.v[0]:g}" if len(self.v) == 1 else f"{self.v[0]:g} to {self.v[-1]:g}"
        m = len(self.states)
        return f"<LTIController: {self.method} for {self.bicycle.name}, {ends} m/s, {self.rate:g} Hz, {m} states>"

    def to_toml(self) -> str:
        """Write the controller as text that `from_text` reads back to the last bit."""
        assert self.anti_windup is not None  # since __post_init__
        rows = zip(self.v, self.A, self.B, self.C, self.D, self.anti_windup, strict=True)
        head = {
            "format": STEER_LTI_FORMAT if self.drive else LTI_FORMAT,
            "method": self.method,
            "inputs": list(self.inputs),
            "states": list(self.states),
            "waits": list(self.waits or ()),
            "loop": self.loop.as_table(),
            **({"drive": self.drive.as_table()} if self.drive else {}),
            "options": self.options,
            "bicycle": self.bicycle.as_dict(),
        }
        names = ("A", "B", "C", "D", "anti_windup")
        speeds = [{"v": float(v), **dict(zip(names, (x.tolist() for x in given), strict=True))} for v, *given in rows]
        return dump_toml({**head, "speed": speeds})

    @classmethod
    def from_text(cls, text: str, where: str = "the text given") -> "LTIController":
        """Read a controller from TOML text, `waits`, `states`, `anti_windup`, `options` and `balance` being optional.

        Raises
        ------
        InputError
            It is not TOML, or not a state space; the sentence begins with ``where``.
        """
        try:
            data = load_toml(text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{where} is not TOML ({error}): correct that line") from None
        wanted = STEER_LTI_FORMAT if "drive" in data else LTI_FORMAT
        if data.get("format") != wanted:
            raise InputError(
                f"{where} wants format = {wanted!r}, found {data.get('format')!r}: see docs/controllers.md"
            )
        try:
            return cls(**_arguments(data))
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        except KeyError as error:
            raise InputError(f"{where} lacks {error}: see docs/controllers.md") from None
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(f"{where} is not a state space ({error}): see docs/controllers.md") from None

    @classmethod
    def from_statespace(
        cls,
        systems: Sequence[Any],
        speeds: Sequence[float],
        inputs: Sequence[str],
        bicycle: Bicycle,
        loop: LoopTiming,
        *,
        discretisation: str | None = None,
        method: str = "state space",
        **more: Any,
    ) -> "LTIController":
        """Take python-control's `StateSpace` systems, one for each speed.

        Parameters
        ----------
        systems : sequence of n StateSpace
            Of one output, the command wished [N m, rad/s or rad]; discrete at the loop's rate, or continuous.
        speeds : sequence of n float
            [m/s].
        inputs : sequence of p str
            Names of `LTI_INPUTS`, in the order of the systems' inputs.
        bicycle : Bicycle
        loop : LoopTiming
        discretisation : str
            Of continuous systems: "zoh", "tustin" or another method of `scipy.signal.cont2discrete`.
        method : str
            Name for tables and logs.
        **more
            States, anti_windup, waits, options, balance, drive.

        Raises
        ------
        InputError
            A system has another rate or no stated one, is continuous without a stated discretisation, or has several
            outputs.
        """
        from riderless.hil.controllers.statespace import discrete_matrices

        if not isinstance(systems, (list, tuple)):
            raise InputError(f"a controller wants a list of StateSpace, one for each speed, found {systems!r}")
        v = numbers_of(speeds, "the speeds of a controller")
        if v.shape != (len(systems),) or not systems:
            raise InputError(
                f"a controller wants a StateSpace for each of a list of speeds, found {len(systems)} for {speeds}"
            )
        A, B, C, D = zip(*(discrete_matrices(each, loop.dt, discretisation) for each in systems), strict=True)
        options = {"discretisation": discretisation} if discretisation else {}
        return cls(
            method=method,
            bicycle=bicycle,
            loop=loop,
            v=v,
            A=_stacked("A", A),
            B=_stacked("B", B),
            C=_stacked("C", C),
            D=_stacked("D", D),
            inputs=tuple(inputs),
            **{"options": options, **more},
        )


def _arguments(data: dict[str, Any]) -> dict[str, Any]:
    """Arguments of an LTIController from its file."""
    require_known_keys(data, _KEYS, "the file")
    rows = data["speed"]
    for row in rows:
        require_known_keys(row, ("v", *_MATRICES, "anti_windup"), "a speed of a state space")
    if not isinstance(balance := data.get("balance", False), bool):
        raise InputError(f"balance is true or false, found {shortened(balance)}")
    m = len(np.atleast_1d(np.asarray(rows[0]["C"], float))) if rows else 0
    shapes = {"A": (m, m), "B": (m, len(data["inputs"]))}  # an empty list does not tell its shape
    arrays = {name: _stacked(name, [row[name] for row in rows], shapes.get(name)) for name in ("v", *_MATRICES)}
    given = [row["anti_windup"] for row in rows if "anti_windup" in row]
    bicycle = data["bicycle"]
    return {
        "method": str(data["method"]),
        "bicycle": load_bicycle(bicycle) if isinstance(bicycle, str) else Bicycle(**bicycle),
        "loop": LoopTiming(**data["loop"]),
        **arrays,
        "inputs": tuple(data["inputs"]),
        "states": tuple(data.get("states", ())),
        "anti_windup": _stacked("anti_windup", given) if given else None,
        "waits": tuple(data["waits"]) if "waits" in data else None,
        "options": dict(data.get("options", {})),
        "balance": balance,
        "drive": InnerLoop(**data["drive"]) if "drive" in data else None,
    }


def require_inputs(what: str, names: Sequence[str], drive: InnerLoop | None) -> None:
    """Refuse inputs that no loop knows, or not the loop of such a drive; ``what`` begins the sentence.

    Raises
    ------
    InputError
    """
    known = [name for name in LTI_INPUTS if drive is None or name not in TORQUE_INPUTS]
    for name in names:
        if name not in known:
            where = f" under a drive that obeys a steer {drive.kind}" if drive and name in LTI_INPUTS else ""
            raise InputError(f"{what}{where} is one of {', '.join(known)}, found {name!r}")


def _stacked(name: str, given: Sequence[Any], empty: tuple[int, ...] | None = None) -> Array:
    """Stack a matrix of each speed; refuses those of different shapes."""
    each = [numbers_of(matrix, f"{name} of a state space") for matrix in given]
    if empty is not None:
        each = [matrix.reshape(empty) if matrix.size == 0 and 0 in empty else matrix for matrix in each]
    shapes = sorted({matrix.shape for matrix in each})
    if len(shapes) > 1:
        raise InputError(f"a state space wants {name} of one shape at every speed, found {shapes[0]} and {shapes[1]}")
    return np.array(each)


def _finite(name: str, given: Any) -> Array:
    """Copy numbers into an array; refuses nan and inf."""
    array = np.array(given, dtype=float)
    if not np.all(np.isfinite(array)):
        raise InputError(f"a state space wants finite numbers, found nan or inf in {name}: correct its file")
    return array


def _interpolated(v: float, grid: Array, table: Array) -> Array:
    """Interpolate a table (n, ...) linearly at ``v``; beyond the ends as at the ends."""
    if len(grid) == 1:
        return table[0]
    j = int(np.clip(np.searchsorted(grid, v), 1, len(grid) - 1))
    part = float(np.clip((v - grid[j - 1]) / (grid[j] - grid[j - 1]), 0.0, 1.0))
    return table[j - 1] + part * (table[j] - table[j - 1])
