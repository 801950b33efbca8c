"""Options that would have no effect beside others are refused: who writes one expects it to count."""

import typer

from riderless.models.errors import InputError


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
    option = next(one for one in context.command.params if one.name == name)
    off = context.params.get(name) is False and option.secondary_opts
    return max(option.secondary_opts if off else option.opts, key=len)
