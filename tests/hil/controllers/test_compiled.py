"""Laws in Python: what may not fly, how one is linearised, that a log brings none. The laws are those of the docs."""

import math
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

import riderless as rl
from riderless.hil.controllers.compiled import CompiledController, read_law
from riderless.hil.controllers.controller import NotLinearError
from riderless.hil.controllers.law_checks import require_sound
from riderless.hil.controllers.law_file import _named, name_law
from riderless.hil.controllers.lti import LTIController
from riderless.hil.controllers.registry import controller_from_text, read_controller
from riderless.hil.design.closed_loop import SampledLoop
from riderless.hil.loop.limits import Limits
from riderless.hil.loop.states import State
from riderless.hil.rig.fitting import emulated_rig, require_fitting, with_emulated_place
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.stable import require_stable
from riderless.models.errors import InputError
from riderless.models.plant.plant import Kick
from tests.paths import DOCS

SILVER = rl.load_bicycle("Silver")
RIG = Rig(SILVER)
SMOOTH, SLIDING = re.findall(r"```python\n(.*?)```", (DOCS / "controllers.md").read_text(encoding="utf-8"), re.S)
K = {"phi": 8.0, "delta": -6.0, "phi_dot": 0.2, "delta_dot": -0.3}  # of the file in the docs, by hand
POLE = 0.5
HEAD = """
import math
import numpy as np
from numba import njit
LAW = {"inputs": ["phi", "phi_dot"], "states": ["x"], "settings": [2.0], "speeds": [4.0, 7.0]}
@njit
def step(settings, state, signals, reference, out):
"""


