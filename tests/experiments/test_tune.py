"""New gains from runs of a machine whose drive is weak: found, made up for, and judged."""

import numpy as np
import pytest

from riderless.experiments.emulation.hand import kicks_in_turn
from riderless.experiments.emulation.tune import tune
from riderless.hil.controllers.registry import read_controller
from riderless.hil.design.closed_loop import SampledLoop
from riderless.hil.design.methods import design
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.simulated_run import simulate
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import Variant
from riderless.models.parameters import Bicycle
from riderless.models.plant.steer_drive import SteerDrive
from tests.experiments.commands.test_cli import riderless  # noqa: F401

WEAK = 0.8  # of the torque commanded


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    bicycle = load_bicycle("Silver")
    gains = design(bicycle, "lqr", [3.0, 4.0, 5.0])
    for seed, v in enumerate((4.0, 5.0), 1):
        kicks = kicks_in_turn(bicycle, 0.6 + 3.2 * np.arange(3), np.random.default_rng(seed))
        run = simulate(bicycle, gains, speed=v, kicks=kicks, duration=10.2, drive=SteerDrive(gain=WEAK), seed=seed)
        run.save(folder / f"run{seed}")
    return folder, gains


def test_a_weak_drive_is_found_and_made_up_for(runs):
    folder, old = runs
    tuning = tune(folder)
    found = tuning.identified.found.changes["drive_gain"]
    assert found == pytest.approx(WEAK, abs=0.02)
    rig = Rig(old.bicycle)
    as_designed = SampledLoop.of_rig(rig, old)
    with_the_drive = SampledLoop.of_rig(rig, tuning.gains, real=Variant(old.bicycle, drive_gain=found))
    for v in old.v:  # torque and command in units of the command: the same loop
        assert np.poly(with_the_drive.matrix(v)) == pytest.approx(np.poly(as_designed.matrix(v)), rel=1e-9, abs=1e-9)
    assert tuning.safe
    assert tuning.stable == tuning.drawn == 200
    before, after = (margins.gain[1] for margins in tuning.speeds[1].margins)
    assert before / after == pytest.approx(1.0 / found, rel=0.02)  # a weak drive may be as much stronger


def test_the_command_writes_gains_that_read_back_and_the_bicycle_found(runs, riderless, tmp_path):  # noqa: F811
    folder, old = runs
    gains, bicycle = tmp_path / "new.toml", tmp_path / "found.toml"
    words = ("tune", str(folder), "--free", "drive_gain,IBxx", "--prior", "usual", "-o", str(gains))
    code, text, _ = riderless(*words, "--bicycle-out", str(bicycle))
    assert code == 0
    assert "write gain = 0.8" in text
    assert "stays upright" in text
    found = Bicycle.from_toml(bicycle)
    assert found.std["IBxx"] > 0.0
    assert found.IBxx == pytest.approx(old.bicycle.IBxx, rel=0.2)
    assert read_controller(gains, found, old.loop).bicycle == found
    assert riderless(*words)[0] == 2  # it is there already


def test_what_gives_no_gains_is_refused(runs, tmp_path):
    folder, _ = runs
    with pytest.raises(InputError, match="wanted a method that gives gains"):
        tune(folder, method="lqg")
    log = tmp_path / "theirs.csv"
    log.write_text("t,lean\n0,0\n", encoding="utf-8")
    with pytest.raises(InputError, match="new gains want runs of ours"):
        tune(log)
