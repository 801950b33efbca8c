"""The live page in a real Chromium, before a real server: what a person reads, and what a press does."""

import http.server
import threading
from math import degrees, radians

import numpy as np
import pytest

from riderless.experiments.live.altered import AlteredBicycle
from riderless.experiments.live.hello import bicycle_fields
from riderless.experiments.live.schema import ConditionRow, LiveAltered, LiveCampaign, LiveStatus, Obstacle, as_text
from tests.browser import a_browser
from tests.experiments.live.page.looking import RIG, Teller, a_page, await_that
from tests.experiments.live.shared_memory import socket_address


@pytest.fixture(scope="module")
def browser():
    with a_browser() as browser:
        yield browser


@pytest.fixture
def teller(request):
    made = Teller(getattr(request, "param", "live"))
    yield made
    made.close()


def test_state_obstacles_and_numbers_are_told_in_words(browser, teller):
    teller.status = LiveStatus(
        state="checking before it arms",
        code="CHECK",
        still=True,
        obstacles=[Obstacle(what="supply 19.2 V, wanted 20 to 30 V", do="charge or connect the battery")],
        age_s=0.0,
        battery=19.2,
        link_errors=2,
    )
    seen = {"re": -3.25, "im": 4.85, "u_re": 0.1, "u_im": 0.05, "like_re": -3.31, "like_im": 4.82}
    teller.fit(speed=4.6, mode="weave", **seen, predicted_re=-3.2, predicted_im=4.9, z=1)
    with a_page(browser, teller.address) as page:
        page.wait_for_selector("text=checking before it arms")
        found = page.inner_text("#obstacle-list")
        assert "supply 19.2 V, wanted 20 to 30 V" in found
        assert "charge or connect the battery" in found
        page.wait_for_selector(f"text=+{degrees(teller.lean):.1f} deg")
        page.wait_for_selector("text=4.60 m/s")
        lean = page.get_by_role("meter", name="lean, deg")
        assert float(lean.get_attribute("aria-valuemax")) == pytest.approx(degrees(RIG.limits.lean.value), abs=0.01)
        assert page.locator("#bars .bar", has=lean).get_attribute("title") == RIG.limits.lean.reason
        assert page.inner_text('#health-list [data-key="battery"] dd').endswith("19.2 V")
        fit = page.inner_text("#fits tbody")
        assert "−3.25 ± 0.20, 4.85 ± 0.10 i" in fit  # 1.96 standard uncertainties
        assert fit.index("−3.31, 4.82 i") < fit.index("−3.20, 4.90 i")
        assert "measured ± 95 % like for like frozen z" in " ".join(page.inner_text("#fits thead").split())
        assert page.locator("#page").evaluate("e => getComputedStyle(e).filter") == "none"


def test_what_is_old_is_grey_and_says_since_when(browser, teller, monkeypatch):
    with a_page(browser, teller.address) as page:
        page.wait_for_selector('body[data-news="yes"]')
        teller.be_silent()
        page.wait_for_selector('body[data-news="no"]')
        assert page.evaluate("riderless.store.age()") > 0.5
        assert page.inner_text("#age-text").startswith("not live since ")
        assert "grayscale(1)" in page.locator("#page").evaluate("e => getComputedStyle(e).filter")
        assert page.is_enabled("#stop")
        teller.be_silent(False)
        page.wait_for_selector('body[data-news="yes"]')
        port = teller.server.port
        teller.close()
        page.wait_for_selector("text=not live since")
        page.keyboard.press("Space")
        page.wait_for_selector("text=not heard: use the machine's own stop")
        monkeypatch.setattr("riderless.experiments.live.launch.new_token", lambda: teller.server.token)
        again = Teller(port=port, title="Another machine")
        try:
            page.wait_for_selector("text=Another machine")  # without a hand at the page
            page.wait_for_selector('body[data-news="yes"]')
        finally:
            again.close()


