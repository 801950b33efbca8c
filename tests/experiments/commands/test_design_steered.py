"""`riderless design --drive`: gains that command a steer rate or angle, what the table tells, and what is refused."""

import json

import numpy as np
import pytest

from riderless.experiments.reports.loop import gain_figure
from riderless.hil.design.methods import design
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.design.steered.peaks import HAND_KICK, KICK_LASTS, kick_peaks
from riderless.hil.logs.log import read_run
from riderless.models import load_bicycle
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.plant.plant import Instruments, Plant, Scenario, SteerDrive
from tests.experiments.commands.test_cli import riderless  # noqa: F401
from tests.paths import ROOT

CAMPAIGN = """
name = "steered"
rig = "emulated"
bicycles = ["Benchmark"]
seed = 1
time = "lockstep"

[[controller]]
name = "angle"
gains = "gains.toml"
allow_mismatch = true

[[protocol]]
kind = "treadmill"
speeds_m_s = [4.5]
repeats = 1
kicks = 1
"""


def test_the_gains_are_written_with_their_kind_and_what_they_ask_of_the_drive_is_told(riderless, tmp_path):  # noqa: F811
    path = tmp_path / "gains.toml"
    line = (
        "design",
        "Silver",
        "--drive",
        "rate",
        "--method",
        "cascade",
        "--damping",
        "1",
        "--speeds",
        "3,5",
        "-o",
        path,
    )
    code, out, _ = riderless(*line)
    assert code == 0
    assert "steer rate in rad/s: gains K of delta_dot = -K z" in out
    assert "with a lag of 40 ms" in out
    assert "where it has less, its steer does not follow" in out
    assert "off by %" in out
    schedule = GainSchedule.from_toml(path)
    assert schedule.drive == InnerLoop(kind="rate", bandwidth=50.0, damping=1.0)
    told = json.loads(riderless(*line[:-2], "--json")[1])
    assert told["drive"] == {"kind": "rate", "bandwidth": 50.0, "damping": 1.0}
    assert [row["K"] for row in told["rows"]] == schedule.K.tolist()
    for row in told["rows"]:
        assert row["slowest"][0] < -1.0
        assert row["slowest_stiff"][0] == pytest.approx(row["slowest"][0], rel=0.02)


@pytest.mark.parametrize("kind", ["rate", "angle"])
def test_the_peaks_are_those_of_the_emulated_machine(riderless, tmp_path, kind):  # noqa: F811
    """Linear plant, kicked by a lean rate in as many small steps."""
    path = tmp_path / "gains.toml"
    assert riderless("design", "Rigid", "--drive", kind, "--speeds", "4", "--damping", "1", "-o", path)[0] == 0
    schedule = GainSchedule.from_toml(path)
    drive = SteerDrive(lag=0.0, torque_max=1e3, inner_loop=schedule.drive)
    plant = Plant(schedule.bicycle, Scenario(speed=((0.0, 4.0),), held=False), drive, Instruments())
    n, u, seen = round(KICK_LASTS / 0.005), 0.0, []
    share = np.sin(np.pi * (np.arange(n) + 0.5) / n)
    for k in range(300):
        plant.s["x"][0, 2] += HAND_KICK * share[k] / share.sum() if k < n else 0.0
        wanted = -float(schedule.K[0] @ [*plant.state, 0.0, u])
        plant.advance(u, True, 1e-5)  # the torque just after the command before
        seen.append([plant.state[1], plant.state[3], plant.T])
        plant.advance(u, True, 0.005 - 1e-5)
        u = wanted
    np.testing.assert_allclose(kick_peaks(schedule, 4.0), np.abs(seen).max(axis=0), rtol=0.15)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--drive", "speed"), "--drive is torque, rate or angle, found 'speed'"),
        (("--bandwidth", "30"), "--bandwidth would be ignored: a torque drive has --drive-lag"),
        (("--drive", "rate", "--drive-lag", "0.01"), "--drive-lag would be ignored: a drive of kind rate has"),
        (("--drive", "angle", "--plot", "x.png"), "--plot would be ignored: the figure draws gains of a torque"),
        (("--drive", "rate", "--bandwidth", "0.1"), "from 1 to 1000 rad/s, found 0.1 rad/s"),
        (("--drive", "rate", "--method", "poles"), "must be one of lqr, cascade, lane, or with states"),
    ],
)
def test_what_does_not_go_together_is_refused(riderless, options, sentence):  # noqa: F811
    code, _, err = riderless("design", "Silver", "--speeds", "4", *options)
    assert code == 2
    assert sentence in " ".join(err.split())


def test_gains_for_measuring_count_a_tenth_of_the_usual_command_as_large(riderless, tmp_path):  # noqa: F811
    told = ("design", "Benchmark", "--drive", "rate", "--method", "cascade", "--speeds", "4")
    assert riderless(*told, "--for", "measuring", "-o", tmp_path / "gentle.toml")[0] == 0
    assert riderless(*told, "--set", "command=0.05", "-o", tmp_path / "set.toml")[0] == 0
    assert (tmp_path / "gentle.toml").read_text() == (tmp_path / "set.toml").read_text()


def test_simulated_machine_flies_them_and_one_with_a_torque_drive_does_not(riderless, tmp_path):  # noqa: F811
    path = tmp_path / "gains.toml"
    assert riderless("design", "Benchmark", "--drive", "angle", "--speeds", "4,5", "-o", path)[0] == 0
    fly = ("simulate", "Benchmark", "--speed", "4", "--controller", path, "--duration", "1", "-o", tmp_path / "run")
    assert riderless(*fly)[0] == 0
    assert read_run(tmp_path / "run").header.rig.drive_kind == "angle"
    assert riderless("replay", tmp_path / "run")[0] == 0
    line = (
        "run",
        ROOT / "docs/rigs/node.toml",
        "--emulated",
        "--controller",
        path,
        "--duration",
        "1",
        "--allow-mismatch",
    )
    code, _, err = riderless(*line)
    assert code == 2
    assert "the gains command a steer angle [rad] but the drive obeys a torque [N m]" in " ".join(err.split())
    campaign = tmp_path / "campaign.toml"
    campaign.write_text(CAMPAIGN)
    code, _, err = riderless("campaign", campaign)
    assert code == 2
    assert "the gains command a steer angle [rad] but the drive obeys a torque [N m]" in " ".join(err.split())


@pytest.mark.parametrize(
    ("kind", "on_angle", "on_rate"), [("rate", "1/s", "1"), ("angle", "1", "s")]
)  # rad/s or rad for each rad, and for each rad/s
def test_a_report_gives_gains_in_the_unit_of_their_command(kind, on_angle, on_rate):
    drive = InnerLoop(kind=kind, bandwidth=50.0, damping=1.0)
    schedule = design(load_bicycle("Silver"), "lqr", (4.0, 5.0), drive=drive)
    titles = [ax.get_title(loc="left") for ax in gain_figure([schedule]).axes]
    assert titles == [f"gain on {name}  [{unit}]" for name, unit in zip("φδ", [on_angle] * 2, strict=True)] + [
        f"gain on {name}  [{on_rate}]" for name in ("φ̇", "δ̇")
    ]
