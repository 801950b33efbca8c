"""Write the pages of the reference that are read from the code."""

from pathlib import Path

from site_builder import causes, columns, commands, files, hazards, promises, supervisor

PAGES = {
    "commands.md": commands.page,
    "files.md": files.page,
    "columns.md": columns.page,
    "causes.md": causes.page,
    "supervisor.md": supervisor.page,
    "promises.md": promises.page,
    "hazards.md": hazards.page,
}


def write(docs: Path) -> None:
    """Write every page that changed, so that Sphinx reads no other again."""
    folder = docs / "generated"
    folder.mkdir(exist_ok=True)
    for name, make in PAGES.items():
        path, text = folder / name, make()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
