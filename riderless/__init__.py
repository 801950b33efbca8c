"""Public names of all rooms.

They are loaded when first used: ``import riderless as rl; rl.load_bicycle("Silver")``.
"""

import sys

if sys.argv[:1] == ["-m"] and sys.orig_argv[-len(sys.argv)].endswith("riderless") and not sys.flags.safe_path:
    del sys.path[0]  # the current folder, which `python -m riderless` puts first: nothing that lies there is to run

import ast
import logging
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the names that the rooms offer, no more, and no second list of them here
    from riderless.experiments import *  # noqa: F403
    from riderless.firmware_interface import *  # noqa: F403
    from riderless.hil import *  # noqa: F403
    from riderless.models import *  # noqa: F403

logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent, but where a program wants to hear

_ROOMS = ("models", "firmware_interface", "hil", "experiments")


def lazy(room: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the `__getattr__` and the `__dir__` of a room, which imports a name when it is first used (PEP 562).

    Where each name is, stands in the imports for type checkers, the only list of that; each is imported ``as`` itself,
    which says that it is offered. ``__all__`` is made of that list. What was imported once is kept.
    A folder of the room that has the name itself stays there, as Python put it: it must do what the name promises, as
    `riderless.hil.design` does, which can be called.

    Parameters
    ----------
    room, file : str
        Its ``__name__`` and ``__file__``.

    Raises
    ------
    AttributeError
        From `__getattr__`, for a name that the room does not offer.
    """
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    imports = [node for node in checked.body if isinstance(node, ast.ImportFrom)]
    places = {alias.name: str(node.module) for node in imports for alias in node.names}

    def get(name: str) -> Any:
        if name == "__all__":
            return sorted(places)
        if name not in places:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        value = getattr(import_module(places[name]), name)
        vars(sys.modules[room]).setdefault(name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[room]), *places, "__all__"})

    return get, names


def _homes() -> dict[str, str]:
    """Room of each name that the rooms offer."""
    rooms = [f"{__name__}.{room}" for room in _ROOMS]
    return {name: room for room in rooms for name in getattr(import_module(room), "__all__", ())}


if not TYPE_CHECKING:  # a type checker reads the imports above

    def __getattr__(name: str) -> Any:
        """Load a public name, or a room, on first use (PEP 562)."""
        if name in _ROOMS:
            return import_module(f"{__name__}.{name}")
        if name == "__version__":
            from importlib.metadata import version

            return version(__name__)
        if name == "__all__":
            return sorted(_homes())
        room = _homes().get(name)
        if room is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(room), name)
        # a folder of the room that has the name, such as hil/design, stands there in place of the function
        return import_module(room).__getattr__(name) if isinstance(value, ModuleType) else value

    def __dir__() -> list[str]:
        """Names of all rooms, for completion."""
        return sorted(_homes())
