"""State spaces over speed: what is refused, what is read back, and the compiled step beside plain numpy."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from riderless.hil.controllers.lti import LTIController
from riderless.hil.controllers.lti_step import lti_step
from riderless.hil.controllers.registry import controller_from_text
from riderless.hil.controllers.state_coordinates import anti_windup_gain
from riderless.hil.controllers.timing import LoopTiming
from riderless.hil.loop.law import LAW_INPUTS, LOOP_SIGNALS, WISH
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError
from riderless.models.file_format import dump_toml, load_toml

SILVER = load_bicycle("Silver")
INPUTS = ("phi", "delta_meas", "psi_dot_ref")


def smooth(v):
    """Matrices of three states that change smoothly with speed: a lag, an integrator, a resonance's half."""
    A = np.array([[0.9 + 0.01 * v, 0.05, 0.0], [0.0, 1.0, 0.0], [-0.1, 0.0, 0.8 - 0.02 * v]])
    B = np.array([[0.2, 0.0, 0.1], [0.0, 0.005, -0.005], [0.1 * v, 0.0, 0.0]])
    return A, B, np.array([1.0, 2.0 + v, -0.5]), np.array([-10.0, 3.0, 0.0])


def controller(speeds=(2.0, 3.0, 5.0), matrices=smooth, **changes):
    A, B, C, D = (np.array(each) for each in zip(*(matrices(v) for v in speeds), strict=True))
    given = {
        "method": "test",
        "bicycle": SILVER,
        "loop": LoopTiming(),
        "v": np.array(speeds),
        "A": A,
        "B": B,
        "C": C,
        "D": D,
        "inputs": INPUTS,
    }
    return LTIController(**{**given, **changes})


def told(**values):
    """Signals and references of one tick, by number."""
    every = np.array([{"fresh": 1.0, "steered": 1.0, "v": 3.0, **values}.get(name, 0.0) for name in LAW_INPUTS])
    return every[: len(LOOP_SIGNALS.names)], every[len(LOOP_SIGNALS.names) :]


def step(law, state, **values):
    out = np.full(1, -99.0).view(WISH)[0]
    lti_step(law.settings, state, *told(**values), out)
    return float(out["T_req"])


@pytest.mark.parametrize("v", [1.0, 2.0, 2.7, 3.0, 4.5, 5.0, 8.0])
def test_the_compiled_step_does_what_the_matrices_say(v):
    made, rng = controller(), np.random.default_rng(3)
    law, x = made.law(), rng.normal(size=3)
    state, before = np.concatenate([x, np.zeros(3)]), x.copy()
    low, high = max([s for s in made.v if s <= v], default=2.0), min([s for s in made.v if s >= v], default=5.0)
    part = 0.0 if high == low else (v - low) / (high - low)
    A, B, C, D = (a + part * (b - a) for a, b in zip(smooth(low), smooth(high), strict=True))
    s = np.array([0.1, -0.2, 0.3])
    T = step(law, state, v=v, phi=0.1, delta_meas=-0.2, psi_dot_ref=0.3)
    assert_allclose(T, C @ before + D @ s, rtol=1e-13)
    assert_allclose(state[:3], A @ before + B @ s, rtol=1e-13)
    at = made.linearised(v)
    for found, wanted in zip(at[1:], (A, B, C, D), strict=True):
        assert_allclose(found, wanted, rtol=1e-13)


def test_without_a_fresh_sample_state_and_wish_stay():
    law = controller().law()
    state = np.array([0.1, 0.2, 0.3, 0.0, 0.0, 0.0])
    kept = state.copy()
    assert step(law, state, fresh=0.0, phi=1.0) == -99.0, "the wish is left as it was"
    assert_array_equal(state, kept)


def test_what_the_supervisor_cuts_off_unwinds_the_integrator_and_bounds_it():
    """An integrator under a constant error at a limit of 1 N m, with and without anti-windup."""

    def ride(anti_windup):
        law = controller(
            (3.0,),
            lambda v: (np.eye(1), np.full((1, 1), 0.05), np.ones(1), np.zeros(1)),
            inputs=("psi_dot_ref",),
            anti_windup=anti_windup,
        ).law()
        state, cut, wishes = np.zeros(2), 0.0, []
        for k in range(400):
            T = step(law, state, T_cut=cut, psi_dot_ref=1.0 if k < 200 else -1.0)
            cut = float(np.clip(T, -1.0, 1.0)) - T
            wishes.append(T)
        return np.array(wishes)

    wound, unwound = ride(np.zeros((1, 1))), ride(None)
    assert wound.max() == pytest.approx(10.0)  # 200 steps of 0.05
    assert unwound.max() < 2.0
    assert np.argmax(wound[200:] < 1.0) > 100, "it takes half of the time to come back"
    assert np.argmax(unwound[200:] < 1.0) < 20


