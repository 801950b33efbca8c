"""`riderless warmup`: compilation before any ride."""

from typing import Annotated

import typer


def warmup(
    emulation: Annotated[
        bool, typer.Option(help="The emulated bicycle, the replay and the fits too, not the loop alone.")
    ] = True,
) -> None:
    """Compile the loop, the emulated bicycle, the replay and the fits; once after each installation or update.

    The first of the commands campaign, play, run and simulate does so too; this one does it while nobody waits.
    """
    from riderless.experiments.commands._warmup_steps import compile_loop
    from riderless.experiments.terminal.console import progress_screen, screen
    from riderless.experiments.terminal.progress import one_by_one

    if emulation:
        _compile_all()
    else:
        one_by_one(progress_screen, {"the loop": compile_loop})
    screen.print("everything is compiled")


def compile_once() -> None:
    """Compile everything, with progress, where that was not done for this state of the sources."""
    from riderless.experiments.terminal.console import progress_screen
    from riderless.firmware_interface.kernel_folder import everything_compiled

    if not everything_compiled().exists():
        progress_screen.print("compiling, once after each installation or update: a minute or two ...")
        _compile_all()


def _compile_all() -> None:
    """Compile everything, with progress, in two processes where there are as many processors.

    This process only loads what they have made: so it ends at once on Ctrl-C, and keeps none of the compiler's memory.
    """
    import os

    from riderless.experiments.commands import _warmup_steps as steps
    from riderless.experiments.terminal.console import progress_screen
    from riderless.experiments.terminal.progress import one_by_one
    from riderless.firmware_interface.child_processes import QUIET_SPAWN
    from riderless.firmware_interface.kernel_folder import everything_compiled

    first, second = (steps.compile_bicycle, steps.compile_design), (steps.compile_loop, steps.compile_fits)
    shares = [first, second] if (os.cpu_count() or 1) > 1 else [first + second]
    others = [QUIET_SPAWN.Process(target=steps.compile_aside, args=share) for share in shares]

    def compiled() -> None:
        for other in others:
            other.join()

    try:
        for other in others:
            other.start()
        one_by_one(
            progress_screen,
            {
                "compiling": compiled,
                "the emulated bicycle and the replay": steps.compile_bicycle,
                "the loop": steps.compile_loop,
                "the fits": steps.compile_fits,
                "the design": steps.compile_design,
            },
        )
    except KeyboardInterrupt:
        progress_screen.print("stopped; what is compiled stays, and the same command goes on")
        raise
    finally:
        for other in others:
            if other.pid:
                other.kill()
                other.join()
    everything_compiled().touch()
