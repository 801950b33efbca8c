"""`riderless calibrate` against emulated machines that are otherwise than their rig file says; real pseudo-terminals.

What it must find, on a computer that may be busy with other tests: gyro offsets to 0.5 mrad/s, the mounting to 0.3 deg,
the steer's zero to 1 mrad, the wheel's radius to 0.3 %, the torque of the drive to 5 %, friction to
0.04 N m. On a quiet computer the drive is found to 1 % and friction to 0.01 N m.
"""

import json
import math
import os
import signal
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from riderless.experiments import cli
from riderless.experiments.emulation import workstand
from riderless.hil.commissioning.sensor_calibration import rotation_angle
from riderless.hil.loop.states import State
from riderless.hil.loop.tick_record import TICK
from riderless.hil.rig.file import read_rig
from riderless.models.linear.whipple import totals
from riderless.models.plant.workstand import Bars
from tests.paths import DOCS

RIGS = DOCS / "rigs"
BUSY = 'reason = "other tests run on this computer"\n'
PATIENT = "".join(
    f"\n[limits.{name}]\nvalue = {value}\n{BUSY}"
    for name, value in {"stale": 0.2, "late": 200.0, "seldom": 0.5, "check_timeout": 30.0}.items()
)
SENSORS = "gyro,mounting,steer,wheel"


class Machine:
    """A rig file, and a machine that it does not quite describe."""

    def __init__(self, name, folder, monkeypatch, capsys):
        self.file = folder / "rig.toml"
        text = (RIGS / f"{name}.toml").read_text()
        text = text.replace("watchdog_s = 0.025", "watchdog_s = 0.2").replace("watchdog_s = 0.05", "watchdog_s = 0.2")
        self.file.write_text(text + PATIENT)
        self.rig = read_rig(self.file)
        self.truth, self.bars = self.rig.calibrated(), {}
        self.started = []
        self._set, self._capsys = monkeypatch.setattr, capsys
        self._start = workstand.start_by_hand
        monkeypatch.setattr(workstand, "start_by_hand", self.start)

    def is_really(self, bars, **truth):
        """What the machine is."""
        self.truth, self.bars = self.rig.calibrated(**truth), bars

    def start(self, rig, posture, rollout, fifo):
        """The same machine, whatever the rig file says by now."""
        inertia = totals(self.rig.bicycle).IAll
        bars = Bars(inertia=inertia, stop=1.1 * self.rig.limits.steer.value, **self.bars)
        self.started.append(self._start(self.rig, posture, bars, self.truth, rollout, fifo))
        return self.started[-1]

    def calibrate(self, *options):
        """Exit code, JSON and what was told on the way."""
        asked = ["calibrate", str(self.file), "--emulated", "--json", "--fifo", "20", *options]
        self._set(sys, "argv", ["riderless", *asked])
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        out, err = self._capsys.readouterr()
        return code, json.loads(out) if out else {}, err


@pytest.fixture
def machine(tmp_path, monkeypatch, capsys):
    return lambda name: Machine(name, tmp_path, monkeypatch, capsys)


def turned(*degrees):
    """A mounting turned about z, y and x."""
    return tuple(map(tuple, Rotation.from_euler("zyx", degrees, degrees=True).as_matrix()))


def require_drive(said, gain, friction):
    measured = {name: entry["value"] for name, entry in said["measured"].items()}
    assert measured["drive_gain"] == pytest.approx(gain, rel=0.05)
    assert measured["drive_friction"] == pytest.approx(friction, abs=0.04)


