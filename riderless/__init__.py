"""Public names of all rooms, loaded when first used: ``import riderless as rl; rl.load_bicycle("Silver")``."""

import sys

if sys.argv[:1] == ["-m"] and sys.orig_argv[-len(sys.argv)].endswith("riderless") and not sys.flags.safe_path:
    del sys.path[0]  # the current folder, which `python -m riderless` puts first: nothing that lies there is to run

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the names that the rooms list in their `__all__`, no more, and no second list of them here
    from riderless.experiments import *  # noqa: F403
    from riderless.firmware_interface import *  # noqa: F403
    from riderless.hil import *  # noqa: F403
    from riderless.models import *  # noqa: F403

_ROOMS = ("models", "firmware_interface", "hil", "experiments")


def _homes() -> dict[str, str]:
    """Room of each name, by what the rooms list in their `__all__`."""
    rooms = [f"{__name__}.{room}" for room in _ROOMS]
    return {name: room for room in rooms for name in getattr(import_module(room), "__all__", ())}


if not TYPE_CHECKING:  # a type checker reads the imports above

    def __getattr__(name: str) -> Any:
        """Load a public name, or a room, on first use (PEP 562)."""
        if name in _ROOMS:
            return import_module(f"{__name__}.{name}")
        if name == "__all__":
            return sorted(_homes())
        room = _homes().get(name)
        if room is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(room), name)

    def __dir__() -> list[str]:
        """Names of all rooms, for completion."""
        return sorted(_homes())
