"""Reference of the commands, read from the parser that takes them."""

import typer

from riderless.experiments.cli import COMMANDS, app
from site_builder.markdown import code, table

HEAD = """# Commands

Read from the program itself: `riderless COMMAND --help` says the same. Speeds are in m/s, times in s, torques in N m,
unless a name or a sentence gives another unit. Bad input ends in one sentence and exit code 2.

`riderless --install-completion` lets the Tab key complete commands and options in your shell.
"""


def page() -> str:
    """Write a section for each command: what it does, how it is called, its options."""
    parser = typer.main.get_command(app)
    rows = [(f"[{name}](#{name})", one.get_short_help_str(200)) for name, one in parser.commands.items()]
    parts = [HEAD, table(("command", "what it does"), rows)]
    for name in COMMANDS:
        command = parser.commands[name]
        context = command.make_context(name, [], resilient_parsing=True)
        parts.append(f"## {name}\n\n{_sentences(command.help)}\n")
        parts.append(f"```sh\nriderless {name} {' '.join(command.collect_usage_pieces(context))}\n```\n")
        arguments = [p for p in command.params if p.param_type_name == "argument"]
        options = [p for p in command.params if p.param_type_name == "option"]
        parts.append(table(("argument", "meaning"), [(code(p.name), _sentences(p.help)) for p in arguments]))
        parts.append(
            table(
                ("option", "meaning", "default"),
                [(code(", ".join([*p.opts, *p.secondary_opts])), _sentences(p.help), _default(p)) for p in options],
            )
        )
    return "\n".join(parts)


def _sentences(text: str | None) -> str:
    """Help as text of a page: what Markdown would take for its own is left as it was written."""
    return (text or "").replace("\b", "").replace("<", "\\<").replace("[", "\\[").replace("*", "\\*")


def _default(option: object) -> str:
    """Value that an option has by itself; nothing for what is off or not given."""
    value = getattr(option, "default", None)
    if value is None or value is False or callable(value) or str(value) in ("", "()", "[]"):
        return ""
    return code(value)
