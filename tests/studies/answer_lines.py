"""Files of a study's answers, a line each: whole lines count, so that a study goes on where it was stopped."""

from pathlib import Path


def whole_lines(path: Path) -> list[str]:
    """Read the lines of a file, none where there is no file; one that was cut short, as by a power failure, is none."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return text[: text.rfind("\n") + 1].splitlines()


def end_last_line(path: Path) -> None:
    """Take away a last line that was cut short."""
    if path.exists() and (text := path.read_text(encoding="utf-8")) and not text.endswith("\n"):
        path.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")