def law_of(tmp_path, text, name="my_law.py"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_law(path, SILVER, RIG.timing)


def body(*lines):
    return HEAD + "".join(f"    {line}\n" for line in lines)


@pytest.fixture(scope="module")
def smooth(tmp_path_factory):
    return law_of(tmp_path_factory.mktemp("law"), SMOOTH)


@pytest.fixture(scope="module")
def ride(smooth):
    return rl.simulate(SILVER, smooth, speed=5.0, duration=4.0, kicks=[Kick(0.5, 3.0)], model="linear")


@pytest.fixture
def nobody_named():
    """As in a process of its own: no person has named a file yet."""
    before = dict(_named)
    _named.clear()
    yield
    _named.clear()
    _named.update(before)


def by_hand():
    """The law of the docs as matrices: x' = pole x + (1 - pole) delta_dot, T = K z with x' for the steer rate."""
    rest = (1.0 - POLE) * np.array([[0.0, 0.0, 0.0, 1.0]])
    C = np.array([K["delta_dot"] * POLE])
    D = np.array([K["phi"], K["delta"], K["phi_dot"], K["delta_dot"] * (1.0 - POLE)])
    return np.array([[POLE]]), rest, C, D


def test_the_law_of_the_docs_is_linearised_as_by_hand(smooth):
    law = smooth.linearised(5.0)
    assert law.inputs == ("phi", "delta", "phi_dot", "delta_dot")
    for found, wanted in zip(law[1:], by_hand(), strict=True):
        assert_allclose(found, wanted, atol=2e-5)


def test_its_eigenvalues_are_those_of_the_same_law_as_matrices(smooth):
    A, B, C, D = (np.array([each, each]) for each in by_hand())
    same = LTIController(
        method="same",
        bicycle=SILVER,
        loop=RIG.timing,
        v=np.array([4.0, 7.0]),
        A=A,
        B=B,
        C=C,
        D=D,
        inputs=("phi", "delta", "phi_dot", "delta_dot"),
    )
    one, other = (SampledLoop.of_rig(RIG, each).eigenvalues(5.3) for each in (smooth, same))
    assert_allclose(one[:8], other[:8], rtol=1e-3, atol=1e-3)


def test_the_law_of_the_docs_may_fly_and_balances(smooth, ride):
    require_sound(smooth, Limits())
    require_stable(RIG, smooth)
    require_fitting(RIG, smooth)
    assert ride.stop.reason == "success"
    assert (ride.ticks["state"] == State.RUNNING).sum() > 700
    assert np.abs(ride.ticks["T_cmd"]).max() > 0.3


def test_a_replay_is_bit_identical(ride):
    done = rl.replay(ride)
    assert done.identical, done.sentence
    assert done.commands > 700


def test_a_log_keeps_name_and_hash_and_no_code(ride, smooth):
    text = ride.header.to_json()["schedule"]
    assert "my_law.py" in text
    assert smooth.sha256 in text
    assert "tanh" not in text
    assert "njit" not in text
    again = controller_from_text(text)
    assert isinstance(again, CompiledController)
    assert (again.inputs, again.states, again.settings) == (smooth.inputs, smooth.states, smooth.settings)
    assert again.to_toml() == text


def test_a_run_wants_the_very_file_named_by_a_person(ride, tmp_path, nobody_named):
    header = type(ride.header)(ride.header.content)  # as read from a log
    with pytest.raises(InputError, match=r"wanted the law my_law.py .*which no log brings along: name it with"):
        header.schedule.law()
    changed = tmp_path / "my_law.py"
    changed.write_text(SMOOTH.replace("8.0", "8.1", 1), encoding="utf-8")
    name_law(changed)
    with pytest.raises(InputError, match=r"found my_law.py of .*, which is another file or was changed since"):
        header.schedule.linearised(5.0)
    same = tmp_path / "renamed.py"
    same.write_text(SMOOTH, encoding="utf-8")
    name_law(same)
    assert header.schedule.law().states == 1


def test_a_run_under_a_smooth_law_is_predicted(ride):
    found = rl.analyze(ride)
    assert len(found.analysis.comparisons) > 0
    assert all(math.isfinite(c.prediction.frozen.real) for c in found.analysis.comparisons)


LANE = """
from numba import njit
NAMES = {names}
LAW = {{"inputs": NAMES, "settings": dict(zip(NAMES, {K})), "speeds": [3.5, 4.5]}}
@njit
def step(settings, state, signals, reference, out):
    T = settings[0] * signals.phi + settings[1] * signals.delta + settings[2] * signals.phi_dot
    T += settings[3] * signals.delta_dot + settings[4] * signals.T + settings[5] * signals.u_prev
    out.T_req = -T - settings[6] * signals.psi - settings[7] * signals.y_P
"""


def test_a_law_with_heading_and_place_has_the_eigenvalues_of_the_same_gains(tmp_path):
    gains = rl.design(SILVER, "lane", [3.5, 4.0, 4.5])
    law = law_of(tmp_path, LANE.format(names=[*gains.inputs], K=gains.gains(4.0).tolist()))
    on_lane = with_emulated_place(RIG)
    one, other = (SampledLoop.of_rig(on_lane, each) for each in (law, gains))
    assert one.states == other.states
    assert_allclose(one.eigenvalues(4.0)[:10], other.eigenvalues(4.0)[:10], rtol=1e-3, atol=1e-3)
    require_fitting(on_lane, law)
    assert emulated_rig(SILVER, law).place is not None
    with pytest.raises(InputError, match="uses heading and place, but the rig 'emulated' has no sensor of place"):
        require_fitting(RIG, law)


def test_a_law_that_switches_is_not_predicted_and_analysis_says_why(tmp_path):
    sliding = law_of(tmp_path, SLIDING, "sliding.py")
    require_sound(sliding, Limits())
    with pytest.raises(NotLinearError, match=r"sliding.py is not smooth: .* in its wish"):
        sliding.linearised(5.0)
    with pytest.raises(InputError, match="run it all the same with --allow-unstable"):
        require_stable(RIG, sliding)
    require_stable(RIG, sliding, allow_unstable=True)
    ride = rl.simulate(SILVER, sliding, speed=5.0, duration=3.0, model="linear")
    found = rl.analyze(ride).analysis
    assert found.comparisons == ()
    assert [r.reason for r in found.rejected if "is not smooth" in r.reason]


def test_the_same_law_made_smooth_is_predicted(tmp_path):
    soft = law_of(tmp_path, SLIDING.replace("math.copysign(1.0, s) if s != 0.0 else 0.0", "math.tanh(s / 0.5)"))
    assert_allclose(soft.linearised(5.0).D, [-2.0 * 2.0 / 0.5, -2.0 / 0.5], rtol=1e-4)


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["out.T_req = signals.phi if abs(signals.phi) > 0.01 else 0.0"], "is not smooth"),  # a dead zone
        (["out.T_req = abs(signals.phi)"], "is not smooth"),
        (["out.T_req = min(max(50.0 * signals.phi, -0.3), 0.3)"], "is not smooth"),  # a limit within usual motion
        (["out.T_req = 0.1 + signals.phi"], "asks for 0.1 N m where everything is zero"),
        (["state[0] += signals.dt", "out.T_req = state[0]"], "moves its state x|asks for 0.005 N m"),
        (["out.T_req = signals.delta"], "uses delta, which is not among its inputs"),
        (["out.T_req = 3.0 * signals.psi"], "uses psi, which is not among its inputs"),
        (["out.T_req = 0.5 * signals.y_P"], "uses y_P, which is not among its inputs"),
    ],
)
def test_what_has_no_linearisation_is_refused(tmp_path, lines, sentence):
    with pytest.raises(InputError, match=sentence):
        law_of(tmp_path, body(*lines)).linearised(5.0)


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["out.T_req = signals.phi / signals.v"], r"not finite \(v 0 m/s|raises an error.*\(v 0 m/s"),
        (["out.T_req = math.sqrt(signals.phi)"], "not finite|raises an error"),
        pytest.param(
            ["state[0] = math.exp(1e4 * signals.phi)", "out.T_req = 0.0"],
            "not finite|raises an error",
            marks=pytest.mark.slow,
        ),
        (["state[3] = signals.phi", "out.T_req = 0.0"], "raises an error, reads beyond the end of an array"),
        pytest.param(
            ["out.T_req = settings[1] * signals.phi"],
            "raises an error, reads beyond the end of an array",
            marks=pytest.mark.slow,
        ),
        (["z = np.zeros(3)", "z[int(state[0])] = signals.phi", "out.T_req = z.sum()"], "allocates memory"),
        (["if signals.phi > 0.3:", "    print(signals.phi)", "out.T_req = 0.0"], "calls the interpreter"),
        (["out.T_req = np.random.random()"], "draws random numbers"),
        (["settings[0] += signals.phi", "out.T_req = 0.0"], "writes into its settings, signals or reference"),
        pytest.param(
            ["signals.dt = 1.0", "out.T_req = 0.0"],
            "writes into its settings, signals or reference",
            marks=pytest.mark.slow,
        ),
        (["out.T_req += 0.1 * signals.phi"], "keep numbers in its state"),
        (
            ["x = 0.0", "for i in range(100000):", "    x += math.sin(x + i * signals.phi)", "out.T_req = x"],
            "us a step",
        ),
    ],
)
def test_what_may_not_fly_is_refused_before_anything_is_armed(tmp_path, lines, sentence):
    with pytest.raises(InputError, match=sentence) as refused:
        require_sound(law_of(tmp_path, body(*lines)), Limits())
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("LAW = {", r"is not Python \(line 1"),
        ("\x00", "is not Python|cannot be read|stops before"),
        ("1 / 0", "stops before its law is defined .ZeroDivisionError"),
        ("raise SystemExit(0)", "stops before its law is defined .SystemExit"),
        ("import no_such_library", "stops before its law is defined .ModuleNotFoundError"),
        ("LAW = {}", "wants a function step"),
        ("LAW = {}\ndef step(settings, state, signals, reference, out): pass", "under numba's @njit"),
        (body("pass").replace("LAW =", "LOW ="), "wants a table LAW"),
        (body("pass").replace('"inputs"', '"input"'), "found 'input'"),
        (body("pass").replace('"speeds": [4.0, 7.0]', '"method": "m"'), "lacks 'speeds'"),
        (body("pass").replace("[4.0, 7.0]", "[7.0, 4.0]"), r"speeds are the slowest and the fastest in m/s"),
        (body("pass").replace('"phi", ', '"heading", '), "an input of a law is one of .*found 'heading'"),
        (body("pass").replace("[2.0]", '[float("nan")]'), "settings are finite numbers"),
        (body("pass").replace('["x"]', "2000"), "a law may have 64 states"),
        (body("pass").replace('["x"]', "-1"), "states are a list of names, or how many there are, found -1"),
        (body("pass").replace('["x"]', "True"), "states are a list of names, or how many there are, found True"),
        (body("pass").replace('"speeds"', '"bicycle": "Penny", "speeds"'), "Penny"),
        (body("pass").replace('"speeds"', '"loop": {"rate": 0.0}, "speeds"'), "rate must be above 0 Hz"),
    ],
)
def test_a_file_with_a_slip_is_refused_in_one_sentence(tmp_path, text, sentence):
    with pytest.raises(InputError, match=sentence) as refused:
        law_of(tmp_path, text)
    assert "\n" not in str(refused.value)
    assert str(refused.value).count("my_law.py") <= 1


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["out.T_req = signals.phii"], r"does not compile \(no signal, reference or name .phii.\)"),
        (["out.T_req = open('x')"], "does not compile"),
        (["out.T_req = nothing_here(1.0)"], "does not compile .*nothing_here"),
    ],
)
def test_a_step_that_needs_the_interpreter_does_not_compile(tmp_path, lines, sentence):
    with pytest.raises(InputError, match=sentence) as refused:
        law_of(tmp_path, body(*lines)).law()
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ('"loop": {"rate": 100.0}', "designed for 100 Hz but the rig runs at 200 Hz"),
        ('"loop": {"delay": 0.2}', "a delay of 0.2 samples"),
        ('"bicycle": "Benchmark"', "designed for Benchmark, not for Silver"),
    ],
)
def test_a_law_for_another_machine_is_refused_as_gains_are(tmp_path, said, sentence):
    made = law_of(tmp_path, body("out.T_req = signals.phi").replace('"speeds"', f'{said}, "speeds"'))
    with pytest.raises(InputError, match=sentence):
        require_fitting(RIG, made)


