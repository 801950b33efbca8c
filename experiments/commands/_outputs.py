"""Files that commands write: refused before the work where they cannot be written, and never left half written."""

from pathlib import Path

from models.errors import InputError


def require_writable(path: Path, what: str) -> None:
    """Refuse a file that could not be written; what lies there stays. Raises InputError.

    ``what`` is the thing to be written, with its article.
    """
    new = not path.exists()
    try:
        path.open("a").close()
    except OSError as error:
        raise _refusal(path, what, error) from None
    if new:
        path.unlink()


def write_output(path: Path, what: str, text: str) -> None:
    """Write a text as UTF-8; raises InputError, and leaves no half of it, where the disk does not take it."""
    new = not path.exists()
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        if new and path.is_file():
            path.unlink()
        raise _refusal(path, what, error) from None


def _refusal(path: Path, what: str, error: OSError) -> InputError:
    return InputError(f"{what} cannot be written to {path} ({error.strerror}): name a writable file")
