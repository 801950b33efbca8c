"""Bicycle whose parameters a page alters."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from riderless.experiments.live.schema import LiveSlider
from riderless.models.errors import InputError
from riderless.models.parameters import Bicycle
from riderless.models.plausibility.traits import odd_traits

_STEPS = 100  # of a slider, at least


class _Range(NamedTuple):
    """Parameter that a page alters, and how far.

    Parameters
    ----------
    what, unit : str
        As a person reads it.
    scale : float
        Of the value shown over that in SI.
    down, up : float
        Reach from the bicycle's own value.
    share : bool
        ``down`` and ``up`` are shares of the bicycle's value.
    """

    what: str
    unit: str
    scale: float
    down: float
    up: float
    share: bool = True


ALTERABLE = {
    "w": _Range("wheelbase", "m", 1.0, 0.4, 0.6),
    "c": _Range("trail", "m", 1.0, 0.1, 0.1, share=False),
    "lam": _Range("steer axis tilt", "deg", math.degrees(1.0), 15.0, 15.0, share=False),
    "mB": _Range("rear frame and rider", "kg", 1.0, 0.8, 1.0),
    "zB": _Range("their height", "m", -1.0, 0.5, 0.5),
    "xB": _Range("their place, forward", "m", 1.0, 0.6, 0.8),
    "rF": _Range("front wheel radius", "m", 1.0, 0.4, 0.4),
    "IFyy": _Range("front wheel inertia", "kg m²", 1.0, 0.9, 1.0),
}


@dataclass(frozen=True)
class AlteredBicycle:
    """Bicycle with some parameters altered.

    Parameters
    ----------
    original : Bicycle
        As it was.
    values : mapping of parameter to float
        Those that are altered, SI.

    Raises
    ------
    InputError
        For what is no bicycle, or an implausible one.
    """

    original: Bicycle
    values: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bicycle", _with(self.original, self.values))

    bicycle: Bicycle = field(init=False, compare=False)

    def sliders(self) -> list[LiveSlider]:
        """Describe what a page alters, each with its value now and before."""
        b = self.original
        there = [
            name for name, about in ALTERABLE.items() if getattr(b, name) or not about.share
        ]  # a skate has no wheel
        return [_slider(name, b, self.bicycle) for name in there]

    def with_parameter(self, name: str, shown: float | None) -> "AlteredBicycle":
        """Alter a parameter too, to a value as it is shown, or back (None); raises InputError."""
        values = {other: value for other, value in self.values.items() if other != name}
        if shown is not None:
            values[name] = shown / ALTERABLE[name].scale
        return replace(self, values=values)


def _with(original: Bicycle, values: Mapping[str, float]) -> Bicycle:
    """Bicycle with other values; the parts that hang on them go along."""
    if not values:
        return original
    b = original
    mass, rim = values.get("mB", b.mB) / b.mB if b.mB else 1.0, (values.get("rF", b.rF) / b.rF) ** 2 if b.rF else 1.0
    wheel = values["IFyy"] / b.IFyy if "IFyy" in values and b.IFyy else rim
    factors = dict.fromkeys(("IBxx", "IBxz", "IByy", "IBzz"), mass) | dict.fromkeys(("IFxx", "IFyy"), wheel)
    along = {name: factor * getattr(b, name) for name, factor in factors.items()}
    along["xH"] = b.xH + values.get("w", b.w) - b.w  # the front frame stays where its wheel is
    std = {name: factors.get(name, 1.0) * deviation for name, deviation in b.std.items()}
    altered = replace(b, name=f"{b.name}, altered", std=std, **{**along, **values})
    before = {trait.words for trait in odd_traits(b.as_dict())}
    for trait in odd_traits(altered.as_dict()):
        if trait.words not in before:  # of a bicycle that is meant to be unusual
            raise InputError(f"that is no plausible bicycle: {trait.phrase(altered.as_dict())}")
    return altered


def _slider(name: str, original: Bicycle, bicycle: Bicycle) -> LiveSlider:
    """Slider whose steps meet the value of the bicycle as it was."""
    about = ALTERABLE[name]
    usual = about.scale * getattr(original, name)
    down, up = (abs(usual) * reach if about.share else reach for reach in (about.down, about.up))
    finest = (down + up) / _STEPS
    power = 10.0 ** math.floor(math.log10(finest))
    step = power * max(factor for factor in (1, 2, 5) if factor * power <= finest * (1 + 1e-9))
    return LiveSlider(
        name=name,
        what=about.what,
        unit=about.unit,
        value=about.scale * getattr(bicycle, name),
        usual=usual,
        least=usual - step * round(down / step),
        most=usual + step * round(up / step),
        step=step,
    )
