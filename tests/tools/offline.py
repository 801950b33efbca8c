"""`python -m tests.tools.offline FOLDER`: pages that would fetch something from the network, and links to nothing."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {"src", "srcset", "poster", "data"}  # attributes whose content a browser fetches by itself
ELSEWHERE = ("http:", "https:", "//")


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if not value:
                continue
            if name in FETCHED or (tag == "link" and name == "href"):
                self.fetched.append(value)
            elif tag == "a" and name == "href":
                self.links.append(value)


def faults(folder: Path) -> list[str]:
    """What is wrong with the pages of a folder, one line each."""
    found = []
    for path in sorted(folder.rglob("*.html")):
        page = _Page()
        page.feed(path.read_text(encoding="utf-8"))
        for link in (*page.fetched, *page.links):
            where = urlsplit(link)
            if link.startswith(ELSEWHERE):
                if link in page.fetched:
                    found.append(f"{path.relative_to(folder)} fetches {link}")
            elif not where.scheme and where.path and not (path.parent / unquote(where.path)).exists():
                found.append(f"{path.relative_to(folder)} links to {link}, which is not there")
    for path in sorted(folder.rglob("*.css")):
        text = path.read_text(encoding="utf-8")
        found += [
            f"{path.relative_to(folder)} fetches {w}" for w in ELSEWHERE if f"url({w}" in text or f'url("{w}' in text
        ]
    return found


if __name__ == "__main__":
    wrong = faults(Path(sys.argv[1]))
    print("\n".join(wrong) or f"{sys.argv[1]}: needs no network, and every link leads somewhere")
    sys.exit(bool(wrong))
