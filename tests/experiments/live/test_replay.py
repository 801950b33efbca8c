"""Logs of others on the page: what was measured is shown as it was, its kicks are fitted, and it plays at any pace."""

import re
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from websockets.sync.client import connect

from riderless.experiments.live.launch import LiveServerProcess
from riderless.experiments.live.narrator import Narrator
from riderless.experiments.live.replay.player import Player
from riderless.experiments.live.replay.recordings import OwnRun
from riderless.hil.design.methods import design
from riderless.hil.logs.log import Marker
from riderless.hil.loop.states import Cause
from riderless.hil.runners.simulated_run import simulate
from riderless.models import load_bicycle
from riderless.models.errors import InputError
from tests.experiments.live.fitters import fitter_in_turn, killed_fitter
from tests.experiments.live.shared_memory import hear, socket_address
from tests.experiments.recordings.foreign_log import BICYCLE, KICKS, in_their_units, signals, weave, write_csv
from tests.paths import DOCS

MAPPING = re.search(r"```toml\n(.*?)```", (DOCS / "foreign-logs.md").read_text(encoding="utf-8"), re.S)[1]
SI = signals()


@pytest.fixture
def recorded(tmp_path):
    """Log of others and its mapping."""
    (tmp_path / "mapping.toml").write_text(MAPPING, encoding="utf-8")
    write_csv(tmp_path / "log.csv", in_their_units(SI))
    return tmp_path / "log.csv", tmp_path / "mapping.toml"


def at(message, t):
    """The row of a message that was made at ``t`` [s]."""
    return int(np.argmin(np.abs(np.asarray(message["t"]) - t)))


def test_it_is_shown_sought_paced_and_fitted(recorded, monkeypatch):
    monkeypatch.setattr("riderless.experiments.live.fits.new_fitter", fitter_in_turn)
    log, mapping = recorded
    player, over = Player(log, mapping=str(mapping)), threading.Event()
    with LiveServerProcess(port=0) as server:
        playing = threading.Thread(target=player.serve, args=(server, over.is_set))
        playing.start()
        try:
            with connect(socket_address(server.address), max_size=None) as page:
                hello = hear(page, "hello")
                assert (hello["kind"], hello["bicycle"]["name"], hello["can"]) == ("replay", BICYCLE, ["seek", "pace"])
                assert hello["replay"]["end"] == pytest.approx(SI["t"][-1], abs=0.02)
                page.send('{"type":"pace","pace":0}')
                while hear(page, "status")["pace"] != 0:
                    pass
                page.send('{"type":"seek","t":6.0}')
                while (rows := hear(page, "rows"))["t"][-1] < 5.9:
                    pass
                for t in (3.2, 4.5, 5.9):  # after the first kick
                    shown, true = at(rows, t), round(t / 0.01)
                    assert rows["phi"][shown] == pytest.approx(SI["phi"][true], abs=2e-4)
                    assert rows["delta"][shown] == pytest.approx(SI["delta"][true], abs=2e-3)
                    assert rows["v"][shown] == pytest.approx(4.0, abs=0.02)
                    assert rows["torque"][shown] == pytest.approx(SI["T_delta"][true], abs=1e-3)
                assert set(rows["psi"]) == {None}, "no heading was measured"
                page.send('{"type":"pace","pace":10}')
                began, first = time.monotonic(), 6.0
                while (now := hear(page, "status"))["t"] < first + 2.0:
                    pass
                assert now["pace"] == 10
                assert time.monotonic() - began < 2.0 + 5.0  # on a busy computer; at its own pace it would be lost
                fits = [hear(page, "fit", 60.0) for _ in KICKS]
        finally:
            over.set()
            playing.join()
    for fit in fits:
        for part, true in (("re", weave().real), ("im", weave().imag)):
            assert abs(fit[part] - true) < 4.0 * fit[f"u_{part}"]
            assert fit[f"predicted_{part}"] == pytest.approx(true, abs=1e-3)
    assert [fit["t_start"] for fit in fits] == pytest.approx(KICKS, abs=1.0)  # a push and what follows it is left out


def test_a_stretch_is_thinned_to_its_extremes(recorded):
    log, mapping = recorded
    (run,) = Player(log, mapping=str(mapping))._drawn
    whole, gap = run.stretch(-5.0, 1e9)
    assert len(whole.t) == len(SI["t"])
    assert gap < 1.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("riderless.experiments.live.replay.player.MOST_DRAWN", 100)
        thinned, gap = run.stretch(-5.0, 1e9)
    assert 50 < len(thinned.t) <= 100
    assert np.diff(thinned.t).min() > 0.0
    assert np.diff(thinned.t).max() < gap
    for name in ("phi", "delta", "torque"):
        assert max(getattr(thinned, name)) == max(getattr(whole, name))
        assert min(getattr(thinned, name)) == min(getattr(whole, name))
    assert set(thinned.psi) == {None}
    some, _ = run.stretch(3.0, 4.0)
    assert (some.t[0], some.t[-1]) == pytest.approx((3.0, 4.0), abs=0.02)


def test_a_planned_end_is_not_told_as_a_persons_stop(tmp_path):
    bicycle = load_bicycle("Silver")
    run = simulate(bicycle, design(bicycle, "lqr", [5.0]), speed=5.0, duration=1.0, model="linear")
    run.save(tmp_path / "run")
    shown = OwnRun(tmp_path / "run")
    last = shown.rows[-1]
    assert last["cause"] == Cause.OPERATOR_STOP
    assert shown.status(last).why == run.stop.cause == "the planned duration was reached"
    said = [event.text for event in Narrator(run.header, 0.0).events(shown.rows)]
    assert "the run was stopped, by its plan or by the operator" in said, "a page that looks on does not know"


def test_events_of_a_run_are_told_in_the_order_of_time(tmp_path):
    bicycle = load_bicycle("Silver")
    run = simulate(bicycle, design(bicycle, "lqr", [5.0]), speed=5.0, duration=1.0, model="linear")
    replace(run, markers=(*run.markers, Marker(run.markers[0].t, "late", "a tick came late"))).save(tmp_path / "run")
    times = [event.t for event in OwnRun(tmp_path / "run").events()]
    assert times == sorted(times)


def test_it_plays_on_when_its_fit_process_is_killed(recorded):
    log, mapping = recorded
    player, over = Player(log, mapping=str(mapping)), threading.Event()
    with LiveServerProcess(port=0) as server:
        playing = threading.Thread(target=player.serve, args=(server, over.is_set))
        try:
            with connect(socket_address(server.address), max_size=None, max_queue=None) as page:
                with killed_fitter():
                    playing.start()
                while "no more fits" not in hear(page, "event", 30.0)["text"]:
                    pass
                page.send('{"type":"seek","t":6.0}')
                while hear(page, "status")["t"] < 6.0:
                    pass
        finally:
            over.set()
            playing.join()


def test_a_log_without_a_bicycle_is_refused_in_a_sentence(recorded):
    log, mapping = recorded
    mapping.write_text(re.sub(r"(?m)^bicycle = .*$", "", MAPPING).replace("[law]", "[other]"), encoding="utf-8")
    text = re.sub(r"\[other\].*?\n\n", "", mapping.read_text(encoding="utf-8"), flags=re.S)
    mapping.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="--bicycle"):
        Player(log, mapping=str(mapping))
    assert Player(log, mapping=str(mapping), bicycle="Silver").hello().bicycle.name == "Silver"
