"""Options that several commands share.

Each tells what it asks for.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from riderless.hil.output_file import OutputFile, files_read
from riderless.models.errors import InputError

if TYPE_CHECKING:
    from riderless.hil.live.feed import LiveFeed
    from riderless.hil.logs.header import RunHeader


_RUNS_ANYWHERE = "`riderless simulate`, `campaign --lockstep`, `analyze` and all else without a device run here"


def require_linux(what: str, instead: str = _RUNS_ANYWHERE) -> None:
    """Refuse what needs the real-time loop and its serial lines on another system; raises InputError."""
    if sys.platform != "linux":
        system = {"win32": "Windows", "darwin": "macOS"}.get(sys.platform, sys.platform)
        raise InputError(f"{what} needs Linux, found {system}: {instead}")


# Option ``--yes-arm-unattended`` of the commands that arm a real machine: the one place where they ask for a person.
#
# A terminal is where a person sits who holds the machine upright, sees what it waits for, and stops it by a key.
# Without one a script, a job or a closed window would switch the drive on.


ArmUnattended: TypeAlias = Annotated[
    bool,
    typer.Option("--yes-arm-unattended", help="Arm a real machine although nobody is at a terminal; the log says so."),
]


WithoutStopProof: TypeAlias = Annotated[
    bool,
    typer.Option("--without-stop-proof", help="Arm though the hardware stop was not pressed today; the log says so."),
]


def require_attended(ports: Sequence[str], agreed: bool) -> dict[str, bool]:
    """Refuse to arm a real machine while nobody is at a terminal, unless that was agreed to.

    Parameters
    ----------
    ports : sequence of str
        Paths of a real machine's ports; none of a virtual one's. One that is no device is refused when it is opened.
    agreed : bool
        The option was given.

    Returns
    -------
    dict
        What the log's header is to say of it: nothing, or that nobody is there.

    Raises
    ------
    InputError
    """
    from riderless.experiments.terminal.console import progress_screen
    from riderless.experiments.terminal.operator import at_terminal

    if at_terminal() or not any(Path(port).is_char_device() for port in ports):
        return {}
    if not agreed:
        raise InputError(
            "wanted a person at a terminal before a real machine is armed, found none on standard input: run it in a "
            "terminal, or say --yes-arm-unattended"
        )
    progress_screen.print("arming unattended: nobody is at a terminal (--yes-arm-unattended)", soft_wrap=True)
    return {"unattended": True}


# Option ``--max-memory`` of the commands that read recordings.


MaxMemory: TypeAlias = Annotated[
    str, typer.Option("--max-memory", help="Most memory that the program may take, such as 2GB; 500 MB by default.")
]
DEFAULT = "500MB"


# Option --preset of the commands that read logs of others: their kind, where it is to be given.


Preset = Annotated[
    str,  # written out, for the registry brings the readers, and the help answers at once; a test compares the two
    typer.Option(help="Kind of others' files: kooijman, delft-sbw, riderless-table, chalmers or peterson."),
]


# Option ``--trust`` of the commands that take a bicycle.
#
# A rig or campaign file names its bicycle's file; there a line ``trust = "why"`` in that file does the same.


Trust: TypeAlias = Annotated[
    bool, typer.Option("--trust", help="Take the bicycle as its file has it, however unusual; says what is.")
]


# Names that a person types with commas between, in one option.


def names_in(option: str, text: str) -> list[str]:
    """Read names with commas between; none where nothing but commas is written.

    Raises
    ------
    InputError
        A name is empty beside others.
    """
    names = [part.strip() for part in text.split(",")]
    if not any(names):
        return []
    if "" in names:
        raise InputError(f"{option} wants names with commas between, found an empty one in '{text}': correct it")
    return names


# Option --force of the commands that write a file, and the files that they refuse before their work.
#
# The rule, and the writing itself: `riderless.hil.output_file`.


Force = Annotated[
    bool, typer.Option("--force", help="Replace a file that is there already; never one that is read, nor a log.")
]


def require_figure(path: Path, force: bool, *inputs: str | Path | None) -> None:
    """Refuse a file for a figure whose suffix is no format, or whose place is taken, before the work.

    Parameters
    ----------
    path : Path
    force : bool
        It may take the place of another file.
    inputs : str, Path or None
        Files, and names that are perhaps files, that the command reads.

    Raises
    ------
    InputError
    """
    from riderless.experiments.reports.theory import check_figure_format

    check_figure_format(path)
    OutputFile(path, "the figure", force, files_read(*inputs)).require_free()


# Options that would have no effect beside others are refused: who writes one expects it to count.


def refuse_ignored(context: typer.Context, *names: str, because: str) -> None:
    """Refuse the options ``names`` of a command, by their parameters' names, where a person gave them.

    Raises
    ------
    InputError
        Names the options given, and says ``because`` of what they would be ignored, and what to do.
    """
    given = [_flag(context, name) for name in names if is_given(context, name)]
    if given:
        raise InputError(f"{' and '.join(given)} would be ignored: {because}")


def is_given(context: typer.Context, name: str) -> bool:
    """Tell whether somebody gave an option, by its parameter's name."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _flag(context: typer.Context, name: str) -> str:
    """Write an option as it was given: --load, or --no-load where it was switched off."""
    option = next(parameter for parameter in context.command.params if parameter.name == name)
    off = context.params.get(name) is False and option.secondary_opts
    return max(option.secondary_opts if off else option.opts, key=len)


