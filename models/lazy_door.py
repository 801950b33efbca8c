"""Lazy doors: a package that names what it offers and imports it only when it is asked for (PEP 562)."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(package: str, places: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the `__getattr__` and the `__dir__` of a package.

    What was imported once is kept in the package. A module or folder inside the package that has the name itself stays
    there, as Python put it: it must do what the name promises, as `riderless.hil.design` does, which can be called.

    Parameters
    ----------
    package : str
        Its dotted name, ``__name__``.
    places : mapping of str to str
        Module of every name that the package offers.

    Raises
    ------
    AttributeError
        From `__getattr__`, for a name that the package does not offer.
    """

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(places[name]), name)
        return vars(sys.modules[package]).setdefault(name, value)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *places})

    return get, names
