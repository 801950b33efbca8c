"""Records whose fields are attributes, as compiled code sees them, also where nothing is compiled."""

from typing import Any

import numba


class Attributes:
    """A record of numpy with its fields as attributes."""

    def __init__(self, record: Any) -> None:
        object.__setattr__(self, "record", record)

    def __getattr__(self, name: str) -> Any:
        return self.record[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self.record[name] = value

    __getitem__ = __getattr__
    __setitem__ = __setattr__


def usable(record: Any) -> Any:
    """The record itself, or with attributes when the mutation tests have switched the compiler off."""
    return Attributes(record) if numba.config.DISABLE_JIT else record
