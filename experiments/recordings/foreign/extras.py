"""Libraries that only some files need."""

import importlib
from pathlib import Path
from types import ModuleType

from models.errors import InputError


def needed(module: str, path: Path) -> ModuleType:
    """The module; where it is not installed, a sentence that says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InputError(
            f"{path} needs the library {module}, which is not installed; install it: "
            "python -m pip install 'riderless[formats]'"
        ) from None