@pytest.mark.timeout(400)
@pytest.mark.realtime
def test_everything_that_is_otherwise_is_found_and_written(machine):
    node = machine("node")
    otherwise = {
        "mounting": turned(94.0, -3.0, 5.0),
        "gyro_offset": (0.02, -0.03, 0.01),
        "steer_offset": 0.15,
        "steer_sign": -1,
        "wheel_radius": 0.309,
        "wheel_sign": -1,
        "torque_sign": -1,
    }
    node.is_really({"gain": 0.9, "friction": 0.08, "damping": 0.06}, **otherwise)
    before = node.file.read_text()
    code, said, err = node.calibrate("--yes")
    assert code == 0, err
    assert said["written"]
    assert Path(said["kept"]).read_text() == before
    found, truth = read_rig(node.file).calibrated(), node.truth
    assert np.abs(np.subtract(found.gyro_offset, truth.gyro_offset)).max() < 5e-4
    assert rotation_angle(np.array(found.mounting) @ np.array(truth.mounting).T) < math.radians(0.3)
    assert found.steer_offset == pytest.approx(0.15, abs=1e-3)
    assert found.wheel_radius == pytest.approx(0.309, rel=3e-3)
    assert (found.steer_sign, found.wheel_sign, found.torque_sign) == (-1, -1, -1)
    assert said["measured"]["stop_right"]["value"] == pytest.approx(1.1 * 0.79, abs=5e-3)
    require_drive(said, 0.9, 0.08)
    assert "multiply its own torque constant" in said["findings"][-1]["finding"]
    assert set(before.splitlines()) <= set(node.file.read_text().splitlines()), "nothing that stood there is gone"


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.realtime
def test_a_machine_as_its_rig_says_changes_nothing(machine):
    vesc = machine("vectornav-vesc")
    before = sorted((path.name, path.read_text()) for path in vesc.file.parent.iterdir())
    code, said, err = vesc.calibrate("--yes", "--only", SENSORS)
    assert code == 0, err
    assert (said["changes"], said["written"]) == ([], False)
    assert sorted((path.name, path.read_text()) for path in vesc.file.parent.iterdir()) == before


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.realtime
@pytest.mark.parametrize("stiffness", [0.0, -0.6])
def test_a_torque_constant_is_corrected_once(machine, stiffness):
    """Also with bars that topple by their own weight."""
    vesc = machine("vectornav-vesc")
    vesc.is_really({"gain": 0.9, "stiffness": stiffness})
    assert vesc.rig.limits.torque.value == 7.0
    code, said, err = vesc.calibrate("--yes", "--only", "drive")
    assert code == 0, err
    require_drive(said, 0.9, 0.05)
    (port,) = (port for port in read_rig(vesc.file).ports if port.device == "vesc")
    assert port.settings["torque_constant_Nm_A"] == pytest.approx(0.9 * 0.35, rel=0.05)
    assert "gear_ratio = 1.0" in vesc.file.read_text()
    assert said["measured"]["drive_stiffness"]["value"] == pytest.approx(stiffness, abs=0.2)
    assert "lower limits.torque from 7 N m below it" in said["findings"][-1]["finding"]
    vesc.file.write_text(vesc.file.read_text().replace("value = 7.0 ", "value = 6.0 "))
    code, said, err = vesc.calibrate("--yes", "--only", "drive")
    assert code == 0, err
    assert said["measured"]["drive_gain"]["value"] == pytest.approx(1.0, abs=0.05)


@pytest.mark.timeout(200)
@pytest.mark.realtime
@pytest.mark.parametrize("moment", ["lean", "sweep"])
def test_an_interruption_leaves_the_file_alone_and_the_drive_off(machine, monkeypatch, moment):
    node = machine("node")
    node.is_really({}, gyro_offset=(0.02, 0.0, 0.0), torque_sign=-1)
    before = sorted((path.name, path.read_text()) for path in node.file.parent.iterdir())
    see = workstand.StandIn.see

    def ctrl_c(self, row):
        see(self, row)
        armed = int(row["state"]) == State.RUNNING
        if self._step is not None and self._step.name == moment and (armed or moment == "lean"):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(workstand.StandIn, "see", ctrl_c)
    code, said, err = node.calibrate("--yes", "--only", "drive" if moment == "sweep" else "gyro,mounting")
    assert code == 1, err
    assert said["stopped"] == "stopped by SIGINT"
    assert not said["written"]
    assert said["changes"], "something had been found"
    assert sorted((path.name, path.read_text()) for path in node.file.parent.iterdir()) == before
    report = node.started[-1].report
    assert (report.enabled, report.T) == (0.0, 0.0)


@pytest.mark.timeout(200)
@pytest.mark.realtime
def test_a_step_that_fails_ends_with_exit_code_1_and_no_drive(machine):
    node = machine("node")
    node.is_really({"friction": 6.0}, gyro_offset=(0.5, 0.0, 0.0))
    before = node.file.read_text()
    code, said, _ = node.calibrate("--only", "gyro,drive")
    assert code == 1
    assert [(entry["step"], entry["good"]) for entry in said["findings"]] == [("gyro", False)]
    assert "is the sensor broken?" in said["findings"][0]["finding"]
    assert node.file.read_text() == before


@pytest.mark.timeout(200)
@pytest.mark.realtime
@pytest.mark.parametrize("answer", [True, False])
def test_a_person_presses_enter_and_is_asked_before_writing(machine, monkeypatch, capsys, answer):
    node = machine("node")
    node.is_really({}, gyro_offset=(0.02, -0.03, 0.01))
    asked = at_the_keys(monkeypatch, ["", "x", "", "\n"], answer)
    before = node.file.read_text()
    with node.start(node.rig, workstand.StandIn().posture, math.inf, 20) as twin:
        monkeypatch.setattr(sys, "argv", ["riderless", "calibrate", str(node.file), "--port", twin.path])
        monkeypatch.setattr(sys, "argv", [*sys.argv, "--only", "gyro", "--fifo", "20"])
        with pytest.raises(SystemExit) as end:
            cli.main()
    assert end.value.code == 0
    out, err = capsys.readouterr()
    assert "touch nothing, then press Enter" in err
    assert "calibration.gyro_offset" in out
    assert asked == [f"write these values into {node.file}?"]
    assert (node.file.read_text() != before) == answer
    assert ("the old file is kept as" in out.replace("\n", " ")) == answer


