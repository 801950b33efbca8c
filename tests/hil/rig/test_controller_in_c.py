"""A controller in C: the bits of the compiled tick, a bound for single precision, and what is refused."""

import hashlib
import json
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import riderless as rl
from riderless.experiments.cli import app
from riderless.hil.controllers.lti import LTIController
from riderless.hil.design.compensators.methods import design_compensator
from riderless.hil.loop.states import State
from riderless.hil.rig.controller_in_c import HEADER_FILE, NODE_FILE, SOURCE_FILE, controller_in_c
from riderless.hil.rig.fitting import emulated_rig
from riderless.hil.rig.rig import Rig
from riderless.models.errors import InputError
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.plant.plant import Kick, Scenario
from tests.hil.control_laws import cascade, lane_cascade
from tests.hil.rig.c_rides import KNOWN, STRICT, compiled, entered, random_rows, ridden, through_the_tick

SILVER, SPEEDS = rl.load_bicycle("Silver"), (3.0, 4.0, 5.0, 6.0)
BENCHMARK = rl.load_bicycle("Benchmark")
TIMING = rl.LoopTiming
ESTIMATES = ("phi", "delta", "phi_dot", "delta_dot", "v", "T", "gyro_bias", "yaw_bias")
SINGLE_RIDDEN = 1e-5  # N m, rad/s or rad: 2.6 times what single precision was off in these rides
SINGLE_WORST = 2e-5  # of the greatest wish: 2.8 times what it was off under any input


def steered(kind, damping):
    drive = InnerLoop(kind=kind, bandwidth=60.0, damping=damping)
    return rl.design(SILVER, "lqr", SPEEDS, TIMING(delay=0.6), drive=drive)


def without_states():
    D = np.array([[-20.0, 3.0, -4.0], [-15.0, 3.0, -3.0]])
    empty = {"A": np.zeros((2, 0, 0)), "B": np.zeros((2, 0, 3)), "C": np.zeros((2, 0)), "D": D}
    inputs = ("phi", "delta_meas", "phi_dot_meas")
    return LTIController(method="D", bicycle=SILVER, loop=TIMING(), v=np.array([4.0, 6.0]), inputs=inputs, **empty)


CONTROLLERS = {
    "gains": lambda: rl.design(SILVER, "lqr", SPEEDS),
    "poles of another bicycle": lambda: rl.design(BENCHMARK, "poles", np.arange(4.0, 8.0, 0.5), zeta=0.3),
    "one speed, obeyed at once": lambda: rl.design(SILVER, "lqr", (5.0,), TIMING(rate=100.0, delay=0.3, drive_lag=0.0)),
    "lane": lambda: rl.design(SILVER, "lane", SPEEDS),
    "steer rate": lambda: steered("rate", None),
    "steer angle": lambda: steered("angle", 0.8),
    "lqg": lambda: design_compensator(SILVER, "lqg", SPEEDS),
    "integrator that waits": lambda: design_compensator(SILVER, "yaw_rate", SPEEDS),
    "cascade": lambda: cascade(SILVER, [3.0, 5.0, 7.0], TIMING()),
    "lane cascade": lambda: lane_cascade(SILVER, [3.0, 4.0, 5.0, 6.0, 7.0], TIMING()),
    "no state": without_states,
}
RIDES = (
    "gains",
    "poles of another bicycle",
    "one speed, obeyed at once",
    "steer rate",
    "steer angle",
    "lqg",
    "cascade",
    "lane",
    "lane cascade",
)
pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")


def assert_same_bits(found, wanted, what):
    differ = np.flatnonzero(found.view(np.int64) != wanted.view(np.int64))
    assert differ.size == 0, f"{what} from row {differ[0]} on: {found[differ[0]]!r}, not {wanted[differ[0]]!r}"


