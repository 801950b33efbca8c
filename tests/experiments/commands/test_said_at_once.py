"""What cannot come true is said at once, in one sentence, before anything is started, simulated or written."""

import pytest

from tests.experiments.commands.test_cli import riderless  # noqa: F401
from tests.paths import DOCS

SHORT = ("--duration", "4")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["simulate", "Silver", *SHORT, "--kick", "12,4"], "a kick at 12 s comes after the end of the run, 4 s"),
        (["simulate", "Silver", *SHORT, "--kick", "3.95,4"], "a kick at 3.95 s comes after the end"),
        (["simulate", "Silver", *SHORT, "--knock", "9,1"], "a knock at 9 s comes after the end of the run, 4 s"),
        (["simulate", "Silver", *SHORT, "--kick", "-1,4"], "a kick must begin at 0 s"),
        (["simulate", "Silver", *SHORT, "--kick", "1,500"], "--kick must be at most 200 N s"),
        (["simulate", "Silver", *SHORT, "--knock", "1,100"], "--knock must be at most 20 N m s"),
        (["simulate", "Silver", *SHORT, "--wind", "1e9"], "--wind must be at most 500 N"),
        (["simulate", "Silver", *SHORT, "--gusts", "nan"], "--gusts must be at most 500 N"),
        (["simulate", "Silver", *SHORT, "--offset-mm", "1e6"], "--offset-mm must be at most 200 mm"),
        (["simulate", "Silver", "--duration", "0"], "--duration must be above 0"),
        (["simulate", "Silver", "--duration", "-4"], "--duration must be above 0"),
        (["simulate", "Silver", "--duration", "nan"], "--duration must be above 0"),
        (["simulate", "Silver", "--duration", "1e9"], "below 86400 s"),
        (["simulate", "Silver", "--x0", "50,0,0,0"], "a lean within 45 deg and a steer within 60 deg, found 50 and 0"),
        (["simulate", "Silver", "--x0", "40,0,0,0"], "a lean of 40 deg, beyond the rig's limit of 30 deg"),
        (["simulate", "Silver", "--x0", "0,50,0,0"], "a steer of 50 deg, beyond the rig's limit of 45 deg"),
        (["simulate", "Silver", "--speed", "12"], "at 12 m/s the bicycle cannot be armed"),
        (["simulate", "Silver", "--speed", "4,0.1"], "at 0.1 m/s the bicycle cannot be armed"),
        (["simulate", "Silver", "--seed", "-1"], "is not in the range"),
        (["run", "--emulated", "--speed", "50"], "at 50 m/s the bicycle cannot be armed"),
        (["run", "--emulated", "--speed", "-5"], "at -5 m/s the bicycle cannot be armed"),
        (["run", "--emulated", "--speed", "nan"], "at nan m/s the bicycle cannot be armed"),
        (["run", "--emulated", "--duration", "0.3"], "ends before the emulated bicycle is let go, 0.5 s"),
        (["run", "--emulated", "--duration", "0"], "--duration must be above 0"),
        (["run", "--emulated", "--seed", "-1"], "is not in the range"),
        (["run", "--emulated", "--cpu", "99999"], "there is no CPU 99999"),
        (["run", "--emulated", "--model", "x"], "no model is called 'x'"),
        (["emulate", "Silver", "--seed", "-1"], "is not in the range"),
        (["emulate", "Silver", "--speed", "60"], "from 0 to 50 m/s"),
        (["campaign", "--lockstep", "--seed", "-1"], "is not in the range"),
        (["campaign", "--lockstep", "--resume", "--new"], "give one of them"),
        (["modes", "Silver", "--speed", "1e9"], "beyond 200 m/s"),
        (["turns", "Silver", "--speed", "1e9", "--radius", "5"], "beyond 200 m/s"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options_that_cannot_come_true(riderless, tmp_path, monkeypatch, arguments, told):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    code, out, err = riderless(*arguments)
    assert code == 2, out + err
    assert told in " ".join(err.replace("│", " ").split())
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == [], "nothing was begun"


@pytest.fixture
def gains(riderless, tmp_path):  # noqa: F811
    file = tmp_path / "gains.toml"
    assert riderless("design", "Silver", "--speeds", "4:6:1", "-o", file)[0] == 0
    return file


@pytest.mark.parametrize("command", [["simulate", "Silver"], ["run", "--emulated", "--bicycle", "Silver"]])
def test_speeds_beyond_the_gains(riderless, gains, command):  # noqa: F811
    code, _, err = riderless(*command, "--controller", gains, "--speed", "8")
    assert code == 2
    assert "the gains are of 4 to 6 m/s, found a speed of 8 m/s" in err


def test_a_method_is_designed_for_the_speed_that_is_asked_for(riderless, tmp_path):  # noqa: F811
    code, *_ = riderless(
        "simulate", "Silver", "--controller", "lqr", "--speed", "9.8", "--duration", "1", "-o", tmp_path / "run"
    )
    assert code == 0


def test_a_rig_that_wants_a_latency_test_is_refused_before_a_bicycle_is_started(riderless, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    text = (DOCS / "rigs/node.toml").read_text(encoding="utf-8")
    file = tmp_path / "rig.toml"
    file.write_text(text.replace("latency_test_days = 0 ", "latency_test_days = 7 "), encoding="utf-8")
    code, _, err = riderless("run", file, "--emulated", "-o", tmp_path / "runs")
    assert code == 2
    assert "run `riderless latency RIG`" in err
    assert "starting" not in err


def test_the_usual_campaign_on_a_rig_that_is_too_slow_for_it(riderless, tmp_path):  # noqa: F811
    text = (DOCS / "rigs/node.toml").read_text(encoding="utf-8")
    file = tmp_path / "rig.toml"
    file.write_text(text.replace("value = 10.0 ", "value = 6.0 "), encoding="utf-8")
    code, _, err = riderless("campaign", file, "--emulated", "-o", tmp_path / "runs")
    assert code == 2
    assert "speed_max of 6 m/s" in err
    assert not (tmp_path / "runs").exists()
