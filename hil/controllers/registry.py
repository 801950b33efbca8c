"""Registry of the kinds of controllers.

It leads from the format line of a file to module and class. A new kind is a file and a line. A Python file that a
person names is the one kind without such a line; what a log tells of it has one.
"""

import tomllib
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from riderless.hil.controllers.controller import Controller
from riderless.hil.controllers.law_file import LAW_SUFFIX, packaged_law
from riderless.models.errors import InputError
from riderless.models.file_format import load_toml
from riderless.models.text_file import read_text_file, why_unreadable

if TYPE_CHECKING:
    from riderless.hil.controllers.timing import LoopTiming
    from riderless.models.linear.prescribed_steer import InnerLoop
    from riderless.models.parameters import Bicycle

CONTROLLERS = {
    "riderless gain schedule 1": ("riderless.hil.design.schedule", "GainSchedule"),
    "riderless lane schedule 1": ("riderless.hil.design.schedule", "GainSchedule"),
    "riderless steer schedule 1": ("riderless.hil.design.schedule", "GainSchedule"),
    "riderless steer lane schedule 1": ("riderless.hil.design.schedule", "GainSchedule"),
    "riderless state space 1": ("riderless.hil.controllers.lti", "LTIController"),
    "riderless steer state space 1": ("riderless.hil.controllers.lti", "LTIController"),
    "riderless network 1": ("riderless.hil.controllers.network", "NetworkController"),
    "riderless compiled law 1": ("riderless.hil.controllers.compiled", "CompiledController"),
}
_USUAL = "riderless gain schedule 1"  # whose reader says what is wrong with a file of no kind


def read_controller(
    path: str | Path, bicycle: "Bicycle", timing: "LoopTiming", drive: "InnerLoop | None" = None
) -> Controller:
    """Read a controller of any kind from its file; a Python file, which a person named, is run.

    A law of an installed package is named by its entry point of the group ``riderless.controllers``.

    Parameters
    ----------
    path : str or Path
    bicycle, timing, drive
        Of a Python file, as `riderless.hil.controllers.compiled.read_law` takes them.

    Raises
    ------
    InputError
        The file cannot be read, or is no controller.
    """
    if str(path).endswith(LAW_SUFFIX) or packaged_law(str(path)):
        from riderless.hil.controllers.compiled import read_law

        return read_law(path, bicycle, timing, drive)
    return read_controller_file(path)


def read_controller_file(path: str | Path) -> Controller:
    """Read a controller that says for which bicycle it is, as all but a Python file do.

    Raises
    ------
    InputError
        The file cannot be read, or is no controller.
    """
    return controller_from_text(read_controller_text(path), str(path))


def read_controller_text(path: str | Path) -> str:
    """Read the text of a controller's file. Raises InputError where there is none to read."""
    try:
        return read_text_file(path)
    except (OSError, ValueError) as error:  # the latter: no text, or no name that a file can have
        raise InputError(
            f"{path or 'a nameless file'} cannot be read ({why_unreadable(error)}): give a file of `riderless design`"
        ) from None


def controller_from_text(text: str, where: str = "the text given") -> Controller:
    """Build a controller of any kind from the text of its file; ``where`` begins the sentence of an error.

    Raises
    ------
    InputError
        It is no controller.
    """
    try:
        kind = str(load_toml(text).get("format", _USUAL))
    except tomllib.TOMLDecodeError:
        kind = _USUAL
    module, name = CONTROLLERS.get(kind, CONTROLLERS[_USUAL])
    controller: Controller = getattr(import_module(module), name).from_text(text, where)
    return controller
