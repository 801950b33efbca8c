"""Controller design, off line.

Nothing here is imported by a run, which only reads the gains.

The package can be called as its function `riderless.hil.design.methods.design`: Python gives a package the name of each
folder that was imported from it, so ``from hil import design`` may find either, and both must work.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    """Package that is called as the function `design`."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        return _function()(*args, **options)

    @property
    def __wrapped__(self) -> Any:
        """Function that a call goes to, for `inspect.signature` and the help of notebooks."""
        return _function()


def _function() -> Any:
    """Import `design`; only who designs waits for it."""
    return import_module("riderless.hil.design.methods").design


sys.modules[__name__].__class__ = _CallablePackage
