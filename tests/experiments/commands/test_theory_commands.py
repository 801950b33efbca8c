"""`riderless modes`, `riderless turns` and `riderless eig --plot` as a person meets them."""

import json
import sys

import numpy as np
import pytest

from riderless.experiments import cli
from riderless.models import catalogue
from riderless.models.linear.modes import critical_speeds

FORMATS = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}


@pytest.fixture
def riderless(capsys, monkeypatch):
    """Run `riderless ARGUMENTS` in this process: exit code, standard output, standard error."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["riderless", *map(str, arguments)])
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code or 0
        return code, *capsys.readouterr()

    return call


@pytest.mark.parametrize("command", ["modes", "turns"])
def test_help_names_json_and_plot(riderless, command):
    code, out, _ = riderless(command, "--help")
    assert code == 0
    assert "--json" in out
    assert "--plot" in out


def test_modes_in_json(riderless):
    code, out, _ = riderless("modes", "Benchmark", "--speed", 5, "--json")
    assert code == 0
    data = json.loads(out)
    assert data["bike"] == "Benchmark"
    assert data["v"] == 5.0
    weave, capsize, caster = data["modes"]
    assert (weave["name"], capsize["name"], caster["name"]) == ("weave", "capsize", "caster")
    # Meijaard et al. (2007), Table 2; Moore (2012): lean ahead of steer by "about 10 degrees"
    assert weave["eigenvalue"] == pytest.approx([-0.77534188219585, 4.46486771378823], abs=1e-12)
    assert np.degrees(weave["lean_lead"]) == pytest.approx(10.0, abs=0.5)
    assert weave["steer_over_lean"] == pytest.approx(abs(complex(*weave["steer"]) / complex(*weave["lean"])), rel=1e-12)


def test_modes_in_a_table(riderless):
    code, out, _ = riderless("modes", "Benchmark", "--speed", 3)
    assert code == 0
    assert "1.357" in out
    assert "49.7" in out
    assert "same side" in out


def test_a_turn_from_speed_and_radius_in_json(riderless):
    code, out, _ = riderless("turns", "Benchmark", "--speed", 4, "--radius", -3, "--json")
    assert code == 0
    turn = json.loads(out)["turn"]
    assert turn["v"] == pytest.approx(4.0, rel=1e-12)
    assert turn["radius"] == pytest.approx(-3.0, rel=1e-12)
    assert turn["phi"] < 0.0
    assert turn["delta"] < 0.0
    assert len(turn["eigenvalues"]) == 4
    assert turn["stable"] == all(re < 0.0 for re, _ in turn["eigenvalues"])


def test_a_turn_from_angles_in_a_table(riderless):
    code, out, _ = riderless("turns", "Benchmark", "--lean", 20, "--steer", 8)
    assert code == 0
    assert "to the right" in out
    assert "20.0000" in out


def test_hands_free_families_in_json(riderless):
    code, out, _ = riderless("turns", "Benchmark", "--hands-free", "--json")
    assert code == 0
    families = json.loads(out)["families"]
    assert [f["start"] for f in families] == ["straight", "reversed", "lying down"]
    first = families[0]["turns"][0]
    assert first["v"] == pytest.approx(critical_speeds(catalogue.load_bicycle("Benchmark")).capsize, abs=1e-4)
    assert first["T_delta"] == 0.0


def test_hands_free_families_in_tables(riderless):
    code, out, _ = riderless("turns", "Benchmark", "--hands-free")
    assert code == 0
    assert out.count("hands free, from") == 3


DRAWINGS = {
    "eig": ["eig", "Benchmark", "--speeds", "0:10:1"],
    "modes": ["modes", "Benchmark", "--speed", "3"],
    "one turn": ["turns", "Benchmark", "--lean", "-20", "--steer", "-8"],
    "families": ["turns", "Benchmark", "--hands-free"],
}


@pytest.mark.parametrize("drawing", ["eig", "modes", "one turn"])
def test_the_path_of_a_drawing_stays_whole_on_a_narrow_screen(riderless, tmp_path, monkeypatch, drawing):
    from riderless.experiments.terminal.console import screen

    monkeypatch.setattr(screen, "width", 60)
    file = tmp_path / "a figure whose name has words and is long.svg"
    code, out, err = riderless(*DRAWINGS[drawing], "--plot", file)
    assert code == 0, err
    assert f"figure written to {file}\n" in out


@pytest.mark.parametrize("drawing", DRAWINGS)
def test_every_drawing_is_written(riderless, tmp_path, drawing):
    code, out, err = riderless(*DRAWINGS[drawing], "--plot", tmp_path / "figure.svg", "--json")
    assert code == 0, err
    assert json.loads(out)["path"] == str(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_bytes().startswith(FORMATS["svg"])


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_is_written_and_named(riderless, tmp_path, suffix):
    path = tmp_path / f"modes.{suffix}"
    code, out, _ = riderless("modes", "Pista", "--speed", 1, "--plot", path)
    assert code == 0
    assert path.name in out.replace("\n", "")
    assert path.read_bytes().startswith(FORMATS[suffix])


def test_the_same_drawing_is_the_same_file(riderless, tmp_path):
    for name in ("a.svg", "b.svg"):
        assert riderless("eig", "Silver", "--plot", tmp_path / name)[0] == 0
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_the_drawing_of_eigenvalues_names_modes_and_critical_speeds(riderless, tmp_path):
    riderless("eig", "Benchmark", "--plot", tmp_path / "eig.svg")
    drawn = (tmp_path / "eig.svg").read_text()
    # Meijaard et al. (2007), p. 1970: double root 0.684, weave 4.292, capsize 6.024 m/s
    for words in ("double root 0.68", "weave 4.29", "capsize 6.02", ">caster<"):
        assert words in drawn


def test_speeds_without_stability_or_critical_speeds_are_drawn_too(riderless, tmp_path):
    for bike in ("TwoMassSkateTheory", "Gyro_computed"):
        assert riderless("eig", bike, "--speeds", "0.1:0.5:0.1", "--plot", tmp_path / f"{bike}.png")[0] == 0


BAD_INPUTS = {
    "no way to ask": (["turns", "Benchmark"], "three ways"),
    "half a way": (["turns", "Benchmark", "--lean", "10"], "--lean"),
    "two ways": (["turns", "Benchmark", "--hands-free", "--speed", "4", "--radius", "5"], "--hands-free"),
    "a way and a half": (["turns", "Benchmark", "--lean", "5", "--steer", "2", "--speed", "4"], "--speed"),
    "no such turn": (["turns", "Benchmark", "--lean", "10", "--steer", "-5"], "same side"),
    "too tight": (["turns", "Pista", "--speed", "20", "--radius", "1"], "smallest"),
    "standing": (["turns", "Benchmark", "--speed", "0", "--radius", "3"], "m/s"),
    "unknown bike": (["turns", "Benchmrk", "--hands-free"], "Benchmark"),
    "no format": (["modes", "Benchmark", "--plot", "weave.gif"], ".svg"),
    "no format of eig": (["eig", "Benchmark", "--plot", "weave"], ".svg"),
    "one speed": (["eig", "Benchmark", "--speeds", "5", "--plot", "eig.svg"], "two speeds"),
    "no such folder": (["modes", "Benchmark", "--plot", "no/such/folder/weave.svg"], "folder"),
}


@pytest.mark.parametrize("case", BAD_INPUTS)
def test_bad_input_is_one_sentence_and_code_two(riderless, tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    arguments, named = BAD_INPUTS[case]
    code, out, err = riderless(*arguments)
    assert code == 2, err
    assert "Traceback" not in err + out
    lines = [line for line in err.splitlines() if line.startswith("riderless: ")]
    assert len(lines) == 1, err
    assert named in lines[0]
    assert not list(tmp_path.iterdir())
