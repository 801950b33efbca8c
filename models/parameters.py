"""Parameters of a bicycle.

The 25 of Meijaard et al. (2007), Table 1, and gravity. Coordinates and signs are those of
`riderless.models.coordinates`, at the upright straight position, with the origin in the rear contact point: a mass
above the ground has a negative z. Bodies: R rear wheel, B rear frame (with a rigid rider, if any), H front frame
(handlebar and fork), F front wheel. Wheels are symmetric about their axle, so IRzz = IRxx and IFzz = IFxx.
"""

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from riderless.models.bicycle_file import (
    fields_of,
    is_number,
    likely_causes,
    read_text,
    shortened,
    trusted_for,
    unknown_keys,
)
from riderless.models.correlations import Correlations
from riderless.models.errors import InputError
from riderless.models.file_format import dump_toml, load_toml
from riderless.models.parameter_table import DISPENSABLE, MASSES, MOMENTS, RADII
from riderless.models.parameter_table import PARAMETERS as PARAMETERS
from riderless.models.tables import data_frame, html_table

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,unused-ignore]

    from riderless.models.array_types import Array

LONGEST_NAME = 200  # characters of a bicycle's name; more fit into no title and no line of a screen
LARGEST_VALUE = 1e6  # of any parameter in its SI unit; sums and products of more lose all digits

# Moments are measured one at a time, so a published set can break the triangle inequality. It is refused
# when it does by more than rounding to three digits (the DelftSbW2024 front wheel: 0.0008 of its largest
# moment) plus six joint standard deviations (the Browser rear frame: 4.9). Where it states none, as measured moments
# do in tables: three per cent (that frame: 2.3, the Yellow front frame: 1.5).
TRIANGLE_ROUNDING = 1e-3
TRIANGLE_DEVIATIONS = 6.0
TRIANGLE_UNSTATED = 0.03


