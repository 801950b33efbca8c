"""Designs with states of their own, beside what textbooks say of them."""

import numpy as np
import pytest

from riderless.hil.design.closed_loop import SampledLoop
from riderless.hil.design.compensators.lqg import LQG
from riderless.hil.design.compensators.methods import design_compensator
from riderless.hil.design.compensators.yaw_rate import YawRate, closed_design
from riderless.hil.design.lqr import LQR
from riderless.hil.design.sampled_plant import LoopTiming, sampled_model
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.stable import fastest_growth, judged_speeds, require_stable
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError

SPEEDS = (3.0, 4.0, 5.0, 6.0)


@pytest.mark.parametrize(("name", "v"), [("Rigid", 4.0), ("Fisher", 6.5)])
@pytest.mark.parametrize("timing", [LoopTiming(), LoopTiming(100.0, 0.4, 0.02), LoopTiming(200.0, 0, 0.0)])
def test_the_loop_of_an_lqg_has_the_poles_of_regulator_and_filter(name, v, timing):
    """Separation principle: eig(F - G K), and eig((I - L H) F) of the filter."""
    bicycle = load_bicycle(name)
    model = sampled_model(bicycle, v, timing)
    law, _ = LQG().compensator(bicycle, v, model)
    regulator = model.closed_loop(LQR().gains(bicycle, v, model)[0])
    filtering = np.linalg.eigvals(law.A)
    found = np.linalg.eigvals(closed_design(law, bicycle, v, model)[0])
    assert np.abs(filtering).max() < 1.0
    wanted = list(np.concatenate([regulator, filtering, np.zeros(len(found) - 2 * len(model.F))]))
    for z in found:
        nearest = min(range(len(wanted)), key=lambda i: abs(wanted[i] - z))
        assert abs(wanted.pop(nearest) - z) < 2e-4  # double poles, near zero, lose half of the digits
    assert wanted == []


@pytest.mark.parametrize("inner", ["lqr", "poles", "lqg"])
@pytest.mark.parametrize(("name", "v"), [("Rigid", 4.0), ("Stratos_computed", 6.0)])
def test_the_yaw_rate_settles_at_its_reference(inner, name, v):
    bicycle = load_bicycle(name)
    made = design_compensator(bicycle, "yaw_rate", (v,), inner=inner)
    law, model = made.linearised(v), sampled_model(bicycle, v, LoopTiming())
    W, _, yaw = closed_design(law, bicycle, v, model)
    n = len(model.F)
    asked = np.concatenate([model.G * law.D[-1], law.B[:, -1]])  # by the reference, the last input
    assert law.inputs[-1] == "psi_dot_ref"
    assert yaw @ np.linalg.solve(np.eye(len(W)) - W, asked) == pytest.approx(1.0, abs=1e-6)
    assert np.abs(np.linalg.eigvals(W)).max() < 1.0
    assert made.waits == ("yaw_integral",)
    assert len(W) == n + len(made.states)


@pytest.mark.parametrize("name", ["Rigid", "Pista", "DelftSbW2024", "Browserins"])
@pytest.mark.parametrize(("method", "options"), [("lqg", {}), ("yaw_rate", {}), ("yaw_rate", {"inner": "lqg"})])
def test_the_whole_loop_is_stable_between_its_speeds_too(name, method, options):
    rig = Rig(load_bicycle(name))
    made = design_compensator(rig.bicycle, method, SPEEDS, rig.timing, **options)
    require_stable(rig, made)
    assert len(judged_speeds(rig, made)) == 4 + 3 * 10, "ten looks between two neighbours"
    assert fastest_growth(rig, made)[1].real < 0.0


def test_a_controller_that_is_unstable_between_its_speeds_is_refused():
    """Stable at 3 and 5 m/s; half way the interpolated gains are far too small."""
    rig = Rig(load_bicycle("Benchmark"))
    made = design_compensator(rig.bicycle, "lqg", (3.0, 5.0), rig.timing)
    weak = design_compensator(rig.bicycle, "lqg", (3.0, 4.0, 5.0), rig.timing)
    C, D = np.array(weak.C), np.array(weak.D)
    C[1], D[1] = -0.3 * C[1], -0.3 * D[1]
    broken = type(weak)(**{**vars(weak), "C": C, "D": D, "balance": False})
    require_stable(rig, made)
    with pytest.raises(InputError, match=r"Benchmark falls: at 4 m/s the closed loop"):
        require_stable(rig, broken)
    assert fastest_growth(rig, broken, (3.6, 3.7))[1].real > 0.1, "and at speeds that no matrix is of"


def test_the_states_of_a_controller_are_in_the_whole_loop():
    rig = Rig(load_bicycle("Rigid"))
    made = design_compensator(rig.bicycle, "yaw_rate", SPEEDS, rig.timing, inner="lqg")
    loop = SampledLoop.of_rig(rig, made)
    assert loop.states[13:] == tuple(f"{name}_law" for name in made.states)
    assert loop.matrix(4.5).shape == (20, 20)


@pytest.mark.parametrize(
    ("method", "options", "sentence"),
    [
        ("lqgg", {}, "must be one of lqg, yaw_rate, found 'lqgg'"),
        ("lqg", {"steer_noise": -1.0}, "the LQG option steer_noise must be a number above 0"),
        ("lqg", {"q": 1}, "the design method lqg has the options"),
        ("yaw_rate", {"kp": 1.0}, "wants both kp and ki"),
        ("yaw_rate", {"kp": 3.0, "ki": 3.0}, "yaw_rate does not balance Rigid at 3 m/s"),
        ("yaw_rate", {"inner": "yaw_rate"}, "wants an inner loop that balances"),
        ("yaw_rate", {"inner": "lane"}, "wants an inner loop that balances, found lane, which holds the heading"),
        ("yaw_rate", {"kp": -0.5, "ki": -1.0, "bandwidth": 5.0}, "or a bandwidth to find them by, found both"),
        ("yaw_rate", {"kp": float("nan"), "ki": 1.0}, "kp of a PI on the yaw rate must be a number, found nan"),
        ("yaw_rate", {"kp": 1.0, "ki": [1.0]}, r"ki of a PI on the yaw rate must be a number, found \[1.0\]"),
        ("yaw_rate", {"options": 5}, "options of the inner loop are names with values, found 5"),
        ("yaw_rate", {"inner": "fuzzy"}, "must be one of lqr, poles"),
        ("yaw_rate", {"bandwidth": 0.0}, "the bandwidth of the yaw rate must be"),
    ],
)
def test_a_design_that_cannot_be_is_refused(method, options, sentence):
    with pytest.raises(InputError, match=sentence):
        design_compensator(load_bicycle("Rigid"), method, SPEEDS, **options)


def test_numbers_of_numpy_are_options_and_true_is_none():
    assert LQG(steer_noise=np.float32(0.5), lean_torque=np.int64(5)).lean_torque == 5
    assert YawRate(bandwidth=np.float32(0.5)).bandwidth == 0.5
    with pytest.raises(InputError, match="the LQG option steer_noise must be a number above 0"):
        LQG(steer_noise=True)
    with pytest.raises(InputError, match="the bandwidth of the yaw rate must be"):
        YawRate(bandwidth=True)
