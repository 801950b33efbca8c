"""Files of the live page: small, whole, licensed, and nothing in them that would be fetched from outside."""

import re

from riderless.experiments.live.schema import LiveHello
from tests.paths import ROOT

PAGE = ROOT / "experiments/live/page"
FILES = sorted(path for path in PAGE.rglob("*") if path.is_file())
SCRIPTS = [path for path in FILES if path.suffix == ".js"]
NAMESPACES = {"http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg"}  # names, which nobody fetches
LARGEST = 1_000_000  # bytes


def test_page_is_small():
    assert 0 < sum(path.stat().st_size for path in FILES) <= LARGEST


def test_nothing_is_fetched_from_outside():
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r"(?:https?|wss?|ftp)://[\w./-]+", text)) <= NAMESPACES, path
        without_scheme = re.findall(r"""(?:src|href|url|import|from)\s*[=(]?\s*["'(]\s*(//[\w.]+)""", text)
        assert not without_scheme, f"{path}: outside all the same"


def test_what_a_script_imports_is_there():
    for path in SCRIPTS:
        text = path.read_text(encoding="utf-8")
        if path.parent.name == "vendor":
            assert not re.search(r"""(?:^|[;}])\s*import\s*["'{*\w]""", text), path
            continue
        for name in re.findall(r"""(?:from|import)\s*\(?["']([^"']+)["']""", text):
            assert (path.parent / name).is_file(), f"{path} imports {name}"


def test_the_document_names_files_that_are_there_and_no_code_of_its_own():
    document = (PAGE / "index.html").read_text(encoding="utf-8")
    named = re.findall(r"""(?:src|href)="([^"]+)\"""", document)
    assert set(named) >= {"main.js", "page.css"}
    for name in named:
        assert (PAGE / name).is_file(), name
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=", document)  # what the server's policy forbids
    ids = re.findall(r'\bid="([^"]+)"', document)
    assert len(ids) == len(set(ids))
    for path in SCRIPTS:
        if path.parent.name != "vendor":
            for name in re.findall(r'\$\("([\w-]+)"\)', path.read_text(encoding="utf-8")):
                assert name in ids, f"{path.name} wants {name}"


def test_bundled_libraries_have_their_licences_told_and_their_versions_fixed():
    told = (ROOT / "LICENSES.md").read_text(encoding="utf-8")
    recipe = (ROOT / "tests/tools/page_libraries/package.json").read_text(encoding="utf-8")
    bundled = {path.name for path in FILES if path.parent.name == "vendor"}
    assert bundled == {"three.js", "uplot.js", "uplot.css"}
    for name, version in re.findall(r'"(three|uplot)": "([\d.]+)"', recipe):
        assert f"vendor/{name}.js" in told
        assert version in told


def test_a_page_reads_all_that_the_first_message_has():
    scripts = " ".join(path.read_text(encoding="utf-8") for path in SCRIPTS)
    unread = {name for name in LiveHello.model_fields if not re.search(rf"\b{name}\b", scripts)}
    assert unread == {"schema_"}, "for programs of others"
