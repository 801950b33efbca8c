"""Command line `riderless`.

Each command is one file in `commands/` and one line here. Only what the help needs is imported here; each command
imports its rooms when it is called, so that `riderless --help` answers at once. The help is plain text, as boxes and
colours would cost as much again.
"""

import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from riderless.experiments.commands import (
    analyze,
    bikes,
    calibrate,
    campaign,
    certify,
    check,
    cite,
    compare,
    convert,
    design,
    doctor,
    eig,
    emulate,
    envelope,
    export,
    faults,
    hazards,
    identify,
    info,
    init,
    latency,
    live,
    load,
    margins,
    measure,
    migrate,
    modes,
    monitor,
    package,
    paper,
    path,
    period,
    plan,
    play,
    plot,
    ports,
    replay,
    run,
    simulate,
    tune,
    turns,
    warmup,
)
from riderless.experiments.commands._examples import EXAMPLES
from riderless.experiments.commands._old_spellings import OLD_SPELLINGS
from riderless.firmware_interface.errors import DeviceError
from riderless.hil.garbage import collecting_seldom
from riderless.hil.memory import memory_of_a_command
from riderless.hil.output_file import NO_ROOM
from riderless.models.errors import InputError, UnusualBicycle
from riderless.models.harmless_text import harmless, harmless_sentence

_UsageError: Any = typer.BadParameter.__base__
_COLLECT_AFTER = 50_000  # objects; looking after every 700, as Python does, took a sixth of `riderless analyze`


class _WholeSentences(TyperGroup):
    """Commands whose help is wrapped in the list, where typer would cut it off, and whose refusals are harmless."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; what was typed, perhaps the name of a folder, is said again without being obeyed."""
        try:
            return super().invoke(ctx)
        except _UsageError as error:
            faults = getattr(error.__cause__, "errors", None)  # of pydantic, with which typer reads from 0.29 on
            found = str(faults()[0]["input"]) if faults else ""
            message = error.message if found in error.message else f"{error.message}, found {found}"
            error.message = harmless(message, keep="\n")
            raise

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the groups of commands into the help."""
        for title, commands in COMMAND_GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(sys.maxsize)) for name in commands])


class _EachOptionOnce(TyperCommand):
    """Command that refuses an option given twice: the last would count, and the others be dropped without a word."""

    def make_parser(self, ctx: Any) -> Any:
        """Make the parser, which takes earlier spellings too."""
        parser: Any = super().make_parser(ctx)
        for old, new in OLD_SPELLINGS.get(str(self.name), {}).items():
            option = next(parameter for parameter in self.params if new in parameter.opts)
            is_flag = getattr(option, "is_flag", False)
            action = "store_const" if is_flag else "store"
            parser.add_option(option, [old], option.name, action=action, nargs=option.nargs, const=is_flag)
        return parser

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of a command line."""
        parser: Any = self.make_parser(ctx)
        given = [] if ctx.resilient_parsing else parser.parse_args(args=list(args))[-1]
        for parameter in given:
            if (
                parameter.param_type_name == "option"
                and not (parameter.multiple or parameter.is_flag)
                and given.count(parameter) > 1
            ):
                flag = max(parameter.opts, key=len)
                raise _UsageError(f"{flag} is given {given.count(parameter)} times: give it once", ctx=ctx)
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="riderless",
    cls=_WholeSentences,
    help="Balance a riderless bicycle with a steer motor and find out whether its motion has the "
    "eigenvalues that theory predicts.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from riderless.hil.logs.provenance import package_versions

        print(f"riderless {package_versions()['riderless']}")
        raise typer.Exit


class _OneLine(logging.Formatter):
    """Lines of `--verbose`; what they name, perhaps a folder, is said without being obeyed."""

    def format(self, record: logging.LogRecord) -> str:
        return harmless_sentence(super().format(record))


def _say_more(context: typer.Context, wanted: bool) -> None:
    """Print what the package logs, until the command ends."""
    if wanted:
        logger, handler = logging.getLogger("riderless"), logging.StreamHandler()
        handler.setFormatter(_OneLine("%(name)s: %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        context.call_on_close(lambda: logger.removeHandler(handler))


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", callback=_say_more, help="Say on standard error what is read, opened and written."
        ),
    ] = False,
) -> None:
    """Balance a riderless bicycle and find out whether its motion has the eigenvalues that theory predicts."""
    _warn_in_one_line()


