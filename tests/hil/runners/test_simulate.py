"""A run in memory: the same as one on the disk, and nothing needs the disk."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from riderless.hil.design.methods import design
from riderless.hil.design.sampled_plant import LoopTiming
from riderless.hil.logs.log import RUN_FILE, Run, read_run
from riderless.hil.runners.emulation import Emulation
from riderless.hil.runners.replay import replay
from riderless.hil.runners.simulated_run import LEAST_SENSOR_NOISE, run_lockstep, simulate
from riderless.models.errors import InputError
from riderless.models.plant.plant import Kick, Scenario
from tests.hil.logs.written_logs import assert_same_bits
from tests.hil.machine import gains, rig_of

KICK = Kick(0.4, 3.0)


@pytest.fixture(scope="module")
def run():
    return simulate(rig_of().bicycle, gains(rig_of()), speed=5.0, kicks=[KICK], duration=1.0, model="linear")


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory):
    rig, folder = rig_of(), tmp_path_factory.mktemp("disk") / "run"
    scenario = Scenario(speed=((0.0, 5.0),), kicks=(KICK,), seed=1)
    run_lockstep(folder, rig, gains(rig), scenario, 1.5, "Silver lqr 5 m/s", emulation=Emulation("linear"))
    return folder


def test_a_run_in_memory_is_the_run_on_the_disk(run, on_disk):
    read = read_run(on_disk)
    assert_same_bits(run.ticks, read.ticks)
    assert (run.header, run.markers, run.tapes, run.stop) == (read.header, read.markers, read.tapes, read.stop)
    assert run.complete
    assert not run.recovered
    with pytest.raises(ValueError, match="read-only"):
        run.ticks["k"] = 0


def test_saving_writes_the_bytes_that_the_runner_writes(run, on_disk, tmp_path):
    expected = (on_disk / RUN_FILE).read_bytes()
    assert run.save(tmp_path / "a").read_bytes() == expected
    assert read_run(on_disk).save(tmp_path / "b").read_bytes() == expected, "a run read can be saved again"
    with pytest.raises(InputError, match="found files in"):
        run.save(tmp_path / "a")


def test_a_run_that_was_killed_is_saved_without_a_stop_record(on_disk, tmp_path):
    data = (on_disk / RUN_FILE).read_bytes()
    (tmp_path / RUN_FILE).write_bytes(data[: len(data) * 2 // 3])
    killed = read_run(tmp_path)
    again = read_run(killed.save(tmp_path / "again"))
    assert_same_bits(again.ticks, killed.ticks)
    assert again.stop == killed.stop
    assert not again.complete


def test_it_replays_without_ever_having_been_on_a_disk(run):
    result = replay(run)
    assert result.identical, result.sentence
    assert result.ticks == len(run.ticks)


def test_the_bicycle_must_be_the_rigs_and_the_gains_must_fit_its_rate():
    rig = rig_of()
    with pytest.raises(InputError, match="carries the bicycle Silver, found Benchmark"):
        simulate(rig_of("Benchmark").bicycle, gains(rig), rig=rig, model="linear")
    with pytest.raises(InputError, match="designed for Silver, not for Benchmark"):
        simulate(rig_of("Benchmark").bicycle, gains(rig), model="linear")
    slow = design(rig.bicycle, "lqr", (4.5, 5.5), LoopTiming(rate=100.0))
    with pytest.raises(InputError, match="designed for 100 Hz but the rig runs at 200 Hz"):
        simulate(rig.bicycle, slow, rig=rig, model="linear")


def test_a_run_is_one_line_in_words_and_a_small_table_in_a_notebook(run):
    words = r"Run\(Silver lqr 5 m/s: \d+ ticks in \d\.\d\d s, success: the planned duration was reached\)"
    assert re.fullmatch(words, repr(run))
    html = run._repr_html_()
    assert html.startswith("<table><tr><th>run</th><td>Silver lqr 5 m/s</td>")
    assert len(html) < 1000


def test_a_frame_has_the_columns_of_the_log(run):
    pandas = pytest.importorskip("pandas")
    frame = run.to_frame()
    assert frame.attrs["units"]["delta_meas"] == "rad"
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == list(run.ticks.dtype.names)
    np.testing.assert_array_equal(frame["phi_est"], run.ticks["phi_est"])


def test_without_pandas_one_sentence_says_what_to_do(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="a data frame needs pandas, which is not installed"):
        run.to_frame()


def test_a_run_of_an_older_version_is_not_saved_as_one_of_this(run):
    older = Run(Path("old"), run.header, run.ticks[["k", "t_host"]], (), {}, run.stop, True, "")
    with pytest.raises(InputError, match=r"other.*made this run"):
        older.save("anywhere")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"noise": 0.0}, "noise of 0 times that of the emulated instruments .* give 0.05 or more"),
        ({"noise": float("nan")}, "noise of emulated instruments is a factor of 0 or more, found nan"),
        ({"duration": 0.0}, "duration of a run must be a time above 0 s, found 0 s"),
        ({"duration": -1.0}, "found -1 s"),
        ({"duration": float("nan")}, "found nan s"),
        ({"kicks": Kick(1.0, impulse=3.0)}, "wants kicks as Sequence, found Kick"),
        ({"kicks": [1.0]}, r"wants kicks\[0\] as Kick or Knock, found 1.0"),
        ({"excitation": "sweep"}, "wants excitation as Excitation, found 'sweep'"),
        ({"reference": "psi_dot=.1"}, "wants reference as Reference"),
        ({"speed": "5"}, "speed of a run must be a number, found '5'"),
        ({"speed": [4.0, 5.0]}, r"speed of a run must be a number, found \[4.0, 5.0\]"),
        ({"duration": "3"}, "duration of a run must be a number, found '3'"),
        ({"x0": "abcd"}, "x0 wants four numbers, found \\('a', 'b', 'c', 'd'\\)"),
        ({"x0": None}, "wants x0 as Sequence or ndarray, found None"),
        ({"surroundings": None}, "wants surroundings as Surroundings, found None"),
        ({"gains": None}, "wants gains as a controller, found None: make one with design"),
    ],
)
def test_what_cannot_be_ridden_is_refused(given, sentence):
    rig = rig_of()
    with pytest.raises(InputError, match=sentence):
        simulate(rig.bicycle, **({"gains": gains(rig), "rig": rig, "duration": 2.0} | given))


def test_the_least_noise_rides_and_less_would_not():
    rig = rig_of()
    ridden = simulate(rig.bicycle, gains(rig), rig=rig, duration=20.0, noise=LEAST_SENSOR_NOISE, model="linear")
    assert ridden.stop.reason == "success"
