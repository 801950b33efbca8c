"""Files of the page, as the server hands them out: those of the package, and nothing else."""

from pathlib import Path
from typing import NamedTuple

PAGE_FOLDER = Path(__file__).with_name("page")
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
}
SAFETY_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; connect-src 'self' ws: wss:; img-src 'self' data: blob:; "
    "style-src 'self' 'unsafe-inline'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Connection": "close",
}


class PageFile(NamedTuple):
    """Content of a file and its media type."""

    content: bytes
    kind: str


def find_page_file(path: str, folder: Path = PAGE_FOLDER) -> PageFile | None:
    """Find the file of a path in an address, without its query; None where there is none to be seen."""
    name = path.split("?")[0].lstrip("/") or "index.html"
    parts = name.split("/")
    if any(part in ("", ".", "..") or part.startswith(".") or "\\" in part or "\0" in part for part in parts):
        return None
    found = folder.joinpath(*parts)
    kind = KINDS.get(found.suffix)
    if kind is None or not found.is_file():
        return None
    return PageFile(found.read_bytes(), kind)
