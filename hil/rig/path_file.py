"""Path files (TOML).

A shape with its sizes, and the speed at which it is ridden; or a CSV file of points.
"""

import tomllib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import pi
from pathlib import Path as FilePath
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from riderless.hil.controllers.controller import Controller
from riderless.hil.guidance.path import Path
from riderless.hil.guidance.points import read_path
from riderless.hil.guidance.rideable import RideLimits
from riderless.hil.guidance.route import Route, plan_route
from riderless.hil.guidance.shapes import circle, figure_of_eight, lane_change, obstacle_avoidance, slalom, straight
from riderless.hil.rig.fitting import require_route_kept
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.toml_lines import describe_faults, find_key_lines, find_line_named
from riderless.models.errors import InputError
from riderless.models.file_format import load_toml
from riderless.models.text_file import read_text_file, why_unreadable

PATH_FORMAT = "riderless path 1"
WIDEST_CIRCLE = 250.0  # m, of a radius: hardly a bend, so a wider one was written in cm or mm


@dataclass(frozen=True)
class AskedPath:
    """Path that somebody wants ridden.

    Attributes
    ----------
    path : Path
    rounds : int
        How often a closed one is ridden.
    speed : float or None
        m/s; None where the file says none.
    """

    path: Path
    rounds: int = 1
    speed: float | None = None


def read_path_file(file: FilePath) -> AskedPath:
    """Read a path file, or the points of a CSV file with columns ``x`` and ``y`` [m].

    Raises
    ------
    InputError
        One sentence naming the file and what is wrong in it.
    """
    if file.suffix.lower() == ".csv":
        return AskedPath(read_path(file))
    try:
        text = read_text_file(file)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"no path file can be read at {file} ({why_unreadable(error)}): give a TOML file, or a CSV file of points"
        ) from None
    lines = find_key_lines(text)
    try:
        table = load_toml(text)
        form = _SHAPES[_shape_of(table)]
        shape = form.model_validate(table)
        return AskedPath(shape.path(file.parent), shape.times, shape.speed_m_per_s)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"path file {file} is not valid TOML: {error}; correct that line") from None
    except ValidationError as error:
        raise InputError(f"path file {file}: {describe_faults(error, lines, form)}") from None
    except InputError as error:
        line = find_line_named(lines, str(error))
        raise InputError(f"path file {file}{f', line {line}' if line else ''}: {error}") from None


def speed_of(requested: AskedPath, file: FilePath) -> float:
    """Speed that a path file says [m/s]; raises InputError where it says none."""
    if requested.speed is None:
        raise InputError(
            f"the path {file} says no speed_m_per_s, and lean and torque that it asks for hang on that: write it into "
            "a path file, or give --speed where the command has it"
        )
    return requested.speed


def _ride_limits(rig: Rig) -> RideLimits:
    """Limits of a machine that a path is checked against."""
    limits = rig.limits
    return RideLimits(
        lean=limits.lean.value,
        steer=limits.steer.value,
        torque=limits.torque.value,
        speed_min=max(limits.speed_min.value, RideLimits().speed_min),
        speed_max=limits.speed_max.value,
    )


def plan_ride(requested: AskedPath, rig: Rig, schedule: Controller | None, speed: float, linear: bool = False) -> Route:
    """Make the route of a path for a machine, checked against all that can be known beforehand.

    Parameters
    ----------
    requested : AskedPath
    rig : Rig
    schedule : Controller or None
        None: of which controller nothing is known yet.
    speed : float
        m/s
    linear : bool
        The bicycle is the emulated one, with linear equations of motion.

    Raises
    ------
    InputError
        It asks for more of lean, steer or torque than leaves room below the limit, or another speed than the machine
        may have; leads a wheel off the belt; or winds too much for the sensor of place; or the controller keeps no
        lane.
    """
    route = plan_route(rig.bicycle, requested.path, speed, _ride_limits(rig), requested.rounds)
    require_route_kept(rig, schedule, route, linear)
    return route


def _shape_of(table: dict[str, object]) -> str:
    version = table.get("format", PATH_FORMAT)
    if version != PATH_FORMAT:
        raise InputError(f"wants format = {PATH_FORMAT!r}, found {version!r}: it is another kind of file")
    shape = table.get("shape")
    if not isinstance(shape, str) or shape not in _SHAPES:
        raise InputError(f"wants a shape among {', '.join(_SHAPES)}, found {shape!r}: correct it")
    return shape


class _Shape(BaseModel, ABC):
    """Keys that every path file may have."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: str = PATH_FORMAT
    shape: str
    speed_m_per_s: float | None = Field(default=None, gt=0.0, le=30.0)

    @property
    def times(self) -> int:
        """Rounds of a closed path."""
        return 1

    @abstractmethod
    def path(self, folder: FilePath) -> Path:
        """Make the path; its other files lie in ``folder``."""


class _Straight(_Shape):
    length_m: float = 100.0

    def path(self, folder: FilePath) -> Path:
        return straight(self.length_m)


class _Circle(_Shape):
    radius_m: float = Field(gt=0.0)
    rounds: float = Field(default=1.0, gt=0.0, le=100.0)
    entry_m: float = 4.0
    to: Literal["right", "left"] = "right"

    def path(self, folder: FilePath) -> Path:
        if self.radius_m > WIDEST_CIRCLE:
            raise InputError(
                f"radius_m = {self.radius_m:g} is a circle of {2e-3 * pi * self.radius_m:.1f} km, nearly a straight "
                f"line: write it in m, not in cm or mm; {WIDEST_CIRCLE:g} m is the widest"
            )
        return circle(self.radius_m if self.to == "right" else -self.radius_m, self.rounds, self.entry_m)


class _LaneChange(_Shape):
    shift_m: float
    length_m: float
    before_m: float = 10.0
    after_m: float = 20.0

    def path(self, folder: FilePath) -> Path:
        return lane_change(self.shift_m, self.length_m, self.before_m, self.after_m)


class _ObstacleAvoidance(_Shape):
    vehicle_width_m: float = 0.6

    def path(self, folder: FilePath) -> Path:
        return obstacle_avoidance(self.vehicle_width_m)


class _Slalom(_Shape):
    spacing_m: float = 8.0
    offset_m: float = 0.6
    cones: int = 6

    def path(self, folder: FilePath) -> Path:
        return slalom(self.spacing_m, self.offset_m, self.cones)


class _FigureOfEight(_Shape):
    radius_m: float = 12.0
    entry_m: float = 4.0
    rounds: int = Field(default=1, ge=1, le=100)

    @property
    def times(self) -> int:
        return self.rounds

    def path(self, folder: FilePath) -> Path:
        return figure_of_eight(self.radius_m, self.entry_m)


class _Points(_Shape):
    file: str
    closed: bool = False
    smoothing: float | None = Field(default=None, ge=0.0)
    rounds: int = Field(default=1, ge=1, le=100)

    @property
    def times(self) -> int:
        return self.rounds

    def path(self, folder: FilePath) -> Path:
        return read_path(folder / self.file, self.closed, self.smoothing)


_SHAPES: dict[str, type[_Shape]] = {
    "straight": _Straight,
    "circle": _Circle,
    "lane_change": _LaneChange,
    "iso_3888_2": _ObstacleAvoidance,
    "slalom": _Slalom,
    "figure_of_eight": _FigureOfEight,
    "points": _Points,
}