def test_an_unstable_law_is_refused_before_arming(tmp_path):
    made = law_of(tmp_path, body("out.T_req = -settings[0] * signals.phi_dot"))
    with pytest.raises(InputError, match=r"Silver falls: at 4 m/s the closed loop"):
        require_stable(RIG, made)


def test_a_state_that_is_not_finite_is_a_fault(tmp_path):
    """In states that no trial reached: the law grows only after 3 s under control, on a bicycle that rides well."""
    grows = SMOOTH.replace('["smooth_rate"]', '["smooth_rate", "ticks", "grows"]').replace(
        "    pole = settings[5]\n",
        "    pole = settings[5]\n"
        "    state[1] += signals.steered\n"
        "    state[2] = math.exp(state[1]) if state[1] > 600.0 else 0.0\n",
    )
    made = law_of(tmp_path, grows)
    require_sound(made, Limits())
    ride = rl.simulate(SILVER, made, speed=5.0, duration=6.0, model="linear")
    assert ride.stop.reason == "fault"
    assert "not a number" in ride.stop.cause
    assert np.isfinite(ride.ticks["T_cmd"]).all()
    assert ride.ticks["T_cmd"][-1] == 0.0
    assert rl.replay(ride).identical


def test_other_kinds_of_file_are_read_as_before(tmp_path):
    gains = rl.design(SILVER, "lqr", [4.0, 5.0])
    path = tmp_path / "gains.toml"
    path.write_text(gains.to_toml(), encoding="utf-8")
    assert read_controller(path, SILVER, RIG.timing).to_toml() == gains.to_toml()
