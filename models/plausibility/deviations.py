"""Implausible standard deviations of parameters.

No measurement has them: most likely they are in another unit.
"""

from collections.abc import Iterator, Mapping
from math import sqrt

from riderless.models.parameter_table import PARAMETERS
from riderless.models.plausibility.parameter_units import units_of
from riderless.models.plausibility.traits import TRAITS, Values
from riderless.models.tables import plain_number

_LARGEST_SHARE = 1.0 / 3.0  # of the parameter's size; of the catalogue's, the trail of Balanceassistv1 is largest, 0.24
_LEAST_SHARE = 1e-4  # that a deviation read in another unit must have to explain it; nobody measures better
_USUAL = {trait.words: trait.usual[1] for trait in TRAITS}


def odd_deviations(values: Values, std: Mapping[str, float]) -> Iterator[str]:
    """Say of each deviation that is too large for its parameter what was found, and the unit it looks like.

    Parameters
    ----------
    values
        All parameters of `riderless.models.parameter_table.PARAMETERS`, SI; nan for one that nobody gave.
    std
        One standard deviation of some of them, SI.
    """
    for name, deviation in std.items():
        size = _size(name, values)
        if size > 0.0 and deviation > _LARGEST_SHARE * size:
            yield _sentence(name, deviation, size)


def _size(name: str, values: Values) -> float:
    """Size that a deviation is judged by: of what may be near zero that of a usual bicycle, or what a tensor allows."""
    if name.endswith("xz"):
        return sqrt(abs(values[f"{name[:2]}xx"] * values[f"{name[:2]}zz"]))
    near_zero = name in ("c", "lam")
    return max(abs(values[name]), _USUAL[name] if near_zero else 0.0)


def _sentence(name: str, deviation: float, size: float) -> str:
    unit = PARAMETERS[name][0]
    reading = (
        f"the standard deviation of {name}, {plain_number(deviation, 4)} {unit}, is more than a third of "
        f"{plain_number(size, 4)} {unit}"
    )
    for suffix, factor, words in units_of(name):
        if _LEAST_SHARE * size <= deviation / factor <= _LARGEST_SHARE * size:
            return f"{reading} and looks like {words}: write {name}_{suffix} = {deviation:.6g} in [std]"
    return reading