@pytest.mark.parametrize("name", CONTROLLERS)
def test_it_has_the_bits_of_the_tick_whatever_comes(name, tmp_path):
    controller = CONTROLLERS[name]()
    rig, rows = emulated_rig(controller.bicycle, controller), random_rows(12_000, len(name))
    wanted = through_the_tick(controller, rig, rows)
    found = ridden(compiled(tmp_path, controller, rig), rows)
    for column in KNOWN.names:
        assert_same_bits(found[column], wanted[column], column)
    assert np.ptp(found["wish"]) > 1.0
    assert found["v"].min() < controller.v[0]
    assert found["v"].max() > controller.v[-1]
    single = ridden(compiled(tmp_path, controller, rig, "-DRIDERLESS_SINGLE"), rows)
    assert np.abs(single["wish"] - found["wish"]).max() < SINGLE_WORST * np.abs(found["wish"]).max()


@pytest.mark.parametrize("name", RIDES)
def test_it_has_the_bits_of_a_ride_slower_and_faster_than_its_speeds(name, tmp_path):
    controller = CONTROLLERS[name]()
    slow, fast = controller.v[0] - 0.2, controller.v[-1] + 0.3
    speed, kicks = ((0.0, slow), (3.0, slow), (12.0, fast)), (Kick(2.0, 3.0), Kick(9.0, -3.0))
    run = rl.simulate(
        controller.bicycle, controller, scenario=Scenario(speed=speed, kicks=kicks, seed=4), duration=14.0
    )
    rig, ticks = run.header.rig, run.ticks
    assert run.stop.reason == "success"
    assert {*ticks["state"]} >= {State.CHECK, State.ARMED, State.RUNNING, State.RAMPDOWN}
    rows = entered(ticks)
    assert "y_P" not in controller.inputs or min(np.ptp(rows["y_P"]), np.ptp(rows["psi"])) > 0.02, "it left its lane"
    found = ridden(compiled(tmp_path, controller, rig), rows)
    for column in ESTIMATES:
        assert_same_bits(found[column], ticks[f"{column}_est"], column)
    assert_same_bits(found["wish"], ticks["T_req"], "wish")
    single = ridden(compiled(tmp_path, controller, rig, "-DRIDERLESS_SINGLE"), rows)
    assert np.abs(single["wish"] - found["wish"]).max() < SINGLE_RIDDEN


def test_a_state_that_is_no_number_is_told_and_forgotten(tmp_path):
    """An input that is none makes a wish that is none, until the machine is disarmed."""
    controller = CONTROLLERS["integrator that waits"]()
    rig, rows = emulated_rig(SILVER, controller), random_rows(1000, 1)
    rows["psi_dot_ref"][100:110] = np.inf
    rows["mode"][:600] = 2
    rows["mode"][600:] = 0
    wanted = through_the_tick(controller, rig, rows)
    found = ridden(compiled(tmp_path, controller, rig), rows)
    assert np.isnan(found["wish"][300])
    assert np.isfinite(found["wish"][700:]).all()
    np.testing.assert_array_equal(found["wish"], wanted["wish"])


@pytest.mark.parametrize("flags", ["-O0", "-Os", "-O3", "-DRIDERLESS_SINGLE"])
@pytest.mark.parametrize("name", ["gains", "lqg", "steer angle"])
def test_it_wants_no_more_of_a_library_than_exp(flags, name, tmp_path):
    controller = CONTROLLERS[name]()
    for file, text in controller_in_c(controller, emulated_rig(SILVER, controller)).items():
        (tmp_path / file).write_text(text)
    command = ["gcc", *STRICT, "-Wmissing-prototypes", "-Wdouble-promotion", flags, "-fno-stack-protector"]
    subprocess.run([*command, "-c", tmp_path / SOURCE_FILE, "-o", tmp_path / "c.o"], check=True)
    undefined = subprocess.run(
        ["nm", "-u", tmp_path / "c.o"], check=True, capture_output=True, text=True
    ).stdout.split()
    assert {*undefined} <= {"U", "exp", "expf", "_GLOBAL_OFFSET_TABLE_"}


