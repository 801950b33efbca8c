"""Names and notes from files that a terminal, a page, a figure or a spreadsheet would obey: shown, never obeyed.

`models/harmless_text.py` is the one way out; a real terminal, a real browser and the csv module look at what comes.
"""

import csv
import json
import os
import pty
import re
import subprocess
import sys
import termios
from contextlib import suppress
from dataclasses import replace

import pytest

from riderless.hil.logs.export import export_run
from riderless.hil.logs.header import RunHeader
from riderless.hil.logs.log import Marker, read_run
from riderless.models.harmless_text import harmless, harmless_cell, harmless_sentence
from riderless.models.parameters import Bicycle
from tests.browser import seen_by_a_browser
from tests.experiments.commands.odd_inputs.litter import MAPPING
from tests.experiments.commands.test_cli import riderless, run_folder  # noqa: F401
from tests.experiments.recordings.foreign_log import in_their_units, signals, write_csv
from tests.experiments.reports.browser import opened
from tests.paths import ROOT

TITLE, CLEAR, C1 = "\x1b]0;owned\x07", "\x1b[2J\x1b[1;1H", "\x9b31m"
FORGED = "ok all is well"
SCRIPT = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
HOSTILE = f"[/x] [red]{TITLE}{CLEAR}{C1}\b\r\n{FORGED}\n\u202egpj.\u2066 \x7f $x^ $\\frac $ {SCRIPT} ' \" ; é ✓"
OBEYED = [TITLE, "\x1b[2J", "\x1b[1;1H", "\x9b", "\b", "\x07", "\u202e", "\u2066", "\x7f", "\x1b]"]
# colours, and what rich's progress displays move: nothing else may reach a terminal
ALLOWED = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[[0-9]*[AK]|\r(?=[\x1b\r\n])|\n")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory, run_folder):  # noqa: F811
    """A folder with a bicycle, a run and somebody's log, with hostile names wherever a name can be."""
    folder = tmp_path_factory.mktemp("hostile")
    silver = (ROOT / "models/bicycles/Silver.toml").read_text(encoding="utf-8")
    name = json.dumps(HOSTILE).replace("\x7f", "\\u007f")
    (folder / "bad.toml").write_text(silver.replace('"Silver"', name), encoding="utf-8")
    run = read_run(run_folder)
    header = json.loads(json.dumps(run.header.to_json()))
    header |= {"label": HOSTILE, "controller": HOSTILE}
    header["bicycle"]["name"] = HOSTILE
    begun = run.ticks["t_host"][0]
    markers = [*run.markers, *(Marker(begun + t, HOSTILE, f"={HOSTILE}") for t in (1.0, 2.0))]
    markers += [Marker(begun + 2.1, "kick", f"{first}cmd|' /C calc'!A0") for first in "=+-@\t\r＝"]
    changed = replace(run, header=RunHeader(header), markers=tuple(sorted(markers, key=lambda m: m.t)))
    changed = replace(changed, stop=replace(run.stop, reason="fault", cause=HOSTILE))
    changed.save(folder / f"run {TITLE}{CLEAR}\n{FORGED}\n[" / "x]$^$")  # a path that looks like a mark of the console
    columns, log = in_their_units(signals()), folder / f"log{TITLE}[" / "x]$^$.csv"
    log.parent.mkdir()
    write_csv(log, {HOSTILE.replace("\n", " ").replace("\r", ""): columns["time"], **columns})
    mapping = MAPPING.replace('"DelftSbW2024"', '"silver.toml"')
    (folder / "silver.toml").write_text(silver, encoding="utf-8")
    (folder / "mapping.toml").write_text(f"label = {name}\n{mapping}", encoding="utf-8")
    (folder / "bad-mapping.toml").write_text(f"{mapping}\n[{name}]\nx = 1\n", encoding="utf-8")
    (folder / f"notes{TITLE}.txt").write_text(f'forget {TITLE} "{C1}"\n', encoding="utf-8")
    return folder


def run_in(folder):
    return next(folder.glob("run */*"))


def log_in(folder):
    return next(folder.glob("log*/*.csv"))


SHOW = """
import json, sys
from riderless.experiments import cli
for words in json.loads(sys.argv.pop()):
    print("@@", flush=True)
    sys.argv[1:] = words
    try:
        cli.main()
    except SystemExit as end:
        print(f"@{end.code or 0}", flush=True)
    else:
        print("@0", flush=True)
"""


COMMANDS = [
    (("eig", "bad.toml", "--speeds", "4,5"), 0),
    (("modes", "bad.toml"), 0),
    (("turns", "bad.toml", "--lean", "5", "--steer", "2"), 0),
    (("design", "bad.toml", "--speeds", "5", "--plot", "design.svg", "-o", "gains.toml"), 0),
    (("simulate", "bad.toml", "--duration", "1", "-o", "simulated"), 0),
    (("info", run_in), 0),
    (("info", run_in, "--json"), 0),
    (("plot", run_in, "-o", "run.svg"), 0),
    (("analyze", run_in, "-o", "report"), 0),
    (("analyze", run_in, "--json"), 0),
    (("replay", run_in), None),
    (("export", run_in, "--to", "csv", "-o", "run.csv"), 0),
    (("analyze", log_in, "--mapping", "mapping.toml"), 0),
    (("analyze", log_in), 2),
    (("analyze", log_in, "--mapping", "bad-mapping.toml"), 2),
    (("analyze", log_in, "--mapping", "mapping.toml", "--windows", f"notes{TITLE}.txt"), 2),
    (("info", f"no{TITLE}where"), 2),
    (("info", f"no{TITLE}where", f"nor{CLEAR}there"), 2),
    ((f"info{TITLE}",), 2),
    (("eig", f"no{TITLE}bicycle"), 2),
    (("init", f"starter{TITLE}"), 0),
    (("migrate", "gains.toml", f"no{TITLE}"), 2),
]


@pytest.fixture(scope="module")
def shown(hostile):
    """Exit code of each command, and all that it sends to a terminal of 80 columns, of one process."""
    lines = [[one(hostile) if callable(one) else one for one in arguments] for arguments, _ in COMMANDS]
    main, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (50, 80))
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"}
    call = [sys.executable, "-P", "-c", SHOW, json.dumps(lines, default=str)]
    with subprocess.Popen(
        call, cwd=hostile, env=environment, stdin=terminal, stdout=terminal, stderr=terminal
    ) as running:
        os.close(terminal)
        said = b""
        with suppress(OSError):  # the other side has closed
            while more := os.read(main, 65536):
                said += more
        assert running.wait(timeout=300) == 0, said[-2000:]
    os.close(main)
    ended = [part.rpartition("@") for part in said.decode().split("@@\r\n")[1:]]
    return [(int(code), text) for text, _, code in ended]


