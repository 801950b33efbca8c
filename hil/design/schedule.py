"""Gain schedule over speed, in TOML.

The design that the gains came from stands in the same file.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from riderless.hil.controllers.controller import Controller, LinearLaw
from riderless.hil.controllers.file_values import numbers_of, require_known_keys
from riderless.hil.controllers.registry import read_controller_text
from riderless.hil.design.margins import MARGIN_HEADS, Margins
from riderless.hil.design.sampled_plant import LANE_GAIN_STATES, LOOP_STATES, LoopTiming
from riderless.models.array_types import Array
from riderless.models.bicycle_file import shortened
from riderless.models.errors import InputError
from riderless.models.file_format import describe_kind, dump_toml, load_toml
from riderless.models.linear.prescribed_steer import COMMAND_NAMES, COMMAND_UNITS, InnerLoop
from riderless.models.parameters import Bicycle
from riderless.models.tables import data_frame, html_table

if TYPE_CHECKING:
    from riderless.hil.loop.law import Law

GAIN_INPUTS = ("phi", "delta", "phi_dot", "delta_dot", "T", "u_prev")  # LOOP_STATES by the names of a law's signals
SCHEDULE_FORMAT = "riderless gain schedule 1"
LANE_INPUTS = (*GAIN_INPUTS, "psi", "y_P")  # LANE_GAIN_STATES by those names
_LANE_ONLY = frozenset(LANE_INPUTS) - frozenset(GAIN_INPUTS)
LANE_FORMAT = "riderless lane schedule 1"  # with heading and place: who does not know these must not read it
STEER_FORMAT = "riderless steer schedule 1"  # of a rate or angle: who knows torque only must not read it
STEER_LANE_FORMAT = "riderless steer lane schedule 1"  # both


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class GainSchedule:
    """Gains of T_delta = -K z over a grid of speeds, z the six states of ``riderless.hil.design.sampled_plant``.

    Parameters
    ----------
    method : str
        Name of the design method.
    options : dict
        Options of the method, as plain values.
    bicycle : Bicycle
        The gains were designed for it.
    loop : LoopTiming
        Rate, delay and drive lag the gains were designed for.
    v : (n,) array
        Forward speeds [m/s], strictly increasing; one is enough.
    K : (n, 6) or (n, 8) array
        Gains [N m/rad, N m/rad, N m s/rad, N m s/rad, -, -], and of heading and place, [N m/rad, N m/m], where they
        keep a lane.
    closed_loop : (n, m) complex array
        Eigenvalues log(z)/dt [1/s] of the whole sampled loop, m its number of states.
    margins : tuple of n Margins
        At each speed.
    notes : tuple of n str
        Remarks of the method on each speed, often empty.
    drive : InnerLoop or None
        Of a drive that is commanded a steer rate [rad/s] or angle [rad], the unit of -K z. None: a torque [N m].

    Raises
    ------
    InputError
        The arrays do not fit together, a speed or gain is not finite, the speeds do not increase.
    """

    method: str
    options: dict[str, Any]
    bicycle: Bicycle
    loop: LoopTiming
    v: Array
    K: Array
    closed_loop: NDArray[np.complex128]
    margins: tuple[Margins, ...]
    notes: tuple[str, ...]
    drive: InnerLoop | None = None

    def __post_init__(self) -> None:
        for name, kind in (("v", float), ("K", float), ("closed_loop", complex)):  # its own, which nobody changes
            object.__setattr__(self, name, np.array(getattr(self, name), kind))
        n = self.v.size
        if self.v.shape != (n,) or n == 0:
            raise InputError("a gain schedule wants at least one speed, found none: design it again")
        if self.K.shape not in ((n, len(LOOP_STATES)), (n, len(LANE_GAIN_STATES))):
            raise InputError(
                f"a gain schedule wants {len(LOOP_STATES)} gains at each of {n} speeds, found {self.K.shape}"
            )
        if not (len(self.closed_loop) == len(self.margins) == len(self.notes) == n):
            raise InputError(f"a gain schedule wants eigenvalues, margins and a note at each of its {n} speeds")
        if not (np.all(np.isfinite(self.v)) and np.all(np.isfinite(self.K))):
            raise InputError(
                "the speeds and gains of a schedule must be finite numbers, found nan or inf: design it again"
            )
        if np.any(np.diff(self.v) <= 0.0) or self.v[0] < 0.0:
            raise InputError(
                f"the speeds of a gain schedule must increase from 0 m/s or more, found {self.v.tolist()} m/s: sort "
                "them"
            )
        for array in (self.v, self.K, self.closed_loop):
            array.flags.writeable = False

    @property
    def rate(self) -> float:
        """Samples per second [Hz]."""
        return self.loop.rate

    @property
    def delay(self) -> float:
        """From a sample to the moment its command is obeyed [samples]."""
        return self.loop.delay

    @property
    def drive_lag(self) -> float:
        """Time constant of the steer drive [s]."""
        return self.loop.drive_lag

    @property
    def command(self) -> str:
        """Name of what the gains command: T_delta, delta_dot or delta."""
        return COMMAND_NAMES[self.drive.kind if self.drive else "torque"]

    @property
    def stable(self) -> NDArray[np.bool_]:
        """Stability of the closed loop at each speed, (n,) of bool."""
        return np.all(self.closed_loop.real < 0.0, axis=1)

    def gains(self, v: float) -> Array:
        """Gains (6,) or (8,) at forward speed ``v`` [m/s]: linear between speeds, beyond the ends as at the ends."""
        return np.array([np.interp(v, self.v, column) for column in self.K.T])

    @property
    def is_off(self) -> bool:
        """All gains are zero: no torque, which suits every bicycle and speed."""
        return not self.K.any()

    @property
    def keeps_lane(self) -> bool:
        """Gains on heading and place are among them."""
        return self.K.shape[1] == len(LANE_GAIN_STATES)

    @property
    def gain_states(self) -> tuple[str, ...]:
        """Names of the states that the gains are of, six or eight."""
        return LANE_GAIN_STATES if self.keeps_lane else LOOP_STATES

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the signals that the gains are of."""
        return LANE_INPUTS if self.keeps_lane else GAIN_INPUTS

    @property
    def states(self) -> tuple[str, ...]:
        """Names of what the controller remembers: nothing."""
        return ()

    def linearised(self, v: float) -> LinearLaw:
        """Law at speed ``v`` [m/s]: D = -K on the six or eight estimates, no state."""
        p = len(self.inputs)
        return LinearLaw(self.inputs, np.zeros((0, 0)), np.zeros((0, p)), np.zeros(0), -self.gains(v))

    def law(self) -> "Law":
        """Compiled law for the tick."""
        if self.keeps_lane:
            from riderless.hil.controllers.lane import lane_law

            return lane_law(self.v, self.K)
        from riderless.hil.controllers.gains import gains_law  # who only reads gains does not wait for the compiler

        return gains_law(self.v, self.K)

    def __repr__(self) -> str:
        if self.stable.all():
            stability = "stable"
        else:
            stability = f"unstable at {', '.join(f'{v:g}' for v in self.v[~self.stable])} m/s"
        n = f"{len(self.v)} speeds" if len(self.v) > 1 else "1 speed"
        speeds = f"{n} from {self.v[0]:g} to {self.v[-1]:g} m/s" if len(self.v) > 1 else f"{n}, {self.v[0]:g} m/s"
        kind = f" of a steer {self.drive.kind}" if self.drive else ""
        return f"<GainSchedule: {self.method}{kind} for {self.bicycle.name}, {speeds}, {self.rate:g} Hz, {stability}>"

    def _repr_html_(self) -> str:
        heads = ["v m/s", *(f"K {name}" for name in self.gain_states), "slowest pole 1/s", *MARGIN_HEADS, "note"]
        rows = [
            [f"{v:g}", *(f"{k:.3g}" for k in K), f"{poles.real.max():.2f}", *margins.as_text(), note]
            for v, K, poles, margins, note in zip(
                self.v, self.K, self.closed_loop, self.margins, self.notes, strict=True
            )
        ]
        return html_table(f"{self.bicycle.name}, {self.method}, {self.rate:g} Hz: {self.command} = -K z", heads, rows)

    def to_frame(self) -> Any:
        """Schedule as a pandas DataFrame, one row per speed, SI units.

        Columns are ``v``, ``K_`` with the name of each state, ``slowest_pole`` (largest real part of the closed
        loop [1/s]), ``gain_margin_down``, ``gain_margin_up``, ``phase_margin`` [rad], ``delay_margin`` [s],
        ``stable`` and ``note``.

        Raises
        ------
        InputError
            pandas is not installed.
        """
        return data_frame(
            {
                "v": self.v,
                **{f"K_{name}": self.K[:, i] for i, name in enumerate(self.gain_states)},
                "slowest_pole": self.closed_loop.real.max(axis=1),
                "gain_margin_down": [margins.gain[0] for margins in self.margins],
                "gain_margin_up": [margins.gain[1] for margins in self.margins],
                "phase_margin": [margins.phase for margins in self.margins],
                "delay_margin": [margins.delay for margins in self.margins],
                "stable": self.stable,
                "note": list(self.notes),
            },
            units={"v": "m/s", "slowest_pole": "1/s", "phase_margin": "rad", "delay_margin": "s"},
        )

    def to_toml(self) -> str:
        """Write the schedule as text that ``from_toml`` reads back to the last bit."""
        rows = [
            {
                "v": float(self.v[i]),
                "K": self.K[i].tolist(),
                "gain_margin": list(self.margins[i].gain),
                "phase_margin": self.margins[i].phase,
                "delay_margin": self.margins[i].delay,
                "closed_loop": [[float(s.real), float(s.imag)] for s in self.closed_loop[i]],
                "note": self.notes[i],
            }
            for i in range(len(self.v))
        ]
        head = {
            "format": _FORMATS[self.drive is not None, self.keeps_lane],
            "method": self.method,
            "states": list(self.gain_states),
            "loop": self.loop.as_table(),
            **({"drive": self.drive.as_table()} if self.drive else {}),
            "options": self.options,
            "bicycle": self.bicycle.as_dict(),
        }
        return dump_toml({**head, "speed": rows})

    @classmethod
    def from_toml(cls, source: str | Path) -> "GainSchedule":
        """Read a schedule from TOML text (a str with a line break) or from the file of that name.

        Raises
        ------
        InputError
            The file cannot be read, is not TOML, or is not a gain schedule.
        """
        return cls.from_text(*_read(source))

    @classmethod
    def from_text(cls, text: str, where: str = "the text given") -> "GainSchedule":
        """Read a schedule from TOML text; ``where`` begins the sentence of an error. Raises as `from_toml` does."""
        try:
            data = load_toml(text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{where} is not TOML ({error}): write it with `riderless design`") from None
        if data.get("format") not in _FORMATS.values():
            format_found = repr(data["format"]) if "format" in data else describe_kind(data) or "no such line"
            raise InputError(
                f"{where} wants format = {SCHEDULE_FORMAT!r}, found {format_found}: write it with `riderless design`"
            )
        try:
            return cls(**_arguments(data))
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        except KeyError as error:
            raise InputError(f"{where} lacks {error}: write it with `riderless design`") from None
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(f"{where} is not a gain schedule ({error}): write it with `riderless design`") from None


def needs_place(schedule: Controller) -> bool:
    """Tell whether a controller uses heading or place, which a rig without a sensor of place does not know."""
    return not _LANE_ONLY.isdisjoint(schedule.inputs)


def require_same_kind(schedule: Controller, drive: InnerLoop | None) -> None:
    """Refuse a controller that commands something else than ``drive`` obeys (None: a torque): raises InputError."""
    commanded, obeyed = (loop.kind if loop else "torque" for loop in (schedule.drive, drive))
    if commanded != obeyed:
        raise InputError(
            f"the gains command a steer {commanded} [{COMMAND_UNITS[commanded]}] but the drive obeys "
            f"{'an' if obeyed == 'angle' else 'a'} {obeyed} [{COMMAND_UNITS[obeyed]}]: "
            f"design them again with --drive {obeyed}"
        )


_FORMATS = {  # commands a steer rate or angle, keeps a lane
    (False, False): SCHEDULE_FORMAT,
    (False, True): LANE_FORMAT,
    (True, False): STEER_FORMAT,
    (True, True): STEER_LANE_FORMAT,
}
_KEYS = ("format", "method", "states", "loop", "drive", "options", "bicycle", "speed")
_SPEED_KEYS = ("v", "K", "gain_margin", "phase_margin", "delay_margin", "closed_loop", "note")


def _read(source: str | Path) -> tuple[str, str]:
    """Text of a schedule, and its name for the sentence of an error."""
    if isinstance(source, str) and "\n" in source:
        return source, "the text given"
    return read_controller_text(source), str(source)


def _arguments(data: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a GainSchedule from its file."""
    steered = data["format"] in (STEER_FORMAT, STEER_LANE_FORMAT)
    require_known_keys(data, _KEYS if steered else [key for key in _KEYS if key != "drive"], "the file")
    rows = data["speed"]
    for row in rows:
        require_known_keys(row, _SPEED_KEYS, "a speed")
    states = LANE_GAIN_STATES if data["format"] in (LANE_FORMAT, STEER_LANE_FORMAT) else LOOP_STATES
    if tuple(data["states"]) != states:
        raise InputError(
            f"the gains K are of the states {', '.join(states)} in this order, found "
            f"{shortened(', '.join(map(str, data['states'])))}: put the gains and the states in that order"
        )
    return {
        "method": str(data["method"]),
        "options": dict(data["options"]),
        "bicycle": Bicycle(**data["bicycle"]),
        "loop": LoopTiming(**data["loop"]),
        "v": numbers_of([row["v"] for row in rows], "a speed v"),
        "K": numbers_of([row["K"] for row in rows], "the gains K"),
        "closed_loop": np.array([[complex(*s) for s in row["closed_loop"]] for row in rows]),
        "margins": tuple(_margins(row) for row in rows),
        "notes": tuple(str(row["note"]) for row in rows),
        "drive": InnerLoop(**data["drive"]) if steered else None,
    }


def _margins(row: dict[str, Any]) -> Margins:
    """Margins from one speed of the file."""
    down, up = row["gain_margin"]
    return Margins((float(down), float(up)), float(row["phase_margin"]), float(row["delay_margin"]))