@pytest.mark.parametrize("flags", [("-O0",), ("-O3",)])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_bits_are_those_of_the_language(compiler, flags, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    controller, rows = CONTROLLERS["lqg"](), random_rows(5000, 3)
    rig = emulated_rig(SILVER, controller)
    found = ridden(compiled(tmp_path, controller, rig, *flags, compiler=compiler), rows)
    assert_same_bits(found["wish"], through_the_tick(controller, rig, rows)["wish"], "wish")


def test_its_head_says_what_it_is():
    gains = CONTROLLERS["gains"]()
    head = controller_in_c(gains, Rig(SILVER, name="lab"))[HEADER_FILE].split("*/")[0]
    for words in (
        "bicycle Silver",
        "rig      lab",
        "law      lqr, made for 3.0 to 6.0 m/s",
        "200 Hz, delay 1 sample",
        "-ffp-contract=off",
    ):
        assert words in head
    assert hashlib.sha256(gains.to_toml().encode()).hexdigest() in head


def test_no_name_ends_the_comment():
    gains = CONTROLLERS["gains"]()
    bicycle = replace(SILVER, name="*/ int x; /* \\\n#error // ??/")
    text = controller_in_c(replace(gains, bicycle=bicycle), Rig(bicycle, name="/* a"))[HEADER_FILE]
    assert text.split("*/")[0].count("/*") == 1
    assert "\n#error" not in text


@pytest.mark.parametrize(
    ("rig", "why"),
    [
        (Rig(SILVER, rate=100.0), "designed for 200 Hz but the rig runs at 100 Hz"),
        (Rig(BENCHMARK), "designed for Silver, not for Benchmark"),
        (Rig(SILVER, drive_lag=0.02), "drive lag"),
        (Rig(SILVER, certificate="no.npz"), "no.npz"),
        (Rig(SILVER, drive=InnerLoop(kind="rate", bandwidth=60.0)), "command a steer torque"),
    ],
)
def test_another_rig_is_refused(rig, why):
    with pytest.raises(InputError, match=why):
        controller_in_c(CONTROLLERS["gains"](), rig)


def test_a_law_in_python_is_refused(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from riderless.firmware_interface.kernels import njit\n"
        "LAW = {'inputs': ['phi'], 'speeds': [4.0, 6.0]}\n"
        "@njit\ndef step(settings, state, signals, reference, out):\n    out.T_req = -20.0 * signals.phi\n"
    )
    law = rl.read_law(tmp_path / "mine.py", SILVER, TIMING())
    with pytest.raises(InputError, match="mine, which is neither"):
        controller_in_c(law, Rig(SILVER))


def test_the_command_writes_its_files_and_keeps_what_is_there(tmp_path):
    gains = tmp_path / "gains.toml"
    gains.write_text(CONTROLLERS["gains"]().to_toml())
    answer = CliRunner().invoke(app, ["export", str(gains), "--to", "c", "--json"])
    assert json.loads(answer.stdout)["files"] == [
        str(tmp_path / "gains_c" / name) for name in (HEADER_FILE, SOURCE_FILE, NODE_FILE)
    ]
    written = {path.name: path.read_text() for path in (tmp_path / "gains_c").iterdir()}
    assert written == controller_in_c(rl.GainSchedule.from_toml(gains), Rig(SILVER))
    for more, why in (
        ((), "something else is there"),
        (("--force", "--law-states"), "--law-states would be ignored"),
        (("--rig", str(tmp_path / "none.toml")), "none.toml"),
    ):
        refused = CliRunner().invoke(app, ["export", str(gains), "--to", "c", *more])
        assert why in str(refused.exception)
    refused = CliRunner().invoke(app, ["export", str(tmp_path), "--rig", "rig.toml"])
    assert "--rig would be ignored" in str(refused.exception)