@pytest.mark.parametrize(
    "number", range(len(COMMANDS)), ids=[f"{str(arguments[0])[:8]}-{wanted}" for arguments, wanted in COMMANDS]
)
def test_a_terminal_obeys_no_name(shown, number):
    assert len(shown) == len(COMMANDS)
    (code, said), wanted = shown[number], COMMANDS[number][1]
    assert "Traceback" not in said
    assert wanted is None or code == wanted, said
    for hidden in OBEYED:
        assert hidden not in said, said
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", ALLOWED.sub("", said)), said
    assert not any(line.strip().startswith(FORGED) for line in said.splitlines())


@pytest.fixture(scope="module")
def report(hostile):
    """Report of the hostile run, and its csv export."""
    from riderless.experiments.reports.analyze import analyze

    page = analyze(run_in(hostile)).write_report(hostile / "page")
    return page, export_run(read_run(run_in(hostile)), "csv", hostile / "page" / "run.csv")


def test_a_browser_runs_no_name(report):
    page, _ = report
    text = page.read_text(encoding="utf-8")
    assert "document.title=" in text  # it is shown
    for hidden in OBEYED:
        assert hidden not in text

    def look(browser):
        sheet, said, outside = opened(browser, page)
        sheet.wait_for_timeout(500)  # ms, in which a picture that cannot be had would say so
        return sheet.title(), sheet.content(), said, outside

    title, content, said, outside = seen_by_a_browser(look)
    assert said == []
    assert outside == []
    assert title != "owned"
    assert not re.search(r"<img[^>]*onerror", content)
    numbers = json.loads(page.with_name("report.json").read_text(encoding="utf-8"))
    assert HOSTILE in numbers["answer"]["headline"]  # exactly, for who reads it by program


def test_figures_are_files_of_their_folder_and_whole(report, hostile):
    from xml.etree import ElementTree

    page, _ = report
    figures = sorted((page.parent / "figures").glob("*.svg"))
    assert figures
    for figure in [*figures, *(path for path in [hostile / "run.svg", hostile / "design.svg"] if path.exists())]:
        ElementTree.parse(figure)  # control characters would break it


