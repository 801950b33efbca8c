"""The supervisor before a drive that obeys a steer rate or angle: limits, ramp and rest in the command's unit."""

import numpy as np
import pytest

from riderless.firmware_interface.messages import COMMAND_ENABLE
from riderless.hil.loop.limits import Limit, Limits
from riderless.hil.loop.states import Cause, Demand, State, Verdict
from riderless.hil.loop.transitions import Stage
from riderless.models.errors import InputError
from tests.hil.loop.test_supervisor import DT, Bench
from tests.hil.loop.test_supervisor_table import LIMITS, Machine
from tests.hil.machine import rig_of

GREATEST = {"rate": ("steer_rate", "steer_acceleration"), "angle": ("steer_command", "steer_rate")}


def running(kind):
    bench = Bench()
    bench.record = bench.limits.as_record(kind)
    return bench.until(State.RUNNING)


@pytest.mark.parametrize("kind", GREATEST)
def test_command_and_its_change_keep_their_limits(kind):
    bench = running(kind)
    most, change = (getattr(bench.limits, name).value for name in GREATEST[kind])
    bench.record["saturated"] = 5.0  # s, longer than this takes
    before = float(bench.s["T_cmd"])
    for wish in (100.0, -100.0):
        for _ in range(60):
            bench.tick(T_req=wish)
            now = float(bench.s["T_cmd"])
            assert abs(now) <= most
            assert abs(now - before) <= change * DT + 1e-12
            assert Verdict(int(bench.s["verdict"])) & Verdict.TORQUE_LIMIT
            before = now
        assert now == np.sign(wish) * most, "the torque's limits do not count"


def test_greatest_torque_is_no_limit_of_a_rate():
    bench = Bench()
    bench.record = Limits(torque=Limit(0.5, "N m", "a weak drive")).as_record("rate")
    bench.until(State.RUNNING)
    for _ in range(10):
        bench.tick(T_req=2.0)
    assert bench.s["T_cmd"] == 2.0


@pytest.mark.parametrize(("kind", "torque", "ends"), [("rate", 7.0, True), ("rate", 6.0, False), ("angle", -7.0, True)])
def test_drive_that_stays_at_its_greatest_torque_ends_the_run(kind, torque, ends):
    bench = running(kind)
    bench.sample["T_meas"] = torque
    for _ in range(150):
        bench.tick(T_req=0.1)
    assert (bench.s["state"] == State.RUNNING) != ends
    assert bench.cause() is (Cause.SATURATED if ends else Cause.NONE)


@pytest.mark.parametrize("kind", GREATEST)
@pytest.mark.parametrize("side", [1, -1])
def test_99_hundredths_of_the_greatest_torque_are_all_of_it(kind, side):
    machine = Machine(Stage.RUNNING)
    machine.limits, machine.s["T_cmd"], machine.news["T_req"] = LIMITS.as_record(kind), 0.1, 0.1
    machine.sample["T_meas"] = side * 0.99 * LIMITS.torque.value
    machine.tick()
    assert machine.s["at_limit"] == DT
    machine.sample["T_meas"] = side * np.nextafter(0.99 * LIMITS.torque.value, 0.0)
    machine.tick()
    assert machine.s["at_limit"] == 0.0


def test_torque_reported_says_nothing_of_a_torque_drive_at_its_limit():
    bench = running("torque")
    bench.sample["T_meas"] = 7.0
    for _ in range(300):
        assert bench.tick(T_req=0.1) is State.RUNNING


def ramp(kind, wish):
    """Commands while the operator stops a run."""
    bench = running(kind)
    for _ in range(50):
        bench.tick(T_req=wish)
    commands = []
    while len(commands) < 1000 and bench.tick(demand=Demand.STOP, T_req=wish) is State.RAMPDOWN:
        commands.append(float(bench.s["T_cmd"]))
        assert bench.s["flags"] & COMMAND_ENABLE
    assert not bench.s["flags"] & COMMAND_ENABLE
    return np.array(commands), bench