# Option that names the Python file of a law, for runs that were made with one: a log never brings code that runs.


LawFileOption = Annotated[
    Path | None,
    typer.Option(
        "--controller", help="Controller: Python file of the law that the run was made with; a log never brings it."
    ),
]


LawFilesOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--controller",
        help="Controller: Python file of a law that a run is made with, once for each; no log brings it.",
    ),
]

DriverFilesOption = Annotated[
    list[Path] | None,
    typer.Option("--driver", help="Python file of a driver that the run was made with; no log brings it."),
]

AllowedLaws = Annotated[
    list[Path] | None,
    typer.Option(
        "--controller", help="Controller: Python file of a law that the campaign may run, once for each; else it asks."
    ),
]


def require_allowed_laws(file: Path | None, allowed: Sequence[Path]) -> None:
    """Ask before a law in Python that a campaign file names is run; with nobody at a terminal, say so.

    Parameters
    ----------
    file : Path or None
        The campaign's.
    allowed : sequence of Path
        Laws that the person has named too, of which nothing is asked.

    Raises
    ------
    InputError
        The person said no, or the campaign names no such law.
    """
    from riderless.experiments.campaigns.file import laws_of

    laws = {path.resolve(): path for path in (laws_of(file) if file else ())}
    for path in allowed:
        if laws.pop(path.resolve(), None) is None:
            raise InputError(f"wanted a law that the campaign names, found --controller {path}: leave it out")
    for path in laws.values():
        if not _is_allowed(file, path):
            raise InputError(f"{path} was not run: read it, then answer y or give --controller {path}")


def require_allowed_drivers(rig: Path | None) -> None:
    """Ask before drivers in Python that a rig file names are run; a yes holds for these very texts.

    Parameters
    ----------
    rig : Path or None
        With nobody at a terminal its drivers are named, and run.

    Raises
    ------
    InputError
        The person said no.
    """
    import hashlib

    from riderless.experiments.terminal.operator import at_terminal
    from riderless.hil.rig.file import drivers_of
    from riderless.hil.runners.kept_proofs import keep_proof, proofs_file, read_proofs, utc_now

    for path in drivers_of(rig) if rig else ():
        kept, text = proofs_file("drivers"), hashlib.sha256(path.read_bytes()).hexdigest()
        if text in read_proofs(kept):
            continue
        if not _is_allowed(rig, path):
            raise InputError(f"{path} was not run: read it, then answer y")
        if at_terminal():
            keep_proof(kept, text, {"file": path.name, "utc": utc_now()}, "the answer")


def _is_allowed(file: Path | None, path: Path) -> bool:
    """Say that a file runs another, and ask whether it may; yes with nobody at a terminal."""
    from riderless.experiments.terminal.console import progress_screen
    from riderless.experiments.terminal.operator import at_terminal

    progress_screen.print(f"{file} runs {path}: Python code, which may do whatever you may", soft_wrap=True)
    if not at_terminal():
        return True
    progress_screen.print("run it? y runs it, Enter does not", soft_wrap=True)
    try:
        answer = input()
    except EOFError:
        answer = ""
    return answer.strip().lower() in ("y", "yes")


