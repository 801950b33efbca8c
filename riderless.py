"""Four rooms through one door: `import riderless as rl; rl.load_bicycle("Silver")`. Nothing of its own is in here."""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]  # the current folder, which `python -m` puts first: nothing that lies there is to run

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the names that the rooms list in their `__all__`, no more, and no second list of them here
    from experiments import *  # noqa: F403
    from firmware_interface import *  # noqa: F403
    from hil import *  # noqa: F403
    from models import *  # noqa: F403

_ROOMS = ("models", "firmware_interface", "hil", "experiments")


def _homes() -> dict[str, str]:
    """Room of each name, by what the rooms list in their `__all__`."""
    return {name: room for room in _ROOMS for name in getattr(import_module(room), "__all__", ())}


if not TYPE_CHECKING:  # a type checker reads the imports above

    def __getattr__(name: str) -> Any:
        """Ask the room whose name it is (PEP 562)."""
        if name == "__all__":
            return sorted(_homes())
        room = _homes().get(name)
        if room is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(room), name)

    def __dir__() -> list[str]:
        """Names of all rooms, for completion."""
        return sorted(_homes())


if __name__ == "__main__":  # python -m riderless
    from experiments.cli import main

    main()
