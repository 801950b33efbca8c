"""References: what is read, when they are told, and that a controller follows them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from riderless.hil.design.compensators.methods import design_compensator
from riderless.hil.design.methods import design
from riderless.hil.logs.log import read_run
from riderless.hil.loop.reference import Reference
from riderless.hil.loop.states import State
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.replay import replay
from riderless.hil.runners.simulated_run import simulate
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError


def test_a_reference_is_told_from_its_time_on_and_holds():
    made = Reference(((0.01, 0.1, 0.0, 0.0), (0.02, 0.2, 0.05, -0.1)))
    assert_array_equal(made.samples(200.0), [[0, 0, 0], [0, 0, 0], [0.1, 0, 0], [0.1, 0, 0], [0.2, 0.05, -0.1]])
    assert made.used == ("psi_dot_ref", "phi_ref", "delta_ref")
    assert Reference().samples(200.0).shape == (0, 3)
    assert_array_equal(Reference.parse("delta=0.1").samples(1000.0), [[0.0, 0.0, 0.1]])


def test_a_reference_is_read_from_words_and_from_a_file(tmp_path):
    assert Reference.parse("psi_dot=0.2").steps == ((0.0, 0.2, 0.0, 0.0),)
    assert Reference.parse("psi_dot=0.2@3, phi=0.1@5").steps == ((3.0, 0.2, 0.0, 0.0), (5.0, 0.2, 0.1, 0.0))
    file = tmp_path / "turn.csv"
    file.write_text("t,psi_dot_ref\n0,0\n2.5,0.3\n6,-0.3\n")
    assert Reference.parse(str(file)).steps == ((0.0, 0.0, 0.0, 0.0), (2.5, 0.3, 0.0, 0.0), (6.0, -0.3, 0.0, 0.0))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("heading=1", "a reference is one of psi_dot_ref, phi_ref, delta_ref, found 'heading'"),
        ("psi_dot=fast", "a reference is NAME=VALUE or NAME=VALUE@SECONDS"),
        ("psi_dot=0.2@", "NAME=VALUE@SECONDS, such as psi_dot=0.2@3, found 'psi_dot=0.2@'"),
        ("psi_dot=20", "a reference psi_dot_ref of 20 rad/s is beyond 3 rad/s: is it in degrees"),
        ("psi_dot=0.1,psi_dot=0.2", "psi_dot has two values from 0 s on"),
        ("psi_dot=0.1@2,phi=0.1@2,psi_dot_ref=0.2@2", "psi_dot_ref has two values from 2 s on"),
        ("psi_dot=nan", "want finite numbers, found psi_dot_ref = nan in step 1: correct it$"),
        ("psi_dot=0.1@-2", "times from 0 to 86400 s that increase, found -2 s in step 1: correct it"),
        ("unsorted", "times from 0 to 86400 s that increase, found 1.5 s in step 3 after 2 s: correct it"),
        ("nowhere.csv", "the reference nowhere.csv cannot be read"),
        ("no_time", "wants a column t in s"),
        ("a_word", "wants a number in each cell"),
    ],
)
def test_what_is_no_reference_is_refused(text, sentence, tmp_path):
    (tmp_path / "no_time").write_text("psi_dot_ref\n0.1\n")
    (tmp_path / "a_word").write_text("t,phi_ref\n0,upright\n")
    (tmp_path / "unsorted").write_text("t,phi_ref\n0,0\n2,0\n1.5,0\n1,0\n")
    named = str(tmp_path / text) if text in ("no_time", "a_word", "unsorted") else text
    with pytest.raises(InputError, match=sentence):
        Reference.parse(named)


RIGID = load_bicycle("Rigid")


def test_a_controller_without_that_reference_refuses_it():
    gains = design(RIGID, "lqr", (4.0, 5.0))
    with pytest.raises(InputError, match="the controller lqr follows no reference, found one of psi_dot_ref"):
        simulate(RIGID, gains, speed=4.5, duration=1.0, reference=Reference.parse("psi_dot=0.1"), model="linear")


@pytest.mark.parametrize(("inner", "bandwidth", "asked"), [("lqr", 1.0, 0.15), ("lqg", 0.3, -0.1)])
def test_the_bicycle_turns_as_it_is_asked_and_its_log_replays(inner, bandwidth, asked, tmp_path):
    rig = Rig(RIGID)
    made = design_compensator(RIGID, "yaw_rate", (4.0, 5.0, 6.0), rig.timing, inner=inner, bandwidth=bandwidth)
    reference = Reference.parse(f"psi_dot={asked}@4")
    run = simulate(RIGID, made, speed=5.0, duration=24.0, reference=reference, model="linear")
    assert run.stop.reason == "success"
    ticks = run.ticks[run.ticks["state"] == State.RUNNING]
    turned, t = ticks["psi_dot_meas"] - ticks["yaw_bias_est"], ticks["t"] - ticks["t"][0]
    assert np.mean(turned[(t > 2.0) & (t < 4.0)]) == pytest.approx(0.0, abs=0.03)
    assert np.mean(turned[t > 20.0]) == pytest.approx(asked, abs=0.02)
    run.save(tmp_path / "run")
    again = read_run(tmp_path / "run")
    assert again.header.reference == reference
    assert replay(again).identical
