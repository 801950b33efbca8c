"""Reference of the commands, written by typer from the parser that takes them."""

from typer import Context
from typer.cli import get_docs_for_click
from typer.main import get_command

from riderless.experiments.cli import COMMANDS, app

HEAD = """---
myst: {disable_syntax: [html_inline]}
---

# Commands

Read from the program itself: `riderless COMMAND --help` says the same. Speeds are in m/s, times in s, torques in N m,
unless a name or a sentence gives another unit. Bad input ends in one sentence and exit code 2.

`riderless --install-completion` lets the Tab key complete commands and options in your shell.

"""


def page() -> str:
    """Write a section for each command: what it does, how it is called, its options."""
    parser = get_command(app)
    context = Context(parser)
    commands = (parser.commands[name] for name in COMMANDS)
    return HEAD + "".join(
        get_docs_for_click(obj=command, ctx=context, indent=1, title=command.name, call_prefix="riderless")
        for command in commands
    )
