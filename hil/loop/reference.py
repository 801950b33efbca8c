"""Reference of the controller while RUNNING.

Yaw rate, lean and steer over time, by the device's clock. It is a list of steps: at each time new values, which hold
until the next. It stands in the log's header, so that a replay follows the same.
"""

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from riderless.hil.loop.law import REFERENCES
from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.text_file import csv_rows, read_text_file, why_unreadable

LARGEST_REFERENCE = {"psi_dot_ref": (3.0, "rad/s"), "phi_ref": (0.6, "rad"), "delta_ref": (0.8, "rad")}
LONGEST_REFERENCE = 86_400.0  # s


@dataclass(frozen=True)
class Reference:
    """Steps of the reference; none: zero at all times.

    Parameters
    ----------
    steps : sequence of (t, psi_dot_ref, phi_ref, delta_ref)
        Time under control [s], increasing, and the values from then on [rad/s, rad, rad].

    Raises
    ------
    InputError
        A step has not four finite numbers, the times do not increase, or a value is one that no bicycle can follow.
    """

    steps: Sequence[tuple[float, float, float, float]] = ()

    def __post_init__(self) -> None:
        try:
            table = np.array([tuple(step) for step in self.steps], float).reshape(len(self.steps), 1 + len(REFERENCES))
        except (TypeError, ValueError):
            raise InputError(
                f"a step of a reference wants a time and {', '.join(REFERENCES)}, found {list(self.steps)!r}"
            ) from None
        _require_finite(table)
        _require_times(table[:, 0])
        for (name, (most, unit)), values in zip(LARGEST_REFERENCE.items(), table[:, 1:].T, strict=True):
            if np.any(np.abs(values) > most):
                worst = float(values[np.argmax(np.abs(values))])
                raise InputError(f"a reference {name} of {worst:g} {unit} is beyond {most:g} {unit}: is it in degrees?")
        object.__setattr__(self, "steps", tuple(tuple(step) for step in table.tolist()))

    @property
    def used(self) -> tuple[str, ...]:
        """Names of the references that are ever other than zero."""
        return tuple(name for i, name in enumerate(REFERENCES) if any(step[1 + i] for step in self.steps))

    def samples(self, rate: float) -> Array:
        """Values at each tick under control, (n, 3); the last ones hold for good. ``rate`` in Hz."""
        if not self.steps:
            return np.zeros((0, len(REFERENCES)))
        table = np.array(self.steps)
        t = np.arange(math.ceil(table[-1, 0] * rate - 1e-6) + 1) / rate
        at = np.searchsorted(table[:, 0], t + 1e-6 / rate, side="right") - 1
        return np.where((at >= 0)[:, None], table[np.maximum(at, 0), 1:], 0.0)

    @classmethod
    def parse(cls, text: str) -> "Reference":
        """Read "psi_dot=0.2", "psi_dot=0.2@3" (from 3 s on), several with commas, or a CSV file; "" is none.

        The file has a column ``t`` [s] and one or more of the references.

        Raises
        ------
        InputError
        """
        if not text:
            return cls()
        if "=" not in text:
            return cls(_read_steps(Path(text)))
        changes: list[tuple[float, str, float]] = []
        for part in text.split(","):
            name, _, rest = part.partition("=")
            value, late, begin = rest.partition("@")
            full = _full(name.strip())
            try:
                change = float(begin if late else 0.0), full, float(value)
            except ValueError:
                raise InputError(
                    f"a reference is NAME=VALUE or NAME=VALUE@SECONDS, such as psi_dot=0.2@3, found '{part.strip()}'"
                ) from None
            if any(change[:2] == other[:2] for other in changes):
                raise InputError(f"{name.strip()} has two values from {change[0]:g} s on: leave one of them out")
            changes.append(change)
        return cls(_joined(changes))


def _require_finite(table: Array) -> None:
    """Refuse steps (n, 4) of which a number is none, by the first such; raises InputError."""
    for number, i in np.argwhere(~np.isfinite(table))[:1].tolist():
        name = ("t", *REFERENCES)[i]
        raise InputError(
            f"the steps of a reference want finite numbers, found {name} = {table[number, i]:g} in step {number + 1}: "
            "correct it"
        )


def _require_times(t: Array) -> None:
    """Refuse times (n,) [s] out of range or out of order, by the first such; raises InputError."""
    late = np.diff(t, prepend=-np.inf) <= 0.0
    for i in np.flatnonzero(late | (t < 0.0) | (t > LONGEST_REFERENCE))[:1].tolist():
        raise InputError(
            f"the steps of a reference want times from 0 to {LONGEST_REFERENCE:g} s that increase, found {t[i]:g} s "
            f"in step {i + 1}{f' after {t[i - 1]:g} s' if late[i] else ''}: correct it, or sort the steps"
        )


def _full(name: str) -> str:
    """Full name of a reference; raises InputError for an unknown one."""
    full = name if name.endswith("_ref") else f"{name}_ref"
    if full not in REFERENCES:
        raise InputError(f"a reference is one of {', '.join(REFERENCES)}, found '{name}'")
    return full


def _joined(changes: Iterable[tuple[float, str, float]]) -> list[tuple[float, float, float, float]]:
    """Join changes of single references to steps of all."""
    now, steps = dict.fromkeys(REFERENCES, 0.0), {}
    for t, name, value in sorted(changes, key=lambda change: change[0]):
        now[name] = value
        steps[t] = (t, now["psi_dot_ref"], now["phi_ref"], now["delta_ref"])
    return list(steps.values())


def _read_steps(path: Path) -> list[tuple[float, float, float, float]]:
    """Read the steps of a CSV file; raises InputError."""
    try:
        rows = csv_rows(csv.DictReader(read_text_file(path).splitlines()))
    except (OSError, ValueError) as error:
        raise InputError(
            f"the reference {path} cannot be read ({why_unreadable(error)}): give NAME=VALUE or a CSV file"
        ) from None
    names = {name: _full(name) for name in (rows[0] if rows else ()) if name not in (None, "t")}
    if not rows or "t" not in rows[0] or not names:
        raise InputError(f"{path} wants a column t in s and one or more of {', '.join(REFERENCES)} in its first line")
    try:
        values = [{_full(name): float(row[name]) for name in names} | {"t": float(row["t"])} for row in rows]
    except (TypeError, ValueError) as error:
        raise InputError(f"{path} wants a number in each cell ({error}): correct that row") from None
    return [(row["t"], *(row.get(name, 0.0) for name in REFERENCES)) for row in values]  # type: ignore[misc]
