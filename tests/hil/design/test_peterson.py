"""Peterson's robot bicycle (2013): his plant from our equations, his controllers as state spaces, his published loop.

The numbers are read where they lie beside the repository; they are not ours to copy.
"""

import numpy as np
import pytest

from riderless.models.coordinates import T_DELTA
from riderless.models.linear.whipple import input_matrix, system_matrix
from riderless.models.linear.zero_order_hold import zoh
from tests.hil.peterson import DT, arrays, his_law, needs_numbers, published, robot

pytestmark = needs_numbers


def test_the_geometry_is_the_one_he_printed():
    bicycle = robot()
    for name, wanted in published()["bicycle"]["converted"].items():
        assert getattr(bicycle, name) == pytest.approx(wanted, abs=1e-12)


def test_our_linear_plant_is_his():
    bicycle = robot()
    for row in published()["continuous_plant"]:
        A, B = np.array(row["A"]), np.array(row["B"])
        assert np.abs(system_matrix(bicycle, row["v"]) - A).max() < 1e-9
        assert np.abs(input_matrix(bicycle)[:, T_DELTA] - B[:, -1]).max() < 1e-9


def test_our_sampled_plant_is_his():
    bicycle = robot()
    for row in published()["rows"]:
        F, G = zoh(system_matrix(bicycle, row["v"]), input_matrix(bicycle)[:, [T_DELTA]], DT)
        assert np.abs(F - np.array(row["A"])).max() < 1e-9
        assert np.abs(G[:, 0] - np.array(row["B"])[:, -1]).max() < 1e-9


@pytest.fixture(scope="module")
def flown():
    return his_law()


def whole_loop(row, law):
    """Map of [x, state of the law] under a law, from the plant and readings of his row."""
    r = arrays(row)
    A, b, H, yaw = r["A"], r["B"][:, -1], r["C_m"], r["C_z"].ravel()
    told = np.vstack([H, yaw, np.zeros(4)])
    return np.block([[A + np.outer(b, law.D @ told), np.outer(b, law.C)], [law.B @ told, law.A]])


def as_published(row, law):
    """The same loop in his coordinates [e, x, x^], with his ERRATUM: the readings miss the torque r."""
    r = arrays(row)
    b, H, L, yaw = r["B"][:, -1], r["C_m"], r["K_e"], r["C_z"].ravel()
    to_his = np.zeros((9, 9))
    to_his[0, 8] = 1.0
    to_his[1:5, :4] = np.eye(4)
    to_his[5:, :4], to_his[5:, 4:8] = L @ H, np.eye(4) - L @ H
    physical = to_his @ whole_loop(row, law) @ np.linalg.inv(to_his)
    torque = np.concatenate([[row["Ki_fit"] * DT], -row["Kp_fit"] * yaw, np.zeros(4)])
    missed = np.concatenate([np.zeros(5), L @ H @ b])
    return physical - np.outer(missed, torque)


def test_his_loop_of_nine_states_is_reproduced_as_published(flown):
    for row in published()["rows"]:
        found = as_published(row, flown.linearised(row["v"]))
        assert np.abs(found - np.array(row["A_yr_cl"])).max() < 1e-9, row["v"]


def test_the_physical_loop_differs_where_he_forgot_the_torque(flown):
    """By 0.03 in z at the lowest speed, by 1e-3 at 3.3 m/s; and both are stable."""
    off = {}
    for row in published()["rows"]:
        found = np.linalg.eigvals(whole_loop(row, flown.linearised(row["v"])))
        his = [complex(*z) for z in row["yr_cl_evals"]]
        off[row["v"]] = max(min(abs(z - other) for other in his) for z in found)
        if row["v"] > 1.0:
            assert np.abs(found).max() < 1.0
    assert off[min(off)] == pytest.approx(0.03, abs=0.005)
    assert off[3.342707218903287] == pytest.approx(1e-3, abs=5e-4)


def test_the_tick_computes_his_law(flown):
    """The compiled step beside his equations, written out, for 200 samples of noise."""
    from riderless.hil.controllers.lti_step import lti_step
    from riderless.hil.loop.law import LAW_INPUTS, LOOP_SIGNALS, WISH

    row, rng, law = published()["rows"][10], np.random.default_rng(5), flown.law()
    r = arrays(row)
    A, b, H, K, L = r["A"], r["B"][:, -1], r["C_m"], r["K_c"].ravel(), r["K_e"]
    state, predicted, total = np.zeros(law.states), np.zeros(4), 0.0
    for _ in range(200):
        delta, phi_dot, psi_dot, asked = rng.normal(size=4) * 0.1
        x = predicted + L @ (np.array([delta, phi_dot]) - H @ predicted)
        u = K @ x + row["Kp_fit"] * (asked - psi_dot) + row["Ki_fit"] * DT * total
        predicted, total = A @ x + b * u, total + asked - psi_dot
        values = {"v": row["v"], "fresh": 1.0, "steered": 1.0, "psi_dot_ref": asked}
        values |= {"delta_meas": delta, "phi_dot_meas": phi_dot, "psi_dot_meas": psi_dot}
        told = np.array([values.get(name, 0.0) for name in LAW_INPUTS])
        n, out = len(LOOP_SIGNALS.names), np.zeros(1, WISH)[0]
        lti_step(law.settings, state, told[:n], told[n:], out)
        assert float(out["T_req"]) == pytest.approx(u, rel=1e-9, abs=1e-9)