@pytest.mark.parametrize("A", [[[1.0]], [[1.02, 0.1], [0.0, 0.9]], [[1.0, 1.0], [0.0, 1.0]]])
def test_under_a_limit_the_state_is_stable_whatever_the_controller_is(A):
    A = np.array(A)
    C = np.ones(len(A))
    L = anti_windup_gain(A, C)
    assert np.abs(np.linalg.eigvals(A - np.outer(L, C))).max() < 1.0


def test_states_that_wait_are_zero_until_the_machine_is_under_control():
    law = controller(waits=("x2",)).law()
    state = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    step(law, state, steered=0.0, T_cut=-5.0)
    A = smooth(3.0)[0]
    assert_allclose(state[:3], A @ [1.0, 0.0, 1.0], rtol=1e-13)


def test_a_controller_with_an_integrator_waits_and_one_that_is_stable_alone_does_not():
    assert controller().waits == ("x1", "x2", "x3")

    def stable(v):
        A, *rest = smooth(v)
        return 0.9 * A, *rest

    made = controller(matrices=stable)
    assert made.waits == ()
    assert not made.anti_windup.any()


def test_a_file_is_read_back_to_the_last_bit():
    made = controller(states=("lag", "integral", "swing"), options={"k": 2.5})
    again = controller_from_text(made.to_toml())
    assert isinstance(again, LTIController)
    for name in ("v", "A", "B", "C", "D", "anti_windup"):
        assert_array_equal(getattr(again, name), getattr(made, name))
    assert (again.states, again.inputs, again.waits, again.options) == (
        made.states,
        made.inputs,
        made.waits,
        {"k": 2.5},
    )
    assert again.bicycle == SILVER
    assert again.loop == made.loop


def turned(v):
    """The same controller, its states in another order and sense at each speed."""
    A, B, C, D = smooth(v)
    T = {2.0: np.eye(3), 3.0: np.diag([-1.0, 1.0, 2.0])[[1, 0, 2]], 5.0: np.diag([3.0, -2.0, 1.0])[[2, 1, 0]]}[v]
    back = np.linalg.inv(T)
    return T @ A @ back, T @ B, C @ back, D


def test_other_coordinates_at_another_speed_are_refused_and_balanced_if_asked():
    with pytest.raises(InputError, match="the state has other coordinates at 3 m/s than at 2 m/s"):
        controller(matrices=turned)
    straight, balanced = controller(), controller(matrices=turned, balance=True)
    for v in (2.0, 2.5, 3.0, 4.0, 5.0):
        one, other = straight.linearised(v), balanced.linearised(v)
        for z in np.exp(1j * np.array([0.01, 0.1, 1.0])):
            a, b = (law.C @ np.linalg.solve(z * np.eye(3) - law.A, law.B) + law.D for law in (one, other))
            assert np.abs(a - b).max() < 0.05 * np.abs(a).max()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"A": np.zeros((3, 2, 3))}, "wants A of shape"),
        ({"B": np.zeros((3, 3, 2))}, r"wants B of shape \(3, 3\) at each speed, found \(3, 2\)"),
        ({"C": np.zeros((3, 2))}, "wants C of shape"),
        ({"D": np.zeros((2, 3))}, "wants D of shape"),
        ({"C": np.full((3, 3), np.nan)}, "wants finite numbers, found nan or inf in C"),
        ({"v": np.array([2.0, 5.0, 3.0])}, "wants speeds of 0 m/s or more that increase"),
        ({"inputs": ("phi", "delta", "heading")}, "an input of a state space is one of .*, found 'heading'"),
        ({"inputs": ("phi", "delta", "v")}, "an input of a state space is one of .*, found 'v'"),
        ({"inputs": ("phi", "phi", "delta")}, "want different names"),
        ({"states": ("a", "b")}, "a name for each of its 3 states"),
        ({"waits": ("x9",)}, "a state that waits is one of x1, x2, x3, found 'x9'"),
        ({"anti_windup": np.zeros((3, 2))}, "anti_windup wants one number for each of 3 states"),
    ],
)
def test_what_is_no_state_space_is_refused_in_one_sentence(changes, sentence):
    with pytest.raises(InputError, match=sentence) as refused:
        controller(**changes)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('format = "riderless state space 1"', 'format = "riderless state space 7"', "gain schedule"),
        ("method = ", "methods = ", "did you mean method"),
        ("waits = ", "wait = ", "the file has the keys .* found 'wait': did you mean waits"),
        ("waits = ", "anti_windup = [0.3]\nwaits = ", "the file has the keys .* found 'anti_windup'"),
        ("waits = ", 'balance = "false"\nwaits = ', "balance is true or false, found 'false'"),
        ("anti_windup = [", "antiwindup = [", "found 'antiwindup'"),
        ("rate = 200", "rate = 0", "the loop's rate must be above 0 Hz"),
        ("v = 2.0", "v = true false", "is not TOML"),
        ("v = 2.0", 'v = "two"', "v of a state space wants numbers, found 'two'"),
    ],
)
def test_a_file_with_a_slip_is_refused_with_its_name(old, new, sentence):
    text = controller().to_toml()
    assert old in text
    with pytest.raises(InputError, match=sentence) as refused:
        controller_from_text(text.replace(old, new, 1), "my.toml")
    assert str(refused.value).startswith("my.toml")


