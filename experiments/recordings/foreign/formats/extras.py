"""Libraries that only some files need."""

import importlib
from pathlib import Path
from types import ModuleType

from riderless.models.errors import InputError


def import_extra(module: str, path: Path) -> ModuleType:
    """Import a module; where it is not installed, raise InputError with how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InputError(
            f"{path} needs the library {module}, which is not installed; install it: "
            "python -m pip install 'riderless[formats]'"
        ) from None