@pytest.mark.parametrize("teller", ["play"], indirect=True)
def test_stop_is_heard_from_everywhere_and_says_what_the_next_does(browser, teller):
    with a_page(browser, teller.address) as page:
        assert page.inner_text("#stop-word") == "STOP"
        page.focus("#wind")
        page.keyboard.down("Space")
        for _ in range(3):
            page.keyboard.down("Space")  # held
        page.keyboard.up("Space")
        page.wait_for_selector("text=switches off at once")
        assert page.inner_text("#stop-word") == "OFF"
        page.click("#stop")
        assert len(teller.heard("stop", 2)) == 2
        teller.status = LiveStatus(state="stopped", code="DISARMED", still=True, age_s=0.0)
        page.wait_for_selector("text=ramps down")
        page.focus("#kick-left")
        page.keyboard.press("Space")  # on another button too
        assert len(teller.heard("stop", 3)) == 3
        assert not [one for one in teller.asked if one["type"] == "kick"]


@pytest.mark.parametrize("teller", ["play"], indirect=True)
def test_a_toy_is_played_with_by_keys_and_sliders(browser, teller):
    with a_page(browser, teller.address) as page:
        page.locator("#strength").fill("2")
        page.locator("#page").click(position={"x": 2, "y": 2})
        page.keyboard.press("ArrowLeft")
        page.click("#kick-right")
        told = [(one["side"], one["strength"]) for one in teller.heard("kick", 2)]
        assert told == [("left", 2.0), ("right", 2.0)]
        page.keyboard.press("d")
        assert teller.heard("wind")[-1]["force"] == 2.0
        page.keyboard.press("ArrowUp")
        assert teller.heard("speed")[-1]["speed"] == pytest.approx(4.8)
        page.keyboard.press("2")
        assert teller.heard("controller")[-1]["name"] == "off"
        page.select_option("#fault", "drive dead")
        page.click("#break")
        assert teller.heard("fault")[-1]["name"] == "drive dead"


@pytest.mark.parametrize("teller", ["play"], indirect=True)
def test_parameters_are_altered_and_what_is_refused_is_said(browser, teller):
    with a_page(browser, teller.address) as page:
        page.wait_for_selector("text=4.6 m/s: weave −0.4 ± 3.9 i, capsize −0.6, caster −13.3")
        before = page.locator("#plane path").first.get_attribute("d")
        page.locator("#parameter-w").fill("1.2")
        assert (teller.heard("parameter")[-1]["name"], teller.asked[-1]["value"]) == ("w", 1.2)
        altered = AlteredBicycle(RIG.bicycle).with_parameter("w", 1.2)
        fields = bicycle_fields(altered.bicycle, None)
        teller.server.tell(as_text(LiveAltered(parameters=altered.sliders(), **fields)))
        await_that(lambda: page.locator("#plane path").first.get_attribute("d") != before)
        assert page.inner_text('label[for="parameter-w"] output') == "1.20 m"

        page.locator("#parameter-c").fill("-0.02")
        teller.heard("parameter", 2)
        teller.server.tell(as_text(LiveAltered(parameters=altered.sliders(), refused="no bicycle is like that")))
        page.wait_for_selector("#refused >> text=no bicycle is like that")
        assert page.inner_text('label[for="parameter-c"] output') == "0.080 m", "it stays as it was"
        page.click('[aria-label="reset wheelbase"]')
        assert teller.heard("parameter", 3)[-1]["value"] is None

        assert page.get_by_role("switch", name="loop closed", checked=True).count() == 1
        page.keyboard.press("o")
        assert teller.heard("controller")[-1]["name"] == "off"
        box = page.locator("#parameter-lam").bounding_box()
        page.mouse.click(box["x"] + 0.7 * box["width"], box["y"] + 0.5 * box["height"])
        page.keyboard.press("ArrowLeft")  # a kick is at hand after a slider too
        assert teller.heard("kick")[-1]["side"] == "left"


@pytest.mark.parametrize("teller", ["replay"], indirect=True)
def test_a_replay_is_sought_and_paced_and_not_called_live(browser, teller):
    with a_page(browser, teller.address) as page:
        page.wait_for_selector("text=replay, not live")
        assert page.is_hidden("#stop")
        page.click("#windows button >> nth=0")
        assert teller.heard("seek")[-1]["t"] == 3.0
        page.locator("#pace").fill("1")
        assert teller.heard("pace")[-1]["pace"] == pytest.approx(10.0)
        page.click("#pause")
        assert teller.heard("pace", 2)[-1]["pace"] == 0.0


