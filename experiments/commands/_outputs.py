"""Files that commands write: refused before the work where they cannot be written, and never left half written."""

from pathlib import Path

from models.errors import InputError


def require_writable(path: Path, what: str, over: str) -> None:
    """Refuse a file that could not be written, or that is of another kind; what lies there stays.

    Parameters
    ----------
    path : Path
    what : str
        Thing to be written, with its article.
    over : str
        Words that only files of its kind hold; such a file, or an empty one, may be replaced.

    Raises
    ------
    InputError
    """
    try:
        new = not path.exists()
        held = path.read_bytes() if path.is_file() else b""
        path.open("a").close()
    except OSError as error:
        raise _refusal(path, what, error) from None
    if new:
        path.unlink()
    elif held and over.encode() not in held:
        raise InputError(f"{what} cannot be written to {path}, for something else is there: name another file")


def write_output(path: Path, what: str, text: str, over: str) -> None:
    """Write a text as UTF-8, and leave no half of it where the disk does not take it.

    Parameters
    ----------
    path, what, over
        As `require_writable` takes them.
    text : str

    Raises
    ------
    InputError
    """
    require_writable(path, what, over)
    new = not path.exists()
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        if new and path.is_file():
            path.unlink()
        raise _refusal(path, what, error) from None


def _refusal(path: Path, what: str, error: OSError) -> InputError:
    return InputError(f"{what} cannot be written to {path} ({error.strerror}): name a writable file")
