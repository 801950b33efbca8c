"""`k` in a run is answered on the screen: when, on the clock by which the report tells its windows."""

import re

import pytest

from riderless.experiments.emulation.workstand import start_twin
from riderless.experiments.terminal.operator import mark_echo
from riderless.hil.logs.log import read_run
from riderless.hil.rig.rig import Rig
from riderless.models import catalogue
from riderless.models.plant.plant import Scenario
from tests.experiments.commands.test_run_keys import terminal


def test_only_the_key_k_is_answered():
    assert mark_echo("k", 12.44) == "kick marked at 12.4 s"
    assert mark_echo("q", 12.44) == mark_echo("", 12.44) == ""


@pytest.mark.realtime
def test_a_run_answers_the_key(tmp_path):
    rig = Rig(catalogue.load_bicycle("Benchmark"))
    with (
        start_twin(rig, Scenario(speed=((0.0, 5.0),))) as twin,
        terminal("run", "--port", twin.path, "--yes", "--duration", "60", "-o", str(tmp_path)) as screen,
    ):
        screen.see("s left")
        screen.press("k")
        screen.see("kick marked at ")
        screen.see(" s")
        screen.press("q")
        screen.see("stopped by a key")
        assert screen.process.wait(20.0) == 0
    (folder,) = tmp_path.iterdir()
    (mark,) = [marker for marker in read_run(folder).markers if marker.kind == "kick"]
    assert re.match("by key", mark.text)
