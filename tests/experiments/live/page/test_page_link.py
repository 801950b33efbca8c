"""The page while its link is cut and while clocks are set: what it says, what it comes back to, and no STOP is lost."""

import time

import pytest

from tests.browser import a_browser
from tests.experiments.live.page.cut_link import CutLink
from tests.experiments.live.page.looking import Teller, a_page, await_that

BUSY = 0.4  # s that a computer which does other things lets the page's timer wait
HOUR = 3600.0  # s
NOTE_NEWS = """() => {
    globalThis.turns = [];  // each change between live and grey, and how old the news was then, ms
    new MutationObserver(() => turns.push([document.body.dataset.news, performance.now() - riderless.store.newsAt]))
        .observe(document.body, { attributeFilter: ["data-news"] });
}"""
SET_CLOCK = """(() => {
    const Real = Date;
    globalThis.wallShift = 0;  // ms
    globalThis.Date = class extends Real {
        constructor(...given) { given.length ? super(...given) : super(Real.now() + wallShift); }
        static now() { return Real.now() + wallShift; }
    };
})()"""
SITE = """
import os, time
_real = time.time
def _set():
    with open({path!r}) as told:
        return _real() + float(told.read() or 0)
time.time = _set
time.time_ns = lambda: int(1e9 * _set())
open({path!r} + str(os.getpid()), "w").close()
"""


@pytest.fixture(scope="module")
def browser():
    with a_browser() as browser:
        yield browser


@pytest.fixture
def teller():
    made = Teller()
    yield made
    made.close()


def stops(teller):
    return len([one for one in teller.asked if one["type"] == "stop"])


def test_a_link_that_is_cut_greys_the_page_and_a_stop_pressed_meanwhile_is_heard_once(browser, teller):
    with CutLink(teller.address) as link, a_page(browser, link.address) as page:
        page.wait_for_selector('body[data-news="yes"]')
        page.evaluate(NOTE_NEWS)
        link.cut()
        page.wait_for_selector('body[data-news="no"]')
        assert page.inner_text("#age-text").startswith("not live since ")
        ((news, age),) = page.evaluate("turns")
        assert news == "no"
        assert 500.0 < age < 1e3 * (0.6 + BUSY)  # looked at ten times a second
        page.click("#stop")
        page.wait_for_selector("text=not heard: use the machine's own stop")
        page.click("#stop")  # by somebody who sees that nothing happens
        assert stops(teller) == 0
        link.mend()
        page.wait_for_selector('body[data-news="yes"]')
        page.wait_for_selector("text=switches off at once")
        assert stops(teller) == 1
        page.click("#stop")
        await_that(lambda: stops(teller) == 2)


@pytest.mark.slow
@pytest.mark.parametrize("forgotten", [1.0, 8.0])
def test_a_link_that_comes_back_another_way_is_found(browser, teller, forgotten):
    with CutLink(teller.address) as link, a_page(browser, link.address) as page:
        page.wait_for_selector('body[data-news="yes"]')
        teller.event("kick", "kicked to the left, 4.0 N s")
        page.wait_for_selector("#event-list >> text=kicked to the left")
        link.cut()
        page.wait_for_selector('body[data-news="no"]')
        page.wait_for_timeout(1e3 * forgotten)  # the page opens links of its own meanwhile, which nobody answers
        page.click("#stop")
        link.mend(forget=True)
        began = time.monotonic()
        page.wait_for_selector('body[data-news="yes"]')
        assert time.monotonic() - began < 9.0 + BUSY  # 3 s without a word, 5 s of an opening without an answer
        await_that(lambda: stops(teller) == 1)
        page.wait_for_selector("text=switches off at once")
        assert page.locator("#event-list >> text=kicked to the left").count() == 1
        page.wait_for_timeout(1000)
        assert stops(teller) == 1


@pytest.mark.slow
def test_a_server_without_news_keeps_its_link(browser, teller):
    with a_page(browser, teller.address) as page:
        page.wait_for_selector('body[data-news="yes"]')
        teller.be_silent()
        page.evaluate("globalThis.same = riderless.store.hello")
        page.wait_for_timeout(6000)
        assert page.evaluate("same === riderless.store.hello"), "it was not opened anew"
        assert page.get_attribute("body", "data-news") == "no"


def test_clocks_that_are_set_move_nothing(browser, monkeypatch, tmp_path):
    """The wall's clock of the host cannot be set here; what asks for it in server, teller and page is told another."""
    told = tmp_path / "shift"
    told.write_text("0")
    (tmp_path / "sitecustomize.py").write_text(SITE.format(path=str(told)))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + float(told.read_text() or 0))
    teller = Teller()
    context = browser.new_context()
    try:
        page = context.new_page()
        page.add_init_script(SET_CLOCK)
        page.goto(teller.address)
        page.wait_for_selector('body[data-news="yes"]')
        assert (tmp_path / f"shift{teller.server.pid}").exists(), "the server reads the clock that is set"
        page.evaluate(NOTE_NEWS)
        for shift in (HOUR, -HOUR, 0.0):
            told.write_text(str(shift))
            page.evaluate(f"wallShift = {1e3 * shift}")
            page.wait_for_timeout(900)
            await_that(lambda: abs(teller.t - page.evaluate("riderless.store.rows.now('t')")) < BUSY)
            assert page.evaluate("riderless.store.age()") < HOUR / 2
            moved = page.evaluate("new Date() - performance.timeOrigin - performance.now()")
            assert moved == pytest.approx(1e3 * shift, abs=500.0), "the page reads the clock that is set"
        grey = [age for news, age in page.evaluate("turns") if news == "no"]
        assert all(age > 500.0 for age in grey), "only a busy computer makes it wait"
        page.wait_for_selector('body[data-news="yes"]')
        page.click("#stop")
        assert len(teller.heard("stop")) == 1
    finally:
        context.close()
        teller.close()