def know_law(path: Path | None) -> None:
    """Let runs that were made with this file find it; raises InputError where it cannot be read."""
    if path is not None:
        from riderless.hil.controllers.law_file import name_law

        name_law(path)


def require_law_used(path: Path | None, headers: "Iterable[RunHeader]") -> None:
    """Refuse a file that none of the runs was made with; raises InputError."""
    from riderless.hil.controllers.compiled import COMPILED_FORMAT

    if path is None or any(COMPILED_FORMAT in str(header.content.get("schedule", "")) for header in headers):
        return
    raise InputError(f"no run was made with a law of a Python file, found --controller {path}: leave it out")


def require_law_of(path: Path | None, recordings: Sequence[Path]) -> None:
    """Refuse a file that none of the runs among these recordings was made with; raises InputError."""
    if path is None:
        return
    from riderless.experiments.recordings.read import find_recordings, is_run
    from riderless.experiments.recordings.runs import run_of

    require_law_used(path, (run_of(run).header for run in find_recordings(recordings) if is_run(run)))


# Option `--live` of the commands that run a machine.


LivePage = Annotated[
    bool, typer.Option("--live", help="Serve a page to look on by, as `riderless live` in another terminal does.")
]


def feed_of(live: bool, can: Sequence[str] = ()) -> "LiveFeed | None":
    """Make the memory by which others look on, and open the page where it was asked for.

    Parameters
    ----------
    live : bool
        Open it now; `riderless live` may do so later.
    can : sequence of str
        Things that a page may do to the machine, beside STOP.
    """
    from riderless.hil.live.feed import open_feed

    feed = open_feed()
    if feed is not None:
        feed.can = list(can)
    if live:
        from riderless.experiments.live.launch import open_page

        open_page()
    return feed


# Values that a shell completes: names beside the files that begin alike.


def complete_bicycle(incomplete: str) -> list[str]:
    """Bicycles of the catalogue, and files of bicycles or rigs."""
    from riderless.models.catalogue import bicycle_names

    return _names_and_files(bicycle_names(), incomplete, ".toml")


def complete_method(incomplete: str) -> list[str]:
    """Methods of design."""
    from riderless.hil.design.methods import METHODS

    return _names_and_files(METHODS, incomplete)


def complete_controller(incomplete: str) -> list[str]:
    """Methods of design, and files of gains, state spaces or laws."""
    from riderless.hil.design.methods import METHODS

    return _names_and_files(METHODS, incomplete, ".toml", ".json", ".py")


def _names_and_files(names: Iterable[str], incomplete: str, *suffixes: str) -> list[str]:
    folder = Path(incomplete).parent if "/" in incomplete else Path()
    files = [path for path in folder.glob("*") if path.suffix in suffixes or path.is_dir()] if suffixes else []
    found = [*names, *(f"{path}/" if path.is_dir() else str(path) for path in sorted(files))]
    return [name for name in found if name.startswith(incomplete)]


# Bicycles and mappings that several commands ask for alike.


BicycleArgument: TypeAlias = Annotated[
    str, typer.Argument(autocompletion=complete_bicycle, help="Name in the catalogue, or a TOML file.")
]
BicycleOrRig: TypeAlias = Annotated[
    str,
    typer.Argument(
        autocompletion=complete_bicycle,
        help="Name in the catalogue, a bicycle's TOML file, or a rig file: its bicycle and timing.",
    ),
]
BicycleOfLogs: TypeAlias = Annotated[
    str,
    typer.Option(
        autocompletion=complete_bicycle,
        help="Bicycle of logs that name none, as with a mapping: a name or a TOML file.",
    ),
]
MappingOption: TypeAlias = Annotated[
    str, typer.Option("--mapping", "-m", help="TOML file that says which column is what, or a shipped one's name.")
]


JudgedController: TypeAlias = Annotated[
    str,
    typer.Argument(
        autocompletion=complete_controller,
        help="File of gains or of a state space, a law in Python (my_law.py), or a method such as lqr.",
    ),
]
JudgedRig: TypeAlias = Annotated[
    Path | None, typer.Option(help="Rig file: the machine; by default the one it was made for.")
]
JudgedBicycle: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--bicycle",
        autocompletion=complete_bicycle,
        help="Bicycle: a name or a TOML file; by default that of the controller, of a law Benchmark.",
    ),
]