def test_events_have_a_panel_as_soon_as_there_is_one(browser, teller):
    with a_page(browser, teller.address) as page:
        page.wait_for_selector('body[data-news="yes"]')
        assert page.is_hidden("#events")
        teller.event("kick", "kicked to the left, 4.0 N s")
        page.wait_for_selector("#events >> text=kicked to the left, 4.0 N s")


def shown(page):
    """Beginning and end of the traces [s]."""
    return np.array(page.evaluate("riderless.shown()"))


def test_signals_are_chosen_and_time_is_zoomed_and_moved(browser, teller):
    with a_page(browser, teller.address) as page:
        page.wait_for_selector('#traces >> text="lean, deg"')
        assert page.locator("#traces").get_by_text("lean rate").count() == 0
        assert page.is_hidden('#signals >> text="heading"'), "nothing measures it"
        page.click('#signals >> text="lean rate"')
        page.click('#signals >> text="speed"')
        names = ["lean, deg", "lean rate, deg/s", "steer, deg", "torque, N m"]
        assert page.locator(".trace-name").all_inner_texts() == names
        await_that(lambda: page.evaluate("riderless.store.rows.now('t') - riderless.store.rows.t[0]") > 6.0)

        middle = page.locator(".u-over").first.bounding_box()
        x, y = middle["x"] + 0.9 * middle["width"], middle["y"] + 20
        page.mouse.move(x, y)
        page.mouse.wheel(0, -500)
        await_that(lambda: page.get_attribute("#follow", "aria-pressed") == "false")
        zoomed = shown(page)
        assert np.diff(zoomed) == pytest.approx(10.0 / np.e, rel=0.01)
        page.mouse.down()
        page.mouse.move(x + 0.2 * middle["width"], y, steps=3)
        page.mouse.up()
        moved = shown(page)
        assert moved - zoomed == pytest.approx(2 * [-0.2 * 10.0 / np.e], abs=0.1)
        page.wait_for_timeout(300)
        assert (shown(page) == moved).all(), "it stands still while the machine goes on"
        page.focus("#traces")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("-")
        assert np.diff(shown(page)) == pytest.approx(1.25 * np.diff(moved))
        page.mouse.dblclick(x, y)
        assert page.get_attribute("#follow", "aria-pressed") == "true"
        assert np.diff(shown(page)) == pytest.approx(10.0)
        assert not teller.asked


@pytest.mark.slow
def test_two_pages_and_a_reloaded_one_hear_the_same(browser, teller):
    teller.event("kick", "kicked to the left, 4.0 N s")
    with a_page(browser, teller.address) as one, a_page(browser, teller.address) as two:
        for page in (one, two):
            page.wait_for_selector("#event-list >> text=kicked to the left, 4.0 N s")
        one.reload()
        one.wait_for_selector("#event-list >> text=kicked to the left, 4.0 N s")
        teller.lean = radians(-7.0)
        for page in (one, two):
            page.wait_for_selector("text=−7.0 deg")


def test_a_page_of_another_origin_hears_nothing(browser, teller, tmp_path):
    (tmp_path / "index.html").write_text("<!doctype html><title>elsewhere</title>", encoding="utf-8")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, directory=str(tmp_path), **kwargs)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as elsewhere:
        threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{elsewhere.server_port}/index.html")
        heard = page.evaluate(
            """address => new Promise(done => {
                const socket = new WebSocket(address);
                socket.onopen = () => socket.send('{"type":"stop"}');
                socket.onmessage = () => done("a message");
                socket.onclose = () => done("closed");
            })""",
            socket_address(teller.address),
        )
        context.close()
        elsewhere.shutdown()
    assert heard == "closed"
    assert not teller.asked