def test_ramp_takes_a_rate_to_zero():
    commands, bench = ramp("rate", 2.0)
    assert len(commands) == round(bench.limits.ramp.value / DT)
    assert commands == pytest.approx(2.0 * (1.0 - np.arange(len(commands)) * DT / bench.limits.ramp.value))


def test_ramp_holds_an_angle_and_lets_go_then():
    commands, bench = ramp("angle", 0.3)
    assert (commands == 0.3).all()
    assert len(commands) == round(bench.limits.ramp.value / DT)
    assert bench.s["T_cmd"] == 0.0


def test_armed_angle_drive_is_told_where_the_bars_are_and_starts_from_there():
    bench = Bench()
    bench.record = bench.limits.as_record("angle")
    bench.estimate["delta"] = 0.12
    bench.until(State.ARMED, demand=Demand.ARM)
    for delta in (0.12, 0.1, 0.08):
        bench.estimate["delta"] = delta
        bench.tick(demand=Demand.ARM)
        assert bench.s["T_cmd"] == delta
    bench.until(State.RUNNING)
    for _ in range(3):
        bench.tick(T_req=0.4)
    assert bench.s["T_cmd"] <= 0.08 + 4 * bench.limits.steer_rate.value * DT, "no jump to the wish"


def test_limits_of_a_command_are_those_of_a_machine():
    values = Limits().as_dict()
    for kind, wanted in GREATEST.items():
        table = {name: values[name] for name in values if name not in wanted}
        with pytest.raises(InputError, match=f"the limits {wanted[0]}, {wanted[1]} are missing"):
            Limits.of_machine(table, kind)
        assert Limits.of_machine(table) == Limits(), "a torque drive has none of them"
        assert Limits.of_machine(values, kind) == Limits()


@pytest.mark.parametrize(
    ("name", "value", "unit", "why"),
    [
        ("steer_rate", 60.0, "rad/s", r"between 0.2 and 30 rad/s, found 60 rad/s .*is it in deg/s\?"),
        ("steer_acceleration", 1e4, "rad/s^2", r"between 5 and 5000 rad/s\^2"),
        ("steer_command", 40.0, "rad", r"between 0.05 and 1.4 rad, found 40 rad .*is it in degrees\?"),
        ("follow_error", 5.0, "rad", "between 0.02 and 0.8 rad"),
    ],
)
def test_limit_that_no_machine_can_mean_is_refused(name, value, unit, why):
    with pytest.raises(InputError, match=why):
        Limits(**{name: Limit(value, unit, "a slip")})


def test_angle_may_not_be_commanded_beyond_the_steers_own_limit():
    from riderless.models.linear.prescribed_steer import InnerLoop

    narrow = Limits(steer=Limit(0.5, "rad", "cables"))
    with pytest.raises(InputError, match=r"'steer_command' must lie below 'steer', found 0.7 and 0.5 rad"):
        rig_of(drive=InnerLoop(kind="angle", damping=1.0), limits=narrow)
    rig_of(drive=InnerLoop(kind="rate"), limits=narrow)
    rig_of(limits=narrow)


def test_an_armed_angle_drive_is_told_no_faster_than_any_command():
    """An encoder that jumps: a study saw the angle told change by 9 rad/s."""
    bench = Bench()
    bench.record = bench.limits.as_record("angle")
    bench.estimate["delta"] = 0.02
    bench.until(State.ARMED, demand=Demand.ARM)
    room = bench.limits.steer_rate.value * DT
    for seen, wanted in ((0.1, 0.02 + room), (0.0, 0.02), (0.02 + 0.5 * room, 0.02 + 0.5 * room)):
        bench.estimate["delta"] = seen
        bench.tick(demand=Demand.ARM)
        assert bench.s["T_cmd"] == pytest.approx(wanted, abs=1e-12)
