"""Write the pages of the reference that are read from the code: commands, files, causes, Python."""

from pathlib import Path

from site_builder import api, causes, commands, drawings, files

PAGES = {
    "commands.md": commands.page,
    "files.md": files.page,
    "causes.md": causes.page,
    "python-riderless.md": api.door_page,
    "python-models.md": lambda: api.room_page("riderless.models"),
    "python-firmware-interface.md": lambda: api.room_page("riderless.firmware_interface"),
    "python-hil.md": lambda: api.room_page("riderless.hil"),
    "python-experiments.md": lambda: api.room_page("riderless.experiments"),
    "signs-side.svg": drawings.side_view,
    "signs-rear.svg": drawings.rear_view,
    "signs-top.svg": drawings.top_view,
}


def write(docs: Path) -> None:
    """Write every page that changed, so that Sphinx reads no other again."""
    folder = docs / "generated"
    folder.mkdir(exist_ok=True)
    for name, make in PAGES.items():
        path, text = folder / name, make()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
