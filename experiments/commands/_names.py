"""Names that a person types with commas between, in one option."""

from riderless.models.errors import InputError


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
