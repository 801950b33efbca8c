"""Reference of Python: every name of a room's door, by its docstring."""

import inspect
from importlib import import_module
from types import ModuleType

from site_builder.markdown import table

ABOUT = {
    "riderless.models": "What a bicycle is: parameters, linear and nonlinear model, emulated machine.",
    "riderless.firmware_interface": "Bytes to SI values and back: ports, drivers, virtual devices.",
    "riderless.hil": "The closed loop: design, observer, supervisor, runs, logs.",
    "riderless.experiments": "Questions asked of recordings: windows, fits, comparison, reports, campaigns.",
}


def door_page() -> str:
    """Write the list of all names that `import riderless` offers."""
    rows = [
        (f"{{py:obj}}`{name} <{_place(import_module(room), name)}>`", f"`{room}`", _first_line(room, name))
        for room in ABOUT
        for name in import_module(room).__all__
    ]
    head = "# Python: riderless\n\n`import riderless as rl` offers the names of the four rooms. All in SI units.\n"
    return f"{head}\n{table(('name', 'room', 'what it is'), sorted(rows, key=lambda row: row[0].lower()))}"


def room_page(room: str) -> str:
    """Write a page with each function, then each class, of a room."""
    module = import_module(room)
    parts = [f"# Python: {room}\n\n{ABOUT[room]}\n"]
    classes = [name for name in module.__all__ if inspect.isclass(getattr(module, name))]
    functions = [name for name in module.__all__ if name not in classes]
    for title, directive, names in (("Functions", "autofunction", functions), ("Classes", "autoclass", classes)):
        if names:
            parts.append(f"## {title}\n")
        for name in names:
            place = _place(module, name)
            parts.append(f"### {name}\n\n```{{eval-rst}}\n.. {directive}:: {place}\n{_members(module, name)}```\n")
    return "\n".join(parts)


def _place(module: ModuleType, name: str) -> str:
    """Find where a name is documented: at the door, but for a folder that can be called as its function."""
    if not isinstance(getattr(module, name), ModuleType):
        return f"{module.__name__}.{name}"
    return next(f"{home}.{name}" for home, names in module._PLACES.items() if name in names)


def _members(module: object, name: str) -> str:
    """Ask for the documented members of a class of ours."""
    return "   :members:\n" if inspect.isclass(getattr(module, name)) else ""


def _first_line(room: str, name: str) -> str:
    place = _place(import_module(room), name).rpartition(".")[0]
    return (inspect.getdoc(getattr(import_module(place), name)) or "").split("\n\n")[0]