def test_a_bicycle_called_like_a_path_writes_nowhere_else(tmp_path):
    from matplotlib.figure import Figure

    from riderless.experiments.reports.files import save_figures

    written = save_figures(tmp_path / "a/b/figures", {"../../../x-plane": Figure(), "/tmp/y": Figure()})
    assert {path.parent for path in written} == {tmp_path / "a/b/figures"}
    assert all(path.exists() for path in written)


def test_a_spreadsheet_computes_no_name(report):
    _, (rows, markers, header, _) = report
    with markers.open(newline="", encoding="utf-8") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    texts = [cell for cell in cells if not re.fullmatch(r"-?[\d.e+-]+", cell)]
    assert sum("calc" in cell for cell in texts) == 7
    for cell in texts:
        assert not cell.lstrip().startswith(("=", "+", "-", "@", "\t", "\r", "＝"))
        assert not any(hidden in cell for hidden in OBEYED)
    exact = [marker["text"] for marker in json.loads(header.read_text(encoding="utf-8"))["markers"]]
    assert f"={HOSTILE}" in exact  # the header beside keeps every character
    with rows.open(newline="", encoding="utf-8") as file:
        assert next(csv.reader(file))[0] == "k"


@pytest.mark.parametrize("name", ["=1+1", "+1", "-x", "@SUM(A1)", "＝1", " =1", "\t=1", "\r=1"])
def test_a_cell_that_would_be_computed_stands_behind_an_apostrophe(name):
    assert not harmless_cell(name).lstrip().startswith(tuple("=+-@＝"))


def test_what_is_harmless_already_stays():
    for text in ("Silver", "über Grüße ✓ 自転車", "a b", "[/x]", "x² ≤ 3 · 10⁻³", "-1.5", ""):
        assert harmless(text) == text
    assert harmless_cell("Silver, 5 m/s") == "Silver, 5 m/s"
    assert harmless("a\nb") == r"a\nb"
    assert harmless("a\nb", keep="\n") == "a\nb"
    assert json.loads(harmless(json.dumps({"a": HOSTILE}, ensure_ascii=False))) == {"a": HOSTILE}


@pytest.mark.parametrize("unseen", ["\u034f", "\u3164", "\ufe0f", "\u2800", "\U000e0100", "\u115f"])
def test_names_that_look_the_same_are_told_apart(unseen):
    """Letters, marks and signs to Unicode, nothing to the eye: a second Silver."""
    assert harmless(f"Silver{unseen}") == "Silver" + json.dumps(unseen)[1:-1]
    assert harmless(f"a{unseen}b").isascii()


def test_a_tower_of_accents_covers_no_other_line():
    assert harmless("e" + 4 * "\u0301") == "e" + 4 * "\u0301"  # more than any language has
    assert harmless("e" + 500 * "\u0301" + "x\u0301") == "e" + 4 * "\u0301" + 496 * r"\u0301" + "x\u0301"
    assert harmless("Vie\u0323\u0302t \u0e17\u0e35\u0e48") == "Vie\u0323\u0302t \u0e17\u0e35\u0e48"


def test_a_sentence_stays_on_a_line_and_ends():
    said = harmless_sentence("found\n" + "9" * 5000 + "\x1b[2J; correct it")
    assert len(said) <= 1010
    assert said.startswith("found 999")
    assert said.endswith("; correct it")
    assert "\x1b" not in said


@pytest.mark.parametrize("suffix", [".svg", ".pdf", ".png"])
def test_a_name_is_no_formula_of_a_figure(riderless, hostile, tmp_path, suffix):  # noqa: F811
    path = tmp_path / f"figure{suffix}"
    code, _, err = riderless("eig", str(hostile / "bad.toml"), "--plot", str(path))
    assert code == 0, err
    assert path.stat().st_size > 1000
    if suffix == ".svg":
        assert "\\frac" in path.read_text(encoding="utf-8")


def test_converted_bicycles_are_clean_files(hostile, tmp_path, riderless):  # noqa: F811
    for to, suffix in (("toml", "toml"), ("bicycleparameters", "txt"), ("symbrim", "json")):
        file = tmp_path / f"converted.{suffix}"
        code, _, err = riderless("convert", str(hostile / "bad.toml"), "--to", to, "-o", str(file))
        assert code == 0, err
        text = file.read_text(encoding="utf-8")
        assert text == harmless(text, keep="\n"), to
    assert Bicycle.from_toml(tmp_path / "converted.toml") == Bicycle.from_toml(hostile / "bad.toml")