def test_a_bicycle_may_be_named_as_the_catalogue_has_it():
    named = dump_toml({**load_toml(controller().to_toml()), "bicycle": "Silver"})
    assert controller_from_text(named).bicycle == load_bicycle("Silver")
    with pytest.raises(InputError, match="there is no bicycle 'Silber' in the catalogue"):
        controller_from_text(named.replace("Silver", "Silber"))


def system(A, B, C, D, dt):
    """What python-control's StateSpace shows of itself."""
    return SimpleNamespace(A=np.array(A), B=np.array(B), C=np.array(C), D=np.array(D), dt=dt)


def taken(one, **more):
    return LTIController.from_statespace([one], [4.0], ["phi"], SILVER, LoopTiming(), **more)


def test_a_continuous_statespace_is_sampled_as_stated():
    """A lag of 0.1 s: exact under a hold, and by Tustin's rule (2 - a h)/(2 + a h)."""
    lag = system([[-10.0]], [[10.0]], [[1.0]], [[0.0]], 0)
    assert_allclose(taken(lag, discretisation="zoh").A, np.exp(-0.05), rtol=1e-12)
    assert_allclose(taken(lag, discretisation="tustin").A, 1.95 / 2.05, rtol=1e-12)
    with pytest.raises(InputError, match="a continuous StateSpace wants a discretisation"):
        taken(lag)


@pytest.mark.parametrize(
    ("one", "sentence"),
    [
        (system([[0.5]], [[1.0]], [[1.0]], [[0.0]], 0.01), "the StateSpace is of 100 Hz, the loop runs at 200 Hz"),
        (system([[0.5]], [[1.0]], [[1.0]], [[0.0]], None), "wants its sampling interval, found dt = None"),
        (system([[0.5]], [[1.0]], [[1.0], [2.0]], [[0.0], [0.0]], 0.005), "one output, the steer torque in N m"),
        (SimpleNamespace(A=1), "wanted a StateSpace with A, B, C, D and dt"),
    ],
)
def test_a_statespace_that_does_not_fit_is_refused(one, sentence):
    with pytest.raises(InputError, match=sentence):
        taken(one)


@pytest.mark.parametrize(
    ("systems", "speeds", "sentence"),
    [
        (system([[0.5]], [[1.0]], [[1.0]], [[0.0]], 0.005), [5.0], "wants a list of StateSpace, one for each speed"),
        ([system([[0.5]], [[1.0]], [[1.0]], [[0.0]], 0.005)], 5.0, "a list of speeds, found 1 for 5.0"),
        ([system([[0.5]], [[1.0]], [[1.0]], [[0.0]], 0.005)], ["5"], "speeds of a controller wants numbers, found '5'"),
        ([], [], "found 0 for "),
    ],
)
def test_what_is_no_list_of_statespaces_is_refused(systems, speeds, sentence):
    with pytest.raises(InputError, match=sentence):
        LTIController.from_statespace(systems, speeds, ("phi",), SILVER, LoopTiming())


def test_python_controls_own_statespace_is_taken():
    control = pytest.importorskip("control", reason="python-control is not installed")
    made = taken(control.ss([[0.5]], [[1.0]], [[2.0]], [[3.0]], 0.005))
    assert (made.A.item(), made.B.item(), made.C.item(), made.D.item()) == (0.5, 1.0, 2.0, 3.0)
