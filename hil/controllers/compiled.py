"""Control law compiled from a user's Python file.

The file has a compiled step and a table LAW; the supervisor is the same as for any other law.

    LAW = {"inputs": ["phi", "phi_dot"], "states": ["slow"], "settings": {"k": -20.0}, "speeds": [4.0, 7.0]}

    @njit
    def step(settings, state, signals, reference, out): ...

A log keeps the file's name and hash, its table, and never its code.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from riderless.hil.controllers.controller import LinearLaw
from riderless.hil.controllers.file_values import require_known_keys, require_speed_range, speeds_between
from riderless.hil.controllers.law_file import LawFile, law_code, law_module, name_law, named_law
from riderless.hil.controllers.lti import MOST_STATES, require_inputs
from riderless.hil.controllers.timing import LoopTiming
from riderless.models import catalogue
from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.file_format import dump_toml, load_toml
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.parameters import Bicycle

if TYPE_CHECKING:
    from riderless.hil.loop.law import Law

COMPILED_FORMAT = "riderless compiled law 1"
_KEYS = ("method", "inputs", "states", "settings", "speeds", "bicycle", "loop", "drive")
_WANTED = ("inputs", "speeds")


@dataclass(frozen=True, eq=False, repr=False)
class CompiledController:
    """Law of a person's file; each part of its table is checked.

    Parameters
    ----------
    file, sha256 : str
        Name of the file, and what it is known by.
    method : str
        Name for tables and logs.
    bicycle : Bicycle
    loop : LoopTiming
    speeds : (2,)
        Slowest and fastest it was made for [m/s].
    inputs : tuple of str
        Those of `riderless.hil.controllers.lti.LTI_INPUTS` that it uses.
    states : tuple of str
        Names of the numbers that it remembers.
    settings : dict
        Numbers by name, in the order in which its step finds them.
    source : LawFile or None
        None as a log tells of it, until it is wanted.
    drive : InnerLoop or None
        Of a drive that obeys a steer rate or angle, which is then its wish; None: a torque.
    tangent : bool
        Its linearisation is that at rest, however far usual motion leaves it: for margins, not for predictions.
    """

    file: str
    sha256: str
    method: str
    bicycle: Bicycle
    loop: LoopTiming
    speeds: tuple[float, float]
    inputs: tuple[str, ...]
    states: tuple[str, ...]
    settings: dict[str, float]
    source: LawFile | None = None
    drive: InnerLoop | None = None
    tangent: bool = False

    @cached_property
    def v(self) -> Array:
        """Speeds at which it is looked at (n,) [m/s], from the slowest to the fastest."""
        return speeds_between(*self.speeds)

    @property
    def is_off(self) -> bool:
        """Nobody knows beforehand that it never asks for torque."""
        return False

    @property
    def known_file(self) -> LawFile:
        """Its file; raises InputError where a log told of it and no person named it."""
        return self.source or named_law(self.file, self.sha256)

    def law(self, watched: bool = False) -> "Law":
        """Compiled law for the tick; ``watched`` for trials, with a check of every index.

        Raises
        ------
        InputError
            It does not compile, or nobody named its file.
        """
        from riderless.firmware_interface.by_address import address_of
        from riderless.hil.loop.law import Law

        address = address_of(law_code(self.known_file, watched))
        return Law(address, np.array([*self.settings.values()], float), len(self.states), *self.speeds)

    def linearised(self, v: float) -> LinearLaw:
        """Law near upright riding at speed ``v`` [m/s], by central differences.

        Raises
        ------
        InputError
            It has none there: it is not smooth, or not at rest where all is zero.
        """
        from riderless.hil.controllers.numerical_linearisation import linearised_law

        if v not in self._linear:
            law, dt = self.law(), self.loop.dt
            self._linear[v] = linearised_law(self.file, law, self.inputs, self.states, dt, v, tangent=self.tangent)
        return self._linear[v]

    @cached_property
    def _linear(self) -> dict[float, LinearLaw]:
        return {}

    def __repr__(self) -> str:
        slowest, fastest = self.speeds
        m = len(self.states)
        return (
            f"<CompiledController: {self.method} for {self.bicycle.name}, {slowest:g} to {fastest:g} m/s, {m} states>"
        )

    def to_toml(self) -> str:
        """Text that a log keeps: everything but the code."""
        return dump_toml(
            {
                "format": COMPILED_FORMAT,
                "file": self.file,
                "sha256": self.sha256,
                "method": self.method,
                "inputs": list(self.inputs),
                "states": list(self.states),
                "settings": self.settings,
                "speeds": list(self.speeds),
                "loop": self.loop.as_table(),
                **({"drive": self.drive.as_table()} if self.drive else {}),
                "bicycle": self.bicycle.as_dict(),
            }
        )

    @classmethod
    def from_text(cls, text: str, where: str = "the text given") -> Self:
        """Read what a log tells of a law; it runs nothing.

        Raises
        ------
        InputError
            It is not that.
        """
        try:
            data = load_toml(text)
            given = {key: data[key] for key in _KEYS if key != "drive"}
            drive = InnerLoop(**data["drive"]) if "drive" in data else None
            made = Bicycle(**data["bicycle"]), LoopTiming(**data["loop"]), drive
            return cls(str(data["file"]), str(data["sha256"]), **_checked(given, *made))
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{where} tells of no compiled law ({error}): see docs/controllers.md") from None


def read_law(
    path: str | Path, bicycle: Bicycle, loop: LoopTiming, drive: InnerLoop | None = None
) -> CompiledController:
    """Read and run a Python file that a person named.

    Parameters
    ----------
    path : str or Path
    bicycle : Bicycle
        For which it is taken where its table names none.
    loop : LoopTiming
        Likewise.
    drive : InnerLoop or None
        Likewise; None: it obeys a torque.

    Raises
    ------
    InputError
        It is not Python, stops, or describes no law.
    """
    file = name_law(path)
    table = dict(law_module(file).LAW)
    where = f"LAW of {file.path}"
    require_known_keys(table, _KEYS, where)
    for key in _WANTED:
        if key not in table:
            raise InputError(f"{where} lacks '{key}': see docs/controllers.md")
    try:
        return CompiledController(
            file.name,
            file.sha256,
            **_checked({"method": Path(file.name).stem, **table}, *_made_for(table, bicycle, loop, drive)),
            source=file,
        )
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{where} has a value of another kind ({error}): see docs/controllers.md") from None


def _made_for(
    table: Mapping[str, Any], bicycle: Bicycle, loop: LoopTiming, drive: InnerLoop | None
) -> tuple[Bicycle, LoopTiming, InnerLoop | None]:
    """Bicycle, timing and drive that a table names, or those given."""
    own = table.get("bicycle")
    if isinstance(own, Mapping):
        bicycle = Bicycle(**own)
    elif own is not None:
        bicycle = catalogue.load_bicycle(str(own))
    if "drive" in table:
        drive = InnerLoop(**table["drive"])
    return bicycle, LoopTiming(**table["loop"]) if "loop" in table else loop, drive


def _checked(table: Mapping[str, Any], bicycle: Bicycle, loop: LoopTiming, drive: InnerLoop | None) -> dict[str, Any]:
    """Check a table; arguments of a CompiledController."""
    inputs, states = (_names(table.get(key, ()), key) for key in ("inputs", "states"))
    require_inputs("an input of a law", inputs, drive)
    if len(states) > MOST_STATES:
        raise InputError(f"a law may have {MOST_STATES} states, found {len(states)}: it wants fewer")
    settings = table.get("settings", {})
    settings = {
        str(k): float(x) for k, x in (settings.items() if isinstance(settings, Mapping) else enumerate(settings))
    }
    if not np.all(np.isfinite([*settings.values()])):
        raise InputError("settings are finite numbers, found nan or inf: correct it")
    speeds = tuple(float(v) for v in table["speeds"])
    require_speed_range(speeds)
    return {
        "method": str(table["method"]),
        "bicycle": bicycle,
        "loop": loop,
        "speeds": speeds,
        "inputs": inputs,
        "states": states,
        "settings": settings,
        "drive": drive,
    }


def _names(given: Any, what: str) -> tuple[str, ...]:
    """Names in a list, each once; a number n of states stands for x1 to xn."""
    if isinstance(given, int) and what == "states":
        if isinstance(given, bool) or given < 0:
            raise InputError(f"states are a list of names, or how many there are, found {given!r}")
        given = [f"x{i + 1}" for i in range(given)]
    if isinstance(given, str) or len(set(given)) < len(given):
        raise InputError(f"{what} are a list of different names, found {given!r}")
    return tuple(str(name) for name in given)
