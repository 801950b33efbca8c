"""Limits: what is refused, with which sentence, and that each keeps its number, unit and reason."""

import dataclasses
import math

import pytest

from hil.loop.limits import LIMITS, MACHINE_LIMITS, RIG_RANGES, SENSIBLE_RANGES, Limit, Limits
from models.errors import InputError

STATED = {name: {"value": getattr(Limits(), name).value, "reason": "as always"} for name in MACHINE_LIMITS}


def test_every_limit_has_a_value_a_unit_and_a_reason_and_reaches_the_compiled_code():
    limits = Limits()
    record = limits.as_record()
    assert set(LIMITS.names) == set(limits.as_dict())
    for name, entry in limits.as_dict().items():
        assert record[name] == entry["value"]
        assert entry["unit"]
        assert len(entry["reason"]) > 10


def test_a_rig_states_its_own_and_the_rest_keeps_its_default():
    limits = Limits.of_machine(STATED | {"lean": {"value": 0.3, "unit": "rad", "reason": "a low roof"}})
    assert limits.lean == Limit(0.3, "rad", "a low roof")
    assert limits.ramp == Limits().ramp
    for name in MACHINE_LIMITS:
        less = {key: entry for key, entry in STATED.items() if key != name}
        with pytest.raises(InputError, match=f"the limits {name} are missing"):
            Limits.of_machine(less)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_limit_is_a_positive_number(value):
    with pytest.raises(InputError, match=r"'torque' must be a positive number"):
        Limits(torque=Limit(value, "N m", "because"))


@pytest.mark.parametrize("name", SENSIBLE_RANGES)
def test_a_slip_of_the_pen_is_refused_and_the_edges_are_not(name):
    unit, (least, most) = getattr(Limits(), name).unit, SENSIBLE_RANGES[name]
    for value in (least, most):
        assert getattr(dataclasses.replace(Limits(), **{name: Limit(value, unit, "an edge")}), name).value == value
    for value in (least * 0.999, most * 1.001):
        with pytest.raises(InputError, match=rf"'{name}' must lie between {least:g} and {most:g} {unit}"):
            dataclasses.replace(Limits(), **{name: Limit(value, unit, "beyond")})


@pytest.mark.parametrize("reason", ["", "  \n"])
def test_a_limit_without_a_reason_is_refused(reason):
    with pytest.raises(InputError, match=r"'lean' has no reason: write in the rig why it is 0.3 rad"):
        Limits(lean=Limit(0.3, "rad", reason))


def test_an_empty_speed_window_is_refused():
    for least in (10.0, 11.0):
        with pytest.raises(InputError, match="the speed window is empty"):
            Limits(speed_min=Limit(least, "m/s", "too fast"))


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"talk": {"value": 1.0, "reason": "because"}}, "unknown limit 'talk': the limits are torque, "),
        ({"lean": {"value": 1.0}}, "limit 'lean' needs a value in rad and a reason"),
        ({"lean": {"reason": "because"}}, "limit 'lean' needs a value in rad and a reason"),
        ({"lean": 0.3}, "limit 'lean' needs a value in rad and a reason"),
        ({"lean": {"value": 20, "unit": "deg", "reason": "because"}}, "limit 'lean' is in rad, found 'deg'"),
        ({"lean": {"value": "low", "reason": "because"}}, "limit 'lean' needs a number in rad, found 'low'"),
        ({"lean": {"value": None, "reason": "because"}}, "limit 'lean' needs a number in rad, found None"),
    ],
)
def test_what_is_wrong_with_a_table_is_named(table, sentence):
    with pytest.raises(InputError, match=sentence):
        Limits.from_dict(table)


def machine_table(**changed):
    """Limits of a machine as a rig file states them."""
    table = {name: {"value": getattr(Limits(), name).value, "reason": "because"} for name in MACHINE_LIMITS}
    return {**table, **{name: {"value": value, "reason": "because"} for name, value in changed.items()}}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"lean": 30.0}, "'lean' must lie between 0.05 and 0.8 rad, found 30 rad .*degrees"),
        ({"steer": 45.0}, "'steer' must lie between 0.05 and 1.4 rad, found 45 rad"),
        ({"torque": 30.0}, "'torque' must lie between 0.1 and 20 N m, found 30 N m"),
        ({"lean": 1e9}, "found 1e[+]09 rad"),
        ({"torque_rate": 1e12}, "'torque_rate' must lie between 5 and 5000 N m/s"),
        ({"speed_max": 36000.0}, "'speed_max' must lie between 0.5 and 30 m/s, found 36000 m/s"),
        ({"bus_min": 40.0, "bus_max": 30.0}, "'bus_min' must lie below 'bus_max', found 40 and 30 V"),
        ({"lean": 0.08}, "'lean_arm' must lie below 'lean', found 0.09 and 0.08 rad"),
        ({"torque": True}, "'torque' needs a number in N m, found True"),
    ],
)
def test_a_rig_whose_limits_nobody_can_mean_is_refused(changed, sentence):
    with pytest.raises(InputError, match=sentence):
        Limits.of_machine(machine_table(**changed))


@pytest.mark.parametrize("name", RIG_RANGES)
def test_the_edges_of_a_rigs_ranges_are_taken_and_nothing_beyond(name):
    least, most, _ = RIG_RANGES[name]
    assert least < getattr(Limits(), name).value < most, "the default lies inside"
    for value in (least * 0.99, most * 1.01):
        with pytest.raises(InputError, match=f"'{name}' must lie between"):
            Limits.of_machine(machine_table(**{name: value}))


def test_what_a_log_of_before_had_is_read():
    assert Limits.from_dict(machine_table(lean=30.0)).lean.value == 30.0


def test_a_check_that_outlasts_its_own_time_out_is_found_when_the_file_is_read():
    with pytest.raises(InputError, match=r"'check' must lie below 'check_timeout', found 12 and 10 s"):
        Limits.of_machine({**STATED, "check": {"value": 12.0, "reason": "a long one"}})
