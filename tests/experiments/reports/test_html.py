"""The report: complete, self-contained, and drawn by a real browser."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pypdfium2
import pytest

from riderless.experiments.analysis.comparison.compare import compare
from riderless.experiments.analysis.estimators import estimate
from riderless.experiments.datatypes import Rejected, Segment
from riderless.experiments.recordings.published import figure7
from riderless.experiments.reports import eigenvalues
from riderless.experiments.reports.html import ReportInput, typeset_number, write_report
from riderless.experiments.reports.page.window_pictures import window_picture
from riderless.experiments.theories import fixed
from riderless.experiments.theory.free_response import free_response
from riderless.hil.design.margins import Margins
from riderless.hil.design.sampled_plant import LoopTiming
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.loop.tick_record import TICK
from riderless.models import catalogue
from tests.experiments.reports.browser import looked_at, printed, words_of
from tests.experiments.simulated import DT, recording, sampled_lean_feedback, with_response, with_window

COMMIT = "0f1e2d3c4b5a69788796a5b4c3d2e1f001234567"


def closed_loop(seed, v):
    """A window of the sampled lean-feedback loop, and its recording."""
    bicycle = catalogue.load_bicycle("Benchmark")
    dynamics = sampled_lean_feedback(bicycle)
    response, window = recording(
        np.full(400, v),
        seed=seed,
        bicycle=bicycle,
        theory=fixed(bicycle, dynamics),
        source=f"closed-{seed}",
        label=f"Benchmark lean {v:g} m/s",
    )
    signal = free_response(dynamics, response.v, DT)[:, 2] @ np.array([0.0, 0.0, 0.5, 0.3])
    noise = 0.01 * np.random.default_rng(seed).standard_normal(400)
    return replace(response, phi_dot=signal + noise), window


def schedule():
    v = np.linspace(3.0, 7.0, 5)
    K = np.column_stack([-10 / v, v, -5 / v, 0.2 * v, 0.01 * v, 0.02 * v])
    return GainSchedule(
        method="lqr",
        options={},
        bicycle=catalogue.load_bicycle("Benchmark"),
        loop=LoopTiming(),
        v=v,
        K=K,
        closed_loop=np.tile([-1.0 + 3.0j, -1.0 - 3.0j, -4.0 + 0.0j], (5, 1)),
        margins=(Margins((0.0, np.inf), np.inf, 0.05),) * 5,
        notes=("",) * 4 + ("one pole <kept>",),
    )


def ticks():
    rows = np.zeros(2000, TICK)
    rng = np.random.default_rng(0)
    rows["t_due"] = DT * np.arange(2000)
    rows["t_host"] = rows["t_due"] + 60e-6 * rng.lognormal(size=2000)
    rows["compute"] = 8e-6 * rng.lognormal(size=2000)
    return rows


@pytest.fixture(scope="module")
def everything():
    """Input for a report with every section."""
    v = 5.4 - 0.2 * DT * np.arange(480)
    cut = [recording(v, noise=0.01, seed=i, source=f"open-{i}", label="Silver open") for i in range(3)]
    cut += [closed_loop(10 + i, speed) for i, speed in enumerate((4.0, 5.0))]
    responses = [response for response, _ in cut]
    comparisons = [compare(Segment(r, w), estimate(r.t, r.phi_dot)) for r, w in cut]
    return ReportInput(
        title="Synthetic <campaign> & more",
        responses=responses,
        comparisons=comparisons,
        rejected=[Rejected("open-9", 1.0, 1.4, "less than a cycle & <too> short")],
        figure7=figure7(),
        schedules=[schedule()],
        timings={"closed-10": ticks()},
        runs=[
            {
                "name": "closed-10",
                "state": "DISARMED",
                "stop_reason": "success",
                "counters": {"ticks_late": 3},
            }
        ],
        provenance={"commit": COMMIT, "made": "2026-11-22 16:20 UTC", "numpy": np.__version__},
    )


@pytest.fixture(scope="module")
def page(everything, tmp_path_factory):
    return write_report(tmp_path_factory.mktemp("report"), everything)


@pytest.fixture
def _no_files(monkeypatch):
    """The page alone, without the figures as files that lie beside it: they take half of the time."""
    monkeypatch.setattr("riderless.experiments.reports.files.save_figures", lambda *_: [])


class Resources(HTMLParser):
    """What a page would fetch, and how many marks each of its drawings has."""

    def __init__(self):
        super().__init__()
        self.fetched, self.drawings, self.open = [], [], []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            local = (value or "").startswith("#")
            if name in ("src", "href", "xlink:href", "action", "data", "poster", "srcset") and not local:
                self.fetched.append(value)
        if tag == "link":
            self.fetched.append(tag)
        if tag == "svg":
            self.drawings.append(0)
        elif tag in ("path", "use", "text") and self.drawings:
            self.drawings[-1] += 1


def test_nothing_is_fetched_and_no_figure_is_empty(page, everything):
    html = page.read_text(encoding="utf-8")
    parsed = Resources()
    parsed.feed(html)
    assert parsed.fetched == []
    assert not re.search(r"https?://|@import|url\((?!#)", html)
    # two bicycles with three figures each, each window, each recording, gains, timing
    assert len(parsed.drawings) == 2 * 3 + len(everything.comparisons) + len(everything.responses) + 1 + 1
    assert min(parsed.drawings) > 15


def test_figures_lie_beside_it_at_the_width_of_a_column(page):
    folder = page.parent / "figures"
    names = [
        f"{bicycle}-{kind}" for bicycle in ("Benchmark", "Silver") for kind in ("eigenvalues", "plane", "residuals")
    ]
    assert sorted(path.name for path in folder.iterdir()) == sorted(f"{n}.{k}" for n in names for k in ("svg", "pdf"))
    svg = (folder / "Silver-plane.svg").read_text(encoding="utf-8")
    assert 'width="252pt"' in svg  # 3.5 in
    assert "Re λ" in svg
    pdf = (folder / "Silver-plane.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    assert re.search(rb"/MediaBox \[ 0 0 252 ", pdf)
    assert b"/Type3" not in pdf  # its fonts are outlines that print anywhere


def test_every_section_is_there_and_text_is_escaped(page):
    html = page.read_text(encoding="utf-8")
    for words in ("Gains and margins", "Loop timing", "Rejected", "Where the numbers came from", "Kooijman"):
        assert words in html
    assert "Synthetic &lt;campaign&gt; &amp; more" in html
    assert "less than a cycle &amp; &lt;too&gt; short" in html
    assert "<campaign>" not in html
    assert "ticks_late 3" in html
    visible = html.split("<script")[0]
    assert visible.count(COMMIT) == 1  # in the provenance
    assert visible.count(COMMIT[:10]) == 2  # and short at the top
    assert "Made 2026-11-22 16:20 UTC" in visible


def test_contents_lead_to_every_section(page):
    html = page.read_text(encoding="utf-8")
    nav = html[html.index("<nav") : html.index("</nav>")]
    linked = dict(re.findall(r'<a href="#([\w-]+)">(.*?)</a>', nav))
    headings = dict(re.findall(r'<h2 id="([\w-]+)">(.*?)</h2>', html))
    assert linked == headings
    assert list(linked) == list(headings)  # in the order of the page
    assert html.count("<h2") == len(headings)
    assert {"Benchmark", "Silver", "Conditions", "Recordings over time", "Symbols and bicycles"} <= set(linked.values())


def test_symbols_and_parameters_are_explained(page):
    html = page.read_text(encoding="utf-8")
    # Meijaard et al. (2007), table 1: trail and steer axis tilt (pi/10) of the benchmark bicycle
    row = re.search(r'<td class="text">c</td><td class="text">trail</td><td class="text">m</td>(.*?)</tr>', html)[1]
    assert "<td>0.08</td>" in row
    assert re.search(r'<td class="text">lam</td>.*?<td>0.31416</td>', html)
    for word in ("frozen", "like for like", "lean angle", "steer angle", "chi-square, p"):
        assert word in html[html.index('id="symbols"') : html.index('id="recordings"')]


def test_every_recording_is_drawn_over_time_whether_a_window_was_found_or_not(tmp_path):
    response, _ = recording(np.full(480, 5.4), noise=0.01, seed=1, source="quiet", label="Silver off")
    report = ReportInput("no window", [response], rejected=[Rejected("quiet", 0.2, 1.0, "too small")])
    html = write_report(tmp_path, report).read_text(encoding="utf-8")
    assert "No window of these recordings could be compared with theory" in html
    section = html[html.index('id="recordings"') :]
    assert section.count("<svg") == 1
    assert {"speed", "m/s", "window", "t [s]"} <= set(re.findall(r"<text[^>]*>([^<]+)</text>", section))
    only_drawn = replace(report, responses=[], rejected=[], unanalysed=[response])
    assert write_report(tmp_path, only_drawn).read_text(encoding="utf-8").count("<svg") == 1


def test_steer_stands_beside_lean_in_the_picture_of_a_window(everything):
    comparison = everything.comparisons[0]
    response = next(r for r in everything.responses if r.source == comparison.window.source)
    delta = np.radians(5.0) * np.cos(3.0 * response.t)
    picture = window_picture(1, replace(response, delta=delta), comparison)
    assert picture.steer is not None
    assert (picture.steer.low, picture.steer.high) == pytest.approx((-5.0, 5.0), abs=1.0)  # deg
    assert picture.signal.first < picture.steer.last < picture.steer.first < picture.residual.last
    assert window_picture(1, replace(response, delta=None), comparison).steer is None


@pytest.fixture(scope="module")
def sheets(everything, tmp_path_factory):
    """A report of thirty windows on paper."""
    responses, comparisons = [], []
    for i in range(6):
        responses += [replace(r, source=f"{r.source}-of-day-{i}") for r in everything.responses]
        days = ((c, f"{c.window.source}-of-day-{i}") for c in everything.comparisons)
        comparisons += [with_response(with_window(c, source=source), source=source) for c, source in days]
    folder = tmp_path_factory.mktemp("printed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("riderless.experiments.reports.files.save_figures", lambda *_: [])
        page = write_report(folder, replace(everything, responses=responses, comparisons=comparisons))
    return printed(page), comparisons


def test_it_prints_whole_on_a4(sheets):
    pages, comparisons = sheets
    assert len(pages) <= 14
    for size, found in pages:
        assert size == pytest.approx((595.0, 842.0), abs=1.0)
        assert found
        assert min(box[0] for _, box in found) > 25.0  # pt: inside the margins of 11 mm
        assert max(box[2] for _, box in found) < 595.0 - 25.0
        assert min(box[1] for _, box in found) > 14.0
    text = "".join(words_of(found) for _, found in pages)
    for c in comparisons:  # the columns on the right were the ones that paper lost
        for value, std in ((c.fit.re, c.fit.re_std), (c.fit.im, c.fit.im_std)):
            assert f"{typeset_number(value, 3)}±{typeset_number(std, 3)}" in text
        assert typeset_number(c.prediction.frozen.imag, 3) in text


def test_no_picture_of_a_window_is_cut_by_the_end_of_a_sheet(sheets):
    pages, _ = sheets
    pictures = [words_of(found).count("leftover") for _, found in pages]
    assert pictures == [len(re.findall(r"i,z=", words_of(found))) for _, found in pages]  # beside their captions
    assert sum(pictures) == 12


def test_no_heading_stands_alone_at_the_foot_of_a_sheet(sheets):
    pages, _ = sheets
    seen = set()
    for _, found in pages:
        text = words_of(found)
        foot = min(box[1] for _, box in found)
        for heading in ("Conditions", "Symbolsandbicycles", "Recordingsovertime", "Everywindow", "Gainsandmargins"):
            for match in re.finditer(heading, text):
                _, bottom, _, top = found[match.start()][1]
                if top - bottom > 6.5:  # pt: a capital of a heading, not the entry among the contents
                    seen.add(heading)
                    assert bottom - foot > 70.0, f"{heading} stands alone"
    assert len(seen) == 5


def test_a_heading_stands_where_a_sheet_has_room_and_beside_its_first_picture(sheets, page):
    for pages, _ in (sheets, (printed(page), None)):
        said = [words_of(found) for _, found in pages]
        windows = next(text for text in said if "Overtime[s]" in text)
        assert "leftover" in windows
        assert "Gainsagainstspeed" in next(text for text in said if "Slowest:" in text)
    assert "closed-11,Benchmarklean5m/s." in windows  # below the last of the recordings


def test_the_verdict_comes_first(page, everything):
    html = page.read_text(encoding="utf-8")
    verdict = re.search(r"<strong>(.*?)</strong>", html)[1]
    n = len(everything.comparisons)
    agreeing = sum(c.agrees for c in everything.comparisons if c.label.startswith("Silver"))
    assert n == 5
    assert (
        verdict == f"Silver: taken alone, {agreeing} of 3 windows lie within 3 standard deviations of the prediction."
    )


def test_embedded_numbers_are_the_file_and_the_comparisons(page, everything):
    html = page.read_text(encoding="utf-8")
    embedded = json.loads(re.search(r'<script type="application/json" id="numbers">(.*?)</script>', html, re.S)[1])
    assert embedded == json.loads((page.parent / "report.json").read_text(encoding="utf-8"))
    assert len(embedded["windows"]) == len(everything.comparisons)
    for row, c in zip(embedded["windows"], everything.comparisons, strict=True):
        assert (row["re"], row["im"], row["z_re"]) == (c.fit.re, c.fit.im, c.z_re)
        assert row["prediction"]["frozen"] == [c.prediction.frozen.real, c.prediction.frozen.imag]
        assert row["window"]["source"] == c.window.source
    assert embedded["schedules"][0]["margins"][0]["phase"] is None  # infinite: JSON has no such number
    assert embedded["figure7"]["re_rms"] == pytest.approx(0.234, abs=0.0005)


def test_what_is_missing_is_absent(tmp_path):
    html = write_report(tmp_path, ReportInput("Nothing")).read_text(encoding="utf-8")
    assert "No window of these recordings could be compared" in html
    for words in ("Gains and margins", "Loop timing", "Rejected", "<svg", "Every window", "Recordings over time"):
        assert words not in html


@pytest.mark.usefixtures("_no_files")
def test_published_measurements_alone_make_a_panel(tmp_path):
    html = write_report(tmp_path, ReportInput("Figure 7", figure7=figure7())).read_text(encoding="utf-8")
    assert html.count("<svg") == 1
    assert "n = 26" in html


@pytest.mark.usefixtures("_no_files")
def test_more_windows_than_are_drawn_and_more_drawn_than_paper_gets(everything, tmp_path, monkeypatch):
    monkeypatch.setattr("riderless.experiments.reports.html.WINDOWS_SHOWN", 3)
    monkeypatch.setattr("riderless.experiments.reports.html.WINDOWS_PRINTED", 2)
    html = write_report(tmp_path, everything).read_text(encoding="utf-8")
    assert len(re.findall(r'<figure id="w\d+"', html)) == 3
    assert "The 3 of 5 windows that agree least are drawn" in html
    assert len(re.findall(r'<figure id="w\d+" class="unprinted">', html)) == 1
    assert "On paper: the 2 that agree least." in html


def test_the_picture_of_a_window_lies_where_its_axes_say(everything):
    comparison = everything.comparisons[0]
    response = next(r for r in everything.responses if r.source == comparison.window.source)
    picture = window_picture(7, response, comparison)
    x, y = np.array([point.split() for point in picture.curve[1:].split("L")], float).T
    back = picture.t.low + (x - picture.t.first) / (picture.t.last - picture.t.first) * (picture.t.high - picture.t.low)
    assert (back[0], back[-1]) == pytest.approx((comparison.window.t_start, comparison.window.t_end), abs=0.1)
    top = picture.signal.first + (picture.signal.last - picture.signal.first) * (
        (comparison.fit.curve.max() - picture.signal.low) / (picture.signal.high - picture.signal.low)
    )
    assert y.min() == pytest.approx(top, abs=0.5)  # points; only every so many rows are drawn
    assert picture.zero == pytest.approx(0.5 * (picture.residual.first + picture.residual.last))


def test_a_figure_on_its_own_says_where_it_came_from(everything, tmp_path):
    told = replace(everything, provenance={"commit": "0123abc", "riderless": "9.8"})
    figures = write_report(tmp_path, told).parent / "figures"
    sources = {c.window.source for c in everything.comparisons}
    drawn = sorted(figures.iterdir())
    assert {path.suffix for path in drawn} == {".svg", ".pdf"}
    for path in drawn:
        said = _description(path)
        assert said.startswith(f"{everything.title}; Windows 1–{len(everything.comparisons)} from ")
        assert any(source in said for source in sources)
        assert said.endswith("; commit 0123abc; riderless 9.8")


def _description(figure):
    """What the file of a figure says of itself."""
    if figure.suffix == ".svg":
        return ElementTree.parse(figure).find(".//{http://purl.org/dc/elements/1.1/}description").text
    with pypdfium2.PdfDocument(figure) as document:
        return document.get_metadata_value("Subject")


def test_speeds_of_windows_of_one_run_can_be_read(everything):
    alike = [with_window(c, v_mean=5.0 + 1e-4 * i) for i, c in enumerate(everything.comparisons[:3])]
    figure = eigenvalues.residual_figure([eigenvalues.Series("one speed", alike)])
    figure.draw_without_rendering()
    axis = figure.axes[1].xaxis
    assert axis.get_offset_text().get_text() == ""
    boxes = [label.get_window_extent() for label in axis.get_ticklabels() if label.get_text()]
    assert len(boxes) > 2
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1280, "light")])
def test_a_browser_draws_it(page, width, scheme):
    found, picture = looked_at(page, width, scheme)
    assert found["width"] <= width  # nothing sticks out sideways
    assert min(found["words"]) > 200  # px: a narrow column breaks words
    assert min(found["recordings"]) >= 600  # px: it can be read, and is pushed sideways within its frame
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 50  # text, curves and marks, not an empty page
    assert (picture[:5, :5].mean() < 60) == (scheme == "dark")
