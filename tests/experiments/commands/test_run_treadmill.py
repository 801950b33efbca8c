"""`riderless run --speed` on a rig that drives its treadmill, or its rear wheel, over pseudo-terminals."""

import numpy as np
import pytest

from riderless.hil.design.methods import design
from riderless.hil.logs.log import read_run
from riderless.hil.loop.states import State
from riderless.hil.rig.file import read_rig
from tests.experiments.commands.test_cli import call
from tests.paths import DOCS


@pytest.mark.realtime
@pytest.mark.parametrize("name", ["treadmill", "driven-wheel"])
def test_the_speed_asked_for_is_held(tmp_path, capsys, monkeypatch, name):
    rig = read_rig(DOCS / "rigs" / f"{name}.toml")
    gains = tmp_path / "gains.toml"
    gains.write_text(design(rig.bicycle, "lane", [3.0, 3.5, 4.0], rig.timing).to_toml(), encoding="utf-8")
    file, asked = DOCS / "rigs" / f"{name}.toml", ("--controller", gains, "--speed", 3.5, "--duration", 2)
    for n in range(3):  # a machine that was busy for a moment is tried again
        out = tmp_path / str(n)
        code, said, err = call(capsys, monkeypatch, "run", file, "--emulated", *asked, "--out", out)
        if code == 0:
            break
    assert code == 0, said + err
    run = read_run(next(out.iterdir()))
    rows = run.ticks[run.ticks["state"] == State.RUNNING]
    assert run.header.asked_speeds == ((0.0, 3.5),)
    assert np.median(rows["v_est"]) == pytest.approx(3.5, abs=0.1)
    assert np.median(rows["v_belt"]) == pytest.approx(3.5 / 0.97, abs=0.1), "it shows 3 % too much"