@pytest.mark.slow
def test_a_phone_has_stop_under_the_thumb_and_nothing_beside_the_screen(browser, teller):
    with a_page(browser, teller.address, 400, 800) as page:
        page.wait_for_selector('body[data-news="yes"]')
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        for _ in range(2):
            stop = page.locator("#stop").bounding_box()
            assert stop["y"] > 600
            assert stop["y"] + stop["height"] <= 800
            assert stop["width"] > 300
            page.evaluate("scrollTo(0, document.body.scrollHeight)")


@pytest.mark.slow
def test_the_bicycle_is_drawn_flat_or_deep(browser, teller):
    with a_page(browser, teller.address) as page:
        page.wait_for_selector("#scene svg")  # a processor draws here: flat costs the loop less
        lean = page.locator("#scene svg .lean")
        await_that(lambda: "rotate(5.00)" in (lean.get_attribute("transform") or ""))
        if page.is_visible("#view"):
            page.click("#view")
            page.wait_for_selector("#scene canvas")
            await_that(lambda: page.evaluate("riderless.measured.deep && riderless.measured.pictures > 2"))
            assert page.is_hidden("#forces"), "a machine that tells no forces has none to show"
            teller.status = teller.status.model_copy(update={"ground_forces": [0.0, 108.0, 610.0, 0.0, 56.0, 312.0]})
            page.click("#forces")
            assert page.get_attribute("#forces", "aria-pressed") == "true"
            drawn = page.evaluate("riderless.measured.scenes")
            await_that(lambda: page.evaluate("riderless.measured.scenes") > drawn + 2)
            page.click("#view")
            assert page.is_hidden("#forces")


def test_a_browser_without_scripts_gets_one_sentence(browser, teller):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(teller.address)
    assert page.inner_text("body").strip().startswith("This browser is too old for the page")
    assert page.is_hidden("#top")
    context.close()


SIZES = [(1280, 800, "light")]
MORE_SIZES = [(1280, 800, "dark"), (400, 800, "light"), (400, 800, "dark"), (1920, 1080, "light"), (1920, 1080, "dark")]


@pytest.mark.parametrize("teller", ["play"], indirect=True)
@pytest.mark.parametrize(
    ("width", "height", "scheme"), [*SIZES, *(pytest.param(*one, marks=pytest.mark.slow) for one in MORE_SIZES)]
)
def test_everybody_can_use_it(browser, teller, width, height, scheme):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe, which judges pages, is not installed"
    )
    teller.status = LiveStatus(
        state="not armed", code="DISARMED", why="a cause", obstacles=[Obstacle(what="a thing", do="a deed")], age_s=0.0
    )
    teller.event("kick", "kicked to the left, 4.0 N s")
    with a_page(browser, teller.address, width, height, scheme) as page:
        page.wait_for_selector("text=a deed")
        page.evaluate("riderless.store.age = () => 0")  # axe keeps the page too busy to hear the news, and grey is pale
        found = axe.Axe().run(page).response["violations"]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    grave = [one for one in found if one["impact"] in ("serious", "critical")]
    assert [(one["id"], [node["target"] for node in one["nodes"]]) for one in grave] == []


@pytest.mark.slow
def test_a_campaign_is_watched(browser, teller):
    rows = [
        ConditionRow(label="Silver lqr 5.0 m/s", done=2, planned=3, now=True, fits=1, speed=5.0, re=-3.1, im=4.2),
        ConditionRow(label="Silver off 5.5 m/s", done=0, planned=3),
        ConditionRow(label="Silver off 5.5 m/s at 5.31 m/s", done=0, planned=0, fits=2, re=-1.25, im=4.0),
    ]
    told = LiveCampaign(conditions=rows, time_left=95.0, next="Silver off 5.5 m/s, run 1")
    with a_page(browser, teller.address) as page:
        assert page.is_hidden("#campaign")
        teller.server.tell(as_text(told))
        page.wait_for_selector("#conditions >> text=Silver lqr 5.0 m/s")
        shown = page.inner_text("#campaign")
        for words in ("Silver off 5.5 m/s, run 1", "95 s", "2 of 3", "0 of 3", "−1.25, 4.00 i"):
            assert words in shown, shown
        assert "0 of 0" not in shown, "a condition that only speed parts has no planned runs"