def _warn_in_one_line() -> None:
    """Print what is unusual about a bicycle as a sentence for a person, not as a warning for a programmer."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if issubclass(category, UnusualBicycle):
            print(f"riderless: {harmless_sentence(str(message))}", file=sys.stderr)
        else:
            usual(message, category, *where)

    warnings.showwarning = show  # type: ignore[assignment]  # its last three arguments are those of `where`


COMMAND_GROUPS: dict[str, dict[str, Callable[..., None]]] = {
    "Begin": {"init": init.init, "play": play.play, "bikes": bikes.bikes},
    "Bicycle and theory": {
        "measure": measure.measure,
        "period": period.period,
        "load": load.load,
        "convert": convert.convert,
        "eig": eig.eig,
        "modes": modes.modes,
        "turns": turns.turns,
        "compare": compare.compare,
    },
    "Controller and plan": {
        "design": design.design,
        "margins": margins.margins,
        "certify": certify.certify,
        "tune": tune.tune,
        "path": path.path,
        "plan": plan.plan,
        "simulate": simulate.simulate,
        "envelope": envelope.envelope,
    },
    "Machine": {
        "ports": ports.ports,
        "monitor": monitor.monitor,
        "calibrate": calibrate.calibrate,
        "check": check.check,
        "latency": latency.latency,
        "hazards": hazards.hazards,
        "faults": faults.faults,
        "emulate": emulate.emulate,
    },
    "Experiment": {"run": run.run, "campaign": campaign.campaign, "live": live.live},
    "Analysis": {
        "analyze": analyze.analyze,
        "identify": identify.identify,
        "plot": plot.plot,
        "info": info.info,
        "replay": replay.replay,
    },
    "Publication": {"paper": paper.paper, "cite": cite.cite, "package": package.package, "export": export.export},
    "Installation": {"doctor": doctor.doctor, "warmup": warmup.warmup, "migrate": migrate.migrate},
}
COMMANDS = {name: function for commands in COMMAND_GROUPS.values() for name, function in commands.items()}
for _name, _function in COMMANDS.items():
    app.command(_name, cls=_EachOptionOnce, epilog=f"Example: riderless {_name} {EXAMPLES[_name]}".strip())(_function)


def main() -> None:
    """Run the command line; bad input and absent devices end in one sentence and exit code 2."""
    try:
        try:
            with memory_of_a_command(), collecting_seldom(_COLLECT_AFTER), _ending_tidily():
                _command_line()()
        finally:
            _flush()
    except (InputError, DeviceError) as error:
        print(f"riderless: {harmless_sentence(str(error))}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        _end_at_closed_pipe()
    except SystemExit as ending:
        if not isinstance(ending.__context__, BrokenPipeError):  # of which typer makes an exit code of 1
            raise
        _end_at_closed_pipe()
    except MemoryError:
        print("riderless: this computer has no memory left for that: give less data", file=sys.stderr)
        sys.exit(2)
    except OSError as error:  # a full disk, a name too long, a link to itself
        where = f" at {error.filename}" if error.filename else ""
        remedy = ": make room, or name a place on another disk" if error.errno in NO_ROOM else ""
        sentence = harmless_sentence(f"the system refused a file{where}: {error.strerror or error}{remedy}")
        print(f"riderless: {sentence}", file=sys.stderr)
        sys.exit(2)


def _end_at_closed_pipe() -> None:
    """End silently with exit code 0: the program that read the output has closed it, as ``head`` does."""
    sys.stderr.close()
    sys.exit(0)


@contextmanager
def _ending_tidily() -> Iterator[None]:
    """Let SIGTERM end a command by way of its own endings: the cursor is shown again, what is half written removed.

    An interrupt may fall into a callback of the compiler, which loses it and then misses what it was to compile.
    """
    interrupted = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        signal.default_int_handler(number, frame)

    if threading.current_thread() is not threading.main_thread():  # signals reach the main thread only
        yield
        return
    before = {signal.SIGTERM: signal.signal(signal.SIGTERM, _end)}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        before[signal.SIGINT] = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except RuntimeError:
        if not interrupted:
            raise
        _end(signal.SIGINT, None)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)  # as a shell tells it


@cache
def _command_line() -> Any:
    """Build the commands, once in a process: it takes longer than most of them take to answer."""
    return get_command(app)


def _flush() -> None:
    """Write out what was printed; where that fails, do not let the interpreter try again as it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


if __name__ == "__main__":
    main()
