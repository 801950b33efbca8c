"""Starter folder with example files.

It has an example of each kind of file that a person writes, and tells what to type next. The examples are those of the
docs (`riderless.experiments.campaigns.examples`).
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path

from riderless.experiments.campaigns.examples import example_text
from riderless.experiments.reports.files import whole_or_gone
from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.text_file import read_text_file

NEXT_STEPS = (  # what to type in the folder, and what it is for
    ("riderless design bicycle.toml --speeds 2:8:0.5 -o gains.toml", "gains over speed, and what they promise"),
    ("riderless check rig.toml --emulated", "look at every device; virtual ones until yours are wired"),
    ("riderless run rig.toml --emulated --controller gains.toml", "balance; [ and ] kick it, any other key stops"),
    ("riderless analyze runs -o report", "eigenvalues of the runs beside the theory, as a page"),
    ("riderless campaign campaign.toml --lockstep", "many runs in simulated time, one report"),
)
MORE_STEPS = (  # for the files that only some need
    ("riderless simulate Silver --controller my_law.py --speed 5 --kick 0.6,4 -o flight", "your law, flown"),
    ("python try_driver.py", "bytes for your driver"),
    ("python their_log.py", "make a log of somebody else"),
    ("riderless analyze theirs.csv --mapping mapping.toml", "and read it"),
)
# lessons 5 to 7 explain them
_PROGRAMS = ("my_law.py", "wheel_text.py", "try_driver.py", "their_log.py")
_DRIVER_FILES = ("wheel_text.py", "wheel_text_twin.py", "wheel_rig.toml", "test_wheel_text.py")
DRIVER_STEPS = (
    ("python test_wheel_text.py", "the rules that every driver keeps, at every rate"),
    ("riderless check wheel_rig.toml --emulated", "look at it beside our node"),
)
_ABOUT = """# Where to begin

| file | what it is |
|---|---|
| `bicycle.toml` | the 25 parameters of the bicycle, of {bike} for a start: put in your own |
| `rig.toml` | devices, rates and limits of the machine: every limit with your reason |
| `campaign.toml` | which runs to make, with how many kicks |
| `my_law.py` | a controller in Python: steer into the lean |
| `wheel_text.py`, `try_driver.py` | a driver of a device, and bytes to try it with |
| `mapping.toml`, `their_log.py` | what the columns of somebody else's log are, and a program that makes such a log |

In this folder:

{steps}

With a law, a driver and a mapping of your own (lessons 5 to 7 of the documentation):

{more}

On your own machine: `riderless ports` names its ports for `rig.toml`; then the same without `--emulated`.
"""


def _starter_files(bike: str) -> dict[str, str]:
    """Write the texts of the files to begin with, by their names.

    Parameters
    ----------
    bike : str
        Bicycle of the catalogue whose parameters stand in ``bicycle.toml``, or a file that is copied there.

    Raises
    ------
    InputError
        The catalogue has no such bicycle, or the file holds none.
    """
    catalogue.load_bicycle(bike)
    bicycle = _bicycle_text(bike)
    return {
        "bicycle.toml": bicycle,
        "rig.toml": _with(_with(example_text("rigs/node.toml"), "name", "my rig"), "bicycle", "bicycle.toml"),
        "campaign.toml": _without(_with(example_text("campaigns/treadmill.toml"), "rig", "rig.toml"), "bicycles"),
        **{name: example_text(f"starter/{name}") for name in ("mapping.toml", *_PROGRAMS)},
        "README.md": _ABOUT.format(bike=bike, steps=_listed(NEXT_STEPS), more=_listed(MORE_STEPS)),
    }


def _bicycle_text(bike: str) -> str:
    """Text of a person's own bicycle as it stands in its file; one of the catalogue becomes theirs by its name."""
    if bike.endswith(catalogue.BICYCLE_SUFFIX):
        return read_text_file(Path(bike))
    text = files("riderless.models.bicycles").joinpath(f"{bike}{catalogue.BICYCLE_SUFFIX}").read_text(encoding="utf-8")
    return _with(text, "name", "my bicycle")


def _listed(steps: Sequence[tuple[str, str]]) -> str:
    """Lines of commands with what they are for."""
    width = max(len(command) for command, _ in steps)
    return "\n".join(f"    {command:<{width}}   # {why}" for command, why in steps)


def write_driver_starter(folder: Path) -> list[Path]:
    """Write a driver, its twin, a rig that names it and its test; raises InputError as `write_starter`."""
    return _write(folder, {name: example_text(f"starter/{name}") for name in _DRIVER_FILES})


def write_starter(folder: Path, bike: str = "Benchmark") -> list[Path]:
    """Write the files to begin with into a folder, which is made; nothing is ever overwritten.

    Raises
    ------
    InputError
        One of them is there already, the folder cannot be written, or the catalogue has no such bicycle.
    """
    return _write(folder, _starter_files(bike))


def _write(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    wanted = {folder / name: text for name, text in texts.items()}
    there = [path.name for path in wanted if path.exists() or path.is_symlink()]
    if there:
        raise InputError(f"{folder} holds {', '.join(there)} already, and nothing is overwritten: name another folder")
    with whole_or_gone(folder), ExitStack() as undone:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for path, text in wanted.items():
                with path.open("x", encoding="utf-8") as file:
                    undone.callback(path.unlink)
                    file.write(text)
        except OSError as error:
            raise InputError(f"{folder} cannot be written ({error.strerror}): name another folder") from None
        undone.pop_all()
    return list(wanted)


def _with(text: str, key: str, value: str) -> str:
    """Give a key at the top of a TOML text another value; the line's own comment goes with the old one."""
    changed, n = re.subn(rf'^{key} = ".*$', f'{key} = "{value}"', text, count=1, flags=re.MULTILINE)
    assert n == 1, f"the example has no {key}"
    return changed


def _without(text: str, key: str) -> str:
    """Leave out the line of a key."""
    return re.sub(rf"^{key} = .*\n", "", text, count=1, flags=re.MULTILINE)
