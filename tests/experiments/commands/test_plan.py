"""`riderless plan` as a newcomer calls it."""

import json
import sys

import numpy as np
import pytest

from riderless.experiments import cli


def called(monkeypatch, capsys, *words):
    """Exit code, output and errors of the command."""
    monkeypatch.setattr(sys, "argv", ["riderless", "plan", *map(str, words)])
    try:
        cli.main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    return code, *capsys.readouterr()


SMALL = ("Silver", "--speeds", "4.5,6", "--controllers", "lqr", "--kick-s", "0.2")


def test_a_worse_gyro_and_fewer_minutes_tell_less(monkeypatch, capsys):
    _, out, _ = called(monkeypatch, capsys, *SMALL, "--gyro-noise", "0.003,0.03", "--minutes", "5", "--json")
    said = json.loads(out)
    good, poor = said["plans"]
    assert poor["stds"]["drive_gain"] > 1.2 * good["stds"]["drive_gain"]
    plan, grid = (np.prod(list(good[which].values())) for which in ("stds", "grid_stds"))
    assert plan < 1.1 * grid  # chosen by the noise alone
    assert 0.0 < good["taken"] <= said["time"] == 300.0
    assert sum(good["runs"].values()) == 17  # of 12 s, 5 s before each: 300 / 17.0
    _, out, _ = called(monkeypatch, capsys, *SMALL, "--minutes", "2.5", "--json")
    fewer = json.loads(out)["plans"][0]["stds"]["drive_gain"]
    assert 1.0 < fewer / good["stds"]["drive_gain"] < 2**0.5  # theory's own error stays
    assert good["stds_at_last"]["drive_gain"] > 0.5 * good["stds"]["drive_gain"]


def test_the_screen_is_eighty_wide_and_says_how_long_it_takes(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = called(
        monkeypatch, capsys, *SMALL, "--learn", "drive_gain +- 0.0006, steer_damping", "--minutes", "0.5"
    )
    assert code == 0
    tables = [line for line in out.splitlines() if not line.startswith("gyro 0.003 rad/s, encoder 0.018 deg: ")]
    assert max(map(len, tables)) <= 80
    assert "One run each, with gyro 0.003 rad/s, encoder 0.018 deg" in out
    assert "what is asked for takes about" in " ".join(out.split())


def test_a_spring_looks_like_trail_at_one_speed_and_another_speed_parts_them(monkeypatch, capsys):
    words = ("Benchmark", "--learn", "steer_stiffness,c", "--controllers", "lqr", "--kick-by", "hand", "--json")
    _, out, _ = called(monkeypatch, capsys, *words, "--speeds", "3.8", "--minutes", "1")
    alone = json.loads(out)["plans"][0]
    pair = next(one for one in alone["confounded"] if {one["asked"], one["other"]} == {"steer_stiffness", "c"})
    assert abs(pair["correlation"]) > 0.9
    assert pair["share_with_other_known"] < 0.5
    _, out, _ = called(monkeypatch, capsys, *words, "--speeds", "3.8,5,7", "--minutes", "1")
    apart = json.loads(out)["plans"][0]
    assert apart["stds"]["steer_stiffness"] < 0.6 * alone["stds"]["steer_stiffness"]


def test_what_the_bicycles_own_deviations_hide_is_never_reached(monkeypatch, capsys):
    words = ("Browser", "--speeds", "4,6", "--controllers", "lqr", "--kick-s", "0.2")
    _, out, _ = called(monkeypatch, capsys, *words, "--learn", "drive_gain +- 0.0002")
    said = " ".join(out.split())
    assert "drive_gain +- 0.0002 is never reached, however long" in said
    assert "free beside: w, c, lam" in said


def test_the_bicycles_own_weave_may_be_asked_for(monkeypatch, capsys):
    _, out, _ = called(monkeypatch, capsys, *SMALL, "--learn", "weave@5 +- 0.05", "--json")
    said = json.loads(out)
    assert [one["name"] for one in said["asked"]] == ["weave@5 re", "weave@5 im"]
    assert {"steer_by_lean", "steer_stiffness", "steer_by_lean_rate", "steer_damping"} <= set(said["free"])
    assert 0.0 < said["plans"][0]["stds"]["weave@5 im"] < 0.1


def test_a_verdict_is_what_tells_two_models_apart(monkeypatch, capsys):
    """The nearer the longer; within what theory may have wrong, never, as the stopping rule of such runs says."""

    def time_wanted(damping):
        against = ("--learn", "verdict", "--against", f"steer_damping = {damping}")
        return json.loads(called(monkeypatch, capsys, *SMALL, *against, "--json")[1])["plans"][0]["time_wanted"]

    assert time_wanted(0.001) > time_wanted(0.002)
    assert time_wanted(0.0005) is None


def test_a_controller_that_no_kick_suits_is_said_to_be_left_out(monkeypatch, capsys):
    words = ("Silver", "--controllers", "lqr,off", "--speeds", "5", "--minutes", "1")
    said = "left out: nobody kicks an uncontrolled bicycle but a hand"
    assert said in called(monkeypatch, capsys, *words)[1]
    assert said not in called(monkeypatch, capsys, *words, "--kick-by", "both")[1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("Silver", "--learn", "magic"), "found 'magic'"),
        (("Silver", "--learn", "drive_gain +- much"), "found 'much' in 'drive_gain +- much'"),
        (("Silver", "--learn", ","), "wanted what is to be learnt, found nothing"),
        (("Silver", "--learn", "capsize@5"), "wanted an eigenvalue as weave@5"),
        (("Silver", "--learn", "verdict"), "a verdict wants another model to tell theory from, found none"),
        (("Silver", "--against", "drive_gain = 0.9"), "the other model would be ignored"),
        (("Silver", "--learn", "verdict", "--against", "drive_gain = 1"), "has the same drive_gain as theory"),
        (("Silver", "--learn", "verdict", "--against", "drive_gain"), "wanted --against as 'steer_damping = 0.3'"),
        (("Silver", "--minutes", "0"), "wanted minutes above 0 and at most 10000, found --minutes 0"),
        (("Silver", "--minutes", "0.1"), "one run takes 17 s, and there are 6 s"),
        (("Silver", "--speeds", "0:2:1"), "wanted speeds above 0 m/s, found 0"),
        (("Silver", "--kick-by", "foot"), "wanted a kick by drive, hand or both, found 'foot'"),
        (("Silver", "--kick-share", "2"), "wanted a share of the limits between 0 and 1, found --kick-share 2"),
        (("Silver", "--gyro-noise", "0"), "wanted numbers from 1e-06 to 1 rad/s with commas, found --gyro-noise 0"),
        (("Silver", "--controllers", "off"), "nothing can be measured so"),
        (("Silver", "--controllers", "magic"), "magic"),
        (("Nobody",), "Nobody"),
    ],
)
def test_bad_input_is_one_sentence(monkeypatch, capsys, words, sentence):
    code, out, err = called(monkeypatch, capsys, *words)
    assert code == 2
    assert sentence in " ".join(err.split())
    assert "Traceback" not in err + out
