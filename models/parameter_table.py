"""Table of parameters: name, unit, meaning.

Meijaard et al. (2007), Table 1, and gravity.
"""

from collections.abc import Mapping
from types import MappingProxyType

PARAMETERS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "w": ("m", "wheelbase"),
        "c": ("m", "trail"),
        "lam": ("rad", "steer axis tilt, positive when its top leans back"),
        "g": ("m/s^2", "gravity"),
        "rR": ("m", "rear wheel radius"),
        "mR": ("kg", "rear wheel mass"),
        "IRxx": ("kg m^2", "rear wheel moment about a diameter"),
        "IRyy": ("kg m^2", "rear wheel moment about its axle"),
        "xB": ("m", "rear frame centre of mass, forward of the rear contact"),
        "zB": ("m", "rear frame centre of mass, down"),
        "mB": ("kg", "rear frame mass"),
        "IBxx": ("kg m^2", "rear frame moment about x"),
        "IBxz": ("kg m^2", "rear frame tensor element xz"),
        "IByy": ("kg m^2", "rear frame moment about y"),
        "IBzz": ("kg m^2", "rear frame moment about z"),
        "xH": ("m", "front frame centre of mass, forward of the rear contact"),
        "zH": ("m", "front frame centre of mass, down"),
        "mH": ("kg", "front frame mass"),
        "IHxx": ("kg m^2", "front frame moment about x"),
        "IHxz": ("kg m^2", "front frame tensor element xz"),
        "IHyy": ("kg m^2", "front frame moment about y"),
        "IHzz": ("kg m^2", "front frame moment about z"),
        "rF": ("m", "front wheel radius"),
        "mF": ("kg", "front wheel mass"),
        "IFxx": ("kg m^2", "front wheel moment about a diameter"),
        "IFyy": ("kg m^2", "front wheel moment about its axle"),
    }
)
"""Unit and meaning of every parameter, in the order they are written."""

MASSES = ("mR", "mB", "mH", "mF")
RADII = ("rR", "rF")
MOMENTS = tuple(name for name in PARAMETERS if name[0] == "I" and name[2] == name[3])
DISPENSABLE = ("IByy", "IHyy")  # a linear bicycle does not pitch, so these may be unpublished
