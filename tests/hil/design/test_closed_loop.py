"""The whole sampled loop: its state by name, and a rig as its source."""

import numpy as np
import pytest

from riderless.hil.design.closed_loop import MEASURED_CHANNELS, SampledLoop, instrument_map
from riderless.hil.design.loop_parts.state_layout import (
    ESTIMATE_PART,
    MOTION_PART,
    OBSERVER_PART,
    PLANT_PART,
    PSI_DOT_EST,
    WHOLE_LOOP_STATES,
)
from riderless.hil.design.methods import design
from riderless.hil.design.sampled_plant import BICYCLE_PART, DRIVE_PART, LOOP_STATES, T_DRIVE, U_PREV
from riderless.hil.rig.rig import Rig
from riderless.models.catalogue import load_bicycle
from riderless.models.coordinates import STATES
from riderless.models.linear.perturbed import Variant

RIG = Rig(load_bicycle("Silver"), command_delay=0.003, x_imu=0.2)
GAINS = design(RIG.bicycle, "lqr", (4.0, 5.0), RIG.timing)


def test_parts_of_the_state_are_where_their_names_are():
    assert LOOP_STATES[BICYCLE_PART] == STATES
    assert LOOP_STATES[DRIVE_PART] == (LOOP_STATES[T_DRIVE], LOOP_STATES[U_PREV]) == ("T_drive", "u_prev")
    assert WHOLE_LOOP_STATES[PLANT_PART] == LOOP_STATES
    assert WHOLE_LOOP_STATES[MOTION_PART] == (*STATES, "T_drive")
    assert WHOLE_LOOP_STATES[ESTIMATE_PART] == tuple(f"{name}_est" for name in STATES)
    assert WHOLE_LOOP_STATES[OBSERVER_PART] == WHOLE_LOOP_STATES[len(LOOP_STATES) :]
    assert WHOLE_LOOP_STATES[PSI_DOT_EST] == "psi_dot_est"


def test_a_rig_gives_what_the_loop_must_know():
    changed = {"steer_age": 0.001, "real": Variant(RIG.bicycle, drive_gain=0.9), "more_delay": 0.007}
    loop = SampledLoop.of_rig(RIG, GAINS, **changed)
    known = {name: getattr(RIG, name) for name in ("observer", "dt", "drive_lag", "x_imu", "z_imu", "command_delay")}
    same = SampledLoop(RIG.bicycle, GAINS, **known, **changed)
    assert loop.states == same.states == (*WHOLE_LOOP_STATES, "u_prev_2")
    np.testing.assert_array_equal(loop.matrix(4.5), same.matrix(4.5))
    assert np.any(loop.matrix(4.5) != SampledLoop.of_rig(RIG, GAINS, **{**changed, "steer_age": 0.0}).matrix(4.5))


def test_settings_are_given_by_name():
    with pytest.raises(TypeError, match="positional"):
        SampledLoop(RIG.bicycle, GAINS, RIG.observer, RIG.dt, RIG.drive_lag, RIG.x_imu, RIG.z_imu)


def test_instruments_see_the_plant_and_nothing_else():
    loop = SampledLoop.of_rig(RIG, GAINS, steer_age=0.002)
    H = loop.instruments(4.5)
    expected = instrument_map(Variant(RIG.bicycle), 4.5, x_imu=RIG.x_imu, z_imu=RIG.z_imu, steer_age=0.002)
    assert H.shape == (len(MEASURED_CHANNELS), len(loop.states))
    np.testing.assert_array_equal(H[:, PLANT_PART], expected)
    assert not H[:, OBSERVER_PART].any()


def test_the_gyros_of_a_sensor_pitched_nose_up_mix_lean_and_yaw_rate():
    level, pitched = (
        SampledLoop.of_rig(RIG, GAINS, real=Variant(RIG.bicycle, imu_pitch=pitch)).instruments(4.5)
        for pitch in (0.0, 0.1)
    )
    roll, yaw = level[:2]
    np.testing.assert_allclose(pitched[0], np.cos(0.1) * roll - np.sin(0.1) * yaw, atol=1e-15)
    np.testing.assert_allclose(pitched[1], np.cos(0.1) * yaw + np.sin(0.1) * roll, atol=1e-15)
    np.testing.assert_array_equal(pitched[2:], level[2:])


def test_a_torque_added_to_the_command_acts_as_the_command_does():
    """The next command is feedback plus what is added, and enters the motion by the same vector."""
    loop = SampledLoop.of_rig(RIG, GAINS)
    b, W = loop.input_vector(4.5), loop.matrix(4.5)
    assert b[U_PREV] == 1.0
    assert not b[OBSERVER_PART].any()
    feedback = np.outer(b, W[U_PREV])
    gyro_bias = WHOLE_LOOP_STATES.index("gyro_bias_est")  # moves the bicycle through the command only
    np.testing.assert_allclose(W[MOTION_PART, gyro_bias], feedback[MOTION_PART, gyro_bias], rtol=1e-12)
    assert W[MOTION_PART, gyro_bias].any()


def test_repr_is_one_line():
    assert repr(SampledLoop.of_rig(RIG, GAINS)) == "<SampledLoop: Silver under lqr, 200 Hz, 13 states>"