@pytest.mark.timeout(200)
@pytest.mark.realtime
def test_any_key_stops_a_drive_that_is_on(machine, monkeypatch, capsys):
    node = machine("node")
    at_the_keys(monkeypatch, ["\n", *[""] * 30, "q"], True)
    before = node.file.read_text()
    with node.start(node.rig, workstand.StandIn().posture, math.inf, 20) as twin:
        monkeypatch.setattr(sys, "argv", ["riderless", "calibrate", str(node.file), "--port", twin.path])
        monkeypatch.setattr(sys, "argv", [*sys.argv, "--only", "drive", "--fifo", "20"])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert (twin.report.enabled, twin.report.T) == (0.0, 0.0)
    assert end.value.code == 1
    assert "stopped by a key" in capsys.readouterr().out
    assert node.file.read_text() == before


def at_the_keys(monkeypatch, pressed, answer):
    """A terminal at which these keys are pressed, one at each look, and a question answered; returns what was asked."""
    waiting, asked = iter(pressed), []

    @contextmanager
    def keys():
        yield lambda: next(waiting, "")

    def confirm(question, **_):
        asked.append(question)
        return answer

    monkeypatch.setattr("riderless.experiments.terminal.calibration.keys", keys)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", confirm)
    return asked


def test_a_dry_run_and_no_yes_write_nothing(machine, monkeypatch):
    """What is asked of the notes, without a machine."""
    from riderless.experiments.terminal.calibration import CalibrationBench

    def measure(self, notes, *_):
        notes.calibrate("steer_offset", 0.03, 1e-3, "rad")

    monkeypatch.setattr(CalibrationBench, "measure", measure)
    node = machine("node")
    monkeypatch.setattr(node, "_start", lambda *_: _Nobody())
    before = node.file.read_text()
    for options in (("--dry-run",), ()):
        code, said, err = node.calibrate(*options)
        assert code == 0, err
        assert said["changes"][0]["new"] == 0.03
        assert not said["written"]
        assert node.file.read_text() == before
    code, said, _ = node.calibrate("--yes")
    assert said["written"]
    assert "steer_offset = 0.03" in node.file.read_text()


def test_its_status_fits_eighty_columns_beside_the_spinner():
    from riderless.experiments.terminal.calibration import CalibrationBench

    row = np.zeros(1, TICK)[0]
    row["state"], row["phi_est"], row["delta_meas"], row["v_meas"], row["T_cmd"] = (
        State.RAMPDOWN,
        -0.5,
        -0.8,
        -1.0,
        -1.2,
    )
    with ExitStack() as stack:
        bench = CalibrationBench(None, stack)
        bench._watch(read_rig(DOCS / "rigs/node.toml"), row)
        assert len(f"⠋ {bench._status.status}") <= 80


class _Nobody:
    """A machine that is not asked for anything."""

    paths = ("nowhere",)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--only", ""), "--only knows gyro, mounting, steer, wheel, drive, found none of them"),
        (("--only", "gyro,brakes"), "--only knows gyro, mounting, steer, wheel, drive, found brakes"),
        (("--port", "/dev/nothing"), "give either --port or --emulated"),
        (("--rollout-m", "1"), "more than one turn, 1.9 m"),
        (("--added-inertia", "-1"), "must be zero or more, found -1 kg m^2"),
        (("--sweep-torque", "5"), "at most half the rig's limit of 7 N m"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(machine, options, sentence):
    node = machine("node")
    code, _, err = node.calibrate(*options)
    assert code == 2
    assert sentence in err
    assert err.count("\n") == 1
    assert not node.started


@pytest.mark.parametrize(
    ("only", "sentence"),
    [
        ("gyro,drive", "obeys a steer rate: measure the rest with --only gyro"),
        ("drive", "obeys a steer rate: it has no torque to calibrate"),
    ],
)
def test_the_sweep_of_a_torque_is_not_for_a_steer_drive(machine, only, sentence):
    node = machine("rate-drive")
    code, _, err = node.calibrate("--only", only)
    assert code == 2
    assert sentence in err
    assert not node.started


def test_a_real_roll_out_must_have_its_length(machine, monkeypatch, capsys):
    node = machine("node")
    monkeypatch.setattr(sys, "argv", ["riderless", "calibrate", str(node.file)])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 2
    assert "the wheel needs --rollout-m" in capsys.readouterr().err