@dataclass(frozen=True)
class Bicycle:
    """Parameters of a bicycle that can exist: checked when it is made, never altered.

    Parameters
    ----------
    name : str
    w, ..., IFyy : float
        See `PARAMETERS` for unit and meaning; SI.
    source, note : str
        Where the numbers were published, and what to know about them.
    std : mapping of parameter to float
        One standard deviation in the unit of the parameter, where published.
    correlations : mapping of parameter to mapping of parameter to float
        Of parameters with a standard deviation, each pair once; without them parameters count as independent.
    missing : sequence of str
        Those of IByy and IHyy that were not published. Their value here is a substitute (see
        `riderless.models.bicycle_file.flat_moment`); nothing linear depends on it.
    trust : str
        Why an unusual bicycle is meant as it is; "" for one that nobody need vouch for. Two bicycles that differ in
        nothing else are equal.

    Raises
    ------
    InputError
        For values that no bicycle can have. Every fault is named, with field, value, unit and rule.
    """

    name: str
    w: float
    c: float
    lam: float
    g: float
    rR: float
    mR: float
    IRxx: float
    IRyy: float
    xB: float
    zB: float
    mB: float
    IBxx: float
    IBxz: float
    IByy: float
    IBzz: float
    xH: float
    zH: float
    mH: float
    IHxx: float
    IHxz: float
    IHyy: float
    IHzz: float
    rF: float
    mF: float
    IFxx: float
    IFyy: float
    source: str = ""
    note: str = ""
    std: Mapping[str, float] = field(default_factory=dict, hash=False)
    missing: tuple[str, ...] = ()
    trust: str = field(default="", compare=False)
    correlations: Mapping[str, Mapping[str, float]] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        faults = list(_malformed(self))
        if not faults:
            for name in PARAMETERS:
                object.__setattr__(self, name, float(getattr(self, name)))
            std = {name: float(self.std[name]) for name in PARAMETERS if name in self.std}
            object.__setattr__(self, "std", MappingProxyType(std))
            object.__setattr__(self, "missing", tuple(self.missing))
            object.__setattr__(self, "correlations", _correlations(self))
            faults = list(_unphysical(self))
        if faults:
            raise InputError(f"bicycle {shortened(self.name)} cannot be: {'; '.join(faults)}")

    def __repr__(self) -> str:
        mass = self.mR + self.mB + self.mH + self.mF
        return f"Bicycle({self.name!r}, w={self.w:.4g} m, c={self.c:.4g} m, lam={self.lam:.4g} rad, mass={mass:.4g} kg)"

    def _repr_html_(self) -> str:
        rows = [
            (name, getattr(self, name), unit, meaning, self.std.get(name))
            for name, (unit, meaning) in PARAMETERS.items()
        ]
        return html_table(self.name, ("parameter", "value", "unit", "meaning", "standard deviation"), rows)

    def to_frame(self) -> "pandas.DataFrame":
        """Parameters as a pandas data frame: one row each, with value, unit, meaning and standard deviation.

        Raises
        ------
        InputError
            When pandas is not installed.
        """
        columns = {
            "parameter": list(PARAMETERS),
            "value": [getattr(self, name) for name in PARAMETERS],
            "unit": [unit for unit, _ in PARAMETERS.values()],
            "meaning": [meaning for _, meaning in PARAMETERS.values()],
            "std": [self.std.get(name, math.nan) for name in PARAMETERS],
        }
        return data_frame(columns, "parameter")

    def correlation_matrix(self, names: Sequence[str]) -> "Array":
        """Correlation matrix (n, n) of named quantities; those that are no correlated parameters are independent."""
        return self._correlated.matrix(names)

    @property
    def _correlated(self) -> Correlations:
        assert isinstance(self.correlations, Correlations)
        return self.correlations

    def covariance(self, names: Sequence[str]) -> "Array":
        """Covariance (n, n) of the named parameters, SI; zero where no deviation is known."""
        import numpy as np

        std = np.array([self.std.get(name, 0.0) for name in names])
        return np.asarray(self._correlated.matrix(names) * np.outer(std, std))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle by making it again: a read-only mapping cannot be pickled."""
        return _from_dict, (self.as_dict(),)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON; ``Bicycle(**b.as_dict()) == b``."""
        return {
            "name": self.name,
            **{name: getattr(self, name) for name in PARAMETERS},
            "source": self.source,
            "note": self.note,
            "std": dict(self.std),
            "missing": list(self.missing),
            **({"trust": self.trust} if self.trust else {}),
            **({"correlations": self._correlated.plain()} if self.correlations else {}),
        }

    def to_toml(self) -> str:
        """Text that `from_toml` reads back to an equal bicycle, in full precision."""
        table = {key: value for key, value in self.as_dict().items() if key not in PARAMETERS}
        std, correlations = table.pop("std"), table.pop("correlations", None)
        table["parameters"] = {name: getattr(self, name) for name in PARAMETERS}
        table["std"] = std
        if correlations:
            table["correlations"] = correlations
        return dump_toml(table)

    @classmethod
    def from_toml(cls, text_or_path: str | Path, trust: bool = False) -> "Bicycle":
        """Read a bicycle from TOML text, or from a file (a `Path`, or one line ending in ``.toml``).

        Keys: ``name``, optional ``source``, ``note``, ``missing`` and ``trust``, a table ``[parameters]`` and
        optionally tables ``[std]`` and ``[correlations]``. Parameters named in ``missing`` may be left out; a
        parameter may carry its unit (``lam_deg``, ``w_mm``; `riderless.models.plausibility.parameter_units`). What is
        read must be plausible (`riderless.models.plausibility.traits`), unless ``trust`` is true or the file says why
        it is to be trusted; then a warning names what is unusual.

        Raises
        ------
        InputError
            For a file that cannot be read, text that is not TOML, unknown or absent keys, values that no bicycle can
            have, and implausible ones, with the likely mistake.
        """
        origin, text = read_text(text_or_path)
        try:
            table = load_toml(text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{origin} is not valid TOML: {error}; put that line right") from None
        try:
            fields = fields_of(table)
            bicycle = cls._made(fields)
            return replace(bicycle, trust=trusted_for(fields, trust))
        except InputError as error:
            raise InputError(f"{origin}: {error}") from None

    @classmethod
    def _made(cls, fields: dict[str, Any]) -> "Bicycle":
        """Make a bicycle; where it cannot be, say what is likely wrong."""
        try:
            return cls(**fields)
        except InputError as error:
            causes = likely_causes(fields)
            raise InputError(f"{error}; {causes}" if causes else str(error)) from None


def _correlations(b: Bicycle) -> Correlations:
    """Correlations of the parameters that have a deviation; those of one that has none, no longer, go."""
    correlations = b.correlations if isinstance(b.correlations, Correlations) else Correlations(b.correlations)
    return correlations.of([name for name in b.std if b.std[name] > 0.0])


def require_bicycle(bicycle: object) -> None:
    """Refuse what is no bicycle, such as the name of one. Raises InputError."""
    if not isinstance(bicycle, Bicycle):
        raise InputError(f"wanted a Bicycle, found {shortened(bicycle)}: get one with load_bicycle")


def principal_moments(Ixx: float, Ixz: float, Izz: float) -> tuple[float, float]:
    """Principal moments [kg m^2] in the plane of symmetry, smaller first (eigenvalues of a 2 x 2 matrix)."""
    middle, radius = (Ixx + Izz) / 2.0, math.hypot((Ixx - Izz) / 2.0, Ixz)
    return middle - radius, middle + radius


def _from_dict(fields: dict[str, Any]) -> Bicycle:
    return Bicycle(**fields)


def _malformed(b: Bicycle) -> Iterator[str]:
    """Faults of type and form, which make the fields unusable before any physics can be asked."""
    for key in ("name", "source", "note", "trust"):
        if not isinstance(getattr(b, key), str):
            yield f"{key} = {shortened(getattr(b, key))} must be text"
        elif key == "name" and len(b.name) > LONGEST_NAME:
            yield f"its name has {len(b.name)} characters, more than {LONGEST_NAME}: shorten it"
    for name, (unit, _) in PARAMETERS.items():
        if not is_number(getattr(b, name)):
            yield f"{name} = {shortened(getattr(b, name))} must be a finite number in {unit}"
        elif abs(getattr(b, name)) > LARGEST_VALUE:
            yield f"{name} = {getattr(b, name):g} {unit} is beyond {LARGEST_VALUE:g} {unit}, as nothing on a bicycle is"
    if not isinstance(b.std, Mapping):
        yield f"std = {shortened(b.std)} must be a table of standard deviations"
    else:
        yield from unknown_keys(b.std, PARAMETERS, "parameter in std")
        for name in PARAMETERS:
            if name in b.std and not (is_number(b.std[name]) and b.std[name] >= 0.0):
                unit = PARAMETERS[name][0]
                yield f"std of {name} = {shortened(b.std[name])} {unit} must be a finite number, zero or more"
    if not isinstance(b.correlations, Mapping):
        yield f"correlations = {shortened(b.correlations)} must be a table"
    if not isinstance(b.missing, tuple | list):
        yield f"missing = {shortened(b.missing)} must be a list of parameters"
    elif wrong := [name for name in b.missing if name not in DISPENSABLE]:
        yield f"{wrong[0]!r} cannot be missing: the linear model needs all but {' and '.join(DISPENSABLE)}"


def _unphysical(b: Bicycle) -> Iterator[str]:
    """Faults of value: numbers that no bicycle can have."""
    for name in ("w", "g"):
        if getattr(b, name) <= 0.0:
            yield f"{_show(b, name)} must be above zero"
    if abs(b.lam) >= math.pi / 2.0:
        yield f"{_show(b, 'lam')} must lie between -pi/2 and pi/2 (is it in degrees?)"
    for name in (*RADII, *MASSES, *MOMENTS):
        if getattr(b, name) < 0.0:
            yield f"{_show(b, name)} must not be negative"
    if not any(getattr(b, name) for name in MASSES):
        yield "mR + mB + mH + mF = 0 kg must be above zero: some part must have mass"
    for wheel in "RF":
        burden = [f"m{wheel}", f"I{wheel}xx", f"I{wheel}yy"]
        if getattr(b, f"r{wheel}") == 0.0 and any(getattr(b, name) for name in burden):
            yield f"{_show(b, f'r{wheel}')} must be above zero when {', '.join(burden)} are not all zero"
        yield from _wheel_triangle(b, wheel)
    for frame in "BH":
        yield from _frame_triangle(b, frame)


def _wheel_triangle(b: Bicycle, wheel: str) -> Iterator[str]:
    """Check the triangle inequality of a wheel, which is symmetric: Iyy <= 2 Ixx."""
    xx, yy = f"I{wheel}xx", f"I{wheel}yy"
    Ixx, Iyy = getattr(b, xx), getattr(b, yy)
    slack = _slack(b, max(Ixx, Iyy), {xx: 2.0, yy: 1.0})
    if Iyy > 2.0 * Ixx + slack:
        yield f"{_show(b, yy)} must be at most 2 {xx} = {2.0 * Ixx:.6g} kg m^2 (triangle inequality)"


def _frame_triangle(b: Bicycle, frame: str) -> Iterator[str]:
    """Check that no principal moment of a frame is negative or above the sum of the others; y is a principal axis."""
    xx, xz, yy, zz = (f"I{frame}{axes}" for axes in ("xx", "xz", "yy", "zz"))
    Ixx, Ixz, Iyy, Izz = (getattr(b, name) for name in (xx, xz, yy, zz))
    low, high = principal_moments(Ixx, Ixz, Izz)
    stated = any(name in b.std for name in (xx, xz, yy, zz))
    slack = _slack(b, max(high, Iyy), {xx: 1.0, xz: 2.0, yy: 1.0, zz: 1.0})
    if low < -(slack if stated else TRIANGLE_ROUNDING * high):
        yield (f"{_show(b, xz)} must be at most sqrt({xx} {zz}) in size: it makes a principal moment {low:.6g} kg m^2")
    if Iyy > low + high + slack:
        yield (
            f"{_show(b, yy)} must be at most the sum of the other two principal moments, {xx} + {zz} = "
            f"{low + high:.6g} kg m^2 (triangle inequality)"
        )
    if Iyy < high - low - slack:
        yield (
            f"{_show(b, yy)} must be at least the difference of the other two principal moments, "
            f"{high:.6g} - {low:.6g} = {high - low:.6g} kg m^2 (triangle inequality)"
        )


def _slack(b: Bicycle, largest: float, weights: Mapping[str, float]) -> float:
    """Tolerance [kg m^2] by which measured moments may break an inequality; see `TRIANGLE_ROUNDING`."""
    if not any(name in b.std for name in weights):
        return TRIANGLE_UNSTATED * largest
    joint = math.hypot(*(weight * b.std.get(name, 0.0) for name, weight in weights.items()))
    return TRIANGLE_ROUNDING * largest + TRIANGLE_DEVIATIONS * joint


def _show(b: Bicycle, name: str) -> str:
    return f"{name} = {getattr(b, name):.6g} {PARAMETERS[name][0]}"
